// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RIGHT_HPP
#define RIGHT_HPP

#include <Trellis.hpp>

#define FROM_RIGHT __attribute__((visibility("default")))

/// The sum of x, when those have run that write it.
FROM_RIGHT double sum(trellis::TaskGraph& graph, Kokkos::View<double*> const& x);
/// Waits for the graph, which is an error inside a task of it.
FROM_RIGHT void wait_inside(trellis::TaskGraph& graph);
/// Throws `Error`.
FROM_RIGHT void fail();
FROM_RIGHT void const* serial_adapter_of_right();

#endif
