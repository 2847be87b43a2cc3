# Run by ctest: the shared library FILE lets others see namespace trellis, what Kokkos has for its
# memory spaces, and nothing else, and its name says the release, VERSION, that it fits.
execute_process(COMMAND ${NM} --dynamic --defined-only --demangle ${FILE}
  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" "," text "${text}")
string(REGEX REPLACE "\n" ";" lines "${text}")
set(ours 0)
set(others)
foreach(line ${lines})
  string(REGEX REPLACE "^[0-9a-f]* [a-zA-Z] " "" name "${line}")
  # Descriptions of types, thunks and the like stand before the name; results of templates, too.
  string(REGEX REPLACE "^(vtable|VTT|typeinfo|typeinfo name|guard variable|TLS (init|wrapper) function|(non-)?virtual thunk) (for|to) "
    "" name "${name}")
  # nm cannot spell out some names of Clang's, those with constraints.
  string(REGEX REPLACE "^Kokkos::Impl::[A-Za-z]*SharedAllocationRecord[A-Za-z]*<" "" name "${name}")
  if(name MATCHES "^trellis::|^[^(]* trellis::|^_Z+NK?7trellis")
    math(EXPR ours "${ours} + 1")
  else()
    list(APPEND others "${line}")
  endif()
endforeach()
if(ours EQUAL 0 OR others)
  list(JOIN others "\n  " others)
  message(FATAL_ERROR "${ours} symbols of namespace trellis, and others:\n  ${others}")
endif()
string(REGEX REPLACE "[.][0-9]+$" "" release ${VERSION})
if(NOT SONAME MATCHES "[.]so[.]${release}$")
  message(FATAL_ERROR "the library's name for the loader is ${SONAME}, not that of ${release}")
endif()
message(STATUS "${ours} symbols, all of namespace trellis")
