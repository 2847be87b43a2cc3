# `cmake --install`: libraries, the headers that can be reached from public ones (all layers in
# include/trellis, see ReachableHeaders.cmake), a package for find_package(Trellis), and in
# share/doc/trellis the pages, the examples and a template of a project.

include(CMakePackageConfigHelpers)
set(trellis_package ${CMAKE_INSTALL_LIBDIR}/cmake/Trellis)
set(trellis_doc ${CMAKE_INSTALL_DATADIR}/doc/trellis)

# The layers become one folder, so two headers of one name would overwrite each other.
set(seen)
foreach(layer ${trellis_layers})
  file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/${layer}
    ${PROJECT_SOURCE_DIR}/${layer}/*.hpp)
  foreach(header ${headers})
    if(header IN_LIST seen)
      message(FATAL_ERROR
        "Two layers have a header ${header}: they would be installed to the same place.")
    endif()
    list(APPEND seen ${header})
  endforeach()
endforeach()
string(CONFIGURE [=[
  cmake_policy(VERSION 3.22)
  include("@CMAKE_CURRENT_LIST_DIR@/ReachableHeaders.cmake")
  set(source "@PROJECT_SOURCE_DIR@")
  trellis_reachable_headers(headers "${source}" @trellis_parts@)
  cmake_path(APPEND CMAKE_INSTALL_PREFIX "@CMAKE_INSTALL_INCLUDEDIR@" trellis
    OUTPUT_VARIABLE includes)
  foreach(header ${headers})
    get_filename_component(folder ${header} DIRECTORY)
    string(REGEX REPLACE "^(core|spaces|policies)/?" "" folder ${folder}) # below its layer
    file(INSTALL "${source}/${header}" DESTINATION "${includes}/${folder}")
  endforeach()
]=] code @ONLY)
install(CODE "${code}")

# Some parts need what is looked for only by those who ask for them: they are exported apart.
set(targets trellis_core trellis_tools trellis_trellis)
foreach(part ${trellis_parts})
  if(part MATCHES "^(kernels|mpi)$")
    set(targets_of_part trellis_${part})
    if(part STREQUAL kernels AND TARGET trellis_lapack)
      list(APPEND targets_of_part trellis_lapack)
    endif()
    install(TARGETS ${targets_of_part} EXPORT Trellis_${part}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT Trellis_${part} NAMESPACE Trellis:: FILE TrellisTargets_${part}.cmake
      DESTINATION ${trellis_package})
  else()
    list(APPEND targets trellis_${part})
  endif()
endforeach()
install(TARGETS ${targets} EXPORT TrellisTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT TrellisTargets NAMESPACE Trellis:: DESTINATION ${trellis_package})

install(PROGRAMS core/tools/statistics.py DESTINATION ${CMAKE_INSTALL_BINDIR}
  RENAME trellis_statistics)
if(Trellis_HAS_MPI)
  install(PROGRAMS policies/mpi/merge_traces.py DESTINATION ${CMAKE_INSTALL_BINDIR}
    RENAME trellis_merge_traces)
endif()

configure_package_config_file(cmake/TrellisConfig.cmake.in TrellisConfig.cmake INSTALL_DESTINATION
  ${trellis_package})
write_basic_package_version_file(TrellisConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TrellisConfig.cmake
  ${PROJECT_BINARY_DIR}/TrellisConfigVersion.cmake
  cmake/TrellisKokkosKernels.cmake cmake/TrellisMpi.cmake DESTINATION ${trellis_package})

# As in the sources, so that the pages find each other, but for the template.
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff CONTRIBUTING.md SECURITY.md
  DESTINATION ${trellis_doc})
install(DIRECTORY docs DESTINATION ${trellis_doc})
install(DIRECTORY example DESTINATION ${trellis_doc} PATTERN template EXCLUDE)
install(DIRECTORY example/template DESTINATION ${trellis_doc})
