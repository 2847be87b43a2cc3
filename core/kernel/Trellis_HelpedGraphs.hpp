// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_HELPEDGRAPHS_HPP
#define TRELLIS_IMPL_HELPEDGRAPHS_HPP

#include <impl/Trellis_TaskHandle.hpp>

namespace trellis::Impl {

class Kernel;

/// The graphs with progress functions that no worker of theirs calls: serial graphs, and those
/// whose functions are for the main thread. Only a thread that waits makes them progress. It may
/// wait for another graph, for something that comes only when these graphs progress: the answer of
/// another process, for instance. So a thread that waits helps all of them.
///
/// INVARIANT (every such graph is helped). A serial graph is noted before its first function can be
/// polled. A graph with messages for the main thread is noted when the first of them is submitted,
/// and from the first communicator on the main thread never sleeps in a wait. An idle thread that
/// waits does not sleep while a graph is noted that it may help, beside the one that it waits for.
/// It looks at each such graph again and again, with naps between, so nothing has to wake it. (A
/// thread that sleeps already does not notice the first serial graph that another thread notes.)
/// There the thread runs what it would also run in a wait for that graph, outside of that graph's
/// tasks.
struct HelpedGraphs {
  /// Notes a graph that exists. It is forgotten when it is gone.
  static void note(TaskHandle const& graph);
  /// Notes that from now on there may be graphs that the main thread has to help.
  static void main_naps();
  /// True if there may be such graphs while the calling thread waits for `kernel`. If not, the wait
  /// costs nothing extra.
  [[nodiscard]] static bool may_come(Kernel& kernel);
  [[nodiscard]] static bool any_but(Kernel& kernel);
  /// Helps the other graphs. Returns whether any task was completed there. The calling thread holds
  /// nothing of the graph that it waits for.
  static bool help_all_but(Kernel const& kernel);
};

}  // namespace trellis::Impl

#endif
