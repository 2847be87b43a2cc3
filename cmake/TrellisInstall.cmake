# `cmake --install`: libraries, headers of all layers in include/trellis, and a package for
# find_package(Trellis).

include(CMakePackageConfigHelpers)
set(trellis_package ${CMAKE_INSTALL_LIBDIR}/cmake/Trellis)

# The layers become one folder, so two headers of one name would overwrite each other.
set(seen)
foreach(layer ${trellis_layers})
  file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/${layer}
    ${PROJECT_SOURCE_DIR}/${layer}/*.hpp)
  list(FILTER headers EXCLUDE REGEX "(^|/)src/") # not installed
  foreach(header ${headers})
    if(header IN_LIST seen)
      message(FATAL_ERROR
        "Two layers have a header ${header}: they would be installed to the same place.")
    endif()
    list(APPEND seen ${header})
  endforeach()
  if(EXISTS ${PROJECT_SOURCE_DIR}/${layer})
    install(DIRECTORY ${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trellis
      FILES_MATCHING PATTERN *.hpp PATTERN src EXCLUDE)
  endif()
endforeach()

set(targets trellis_core trellis_trellis trellis_kernels)
if(TARGET trellis_lapack)
  list(APPEND targets trellis_lapack)
endif()
install(TARGETS ${targets} EXPORT TrellisTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT TrellisTargets NAMESPACE Trellis:: DESTINATION ${trellis_package})

install(PROGRAMS core/trace/statistics.py DESTINATION ${CMAKE_INSTALL_BINDIR}
  RENAME trellis_statistics)

# Apart from the others: it needs MPI, which only those look for who ask for the component.
if(Trellis_HAS_MPI)
  install(TARGETS trellis_mpi EXPORT TrellisMpiTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT TrellisMpiTargets NAMESPACE Trellis:: DESTINATION ${trellis_package})
  install(FILES cmake/TrellisMpi.cmake DESTINATION ${trellis_package})
  install(PROGRAMS policies/mpi/merge_traces.py DESTINATION ${CMAKE_INSTALL_BINDIR}
    RENAME trellis_merge_traces)
endif()

configure_package_config_file(cmake/TrellisConfig.cmake.in TrellisConfig.cmake INSTALL_DESTINATION
  ${trellis_package})
write_basic_package_version_file(TrellisConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TrellisConfig.cmake
  ${PROJECT_BINARY_DIR}/TrellisConfigVersion.cmake
  cmake/TrellisKokkosKernels.cmake DESTINATION ${trellis_package})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trellis)
