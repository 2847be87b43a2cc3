# The targets: Trellis::core (no Kokkos), Trellis::tools (traces, logs and the like, beside Kokkos;
# a program may leave it out), Trellis::trellis (with Kokkos), and the parts that are libraries of
# their own on top of it: Trellis::fields, Trellis::worklets, Trellis::mpi (where there is an MPI)
# and Trellis::kernels (where there is Kokkos Kernels).

set(trellis_layers core spaces policies)

# Backends whose sources are compiled: those that this Kokkos has, and the ones that need none.
set(trellis_backends)
if(Trellis_ENABLE_SIMULATED)
  list(APPEND trellis_backends Simulated)
endif()
foreach(backend Serial OpenMP Threads Cuda HIP SYCL)
  string(TOUPPER ${backend} device)
  if(Kokkos_ENABLE_${device})
    list(APPEND trellis_backends ${backend})
  endif()
endforeach()

set(trellis_has_device OFF)
if(Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP OR Kokkos_ENABLE_SYCL)
  set(trellis_has_device ON)
endif()

# The parts that this build has. Each lies in a folder of policies/, whose headers are in reach of
# those who link it, as <Trellis_Fields.hpp> is. A release of the engine may leave out worklets, or
# these and the fields that they take.
set(trellis_parts)
foreach(part fields worklets)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/policies/${part})
    break()
  endif()
  list(APPEND trellis_parts ${part})
endforeach()
if(Trellis_KERNELS_TARGET)
  list(APPEND trellis_parts kernels)
endif()
if(Trellis_HAS_MPI)
  list(APPEND trellis_parts mpi)
endif()

set(tools_folders core/tools core/warn)
set(core_globs core/*/*.cpp)
list(TRANSFORM tools_folders APPEND /*.cpp OUTPUT_VARIABLE tools_globs)
set(trellis_globs spaces/src/*.cpp policies/annotations/src/*.cpp policies/patterns/src/*.cpp)
foreach(part ${trellis_parts})
  set(${part}_globs policies/${part}/src/*.cpp)
endforeach()
set(trellis_libraries core tools trellis ${trellis_parts})
list(REMOVE_ITEM trellis_libraries kernels) # headers alone
foreach(backend ${trellis_backends})
  list(APPEND trellis_globs spaces/${backend}/*.cpp)
endforeach()

if(BUILD_SHARED_LIBS AND TARGET Kokkos::kokkoscore)
  # A program would have two runtimes of Kokkos: its own one and one inside Trellis.
  get_target_property(type Kokkos::kokkoscore TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    message(FATAL_ERROR "Trellis as a shared library needs Kokkos as a shared library, and the one "
      "in ${Kokkos_DIR} is static. Build Kokkos with -DBUILD_SHARED_LIBS=ON, or Trellis without.")
  endif()
endif()

# What each library has. Shared ones let nothing be seen but namespace trellis.
function(trellis_set_library_properties target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Without a definition of its own, a source is compiled in the same way for both kinds.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON DEFINE_SYMBOL ""
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(BUILD_SHARED_LIBS AND CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
    set(symbols ${PROJECT_SOURCE_DIR}/cmake/symbols.map)
    target_link_options(${target} PRIVATE LINKER:--version-script=${symbols})
    # An installed one finds those that it needs beside itself, and Kokkos where it was.
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${symbols} INSTALL_RPATH "$ORIGIN"
      INSTALL_RPATH_USE_LINK_PATH ON)
    # A library needs nothing of those above it. (A sanitizer's own functions are the program's.)
    if(NOT Trellis_SANITIZE)
      target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()
  endif()
endfunction()

# A library must have a source, a young layer may have none.
file(WRITE ${PROJECT_BINARY_DIR}/empty.cpp "")
foreach(library ${trellis_libraries})
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${${library}_globs})
  if(library STREQUAL core)
    list(JOIN tools_folders "|" folders)
    list(FILTER sources EXCLUDE REGEX "^(${folders})/")
  endif()
  if(NOT sources)
    set(sources ${PROJECT_BINARY_DIR}/empty.cpp)
  endif()
  add_library(trellis_${library} ${sources})
  trellis_set_library_properties(trellis_${library})
  target_link_libraries(trellis_${library} PUBLIC Threads::Threads
    PRIVATE $<BUILD_INTERFACE:trellis_warnings>)
  if(library MATCHES "^(tools|mpi)$") # these write traces
    target_link_libraries(trellis_${library}
      PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  endif()
  # Eight sources at a time, unless the user has said otherwise: the headers take the compiler most
  # of the time. The preset `debug` compiles each by itself, so that one that lacks an include is
  # found.
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(trellis_${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endforeach()

# Without Kokkos there is nothing for a device in these, so nvcc, which Kokkos' wrapper would start,
# has no part in them: it takes longer, and it does not compile fmt's consteval functions.
if(CMAKE_CXX_COMPILER MATCHES nvcc_wrapper)
  target_compile_options(trellis_core PRIVATE --host-only)
  target_compile_options(trellis_tools PRIVATE --host-only)
endif()

if(Trellis_HAS_HWLOC)
  target_compile_definitions(trellis_core PRIVATE TRELLIS_HAS_HWLOC)
  target_include_directories(trellis_core SYSTEM PRIVATE ${Trellis_HWLOC_INCLUDE})
  target_link_libraries(trellis_core PRIVATE ${Trellis_HWLOC_LIBRARY})
endif()

# spdlog, and the fmt that it may use, as headers alone, so that nobody who links Trellis needs
# either. They are not linked, but what their targets say about headers is taken over: spdlog's
# would bring fmt's shared library.
if(Trellis_HAS_SPDLOG)
  target_compile_definitions(trellis_tools PRIVATE TRELLIS_HAS_SPDLOG)
  foreach(target spdlog::spdlog_header_only fmt::fmt-header-only)
    if(TARGET ${target})
      target_include_directories(trellis_tools SYSTEM PRIVATE
        $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
      target_compile_definitions(trellis_tools PRIVATE
        $<TARGET_PROPERTY:${target},INTERFACE_COMPILE_DEFINITIONS>)
    endif()
  endforeach()
endif()

# The installed headers of all layers lie in one folder.
function(trellis_include_layers target)
  foreach(layer ${ARGN})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${layer}>)
  endforeach()
  target_include_directories(${target} PUBLIC
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trellis>)
endfunction()
trellis_include_layers(trellis_core core)
# A graph asks the tools for much that a program does not name (see Trellis_SetGraphTools.cpp). So
# the linker is told to take `trellis_set_graph_tools` out of the archive. A shared library is named
# once more, as some compilers leave out those that a program does not call (--as-needed).
target_link_libraries(trellis_tools PUBLIC trellis_core)
if(BUILD_SHARED_LIBS AND CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
  target_link_options(trellis_tools INTERFACE
    LINKER:--push-state,--no-as-needed,$<TARGET_FILE:$<TARGET_NAME:trellis_tools>>,--pop-state)
elseif(APPLE)
  target_link_options(trellis_tools INTERFACE LINKER:-u,_trellis_set_graph_tools)
else()
  target_link_options(trellis_tools INTERFACE LINKER:-u,trellis_set_graph_tools)
endif()
trellis_include_layers(trellis_trellis ${trellis_layers})
target_link_libraries(trellis_trellis PUBLIC trellis_core Kokkos::kokkos)
# Views as arguments go through a std::tuple, whose functions are constexpr and nothing more.
if(Kokkos_ENABLE_CUDA AND Kokkos_CXX_COMPILER_ID STREQUAL NVIDIA)
  target_compile_options(trellis_trellis PUBLIC
    $<$<COMPILE_LANGUAGE:CXX,CUDA>:--expt-relaxed-constexpr>)
endif()

# The files of the page of a trace, as constants of a header. Their first line is the license.
set(page_files base.js graph.js list.html page.css page.html panel.js summary.js timeline.js)
list(TRANSFORM page_files PREPEND ${PROJECT_SOURCE_DIR}/core/tools/page/)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_files})
set(page_table "")
foreach(file ${page_files})
  file(READ ${file} text)
  string(LENGTH "${text}" length)
  if(length GREATER 65535) # compilers may take no longer literal
    message(FATAL_ERROR "${file} is too long to be a string literal.")
  endif()
  string(REGEX REPLACE "^[^\n]*\n(.*)\n$" "\\1" text "${text}")
  get_filename_component(name ${file} NAME)
  string(APPEND page_table "    {\"${name}\", R\"page(${text})page\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/page/Trellis_PageFiles.hpp @ONLY CONTENT
"#include <string_view>
#include <utility>

namespace trellis::Impl {

inline constexpr std::pair<std::string_view, std::string_view> page_files[] = {
@page_table@};

}  // namespace trellis::Impl
")
target_include_directories(trellis_tools PRIVATE ${PROJECT_BINARY_DIR}/page)

# spdlog takes the compiler longest of all, and the log is not on a fast path.
if(Trellis_HAS_SPDLOG AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set_source_files_properties(core/tools/Trellis_StateLog.cpp PROPERTIES COMPILE_OPTIONS -O1)
endif()

# A part's headers, in reach of those who link it.
function(trellis_include_part part scope)
  target_include_directories(trellis_${part} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/policies/${part}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trellis/${part}>)
endfunction()

if("fields" IN_LIST trellis_parts)
  target_link_libraries(trellis_fields PUBLIC trellis_trellis trellis_tools) # it simulates
  trellis_include_part(fields PUBLIC)
endif()

# Fields of a model are arguments of worklets.
if("worklets" IN_LIST trellis_parts)
  target_link_libraries(trellis_worklets PUBLIC trellis_fields)
  trellis_include_part(worklets PUBLIC)
endif()

if("kernels" IN_LIST trellis_parts)
  add_library(trellis_kernels INTERFACE)
  target_link_libraries(trellis_kernels INTERFACE trellis_trellis ${Trellis_KERNELS_TARGET})
  trellis_include_part(kernels INTERFACE)
  # LAPACKE's header stays out of reach: it is included by one source.
  if(Trellis_HAS_LAPACKE)
    add_library(trellis_lapack policies/kernels/src/Trellis_Lapacke.cpp)
    trellis_set_library_properties(trellis_lapack)
    trellis_include_layers(trellis_lapack policies)
    target_include_directories(trellis_lapack SYSTEM PRIVATE ${Trellis_LAPACKE_INCLUDE})
    target_link_libraries(trellis_lapack
      PRIVATE ${Trellis_LAPACKE_LIBRARIES} $<BUILD_INTERFACE:trellis_warnings>)
    target_compile_definitions(trellis_kernels INTERFACE TRELLIS_HAS_LAPACKE)
    target_link_libraries(trellis_kernels INTERFACE trellis_lapack)
  endif()
else()
  message(STATUS "Trellis: no Kokkos Kernels (KokkosKernels_ROOT says where it is), so "
    "Trellis::kernels is left out, with its tests and its examples")
endif()

if("mpi" IN_LIST trellis_parts)
  target_link_libraries(trellis_mpi PUBLIC trellis_trellis trellis_tools MPI::MPI_C)
  # What mpi.h may bring for C++ besides the C interface: removed by MPI 3, and not used.
  target_compile_definitions(trellis_mpi PUBLIC OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  trellis_include_part(mpi PUBLIC)
else()
  message(STATUS "Trellis: Trellis::mpi is left out, with its tests and its examples: "
    "${Trellis_WHY_NO_MPI}")
endif()

foreach(library core tools trellis ${trellis_parts})
  set_target_properties(trellis_${library} PROPERTIES EXPORT_NAME ${library})
  add_library(Trellis::${library} ALIAS trellis_${library})
endforeach()
set_target_properties(trellis_trellis PROPERTIES OUTPUT_NAME trellis)
if(TARGET trellis_lapack)
  set_target_properties(trellis_lapack PROPERTIES EXPORT_NAME lapack)
endif()
