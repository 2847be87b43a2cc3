# Functions for unit_tests/. One ctest entry for each program, so that Kokkos starts once for each.
#
#   trellis_add_test(NAME [SOURCES file...] [SPACE_SOURCES file...] [HOST_SOURCES file...]
#                    [HOST_SPACE_SOURCES file...] [LIBRARIES target...] [LABELS label...]
#                    [TIMEOUT seconds] [PROCESSORS n] [ARGS argument...] [CORE] [OWN_MAIN]
#                    [WITHOUT_TOOLS])
#       A GoogleTest program. Its main starts and ends Kokkos; with CORE it links Trellis::core and
#       knows no Kokkos; with OWN_MAIN the sources have a main. With WITHOUT_TOOLS it does not link
#       Trellis::tools. A file in SPACE_SOURCES is compiled once for each execution space that this
#       Kokkos has, with TRELLIS_TEST_SPACE (Kokkos::Serial) and TRELLIS_TEST_SPACE_NAME (Serial)
#       defined. Those in HOST_SOURCES and HOST_SPACE_SOURCES take what Kokkos chooses by default to
#       be on the host: a Kokkos with a device does without them. Label `concurrent`: the thread
#       sanitizer runs it; `memory`: the address sanitizer does (every test with CORE has it). All
#       have the label `toolchain`: `./run test` runs them on its second toolchain, too. Those with
#       SPACE_SOURCES have the label `device`.
#       Programs share precompiled headers, and their sources are compiled in batches. They find the
#       headers of unit_tests/support by name.
#
#   trellis_optimise_test(NAME)
#       A little, for brute force and random programs.
#
#   trellis_add_mpi_test(NAME SOURCES file...|PROGRAM target RANKS n... [LIBRARIES target...]
#                        [LABELS label...] [TIMEOUT seconds] [ARGS argument...]
#                        [ENVIRONMENT variable=value...])
#       A GoogleTest program that links Trellis::mpi, and an entry NAME.ranks_n for each number of
#       ranks. Its main (templates/mpi_test_main.cpp) starts and ends MPI and Kokkos, which has one
#       thread; the tests fail if they fail on any rank. With PROGRAM the entries are more of those
#       of another NAME. Label: mpi. Nothing happens where there is no MPI.
#
#   trellis_batch_tests(TARGET NAME file...)
#       Compiles these sources of the target together, Trellis_TEST_BATCH of them at a time: most
#       of a test's time goes to the headers that it includes. Two files of a batch must have no
#       helpers of one name in one namespace, and no macros. A source with options of its own stays
#       alone.
#
#   trellis_add_compile_fail_tests(SOURCES file... HEADERS header... [LIBRARIES target...])
#       No file may compile, and the compiler must say the sentence that stands in the file as
#       `// EXPECT: sentence`, in few lines (see compile_fail.cmake). With TRELLIS_COMPILE_OK all
#       files must compile, so that none fails for a wrong reason. HEADERS is what they include.
#
#   trellis_add_header_test()     every public header is compiled alone, and twice in one file
#   trellis_add_install_tests()   Trellis is used as a package and as a subdirectory, as archives and
#                                 as shared libraries; the template of a project is built

find_package(GTest 1.11 CONFIG QUIET)
if(NOT GTest_FOUND)
  message(FATAL_ERROR "The tests need GoogleTest >= 1.11 (Debian: libgtest-dev libgmock-dev), and "
    "CMake finds none. Install it, or build without tests (-DTrellis_ENABLE_TESTS=OFF).")
endif()

set(Trellis_TEST_BATCH 12 CACHE STRING
  "How many sources of a test program are compiled together; 0 or 1: each by itself")

# What the sanitizers, what `./run quick`, and what a second toolchain needs: the programs with that
# label.
foreach(label concurrent memory core toolchain)
  add_custom_target(trellis_${label}_tests)
endforeach()

# How tests are compiled. Nothing is measured in them and the library has its own flags. Most of a
# test's time goes to its compiler, so tests are not optimised, but for those that compute much
# (trellis_optimise_test). The checks that the undefined-behaviour sanitizer adds to every use of a
# pointer are left out of tests, for the same reason, but not of the library.
add_library(trellis_test_options INTERFACE)
target_link_libraries(trellis_test_options INTERFACE trellis_warnings GTest::gmock)
set(trellis_test_compile_options)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set(trellis_test_compile_options -O0)
  if(Trellis_SANITIZE)
    # A stack trace names the functions of tests, and the lines of the library.
    list(APPEND trellis_test_compile_options -g0)
  endif()
  if(Trellis_SANITIZE MATCHES undefined)
    target_compile_options(trellis_test_options INTERFACE
      -fno-sanitize=null,alignment,object-size,vptr)
  endif()
  if(Trellis_SANITIZE MATCHES address)
    # So are those of variables that have left their scope.
    target_compile_options(trellis_test_options INTERFACE -fno-sanitize-address-use-after-scope)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # No collection of the compiler's garbage below half a gigabyte.
  target_compile_options(trellis_test_options INTERFACE --param=ggc-min-heapsize=524288)
endif()

# Two targets whose precompiled headers all test programs share, with Kokkos and without.
file(WRITE ${PROJECT_BINARY_DIR}/test_core_headers.cpp "")
add_library(trellis_test_core OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_core_headers.cpp)
target_link_libraries(trellis_test_core PRIVATE trellis_test_options Trellis::core)
target_compile_options(trellis_test_core PRIVATE ${trellis_test_compile_options})
add_library(trellis_test_main OBJECT EXCLUDE_FROM_ALL
  ${CMAKE_CURRENT_LIST_DIR}/templates/test_main.cpp)
target_link_libraries(trellis_test_main PRIVATE trellis_test_options Trellis::trellis)
target_compile_options(trellis_test_main PRIVATE ${trellis_test_compile_options})
if(trellis_precompiles)
  set(headers <algorithm> <array> <atomic> <chrono> <functional> <map> <memory> <mutex> <random>
    <set> <sstream> <string> <thread> <vector> <gmock/gmock.h>)
  target_precompile_headers(trellis_test_core PRIVATE ${headers} <Trellis_Plan.hpp>
    <Trellis_Graph.hpp> <Trellis_SchedulingPolicy.hpp> <Trellis_TaskGraph.hpp>)
  target_precompile_headers(trellis_test_main PRIVATE ${headers} <Trellis.hpp>
    <Trellis_Fusion.hpp> <Trellis_Numbers.hpp> <Trellis_Observation.hpp> <Trellis_Recorded.hpp>
    <Trellis_Resources.hpp> <Trellis_Scheduling.hpp> <Trellis_States.hpp>)
endif()
if(Trellis_HAS_MPI)
  add_library(trellis_mpi_test_main OBJECT EXCLUDE_FROM_ALL
    ${CMAKE_CURRENT_LIST_DIR}/templates/mpi_test_main.cpp)
  target_link_libraries(trellis_mpi_test_main PRIVATE trellis_test_options Trellis::mpi)
  target_compile_options(trellis_mpi_test_main PRIVATE ${trellis_test_compile_options})
  if(trellis_precompiles)
    target_precompile_headers(trellis_mpi_test_main REUSE_FROM trellis_test_main)
  endif()
endif()

function(trellis_batch_tests target name)
  list(LENGTH ARGN count)
  # nvcc compiles device code for each kernel, and the typed tests have many: batches win nothing.
  if(Trellis_TEST_BATCH LESS 2 OR count LESS 2 OR trellis_has_device)
    return()
  endif()
  # As many batches as needed, all of about the same size.
  math(EXPR batches "(${count} + ${Trellis_TEST_BATCH} - 1) / ${Trellis_TEST_BATCH}")
  set(number 0)
  foreach(source ${ARGN})
    math(EXPR batch "${number} * ${batches} / ${count}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${name}_${batch})
    math(EXPR number "${number} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# The program of a test, with the arguments of trellis_add_test; MAIN is a library in place of
# trellis_test_main.
function(trellis_add_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CORE;OWN_MAIN;WITHOUT_TOOLS" "MAIN;TIMEOUT;PROCESSORS"
    "SOURCES;SPACE_SOURCES;HOST_SOURCES;HOST_SPACE_SOURCES;LIBRARIES;LABELS;ARGS")
  set(sources ${arg_SOURCES})
  set(generated_sources)
  foreach(space ${trellis_backends})
    set(sources_of_${space})
  endforeach()
  if(NOT trellis_has_device)
    list(APPEND sources ${arg_HOST_SOURCES})
    list(APPEND arg_SPACE_SOURCES ${arg_HOST_SPACE_SOURCES})
  endif()
  foreach(source ${arg_SPACE_SOURCES})
    get_filename_component(source ${source} ABSOLUTE)
    get_filename_component(stem ${source} NAME_WE)
    foreach(space ${trellis_backends})
      if(NOT space STREQUAL Simulated)
        set(generated ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${space}.cpp)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/templates/space_test.cpp.in ${generated} @ONLY)
        list(APPEND sources_of_${space} ${generated})
        list(APPEND generated_sources ${generated})
      endif()
    endforeach()
  endforeach()

  if(NOT sources AND NOT generated_sources)
    return()
  endif()
  add_executable(${name} ${sources} ${generated_sources})
  # What one file defines for its space must not meet the same file for another space.
  trellis_batch_tests(${name} any ${sources})
  foreach(space ${trellis_backends})
    trellis_batch_tests(${name} ${space} ${sources_of_${space}})
  endforeach()
  target_link_libraries(${name} PRIVATE trellis_test_options nlohmann_json::nlohmann_json
    ${arg_LIBRARIES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/unit_tests/support)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(arg_CORE)
    set(kind core)
    list(APPEND arg_LABELS core memory)
    target_link_libraries(${name} PRIVATE Trellis::core)
  else()
    set(kind main)
    target_link_libraries(${name} PRIVATE Trellis::trellis)
  endif()
  if(NOT arg_WITHOUT_TOOLS)
    target_link_libraries(${name} PRIVATE Trellis::tools)
  endif()
  target_compile_options(${name} PRIVATE ${trellis_test_compile_options})
  if(trellis_precompiles)
    target_precompile_headers(${name} REUSE_FROM trellis_test_${kind})
  endif()
  if(arg_CORE AND NOT arg_OWN_MAIN)
    target_link_libraries(${name} PRIVATE GTest::gmock_main)
  elseif(NOT arg_OWN_MAIN)
    if(NOT arg_MAIN)
      set(arg_MAIN trellis_test_main)
    endif()
    target_link_libraries(${name} PRIVATE ${arg_MAIN})
  endif()
  foreach(label ${arg_LABELS} toolchain)
    if(TARGET trellis_${label}_tests)
      add_dependencies(trellis_${label}_tests ${name})
    endif()
  endforeach()
endfunction()

# trellis_set_test_properties(ENTRY TIMEOUT PROCESSORS [LABELS label...]
#                             [ENVIRONMENT variable=value...])
# What every entry of ctest has; "" stands for the default.
function(trellis_set_test_properties name timeout processors)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "LABELS;ENVIRONMENT")
  if(NOT timeout)
    set(timeout 300)
  endif()
  if(Trellis_SANITIZE)
    math(EXPR timeout "${timeout} * 4")
  endif()
  if(NOT processors)
    set(processors 1)
  endif()
  # Kokkos warns when this is unset; bound pools of several workers would share one core.
  list(PREPEND arg_ENVIRONMENT OMP_PROC_BIND=false)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} PROCESSORS ${processors}
    LABELS "${arg_LABELS}"
    ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()

function(trellis_add_test name)
  trellis_add_test_program(${name} ${ARGN})
  cmake_parse_arguments(PARSE_ARGV 1 arg "CORE;OWN_MAIN;WITHOUT_TOOLS" "TIMEOUT;PROCESSORS"
    "SOURCES;SPACE_SOURCES;HOST_SOURCES;HOST_SPACE_SOURCES;LIBRARIES;LABELS;ARGS")
  if(NOT TARGET ${name})
    return()
  endif()
  if(arg_CORE)
    list(APPEND arg_LABELS core memory)
  endif()
  if(arg_SPACE_SOURCES)
    list(APPEND arg_LABELS device)
  endif()
  list(APPEND arg_LABELS toolchain)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  trellis_set_test_properties(${name} "${arg_TIMEOUT}" "${arg_PROCESSORS}" LABELS ${arg_LABELS})
endfunction()

function(trellis_optimise_test name)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${name} PRIVATE -O1)
    # The precompiled headers of the other tests are not optimised.
    set_target_properties(${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

function(trellis_add_mpi_test name)
  if(NOT Trellis_HAS_MPI)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROGRAM;TIMEOUT"
    "SOURCES;RANKS;LIBRARIES;LABELS;ARGS;ENVIRONMENT")
  list(APPEND arg_LABELS mpi toolchain)
  if(NOT arg_PROGRAM)
    set(arg_PROGRAM ${name})
    trellis_add_test_program(${name} MAIN trellis_mpi_test_main SOURCES ${arg_SOURCES}
      LIBRARIES Trellis::mpi ${arg_LIBRARIES} LABELS ${arg_LABELS})
  endif()
  trellis_mpiexec(launcher 1)
  if(NOT launcher)
    return()
  endif()
  foreach(ranks ${arg_RANKS})
    set(entry ${name}.ranks_${ranks})
    trellis_mpiexec(launcher ${ranks})
    add_test(NAME ${entry}
      COMMAND ${launcher} $<TARGET_FILE:${arg_PROGRAM}> ${MPIEXEC_POSTFLAGS} ${arg_ARGS})
    set(processors 1)
    if(ranks GREATER 1)
      set(processors 2)
    endif()
    trellis_set_test_properties(${entry} "${arg_TIMEOUT}" ${processors}
      LABELS ${arg_LABELS}
      ENVIRONMENT OMP_NUM_THREADS=1 TRELLIS_TEST_RANKS=${ranks} ${trellis_mpi_test_environment}
        ${arg_ENVIRONMENT})
    if(Trellis_SANITIZE)
      # MPICH's launcher takes a rank that a sanitizer has ended to have ended well.
      set_property(TEST ${entry} PROPERTY FAIL_REGULAR_EXPRESSION
        "[a-zA-Z]Sanitizer: |: runtime error: ")
    endif()
  endforeach()
endfunction()

# Ranks that have nothing to do leave the core to others, and Kokkos does not warn of more ranks
# than cores. Leaks of MPI itself are told apart.
set(trellis_mpi_test_environment OMPI_MCA_mpi_yield_when_idle=1 KOKKOS_DISABLE_WARNINGS=1)
if(Trellis_SANITIZE MATCHES address)
  list(APPEND trellis_mpi_test_environment
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/.ci/lsan.supp)
elseif(Trellis_SANITIZE MATCHES thread)
  # It takes what one process reads out of another one's memory for memory of its own, and ends the
  # program where there is none.
  list(APPEND trellis_mpi_test_environment UCX_TLS=^cma OMPI_MCA_smsc=^cma)
endif()

function(trellis_add_compile_fail_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES;HEADERS;LIBRARIES")
  if(Trellis_SANITIZE OR trellis_has_device)
    return() # says nothing new there, and the messages of a device's compiler are its own
  endif()
  # With TRELLIS_COMPILE_OK, all of them in one start of the compiler, each in a namespace.
  set(together ${CMAKE_CURRENT_BINARY_DIR}/compile_ok.cpp)
  set(text
    "// Generated: every source that must not compile, with TRELLIS_COMPILE_OK, so that it\n")
  string(APPEND text "// fails for no wrong reason.\n")
  foreach(header ${arg_HEADERS})
    string(APPEND text "#include <${header}>\n")
  endforeach()
  string(APPEND text "#define TRELLIS_COMPILE_OK\n")
  foreach(source ${arg_SOURCES})
    get_filename_component(stem ${source} NAME_WE)
    get_filename_component(source ${source} ABSOLUTE)
    string(APPEND text "namespace of_${stem} {\n#include \"${source}\"\n}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${together} CONTENT "${text}" @ONLY)
  add_library(compile_ok OBJECT ${together})
  add_dependencies(trellis_toolchain_tests compile_ok)
  # This target is never built: it only collects what the compiler must be told.
  add_library(compile_fail OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES})
  set_target_properties(compile_fail PROPERTIES EXPORT_COMPILE_COMMANDS ON)
  foreach(target compile_ok compile_fail)
    target_link_libraries(${target} PRIVATE trellis_test_options Trellis::trellis
      ${arg_LIBRARIES})
    target_compile_options(${target} PRIVATE ${trellis_test_compile_options} -w)
    if(trellis_precompiles)
      target_precompile_headers(${target} REUSE_FROM trellis_test_main)
    endif()
  endforeach()
  foreach(source ${arg_SOURCES})
    get_filename_component(stem ${source} NAME_WE)
    get_filename_component(source ${source} ABSOLUTE)
    add_test(NAME compile_fail.${stem} COMMAND ${CMAKE_COMMAND} -DSOURCE=${source}
      -DCOMMANDS=${CMAKE_BINARY_DIR}/compile_commands.json
      -P ${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake)
    set_tests_properties(compile_fail.${stem} PROPERTIES TIMEOUT 300 LABELS compile_fail)
  endforeach()
endfunction()

# Headers of the parts are compiled by those who link them.
function(trellis_add_header_test)
  if(Trellis_SANITIZE)
    return()
  endif()
  # Not policies/senders: what these need is not everywhere.
  set(folders ${trellis_layers} policies/patterns policies/resources policies/workers)
  foreach(backend ${trellis_backends})
    list(APPEND folders spaces/${backend})
  endforeach()
  foreach(part ${trellis_parts})
    list(APPEND folders policies/${part})
  endforeach()
  # Their callers have variables of these names.
  foreach(kind core trellis backend ${trellis_parts})
    set(${kind}_sources)
  endforeach()
  foreach(folder ${folders})
    file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.hpp)
    foreach(header ${headers})
      get_filename_component(stem ${header} NAME_WE)
      set(generated ${PROJECT_BINARY_DIR}/headers/${stem}.cpp)
      configure_file(${PROJECT_SOURCE_DIR}/cmake/templates/header_test.cpp.in ${generated} @ONLY)
      get_filename_component(name ${folder} NAME)
      if(folder STREQUAL core)
        list(APPEND core_sources ${generated}) # these must do without Kokkos
      elseif(folder MATCHES spaces/ AND NOT folder MATCHES Simulated)
        list(APPEND backend_sources ${generated}) # not every toolchain has these
      elseif(name IN_LIST trellis_parts)
        list(APPEND ${name}_sources ${generated})
      else()
        list(APPEND trellis_sources ${generated})
      endif()
    endforeach()
  endforeach()
  foreach(kind core trellis backend ${trellis_parts})
    if(NOT ${kind}_sources)
      continue()
    endif()
    set(target trellis_${kind}_headers)
    set(library Trellis::${kind})
    if(kind STREQUAL backend)
      set(library Trellis::trellis)
    endif()
    add_library(${target} OBJECT ${${kind}_sources})
    target_link_libraries(${target} PRIVATE trellis_warnings ${library})
    target_compile_options(${target} PRIVATE -O0)
    # A header must include what it needs, so nothing is precompiled for it but Kokkos, which takes
    # the compiler longest.
    if(trellis_precompiles AND NOT kind MATCHES "^(core|mpi|kernels|backend)$")
      if(kind STREQUAL trellis)
        target_precompile_headers(${target} PRIVATE <Kokkos_Core.hpp>)
      elseif(TARGET trellis_trellis_headers)
        target_precompile_headers(${target} REUSE_FROM trellis_trellis_headers)
      endif()
    endif()
    if(kind MATCHES "^(backend|kernels|mpi)$")
      add_dependencies(trellis_toolchain_tests ${target})
    endif()
  endforeach()
endfunction()

function(trellis_add_install_tests)
  if(Trellis_SANITIZE OR NOT EXISTS ${PROJECT_SOURCE_DIR}/unit_tests/install)
    return()
  endif()
  set(tests ${PROJECT_SOURCE_DIR}/unit_tests/install)
  set(work ${PROJECT_BINARY_DIR}/install_test)
  # As this build, so that the compiler's cache knows the library of the others.
  set(options -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -DKokkos_DIR=${Kokkos_DIR})
  set(with_parts)
  if(Trellis_HAS_MPI)
    list(APPEND with_parts -DUSE_MPI=ON)
  endif()
  if(Trellis_KERNELS_TARGET)
    list(APPEND with_parts -DUSE_KERNELS=ON)
  endif()

  # trellis_install_test(NAME SOURCE [FOLDER folder] [STAGE name] [AFTER name] [LABELS label...]
  #                      [OPTIONS option...])
  # Configures and builds the project, in this folder or in one of the test's name, and runs its
  # tests: with the Trellis that the test STAGE has installed, or with this one as a subdirectory.
  function(trellis_install_test name source)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "FOLDER;STAGE;AFTER" "LABELS;OPTIONS")
    set(where -DTRELLIS_SOURCE_DIR=${PROJECT_SOURCE_DIR})
    if(arg_STAGE)
      set(where -DCMAKE_PREFIX_PATH=${work}/${arg_STAGE})
    endif()
    if(NOT arg_FOLDER)
      set(arg_FOLDER ${name})
    endif()
    add_test(NAME install.${name} COMMAND ${CMAKE_CTEST_COMMAND}
      --build-and-test ${source} ${work}/${arg_FOLDER} --build-noclean
      --build-generator ${CMAKE_GENERATOR} --build-makeprogram ${CMAKE_MAKE_PROGRAM}
      --build-options ${options} ${where} ${arg_OPTIONS}
      --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error)
    # Ranks are started by the project itself, which does not know that they are more than cores.
    set(environment OMP_PROC_BIND=false OMP_NUM_THREADS=1 HYDRA_LAUNCHER=fork
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,sm
      OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)
    set(required)
    foreach(before ${arg_STAGE} ${arg_AFTER})
      list(APPEND required trellis_${before})
    endforeach()
    set_tests_properties(install.${name} PROPERTIES TIMEOUT 600 LABELS "install;${arg_LABELS}"
      PROCESSORS 2 FIXTURES_SETUP trellis_${name} FIXTURES_REQUIRED "${required}"
      ENVIRONMENT "${environment}")
  endfunction()

  # trellis_stage_test(NAME BUILD): installs what has been built there.
  function(trellis_stage_test name build)
    add_test(NAME install.${name} COMMAND ${CMAKE_COMMAND} -DBUILD=${build}
      -DSTAGE=${work}/${name} -P ${tests}/stage.cmake)
    set_tests_properties(install.${name} PROPERTIES FIXTURES_SETUP trellis_${name}
      LABELS "install;toolchain")
  endfunction()

  # What an installation has is what can be reached, and the template works with it: as it is, and
  # with what this build has besides.
  trellis_stage_test(stage ${PROJECT_BINARY_DIR})
  foreach(library ${trellis_libraries} lapack)
    if(TARGET trellis_${library})
      add_dependencies(trellis_toolchain_tests trellis_${library})
    endif()
  endforeach()
  set(template ${work}/stage/${CMAKE_INSTALL_DATADIR}/doc/trellis/template)
  trellis_install_test(package ${template} STAGE stage LABELS toolchain
    OPTIONS -DUSE_MPI=OFF -DUSE_KERNELS=OFF)
  if(with_parts)
    trellis_install_test(package_with_parts ${template} FOLDER package STAGE stage AFTER package
      LABELS toolchain OPTIONS ${with_parts})
  endif()
  list(JOIN trellis_parts "," parts)
  trellis_install_test(headers ${tests}/headers STAGE stage LABELS toolchain
    OPTIONS -DPARTS=${parts})

  # The library is compiled for these, and they know no toolchain. The cache knows sources by their
  # paths, so it is compiled once more, which is soon done where it is not optimised.
  set(template ${PROJECT_SOURCE_DIR}/example/template)
  set(quickly -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
  trellis_install_test(subdirectory ${template}
    OPTIONS ${quickly} -DUSE_MPI=OFF -DUSE_KERNELS=OFF -DTrellis_ENABLE_MPI=OFF)
  if(with_parts)
    trellis_install_test(subdirectory_with_parts ${template} FOLDER subdirectory AFTER subdirectory
      OPTIONS ${quickly} ${with_parts} -DTrellis_ENABLE_MPI=ON)
  endif()
  if(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
    set(shared ${work}/build_shared)
    add_test(NAME install.build_shared COMMAND ${CMAKE_CTEST_COMMAND}
      --build-and-test ${PROJECT_SOURCE_DIR} ${shared} --build-noclean
      --build-generator ${CMAKE_GENERATOR} --build-makeprogram ${CMAKE_MAKE_PROGRAM}
      --build-options ${options} -DBUILD_SHARED_LIBS=ON -DTrellis_ENABLE_TESTS=OFF
      -DTrellis_ENABLE_EXAMPLES=OFF -DTrellis_ENABLE_BENCHMARKS=OFF)
    set_tests_properties(install.build_shared PROPERTIES TIMEOUT 600 LABELS install PROCESSORS 2
      FIXTURES_SETUP trellis_build_shared)
    trellis_stage_test(stage_shared ${shared})
    set_tests_properties(install.stage_shared PROPERTIES LABELS install
      FIXTURES_REQUIRED trellis_build_shared)
    trellis_install_test(shared ${tests}/shared STAGE stage_shared)
  endif()

  # Components that are missing, and why.
  set(kernels_says "Trellis::kernels is missing: this Trellis was built without Kokkos Kernels")
  if(Trellis_KERNELS_TARGET)
    set(kernels_says "Configuring done")
  endif()
  set(mpi_says "Trellis::mpi is missing: this Trellis was built without MPI")
  if(Trellis_HAS_MPI)
    set(mpi_says "Configuring done")
  endif()
  set(worklets_says "Configuring done")
  string(CONCAT garden_says "Trellis has no component garden, but core, tools, trellis, fields, "
    "worklets, kernels and mpi")
  set(names kernels mpi worklets garden)
  if(Trellis_HAS_MPI)
    # As if MPI had been taken away, and as if another one were found.
    list(APPEND names mpi.gone mpi.other)
    set(mpi.gone_options -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
    set(mpi.gone_says
      "Trellis::mpi is missing: it was built with ${Trellis_MPI_NAME}, and here CMake finds no MPI")
    set(other ${work}/other_mpi)
    set(other_name "MPICH 9")
    set(other_version "MPICH_VERSION \"9\"")
    if(Trellis_MPI_NAME MATCHES "MPICH|Intel")
      set(other_name "Open MPI 9")
      set(other_version "OMPI_MAJOR_VERSION 9")
    endif()
    file(WRITE ${other}/mpi.h "#define ${other_version}\n#define MPI_VERSION 3\n"
      "#define MPI_SUBVERSION 0\n#define MPI_Init(count, words) ((void)(count), (void)(words))\n"
      "#define MPI_Finalize()\n")
    set(mpi.other_options -DMPI_C_LIB_NAMES=other -DMPI_C_COMPILER_INCLUDE_DIRS=${other}
      -DMPI_C_HEADER_DIR=${other} -DMPI_other_LIBRARY=$<TARGET_FILE:trellis_core>)
    set(mpi.other_says "Trellis::mpi is missing: it was built with ${Trellis_MPI_NAME}, and CMake"
      "finds ${other_name} here")
    list(JOIN mpi.other_says " " mpi.other_says)
  endif()
  foreach(test ${names})
    string(REGEX REPLACE "[.].*" "" part ${test})
    # CMake breaks the lines of its message.
    string(REPLACE " " "[ \n]+" says "${${test}_says}")
    add_test(NAME install.component.${test} COMMAND ${CMAKE_COMMAND}
      -S ${tests}/component -B ${work}/component_${test} -G ${CMAKE_GENERATOR}
      -DPART=${part} -DCMAKE_PREFIX_PATH=${work}/stage ${options} ${${test}_options})
    set_tests_properties(install.component.${test} PROPERTIES TIMEOUT 120 LABELS install
      FIXTURES_REQUIRED trellis_stage PASS_REGULAR_EXPRESSION "${says}")
  endforeach()
endfunction()
