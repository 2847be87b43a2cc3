# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the example heat_ranks and looks at what it wrote:
#
#   cmake "-DPROGRAM=LAUNCHER;PROGRAM" -DRANKS=N -DPLAN=ON|OFF -DFOLDER=FOLDER -DERROR=NUMBER|NULL
#     "-DARGUMENTS=A;B" -P check_run.cmake
#
# ERROR: the JSON type that max_error must have.

include(${CMAKE_CURRENT_LIST_DIR}/../shared/run_and_read.cmake)
require_files(trace.json timeline.svg analysis.txt graph.dot field.png)

must_be(${RANKS} ranks)
must_be(ON same_as_bulk)
must_be(ON same_as_one_rank)
must_be(${PLAN} plan)
string(JSON type TYPE "${summary}" max_error)
if(NOT type STREQUAL "${ERROR}")
  message(FATAL_ERROR "max_error is a ${type}, not a ${ERROR}")
elseif(type STREQUAL NUMBER)
  get(max_error max_error)
  if(NOT max_error LESS 1e-2)
    message(FATAL_ERROR "max_error is ${max_error}")
  endif()
endif()
get(steps steps)
get(each check_every)
string(JSON changes LENGTH "${summary}" largest_changes)
if(each EQUAL 0)
  set(each 1000000)
endif()
math(EXPR wanted "${steps} / ${each}")
if(NOT changes EQUAL wanted)
  message(FATAL_ERROR "${changes} checks, not ${wanted}")
endif()

# Each two neighbours of the process grid exchange after each step, and both count that.
get(rows process_grid 0)
get(columns process_grid 1)
get(recorded recorded_steps)
math(EXPR ranks "${rows} * ${columns}")
math(EXPR exchanges
  "2 * ${recorded} * ((${rows} - 1) * ${columns} + ${rows} * (${columns} - 1))")
if(NOT ranks EQUAL RANKS)
  message(FATAL_ERROR "${rows} x ${columns} are not ${RANKS} ranks")
endif()
get(counted communication exchanges)
get(under_way communication seconds_under_way)
get(hidden communication seconds_hidden)
get(all communication seconds)
if(NOT counted EQUAL exchanges)
  message(FATAL_ERROR "${counted} exchanges, not ${exchanges}")
elseif(exchanges GREATER 0 AND NOT under_way GREATER 0)
  message(FATAL_ERROR "${exchanges} exchanges, but none was under way")
elseif(hidden GREATER under_way OR under_way GREATER all)
  message(FATAL_ERROR "hidden ${hidden}, under way ${under_way}, of ${all} seconds")
endif()
string(JSON of_ranks LENGTH "${summary}" communication of_each_rank)
if(NOT of_ranks EQUAL RANKS)
  message(FATAL_ERROR "${of_ranks} ranks have told about their communication")
endif()
