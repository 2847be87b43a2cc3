# Kokkos Kernels is optional. Sets Trellis_KERNELS_TARGET to the target to link, or to NOTFOUND.
# Installed beside TrellisConfig.cmake, which uses it too.

# Debian's Trilinos packages leave out two files that its Kokkos Kernels includes unless their
# targets exist. The shared library knows its BLAS and LAPACK itself, so empty targets do.
get_filename_component(trellis_beside_kokkos "${Kokkos_DIR}" DIRECTORY)
if(EXISTS ${trellis_beside_kokkos}/KokkosKernels/KokkosKernelsTargets.cmake
    AND EXISTS ${trellis_beside_kokkos}/Trilinos
    AND NOT EXISTS ${trellis_beside_kokkos}/trilinos_external_packages)
  foreach(library BLAS LAPACK)
    if(NOT TARGET ${library}::all_libs)
      add_library(${library}::all_libs INTERFACE IMPORTED)
    endif()
  endforeach()
endif()
unset(trellis_beside_kokkos)

find_package(KokkosKernels CONFIG QUIET)
set(Trellis_KERNELS_TARGET NOTFOUND)
foreach(target Kokkos::kokkoskernels KokkosKernels::all_libs)
  if(TARGET ${target})
    set(Trellis_KERNELS_TARGET ${target})
    break()
  endif()
endforeach()
