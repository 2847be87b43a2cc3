# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For scripts that run an example and look at what it wrote. Wants PROGRAM (a list), ARGUMENTS and
# FOLDER.
#
#   run_example(FILE...)      It must succeed and write these files. Sets `output` and `summary`.
#   get(VARIABLE KEY...)      What summary.json has there; it must have something.
#   must_be(WANTED KEY...)    That must be this.

macro(run_example)
  file(REMOVE_RECURSE "${FOLDER}")
  execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} --output "${FOLDER}" RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the program ended with ${result}\n${output}\n${error}")
  endif()
  foreach(name ${ARGN})
    if(NOT EXISTS "${FOLDER}/${name}")
      message(FATAL_ERROR "${name} is missing\n${output}")
    endif()
  endforeach()
  file(READ "${FOLDER}/summary.json" summary)
endmacro()

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
