// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_INSTANCES_HPP
#define TRELLIS_TEST_INSTANCES_HPP

#include <Trellis.hpp>

#include <thread>

namespace trellis::Test {

/// Makes the worker of a graph, and the main thread, run a kernel on `Space` now, so that each has
/// its instance: Kokkos ends the process where it finds no memory for one. The graph has one
/// worker.
template <class Space>
void make_instances(TaskGraph& graph) {
  parallel_for("by the worker", ResourcePolicy(graph, 1, on<Space>), [](int) {});
  while (graph.in_flight() != 0) std::this_thread::yield();
  parallel_for("here", ResourcePolicy(graph, 1, on<Space>, main_thread), [](int) {});
  graph.wait();
}

}  // namespace trellis::Test

#endif
