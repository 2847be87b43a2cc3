# Run by ctest (see trellis_add_compile_fail_tests): a source must not compile, and say why, in few
# lines. Given: SOURCE and COMMANDS (compile_commands.json). The source has
#
#   // EXPECT: what the compiler must say
#   // SHOWS: what it must say besides, a regular expression (optional)
#   // LINES: how many lines it may say, 15 if this is missing; how it came to the header that says
#             it (`In file included from`) does not count, nor does clang's number of errors

file(STRINGS ${SOURCE} expected REGEX "// EXPECT: ")
list(LENGTH expected lines)
if(NOT lines EQUAL 1)
  message(FATAL_ERROR
    "${SOURCE} needs one line `// EXPECT: the sentence that the compiler must say`")
endif()
string(REGEX REPLACE ".*// EXPECT: *" "" expected "${expected}")

set(shown "")
file(STRINGS ${SOURCE} line REGEX "// SHOWS: ")
if(line)
  string(REGEX REPLACE ".*// SHOWS: *" "" shown "${line}")
endif()
set(most 15)
file(STRINGS ${SOURCE} line REGEX "// LINES: ")
if(line)
  string(REGEX REPLACE ".*// LINES: *" "" most "${line}")
endif()

# The very command that CMake would compile it with.
file(READ ${COMMANDS} text)
get_filename_component(name ${SOURCE} NAME)
if(NOT text MATCHES "\"command\": \"([^\n]*/compile_fail\\.dir/${name}[^\n]*)\",?\n")
  message(FATAL_ERROR "${COMMANDS} does not know ${SOURCE}")
endif()
string(REPLACE "\\\"" "\"" command "${CMAKE_MATCH_1}")
separate_arguments(command UNIX_COMMAND "${command}")
get_filename_component(folder ${COMMANDS} DIRECTORY)
execute_process(COMMAND ${command} -fsyntax-only WORKING_DIRECTORY ${folder}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)

# Plain text and no FATAL_ERROR, which would break the compiler's lines.
function(fail text)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}")
  message(FATAL_ERROR "${name} failed")
endfunction()

if(status EQUAL 0)
  fail("this compiles, and should not: ${SOURCE}")
endif()
string(FIND "${output}" "${expected}" place)
if(place EQUAL -1)
  fail("the compiler does not say\n  ${expected}\nbut\n${output}")
endif()
if(shown AND NOT output MATCHES "${shown}")
  fail("the compiler does not show\n  ${shown}\nbut\n${output}")
endif()
string(REGEX REPLACE "(In file included|                )+ from [^\n]*\n" "" said "${output}")
string(REGEX REPLACE "\n[0-9]+ errors? generated[.]\n" "\n" said "${said}")
string(REGEX MATCHALL "\n" ends "${said}")
list(LENGTH ends lines)
if(lines GREATER most)
  fail("the compiler says ${lines} lines, not ${most} or less:\n${output}")
endif()
message(STATUS "does not compile, and says in ${lines} lines: ${expected}")
