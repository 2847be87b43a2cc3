// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GRAPHACCESS_HPP
#define TRELLIS_IMPL_GRAPHACCESS_HPP

#include <Trellis_TaskGraph.hpp>
#include <impl/Trellis_Submission.hpp>

namespace trellis::Impl {

/// The typed fronts' way into a graph.
struct GraphAccess {
  /// Throws `Error` when the graph is closed (its Kokkos has been finalised).
  static TaskHandle submit(TaskGraph& graph, TaskSpec&& spec);
};

}  // namespace trellis::Impl

#endif
