# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the example particles and looks at what it wrote:
#
#   cmake "-DPROGRAM=LAUNCHER;PROGRAM" -DRANKS=N -DMEASURED=ON|OFF -DSERIAL=ON|OFF
#     "-DCHUNKS=full;partial;empty" -DFOLDER=FOLDER "-DARGUMENTS=A;B" -P check_run.cmake
#
# MEASURED: a value that theory knows must have been found. CHUNKS: of these kinds some must have
# come. SERIAL: nothing overlaps, so nothing is looked at.

include(${CMAKE_CURRENT_LIST_DIR}/../shared/run_and_read.cmake)
require_files(trace.json timeline.svg analysis.txt graph.dot phase_space.png)

must_be(${RANKS} ranks)
must_be(ON same_as_one_rank)
must_be(ON charge_flows)
if(SERIAL)
  must_be(ON serial)
else()
  must_be(OFF serial)
endif()
string(JSON type TYPE "${summary}" known_value measured)
if(MEASURED AND NOT type STREQUAL NUMBER)
  message(FATAL_ERROR "nothing was measured\n${output}")
endif()
if(CHUNKS)
  foreach(kind ${CHUNKS})
    get(count chunks ${kind})
    if(NOT count GREATER 0)
      message(FATAL_ERROR "no ${kind} chunk has come\n${output}")
    endif()
  endforeach()
endif()

# Two sides of each rank have an exchange in each step, which ends with a chunk that is not full.
get(steps steps)
get(partial chunks partial)
get(empty chunks empty)
math(EXPR ends "2 * ${RANKS} * ${steps}")
math(EXPR found "${partial} + ${empty}")
if(NOT found EQUAL ends)
  message(FATAL_ERROR "${found} last chunks, not ${ends}")
endif()
get(full chunks full)
get(chunk chunk)
get(particles chunks particles)
math(EXPR least "${full} * ${chunk} + ${partial}")
math(EXPR most "${full} * ${chunk} + ${partial} * (${chunk} - 1)")
if(particles LESS least OR particles GREATER most)
  message(FATAL_ERROR
    "${particles} particles do not fit ${full} full and ${partial} partial chunks")
endif()
get(checks check_every)
if(checks GREATER 0 AND steps GREATER 0)
  get(rows grid 0)
  get(columns grid 1)
  get(each particles_per_cell)
  math(EXPR all "${rows} * ${columns} * ${each}")
  must_be(${all} particles)
endif()

# In the recorded runs: two releases of the currents and two of what leaves, in each step; in turns
# a message that begins early, and one that passes while the core is pushed.
if(NOT SERIAL)
  get(recorded recorded_steps)
  math(EXPR released "4 * ${RANKS} * ${recorded}")
  math(EXPR early "${RANKS} * ((${recorded} + 1) / 2)")
  math(EXPR overlapped "${RANKS} * (${recorded} / 2)")
  must_be(${released} released_edges)
  must_be(${early} early_messages)
  must_be(${overlapped} overlapped_messages)
  get(pairs independent_pairs)
  if(NOT pairs GREATER 0)
    message(FATAL_ERROR "nothing was said of the core and messages\n${output}")
  endif()
endif()
