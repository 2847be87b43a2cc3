# Sets Trellis_SOURCE_VERSION from the lines of core/Trellis_Version.hpp, the only place that has it.

set(Trellis_SOURCE_VERSION)
set(trellis_header ${CMAKE_CURRENT_LIST_DIR}/../core/Trellis_Version.hpp)
# A change of the header makes CMake run again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${trellis_header})
foreach(trellis_part MAJOR MINOR PATCH)
  file(STRINGS ${trellis_header} trellis_line REGEX "^#define TRELLIS_VERSION_${trellis_part} ")
  # One number that the preprocessor can compare has two digits for each part.
  if(NOT trellis_line MATCHES "^#define TRELLIS_VERSION_${trellis_part} ([0-9][0-9]?)$")
    message(FATAL_ERROR "core/Trellis_Version.hpp has no line "
      "`#define TRELLIS_VERSION_${trellis_part}` with a number from 0 to 99.")
  endif()
  list(APPEND Trellis_SOURCE_VERSION ${CMAKE_MATCH_1})
endforeach()
list(JOIN Trellis_SOURCE_VERSION "." Trellis_SOURCE_VERSION)
unset(trellis_header)
unset(trellis_line)
unset(trellis_part)
