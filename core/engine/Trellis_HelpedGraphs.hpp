// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_HELPEDGRAPHS_HPP
#define TRELLIS_IMPL_HELPEDGRAPHS_HPP

#include <task/Trellis_TaskHandle.hpp>

namespace trellis::Impl {

/// Graphs with progress functions that no worker of theirs calls: serial ones, and those whose
/// functions are for the main thread. Only a thread that waits goes on with them. It may wait for
/// another graph, and for something there that comes only when these go on: the answer of another
/// process, for instance. So a thread that waits helps all of them.
///
/// INVARIANT (every such graph is helped). A graph is noted before its first function can be asked.
/// A thread that waits and has nothing to do does not sleep while one that it may help is noted,
/// beside the graph that it waits for: it looks at each again and again, with naps between. Nothing
/// has to wake it therefore, and nothing is missed. What a thread runs there it would run in a wait
/// for that graph, too, with no task of that graph below it on its stack.
struct HelpedGraphs {
  /// Of a graph that is there. It is forgotten when it is gone.
  static void note(TaskHandle const& graph);
  /// May the calling thread have to help another graph than this one? Cheap if none is noted.
  [[nodiscard]] static bool any_but(Engine const& engine);
  /// Helps the others. Returns whether any task has gone on there. The calling thread holds nothing
  /// of the graph that it waits for.
  static bool help_all_but(Engine const& engine);
};

}  // namespace trellis::Impl

#endif
