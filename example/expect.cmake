# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs a program and looks at how it ends and what it says:
#
#   cmake [-DFAILS=ON] [-DOUTPUT=FILE] [-DSENTENCE=TEXT] [-DCLEAN=ON] -P expect.cmake -- PROGRAM
#     ARGUMENT...
#
# FAILS: it must end with another status than 0, and not by a signal. OUTPUT: its standard output
# must be this file, exactly. SENTENCE: its standard output or error must hold this text.
# CLEAN: with TRELLIS_WARN=1 nothing is told of its annotations.

set(command)
set(after_dashes OFF)
foreach(k RANGE ${CMAKE_ARGC})
  if(after_dashes AND NOT "${CMAKE_ARGV${k}}" STREQUAL "")
    list(APPEND command "${CMAKE_ARGV${k}}")
  elseif("${CMAKE_ARGV${k}}" STREQUAL "--")
    set(after_dashes ON)
  endif()
endforeach()

if(CLEAN)
  set(ENV{TRELLIS_WARN} 1)
endif()
execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE
  error)
set(all "status: ${result}\n${output}\n${error}")
if(NOT result MATCHES "^[0-9]+$")
  message(FATAL_ERROR "The program did not end by itself, ${all}")
elseif(FAILS AND result EQUAL 0)
  message(FATAL_ERROR "This had to fail, ${all}")
elseif(NOT FAILS AND NOT result EQUAL 0)
  message(FATAL_ERROR "This had to succeed, ${all}")
endif()
if(CLEAN AND "${output}${error}" MATCHES "warning \\[[a-z_]+\\]: [^\n]*")
  message(FATAL_ERROR "With TRELLIS_WARN=1 it is told:\n${CMAKE_MATCH_0}")
endif()
if(OUTPUT)
  file(READ "${OUTPUT}" expected)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "The output is not that of ${OUTPUT}:\n${output}")
  endif()
endif()
if(SENTENCE)
  string(FIND "${output}${error}" "${SENTENCE}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "'${SENTENCE}' is not in the output, ${all}")
  endif()
endif()
