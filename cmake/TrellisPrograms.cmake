# Functions for the folders example/, perf_tests/ and unit_tests/.
#
#   trellis_add_example(NAME SOURCES file... [LIBRARIES target...] [OPTIONS option...] [MPI])
#       ./run example NAME
#   trellis_add_benchmark(NAME SOURCES file... [LIBRARIES target...] [OPTIONS option...] [MPI])
#       ./run perf NAME
#   trellis_add_program_part(NAME SOURCES file... [LIBRARIES target...] [OPTIONS option...])
#       A static library of what a program's speed does not depend on: command lines, reports,
#       pictures. It is compiled in one start of the compiler and hardly optimised, for these take
#       the compiler as long as all that is measured. Programs name it in LIBRARIES.
#   trellis_batch_sources(TARGET NAME file...)
#       Compiles these sources of the target as one, unless the user has set CMAKE_UNITY_BUILD or
#       Kokkos has a device. Not for code whose speed is measured: what is compiled with it could
#       change it.
#
# Examples and benchmarks link Trellis::trellis and Trellis::tools. With OPTIONS of its own a
# program does without the precompiled headers. With MPI it links Trellis::mpi and has ranks (./run
# example NAME --ranks N); where there is no MPI there is no such target. CLI11, nlohmann_json and Google
# Benchmark are linked when they are there. All programs lie in bin/ of the build tree, so ./run
# finds them without knowing the folders.
#
#   trellis_label_program_test(TEST PROGRAM [LABELS label...])
#       `program`. Those that need Kokkos Kernels, which not every toolchain has, have the label
#       `toolchain` as well.

find_package(CLI11 CONFIG QUIET)

# The precompiled headers of all programs.
if(trellis_precompiles)
  file(WRITE ${PROJECT_BINARY_DIR}/program_headers.cpp "")
  add_library(trellis_program_headers OBJECT EXCLUDE_FROM_ALL
    ${PROJECT_BINARY_DIR}/program_headers.cpp)
  target_link_libraries(trellis_program_headers PRIVATE Trellis::trellis trellis_warnings)
  target_precompile_headers(trellis_program_headers PRIVATE <algorithm> <chrono> <map> <string>
    <vector> <Trellis.hpp>)
endif()

function(trellis_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MPI" "KIND" "SOURCES;LIBRARIES;OPTIONS")
  set(launcher)
  if(arg_MPI)
    if(NOT Trellis_HAS_MPI)
      # ./run says this when it is asked for the program.
      file(WRITE ${PROJECT_BINARY_DIR}/programs/left_out/${arg_KIND}/${name}
        "it needs MPI: ${Trellis_WHY_NO_MPI}")
      return()
    endif()
    list(APPEND arg_LIBRARIES Trellis::mpi)
    trellis_mpiexec(launcher RANKS)
    if(NOT launcher)
      file(WRITE ${PROJECT_BINARY_DIR}/programs/left_out/${arg_KIND}/${name}
        "there is no mpiexec (MPIEXEC_EXECUTABLE says where it is)")
      set(arg_KIND) # it is built, and ./run cannot start it
    endif()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE Trellis::trellis Trellis::tools trellis_warnings
    ${arg_LIBRARIES})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  if(trellis_precompiles AND NOT arg_OPTIONS)
    target_precompile_headers(${name} REUSE_FROM trellis_program_headers)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(arg_KIND)
    # One file for each program: what ./run lists, and how it knows a name. It holds the words that
    # start the ranks, one in a line, if the program has ranks; RANKS stands for their number.
    list(JOIN launcher "\n" lines)
    file(WRITE ${PROJECT_BINARY_DIR}/programs/${arg_KIND}/${name} "${lines}")
  endif()
endfunction()
file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/programs)

function(trellis_add_program_part name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;OPTIONS")
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  foreach(library CLI11::CLI11 nlohmann_json::nlohmann_json)
    if(TARGET ${library})
      list(APPEND arg_LIBRARIES ${library})
    endif()
  endforeach()
  target_link_libraries(${name} PRIVATE Trellis::trellis Trellis::tools trellis_warnings
    ${arg_LIBRARIES})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(NOT DEFINED CMAKE_UNITY_BUILD AND NOT trellis_has_device)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

function(trellis_label_program_test test program)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LABELS")
  set(label program)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  if("Trellis::kernels" IN_LIST libraries)
    list(APPEND label toolchain)
    add_dependencies(trellis_toolchain_tests ${program})
  endif()
  set_property(TEST ${test} PROPERTY LABELS ${label} ${arg_LABELS})
endfunction()

function(trellis_batch_sources target name)
  if(DEFINED CMAKE_UNITY_BUILD OR trellis_has_device)
    return()
  endif()
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${target}_${name})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(trellis_add_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MPI" "" "SOURCES;LIBRARIES;OPTIONS")
  set(mpi)
  if(arg_MPI)
    set(mpi MPI)
  endif()
  foreach(library CLI11::CLI11 nlohmann_json::nlohmann_json)
    if(TARGET ${library})
      list(APPEND arg_LIBRARIES ${library})
    endif()
  endforeach()
  trellis_add_program(${name} KIND example SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES}
    OPTIONS ${arg_OPTIONS} ${mpi})
endfunction()

function(trellis_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MPI" "" "SOURCES;LIBRARIES;OPTIONS")
  set(mpi)
  if(arg_MPI)
    set(mpi MPI)
  endif()
  foreach(library benchmark::benchmark CLI11::CLI11 nlohmann_json::nlohmann_json)
    if(TARGET ${library})
      list(APPEND arg_LIBRARIES ${library})
    endif()
  endforeach()
  trellis_add_program(${name} KIND perf SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES}
    OPTIONS ${arg_OPTIONS} ${mpi})
endfunction()

if(Trellis_ENABLE_BENCHMARKS AND EXISTS ${PROJECT_SOURCE_DIR}/perf_tests/CMakeLists.txt)
  find_package(benchmark CONFIG QUIET)
  if(NOT benchmark_FOUND)
    message(STATUS "Trellis: no Google Benchmark (Debian: libbenchmark-dev), so no benchmarks")
    set(Trellis_ENABLE_BENCHMARKS OFF)
  endif()
endif()
