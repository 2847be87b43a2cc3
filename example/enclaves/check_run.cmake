# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the example enclaves and looks at what it wrote:
#
#   cmake -DPROGRAM=PROGRAM -DTASKS=N -DFOLDER=FOLDER "-DARGUMENTS=A;B" -P check_run.cmake
#
# TASKS: enclaves of all steps.

include(${CMAKE_CURRENT_LIST_DIR}/../shared/run_and_read.cmake)
require_files(strategies.svg)

must_be(ON agrees)
must_be(${TASKS} enclaves)
foreach(strategy native bsp backfill fuse_immediately:16 fuse_late:16 all_on_device:0
    round_robin:16 learning)
  must_be(ON strategies ${strategy} agrees)
  must_be(${TASKS} strategies ${strategy} enclaves)
  get(done strategies ${strategy} found_done)
  if(done GREATER TASKS)
    message(FATAL_ERROR "${strategy}: ${done} of ${TASKS} tasks were done\n${output}")
  endif()
endforeach()
# What these never fuse, and what they say of the size of batches.
foreach(strategy native bsp backfill)
  must_be(0 strategies ${strategy} batches)
endforeach()
foreach(strategy fuse_immediately:16 fuse_late:16 round_robin:16)
  get(batches strategies ${strategy} batches)
  get(tasks strategies ${strategy} tasks_in_batches)
  math(EXPR wanted "16 * ${batches}")
  if(NOT tasks EQUAL wanted)
    message(FATAL_ERROR "${strategy}: ${tasks} tasks in ${batches} batches\n${output}")
  endif()
endforeach()
# A serial graph fuses nothing. Elsewhere the burst of a subdomain is a batch, if it has so many.
get(patches patches)
get(batches strategies fuse_immediately:16 batches)
if("$ENV{TRELLIS_SERIAL}" STREQUAL "1")
  must_be(0 strategies fuse_immediately:16 batches)
elseif(patches GREATER 5 AND batches EQUAL 0)
  message(FATAL_ERROR "no batches\n${output}")
endif()
