# Run by ctest (see trellis_add_compile_fail_test): a source must not compile and say why, and must compile
# with TRELLIS_COMPILE_OK. Given: NAME of the target, SOURCE, EXPECT (may be empty), COMMANDS (compile_commands.json).

if(EXPECT STREQUAL "")
  file(STRINGS ${SOURCE} comment REGEX "// EXPECT: ")
  list(LENGTH comment lines)
  if(NOT lines EQUAL 1)
    message(FATAL_ERROR "${SOURCE} needs one line `// EXPECT: the sentence that the compiler must say`")
  endif()
  string(REGEX REPLACE ".*// EXPECT: *" "" EXPECT "${comment}")
endif()

# The very command that CMake would compile it with.
file(READ ${COMMANDS} text)
if(NOT text MATCHES "\"command\": \"([^\n]*/${NAME}\\.dir/[^\n]*)\",?\n")
  message(FATAL_ERROR "${COMMANDS} does not know the target ${NAME}")
endif()
string(REPLACE "\\\"" "\"" command "${CMAKE_MATCH_1}")
separate_arguments(command UNIX_COMMAND "${command}")
get_filename_component(folder ${COMMANDS} DIRECTORY)

function(compile status_variable output_variable)
  execute_process(COMMAND ${command} -fsyntax-only -O0 -w ${ARGN} WORKING_DIRECTORY ${folder}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

# Plain text and no FATAL_ERROR, which would break the compiler's lines.
function(fail text)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}")
  message(FATAL_ERROR "${NAME} failed")
endfunction()

compile(status output -DTRELLIS_COMPILE_OK)
if(NOT status EQUAL 0)
  fail("with TRELLIS_COMPILE_OK this should compile:\n${output}")
endif()
compile(status output)
if(status EQUAL 0)
  fail("this compiles, and should not: ${SOURCE}")
endif()
string(FIND "${output}" "${EXPECT}" place)
if(place EQUAL -1)
  fail("the compiler does not say\n  ${EXPECT}\nbut\n${output}")
endif()
message(STATUS "does not compile, and says: ${EXPECT}")
