# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

trellis_add_test(taskbench_tests
  SOURCES tests/pattern_test.cpp tests/metg_test.cpp Kernel.cpp Measure.cpp Work.cpp
  LIBRARIES taskbench_patterns)
target_include_directories(taskbench_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})

# Every model that is in, and every pattern, tiny: each task checks its inputs.
add_test(NAME perf.taskbench.smoke COMMAND taskbench --smoke --workers 2)

# A model that is not told of an edge must be found out: this is what a model's numbers rest on.
add_test(NAME perf.taskbench.missing_edge COMMAND taskbench --break-edge --workers 2 --model trellis
  --pattern stencil_1d --kernel empty)
set_tests_properties(perf.taskbench.missing_edge PROPERTIES PASS_REGULAR_EXPRESSION
  "model trellis: task \\(step 1, column 1\\) did not find the output of its input \\(step 0, column 0\\), but none: an edge is missing")

# The same where a task names a range of Views: twelve inputs that are scattered.
set(many --width 30 --radix 12 --kernel empty --workers 2)
add_test(NAME perf.taskbench.many_inputs COMMAND taskbench --smoke ${many}
  --pattern spread,random_nearest --model trellis,trellis_host,trellis_plan,trellis_plan_host)
add_test(NAME perf.taskbench.missing_edge_of_many COMMAND taskbench --break-edge ${many}
  --pattern spread --model trellis_host)
set_tests_properties(perf.taskbench.missing_edge_of_many PROPERTIES PASS_REGULAR_EXPRESSION
  "model trellis_host: task .step 1, column 1. did not find the output of its input .*an edge is missing")

add_test(NAME perf.taskbench.bad_pattern COMMAND taskbench --pattern spiral)
set_tests_properties(perf.taskbench.bad_pattern PROPERTIES PASS_REGULAR_EXPRESSION
  "--pattern: spiral not in")
add_test(NAME perf.taskbench.bad_model COMMAND taskbench --model treliss)
set_tests_properties(perf.taskbench.bad_model PROPERTIES PASS_REGULAR_EXPRESSION
  "there is no model called 'treliss'")

# What is written has the promised form, also where a model (kokkos_graph) is left out.
set(json ${CMAKE_CURRENT_BINARY_DIR}/taskbench.json)
add_test(NAME perf.taskbench.write COMMAND taskbench --part cost,metg --quick
  --model trellis,kokkos,kokkos_graph --pattern stencil_1d --steps 20 --kernel compute_bound
  --repetitions 1 --workers 2 --output ${json})
set_tests_properties(perf.taskbench.write PROPERTIES FIXTURES_SETUP taskbench_json)
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME perf.taskbench.json COMMAND ${Python3_EXECUTABLE}
    ${CMAKE_CURRENT_SOURCE_DIR}/tests/check_json.py ${json})
  set_tests_properties(perf.taskbench.json PROPERTIES FIXTURES_REQUIRED taskbench_json LABELS
    "perf;program")
endif()
set_tests_properties(perf.taskbench.smoke perf.taskbench.missing_edge
  perf.taskbench.many_inputs perf.taskbench.missing_edge_of_many perf.taskbench.bad_pattern
  perf.taskbench.bad_model perf.taskbench.write
  PROPERTIES TIMEOUT 120 PROCESSORS 2 LABELS "perf;program" ENVIRONMENT "OMP_PROC_BIND=false")
