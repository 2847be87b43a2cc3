# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the heat example and looks at what it wrote:
#
#   cmake -DHEAT=PROGRAM -DFOLDER=FOLDER -DERROR=NUMBER|NULL "-DARGUMENTS=A;B" -P check_run.cmake
#
# ERROR: the JSON type that max_error must have.

file(REMOVE_RECURSE "${FOLDER}")
execute_process(COMMAND "${HEAT}" ${ARGUMENTS} --check --output "${FOLDER}" RESULT_VARIABLE result
  OUTPUT_VARIABLE output ERROR_VARIABLE error)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "heat ended with ${result}\n${output}\n${error}")
endif()

foreach(name summary.json trace.json timeline.svg analysis.txt graph.dot field.png)
  if(NOT EXISTS "${FOLDER}/${name}")
    message(FATAL_ERROR "${name} is missing\n${output}")
  endif()
  file(SIZE "${FOLDER}/${name}" bytes)
  if(bytes LESS 100)
    message(FATAL_ERROR "${name} has ${bytes} bytes only")
  endif()
endforeach()

file(READ "${FOLDER}/summary.json" summary)
foreach(key backend grid tiles steps workers tasks dependency_edges max_error max_difference_to_plain seconds_plain
    seconds_trellis)
  string(JSON type ERROR_VARIABLE missing TYPE "${summary}" ${key})
  if(missing)
    message(FATAL_ERROR "summary.json has no ${key}\n${summary}")
  endif()
endforeach()
string(JSON type TYPE "${summary}" max_error)
string(JSON difference GET "${summary}" max_difference_to_plain)
string(JSON tasks GET "${summary}" tasks)
string(JSON edges GET "${summary}" dependency_edges)
if(NOT type STREQUAL "${ERROR}")
  message(FATAL_ERROR "max_error is a ${type}, not a ${ERROR}")
elseif(NOT difference EQUAL 0)
  message(FATAL_ERROR "max_difference_to_plain is ${difference}")
elseif(TASKS AND NOT tasks EQUAL TASKS)
  message(FATAL_ERROR "${tasks} tasks, not ${TASKS}")
elseif(EDGES AND NOT edges EQUAL EDGES)
  message(FATAL_ERROR "${edges} dependency edges, not ${EDGES}")
endif()
file(READ "${FOLDER}/trace.json" trace)
string(JSON type ERROR_VARIABLE broken TYPE "${trace}" traceEvents)
if(broken)
  message(FATAL_ERROR "trace.json holds no trace events: ${broken}")
endif()
