# The targets: Trellis::core (no Kokkos), Trellis::trellis (everything), Trellis::kernels,
# Trellis::mpi (where there is an MPI).

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

set(core_globs core/*/*.cpp)
set(trellis_globs spaces/src/*.cpp policies/src/*.cpp policies/fields/src/*.cpp
  policies/worklets/src/*.cpp)
set(mpi_globs policies/mpi/src/*.cpp)
set(trellis_libraries core trellis)
if(Trellis_HAS_MPI)
  list(APPEND trellis_libraries mpi)
endif()
foreach(backend ${trellis_backends})
  list(APPEND trellis_globs spaces/${backend}/*.cpp)
endforeach()

# A static library must have a source, a young layer may have none.
file(WRITE ${PROJECT_BINARY_DIR}/empty.cpp "")
foreach(library ${trellis_libraries})
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${${library}_globs})
  if(NOT sources)
    set(sources ${PROJECT_BINARY_DIR}/empty.cpp)
  endif()
  add_library(trellis_${library} ${sources})
  target_compile_features(trellis_${library} PUBLIC cxx_std_20)
  target_link_libraries(trellis_${library} PUBLIC Threads::Threads
    PRIVATE $<BUILD_INTERFACE:trellis_warnings> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  set_target_properties(trellis_${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Eight sources at a time, unless whoever builds has said what they want: the headers take the
  # compiler most of the time. The preset `debug` compiles each by itself, so that one that lacks an
  # include is found.
  if(NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(trellis_${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endforeach()

# Without Kokkos there is nothing for a device in it, so nvcc, which Kokkos' wrapper would start, has
# no part in it: it takes longer, and it does not compile fmt's consteval functions.
if(CMAKE_CXX_COMPILER MATCHES nvcc_wrapper)
  target_compile_options(trellis_core PRIVATE --host-only)
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
  target_compile_definitions(trellis_core PRIVATE TRELLIS_HAS_SPDLOG)
  foreach(target spdlog::spdlog_header_only fmt::fmt-header-only)
    if(TARGET ${target})
      target_include_directories(trellis_core SYSTEM PRIVATE
        $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
      target_compile_definitions(trellis_core PRIVATE
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
trellis_include_layers(trellis_trellis ${trellis_layers})
target_link_libraries(trellis_trellis PUBLIC trellis_core Kokkos::kokkos)
# Views as arguments go through a std::tuple, whose functions are constexpr and nothing more.
if(Kokkos_ENABLE_CUDA AND Kokkos_CXX_COMPILER_ID STREQUAL NVIDIA)
  target_compile_options(trellis_trellis PUBLIC
    $<$<COMPILE_LANGUAGE:CXX,CUDA>:--expt-relaxed-constexpr>)
endif()

# spdlog takes the compiler longest of all, and the log is not on a fast path.
if(Trellis_HAS_SPDLOG AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  set_source_files_properties(core/trace/Trellis_StateLog.cpp PROPERTIES COMPILE_OPTIONS -O1)
endif()

add_library(trellis_kernels INTERFACE)
target_link_libraries(trellis_kernels INTERFACE trellis_trellis)
if(Trellis_KERNELS_TARGET)
  target_link_libraries(trellis_kernels INTERFACE ${Trellis_KERNELS_TARGET})
  # <Trellis_Kernels.hpp> is in reach of those who link this, and of nobody else.
  target_include_directories(trellis_kernels INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/policies/kernels>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trellis/kernels>)
  # LAPACKE's header stays out of reach: it is included by one source.
  if(Trellis_HAS_LAPACKE)
    add_library(trellis_lapack policies/kernels/src/Trellis_Lapacke.cpp)
    trellis_include_layers(trellis_lapack policies)
    target_compile_features(trellis_lapack PUBLIC cxx_std_20)
    target_include_directories(trellis_lapack SYSTEM PRIVATE ${Trellis_LAPACKE_INCLUDE})
    target_link_libraries(trellis_lapack
      PRIVATE ${Trellis_LAPACKE_LIBRARIES} $<BUILD_INTERFACE:trellis_warnings>)
    set_target_properties(trellis_lapack PROPERTIES POSITION_INDEPENDENT_CODE ON EXPORT_NAME lapack)
    target_compile_definitions(trellis_kernels INTERFACE TRELLIS_HAS_LAPACKE)
    target_link_libraries(trellis_kernels INTERFACE trellis_lapack)
  endif()
else()
  message(STATUS "Trellis: no Kokkos Kernels (KokkosKernels_ROOT says where it is), so "
    "Trellis::kernels is left out, with its tests and its examples")
endif()

if(Trellis_HAS_MPI)
  target_link_libraries(trellis_mpi PUBLIC trellis_trellis MPI::MPI_C)
  # What mpi.h may bring for C++ besides the C interface: removed by MPI 3, and not used.
  target_compile_definitions(trellis_mpi PUBLIC OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  # As above: for those who link this.
  target_include_directories(trellis_mpi PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/policies/mpi>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trellis/mpi>)
  set_target_properties(trellis_mpi PROPERTIES EXPORT_NAME mpi)
  add_library(Trellis::mpi ALIAS trellis_mpi)
else()
  message(STATUS "Trellis: Trellis::mpi is left out, with its tests and its examples: "
    "${Trellis_WHY_NO_MPI}")
endif()

set_target_properties(trellis_core PROPERTIES EXPORT_NAME core)
set_target_properties(trellis_trellis PROPERTIES EXPORT_NAME trellis OUTPUT_NAME trellis)
set_target_properties(trellis_kernels PROPERTIES EXPORT_NAME kernels)
add_library(Trellis::core ALIAS trellis_core)
add_library(Trellis::trellis ALIAS trellis_trellis)
add_library(Trellis::kernels ALIAS trellis_kernels)
