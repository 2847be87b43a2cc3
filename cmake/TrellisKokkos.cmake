# Finds Kokkos (>= 4.5, any that CMake finds is used as it is), Threads, the JSON headers, spdlog,
# Kokkos Kernels, LAPACKE, MPI.

find_package(Threads REQUIRED)

set(trellis_kokkos_required 4.5)
if(Trellis_FETCH_KOKKOS)
  include(FetchContent)
  FetchContent_Declare(Kokkos GIT_REPOSITORY https://github.com/kokkos/kokkos.git
    GIT_TAG 4.7.01 GIT_SHALLOW ON)
  FetchContent_MakeAvailable(Kokkos)
else()
  find_package(Kokkos ${trellis_kokkos_required} CONFIG QUIET)
  # A major release newer than the one asked for counts as incompatible in Kokkos's version file.
  if(NOT Kokkos_FOUND)
    find_package(Kokkos CONFIG QUIET)
  endif()
  if(NOT Kokkos_FOUND)
    message(FATAL_ERROR "Trellis needs Kokkos >= ${trellis_kokkos_required}, and CMake finds none. "
      "Say where it is (-DCMAKE_PREFIX_PATH=/its/prefix or -DKokkos_ROOT=/its/prefix), "
      "or download a release (-DTrellis_FETCH_KOKKOS=ON), or let ./run set up one.")
  elseif(Kokkos_VERSION VERSION_LESS trellis_kokkos_required)
    message(FATAL_ERROR
      "Trellis needs Kokkos >= ${trellis_kokkos_required}, and CMake finds ${Kokkos_VERSION} in "
      "${Kokkos_DIR}. Name a newer one (-DKokkos_ROOT=/its/prefix), or download a release "
      "(-DTrellis_FETCH_KOKKOS=ON), or let ./run set up one.")
  endif()
endif()

foreach(space ${Trellis_REQUIRE_SPACES})
  string(TOUPPER ${space} device)
  if(NOT Kokkos_ENABLE_${device})
    message(FATAL_ERROR "This build asks for a Kokkos with the ${space} execution space "
      "(Trellis_REQUIRE_SPACES), and the one in ${Kokkos_DIR} has only: ${Kokkos_DEVICES}. "
      "Name another one (-DKokkos_ROOT=/its/prefix) or take the preset `native`.")
  endif()
endforeach()
if(Trellis_SANITIZE MATCHES thread AND Kokkos_ENABLE_OPENMP AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  message(WARNING
    "GCC's OpenMP runtime is not instrumented: the thread sanitizer will report races that are "
    "none. Use a Kokkos with Serial only.")
endif()

# CMake precompiles headers as host code, and a HIP compiler compiles each source for the device as
# well.
if(Kokkos_ENABLE_HIP)
  set(trellis_precompiles OFF)
endif()

find_package(nlohmann_json 3.9 CONFIG QUIET)
if(NOT nlohmann_json_FOUND)
  message(FATAL_ERROR
    "Trellis needs the headers of nlohmann_json >= 3.9 (Debian: nlohmann-json3-dev), and CMake "
    "finds none. Install them, or say where they are (-Dnlohmann_json_ROOT=/its/prefix).")
endif()

# Optional: the log of task states needs it.
find_package(spdlog CONFIG QUIET)
set(Trellis_HAS_SPDLOG OFF)
if(TARGET spdlog::spdlog_header_only)
  set(Trellis_HAS_SPDLOG ON)
endif()

# Optional: TRELLIS_BIND needs it to find the cores of the machine.
find_path(Trellis_HWLOC_INCLUDE hwloc.h)
find_library(Trellis_HWLOC_LIBRARY hwloc)
mark_as_advanced(Trellis_HWLOC_INCLUDE Trellis_HWLOC_LIBRARY)
set(Trellis_HAS_HWLOC OFF)
if(Trellis_HWLOC_INCLUDE AND Trellis_HWLOC_LIBRARY)
  set(Trellis_HAS_HWLOC ON)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/TrellisKokkosKernels.cmake)

set(Trellis_HAS_MPI OFF)
set(Trellis_MPI_NAME OFF)
set(Trellis_WHY_NO_MPI "Trellis_ENABLE_MPI is off")
if(Trellis_ENABLE_MPI)
  include(${CMAKE_CURRENT_LIST_DIR}/TrellisMpi.cmake)
endif()

set(Trellis_HAS_LAPACKE OFF)
if(Trellis_KERNELS_TARGET)
  include(${CMAKE_CURRENT_LIST_DIR}/TrellisLapacke.cmake)
endif()
message(STATUS "Trellis: Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}), Kokkos Kernels "
  "${Trellis_KERNELS_TARGET}, LAPACKE ${Trellis_HAS_LAPACKE}, MPI ${Trellis_MPI_NAME}, "
  "spdlog ${Trellis_HAS_SPDLOG}, hwloc ${Trellis_HAS_HWLOC}, C++${CMAKE_CXX_STANDARD}")
