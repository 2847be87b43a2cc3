// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_HELPEDGRAPHS_HPP
#define TRELLIS_IMPL_HELPEDGRAPHS_HPP

#include <kernel/Trellis_TaskHandle.hpp>

namespace trellis::Impl {

class Kernel;

/// Graphs with progress functions that no worker of theirs calls: serial ones, and those whose
/// functions are for the main thread. Only a thread that waits goes on with them. It may wait for
/// another graph, and for something there that comes only when these go on: the answer of another
/// process, for instance. So a thread that waits helps all of them.
///
/// INVARIANT (every such graph is helped). A serial graph is noted before its first function can be
/// asked; one with messages for the main thread when the first of them is submitted, and from the
/// first communicator on the main thread never sleeps in a wait. A thread that waits and has nothing
/// to do does not sleep while a graph is noted that it may help, beside the one that it waits for:
/// it looks at each again and again, with naps between. So nothing has to wake it. (A thread that
/// sleeps already does not hear of the first serial graph that another thread notes.) What a thread
/// runs there it would run in a wait for that graph, too, with no task of it below on its stack.
struct HelpedGraphs {
  /// Of a graph that is there. It is forgotten when it is gone.
  static void note(TaskHandle const& graph);
  /// From now on there may be graphs at any time that the main thread has to help.
  static void main_naps();
  /// May there be any while the calling thread waits for this graph? Else the wait costs no more.
  [[nodiscard]] static bool may_come(Kernel& kernel);
  /// May the calling thread have to help another graph than this one?
  [[nodiscard]] static bool any_but(Kernel& kernel);
  /// Helps the others. Returns whether any task has gone on there. The calling thread holds nothing
  /// of the graph that it waits for.
  static bool help_all_but(Kernel const& kernel);
};

}  // namespace trellis::Impl

#endif
