// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FORKJOIN_HPP
#define TRELLIS_FORKJOIN_HPP

#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_WrongCalls.hpp>  // here, so that its messages have few lines before them
#include <annotations/Trellis_TaskScope.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <graph/Trellis_ModelTasks.hpp>
#include <patterns/Trellis_HostTask.hpp>

#include <functional>
#include <type_traits>
#include <utility>

/// With this header a program forks children and joins them.
namespace trellis {

namespace Impl {

/// The callable of a fork-join's task.
template <class Body>
struct ForkJoinCall {
  using is_fork_join = void;
  Body body;
  int depth;
  template <class... Views>
    requires std::is_invocable_v<Body&, TaskScope&, Views...>
  void operator()(TaskScope& self, Views&&... views) {
    GraphInternals::run_fork_join(ScopeInternals::handle(self), ScopeInternals::running(self),
                                  depth,
                                  [&] { std::invoke(body, self, std::forward<Views>(views)...); });
  }
};

/// Checks the call before anything is submitted that refers to objects of the caller.
inline void require_may_join(Target const& target, Label const& fork_join) {
  if (target.collector() != nullptr) refuse_fork_join_in_model(fork_join);
  if (TaskScope* const scope = target.scope())
    return GraphInternals::require_may_join(ScopeInternals::handle(*scope));
  if (TaskGraph* const graph = target.graph()) return GraphInternals::require_may_join(*graph);
  GraphInternals::require_may_join(target.other());
}

}  // namespace Impl

/// Runs a fork-join: a task whose body submits children, with `self` in place of the graph.
/// Returns when all children are complete. Throws what `Future::get()` would throw if one has
/// failed.
///
///     trellis::fork_join("sweep", trellis::ResourcePolicy(graph, trellis::read_write(mesh)),
///                        [&](trellis::TaskScope& self) {
///                          for (Tile const& tile : tiles)
///                            trellis::host_task("tile", trellis::ResourcePolicy(
///                                self, trellis::read_write(tile.cells)), ...);
///                        });
///
/// To other tasks a fork-join is one task, with the policy's accesses and properties. Its children
/// are like those of any task, see TaskScope. The children start when the body returns, or waits
/// (with `self.wait()` or otherwise). Then the graph's `Orchestration` decides whether to run
/// them one after the other or in parallel, see there. If the body waits for its children, it
/// decides anew for the children of each phase. Tasks that the body submits to the graph itself are
/// no children, and may go on when the fork-join is over.
///
/// The thread that runs the body runs only children of this fork-join until they are complete. If
/// it sleeps, another thread takes its place. If the fork-join need not wait for earlier tasks, the
/// calling thread runs the body.
///
/// A task may call this, with the graph or with its own TaskScope. A fork-join in another one has a
/// depth of 1 more, and by default its children run one after the other. While a plan is recorded,
/// the call records the fork-join and returns; each replay runs it as a fork-join.
template <class... Annotations, class Body>
void fork_join(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy, Body&& body) {
  if constexpr (Impl::ForkJoinMustReturnNothing<std::decay_t<Body>>::holds()) {
    Impl::require_may_join(policy.target(), label);
    using Call = Impl::ForkJoinCall<std::decay_t<Body>>;
    Future<void> const task =
        host_task(std::move(label), policy,
                  Call{std::forward<Body>(body), Impl::GraphInternals::fork_join_depth()});
    Impl::GraphInternals::join_fork_join(Impl::FutureInternals::handle(task));
  }
}

/// Runs a fork-join without a label: it is named by the file and line where its policy was made.
template <class... Annotations, class Body>
void fork_join(ResourcePolicy<Impl::Once, Annotations...> const& policy, Body&& body) {
  fork_join(Label::of(policy.target().site()), policy, std::forward<Body>(body));
}

}  // namespace trellis

#endif
