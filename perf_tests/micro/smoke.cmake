# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D MICRO=PROGRAM -P smoke.cmake: runs each family of benchmarks for a moment and fails where
# one reports an error, or where a family has no row among those that are run.
cmake_minimum_required(VERSION 3.22)
set(smallest "accesses:[048]|views:[08]|tiles:1[06]|areas:[12]|width:10|children:10?|depth:1|cells:16|successors:[01]|bodies:2")
set(rows "[a-z0-9_]+(/(${smallest}|tasks:10000|in_flight:1024|tasks:400/us:2/gap:0|chains:3/us:20))?|areas_of_[a-z_]+/areas:10|batch_[a-z_]+/tasks:16/indices:64")
set(filter "^(${rows})(/workers:2)?/(real_time|manual_time)$")

function(list_families out)
  execute_process(COMMAND ${MICRO} --benchmark_list_tests ${ARGN} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" names "${names}")
  list(TRANSFORM names REPLACE "/.*" "")
  list(REMOVE_DUPLICATES names)
  set(${out} ${names} PARENT_SCOPE)
endfunction()

list_families(all)
list_families(covered --benchmark_filter=${filter})
foreach(family ${all})
  if(NOT family IN_LIST covered)
    message(FATAL_ERROR "${family} has no row among those that are run")
  endif()
endforeach()

execute_process(COMMAND ${MICRO} --benchmark_min_time=0.001 --benchmark_filter=${filter}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result ECHO_OUTPUT_VARIABLE ECHO_ERROR_VARIABLE)
if(NOT result EQUAL 0 OR output MATCHES "ERROR OCCURRED")
  message(FATAL_ERROR "micro failed (${result})")
endif()
