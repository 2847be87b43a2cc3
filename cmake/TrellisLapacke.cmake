# LAPACKE, the C interface of LAPACK, is optional: `potrf` of Trellis::kernels calls it for tiles on
# the host. Sets Trellis_HAS_LAPACKE, and then Trellis_LAPACKE_INCLUDE and
# Trellis_LAPACKE_LIBRARIES. -DCMAKE_DISABLE_FIND_PACKAGE_LAPACK=ON does without.

set(Trellis_HAS_LAPACKE OFF)
find_package(LAPACK QUIET)
find_path(Trellis_LAPACKE_INCLUDE lapacke.h PATH_SUFFIXES lapacke openblas)
find_library(Trellis_LAPACKE_LIBRARY lapacke)
mark_as_advanced(Trellis_LAPACKE_INCLUDE Trellis_LAPACKE_LIBRARY)
if(NOT TARGET LAPACK::LAPACK OR NOT Trellis_LAPACKE_INCLUDE)
  return()
endif()

# Some libraries have it in their LAPACK, with others it is one of its own.
include(CheckCXXSourceCompiles)
function(trellis_check_lapacke variable)
  set(CMAKE_REQUIRED_INCLUDES ${Trellis_LAPACKE_INCLUDE})
  set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
  check_cxx_source_compiles("
    #include <lapacke.h>
    int main() {
      double a = 4;
      return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', 1, &a, 1);
    }" ${variable})
endfunction()
set(trellis_lapack_libraries ${LAPACK_LIBRARIES} ${LAPACK_LINKER_FLAGS})
trellis_check_lapacke(Trellis_LAPACK_HAS_LAPACKE ${trellis_lapack_libraries})
if(Trellis_LAPACK_HAS_LAPACKE)
  set(Trellis_LAPACKE_LIBRARIES ${trellis_lapack_libraries})
  set(Trellis_HAS_LAPACKE ON)
elseif(Trellis_LAPACKE_LIBRARY)
  trellis_check_lapacke(Trellis_LAPACKE_WORKS ${Trellis_LAPACKE_LIBRARY}
    ${trellis_lapack_libraries})
  if(Trellis_LAPACKE_WORKS)
    set(Trellis_LAPACKE_LIBRARIES ${Trellis_LAPACKE_LIBRARY} ${trellis_lapack_libraries})
    set(Trellis_HAS_LAPACKE ON)
  endif()
endif()
unset(trellis_lapack_libraries)
