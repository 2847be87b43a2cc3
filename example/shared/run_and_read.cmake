# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Included by the check_run.cmake of a program with ranks. Runs PROGRAM (with what starts its ranks)
# with ARGUMENTS, lets it write into FOLDER, and defines
#
#   require_files(FILE...)         in FOLDER
#   get(VARIABLE KEY...)           of FOLDER/summary.json
#   must_be(VALUE KEY...)          the same, and is this value
#
# `output` is what it has printed.

file(REMOVE_RECURSE "${FOLDER}")
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} --output "${FOLDER}" RESULT_VARIABLE result
  OUTPUT_VARIABLE output ERROR_VARIABLE error)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}\n${output}\n${error}")
endif()

function(require_files)
  foreach(name ${ARGN})
    if(NOT EXISTS "${FOLDER}/${name}")
      message(FATAL_ERROR "${name} is missing\n${output}")
    endif()
  endforeach()
endfunction()
require_files(summary.json)

file(READ "${FOLDER}/summary.json" summary)
function(get variable)
  string(JSON value ERROR_VARIABLE missing GET "${summary}" ${ARGN})
  if(missing)
    message(FATAL_ERROR "summary.json has no ${ARGN}\n${summary}")
  endif()
  set(${variable} "${value}" PARENT_SCOPE)
endfunction()
function(must_be wanted)
  get(value ${ARGN})
  if(NOT "${value}" STREQUAL "${wanted}")
    message(FATAL_ERROR "${ARGN} is ${value}, not ${wanted}\n${output}")
  endif()
endfunction()
