# The options of a build, and what follows from them for every target.

option(Trellis_ENABLE_TESTS "Build the tests (GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(Trellis_ENABLE_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(Trellis_ENABLE_BENCHMARKS "Build the benchmarks (Google Benchmark)" ${PROJECT_IS_TOP_LEVEL})
option(Trellis_ENABLE_SIMULATED
  "Build the simulated device; its space reaches into Kokkos (tested: 4.5, 4.6 and 5.2)" ON)
option(Trellis_ENABLE_MPI "Build Trellis::mpi if there is an MPI" ON)
option(Trellis_WARNINGS_AS_ERRORS "Let no compiler warning of Trellis's own code pass" OFF)
option(Trellis_FETCH_KOKKOS "Download an upstream Kokkos release instead of finding one" OFF)
set(Trellis_REQUIRE_SPACES "" CACHE STRING
  "Execution spaces that Kokkos must have, e.g. \"Serial;OpenMP\"; the presets use it")
set(Trellis_SANITIZE "" CACHE STRING
  "Sanitizers of GCC and Clang to build with: \"address;undefined\" or \"thread\"")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF) # Kokkos asks for this
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
endif()

if(Trellis_SANITIZE)
  list(JOIN Trellis_SANITIZE "," names)
  add_compile_options(-fsanitize=${names} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${names})
  if(Trellis_SANITIZE MATCHES undefined)
    # Assertions of the standard library: an empty optional asked for its value, a wrong index.
    add_compile_definitions(_GLIBCXX_ASSERTIONS)
  endif()
  # GCC says so by these macros, and so does Clang from version 22 on.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 22)
    foreach(name IN ITEMS address thread)
      if(Trellis_SANITIZE MATCHES ${name})
        string(TOUPPER ${name} name)
        add_compile_definitions(__SANITIZE_${name}__=1)
      endif()
    endforeach()
  endif()
endif()

# Linked PRIVATE by every target of ours: warnings are no business of those who use Trellis.
add_library(trellis_warnings INTERFACE)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(trellis_warnings INTERFACE -Wall -Wextra -Wshadow
    $<$<BOOL:${Trellis_WARNINGS_AS_ERRORS}>:-Werror>)
  if(Trellis_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC warns that its thread sanitizer cannot see fences; the tests are the judge of that.
    target_compile_options(trellis_warnings INTERFACE -Wno-tsan)
  endif()
endif()

# Precompiled headers for tests and programs (CMAKE_DISABLE_PRECOMPILE_HEADERS=ON switches them
# off), but not through nvcc's wrapper. The library gains little by them, and without them its build
# shows that every source includes what it needs.
set(trellis_precompiles OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS
    AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT CMAKE_CXX_COMPILER MATCHES nvcc)
  set(trellis_precompiles ON)
  # CMake's own hides all warnings of what is precompiled, our headers' too.
  set(CMAKE_PCH_PROLOGUE "")
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # With the time in it at which it was made, ccache would know none of them again.
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
