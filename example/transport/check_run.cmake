# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the example transport and looks at what it wrote:
#
#   cmake -DPROGRAM=PROGRAM -DTASKS=N -DFIELDS=N -DFOLDER=FOLDER "-DARGUMENTS=A;B"
#     -P check_run.cmake
#
# TASKS: of a step. FIELDS: that have memory at one time with one worker.

include(${CMAKE_CURRENT_LIST_DIR}/../shared/run_and_read.cmake)
require_files(trace.json timeline.svg analysis.txt graph.dot phi.png)

must_be(ON agrees)
must_be(ON agrees_serially)
must_be(${TASKS} tasks)
get(bytes field_bytes)
math(EXPR predicted "${FIELDS} * ${bytes}")
# What is predicted for one worker is what it takes, in the first step.
foreach(ratio 1x1 1x2)
  must_be(${predicted} ratios ${ratio} predicted_bytes)
  must_be(${predicted} ratios ${ratio} measured_bytes)
  must_be(0 ratios ${ratio} allocated_later)
endforeach()
foreach(ratio 2x1 2x2)
  get(predicted ratios ${ratio} predicted_bytes)
  get(measured ratios ${ratio} measured_bytes)
  if(measured GREATER predicted)
    message(FATAL_ERROR "${ratio}: ${measured} bytes, not ${predicted} at most\n${output}")
  endif()
endforeach()
string(JSON passes LENGTH "${summary}" feedback)
if(NOT passes EQUAL 8)
  message(FATAL_ERROR "${passes} steps with feedback\n${output}")
endif()
