# Run by ctest: PROGRAM has none of the functions and variables of the library TOOLS that those in
# LIBRARIES have not, too.

# defined_in(VARIABLE FILE): the symbols of namespace trellis that are defined there. Nothing of a
# header counts: the compiler emits it wherever it is used (w, v, u), as it does constants (r, d, b)
# that it makes for itself; what has a name in a source is text (t) or data of a class.
function(defined_in variable file)
  execute_process(COMMAND ${NM} --defined-only ${file} OUTPUT_VARIABLE text ERROR_QUIET
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9a-f]+ [tTdDbBrR] _Z[A-Z]*7trellis[^\n]*" found "${text}")
  list(TRANSFORM found REPLACE ".* " "")
  list(REMOVE_DUPLICATES found)
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

defined_in(of_tools ${TOOLS})
string(REPLACE "," ";" LIBRARIES "${LIBRARIES}")
foreach(library ${LIBRARIES})
  defined_in(of_others ${library})
  list(REMOVE_ITEM of_tools ${of_others})
endforeach()
list(LENGTH of_tools count)
if(count LESS 100)
  message(FATAL_ERROR "only ${count} symbols are those of ${TOOLS} alone: ${of_tools}")
endif()

defined_in(of_program ${PROGRAM})
set(both ${of_tools})
list(REMOVE_ITEM both ${of_program})
list(LENGTH both left)
if(NOT left EQUAL count)
  list(REMOVE_ITEM of_tools ${both})
  list(JOIN of_tools "\n  " of_tools)
  message(FATAL_ERROR "${PROGRAM} has of ${TOOLS}:\n  ${of_tools}")
endif()
message(STATUS "${PROGRAM} has none of ${count} symbols of the tools")
