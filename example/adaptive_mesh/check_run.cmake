# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the example adaptive_mesh and looks at what it wrote:
#
#   cmake -DPROGRAM=PROGRAM -DFOLDER=FOLDER "-DARGUMENTS=A;B" -P check_run.cmake

include(${CMAKE_CURRENT_LIST_DIR}/../shared/run_and_read.cmake)
require_files(mesh.svg strategies.svg)

must_be(ON agrees)
get(least least_patches)
get(most most_patches)
if(NOT most GREATER least)
  message(FATAL_ERROR "the mesh always has ${most} patches\n${output}")
endif()
get(enclaves enclaves)
get(skeletons skeletons)
if(enclaves EQUAL 0 OR skeletons EQUAL 0)
  message(FATAL_ERROR "${enclaves} enclaves, ${skeletons} skeleton patches\n${output}")
endif()
foreach(strategy native bsp backfill fuse_immediately:16 fuse_late:16 all_on_device:0
    round_robin:16 learning)
  must_be(ON strategies ${strategy} agrees)
  must_be(${enclaves} strategies ${strategy} enclaves)
  must_be(${skeletons} strategies ${strategy} skeletons)
endforeach()
foreach(strategy native bsp backfill)
  must_be(0 strategies ${strategy} batches)
endforeach()
