# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the example transport and looks at what it wrote:
#
#   cmake -DPROGRAM=PROGRAM -DTASKS=N -DFIELDS=N -DPASS_TASKS=N "-DGRIDS=N;N" -DFOLDER=FOLDER
#     "-DARGUMENTS=A;B" -P check_run.cmake
#
# TASKS: of a step. FIELDS: that have memory at one time with one worker. PASS_TASKS: of an iteration on
# GRIDS where tasks may run on devices.

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
string(JSON iterations LENGTH "${summary}" feedback)
if(NOT iterations EQUAL 8)
  message(FATAL_ERROR "${iterations} steps with feedback\n${output}")
endif()
# In virtual time the host takes a nanosecond for each cell and task, one after the other. On a grid
# of 8^3 a task takes 512, and a copy 10 000; on one of 32^3 two devices are of use.
string(JSON grids LENGTH "${summary}" hybrid)
list(LENGTH GRIDS wanted)
if(NOT grids EQUAL wanted)
  message(FATAL_ERROR "${grids} grids with devices, not ${wanted}\n${output}")
endif()
set(number 0)
foreach(grid ${GRIDS})
  require_files(hybrid.svg)
  must_be(ON hybrid ${number} agrees)
  must_be(${grid} hybrid ${number} grid)
  math(EXPR host "${PASS_TASKS} * ${grid} * ${grid} * ${grid}")
  must_be(${host} hybrid ${number} virtual_ns_host)
  if(grid LESS 10)
    must_be(${host} hybrid ${number} virtual_ns_hybrid)
    must_be(0 hybrid ${number} copies)
  else()
    get(hybrid hybrid ${number} virtual_ns_hybrid)
    math(EXPR half "${host} / 2")
    if(hybrid GREATER half)
      message(FATAL_ERROR "${grid}^3: ${hybrid} ns, not ${half} at most\n${output}")
    endif()
    get(copies hybrid ${number} copies)
    if(copies EQUAL 0)
      message(FATAL_ERROR "${grid}^3: no copies\n${output}")
    endif()
  endif()
  math(EXPR number "${number} + 1")
endforeach()
