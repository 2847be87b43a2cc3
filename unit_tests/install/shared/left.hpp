// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LEFT_HPP
#define LEFT_HPP

#include <Trellis.hpp>

#define FROM_LEFT __attribute__((visibility("default")))

/// Submits tasks that fill x.
FROM_LEFT void fill(trellis::TaskGraph& graph, Kokkos::View<double*> const& x);
/// Submits a task that calls `wait_inside` of the other library for the graph in which it is.
FROM_LEFT trellis::Future<void> wait_for_itself(trellis::TaskGraph& graph);
/// Where each task of a graph of its own, on this thread and inside another task, says it runs.
FROM_LEFT void const* serial_adapter_of_left();

#endif
