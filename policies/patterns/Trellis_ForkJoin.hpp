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

/// With this header a program forks parts and joins them in a section.
namespace trellis {

namespace Impl {

/// The callable of a section's task.
template <class Body>
struct ForkJoinCall {
  using is_fork_join = void;
  Body body;
  int depth;
  template <class... Views>
    requires std::is_invocable_v<Body&, TaskScope&, Views...>
  void operator()(TaskScope& section, Views&&... views) {
    GraphInternals::run_fork_join(ScopeInternals::handle(section), ScopeInternals::running(section),
                                depth,
                                [&] { std::invoke(body, section, std::forward<Views>(views)...); });
  }
};

/// Checks the call before anything is submitted that refers to objects of the caller.
inline void require_may_join(Target const& target, Label const& section) {
  if (target.collector() != nullptr) refuse_fork_join_in_model(section);
  if (TaskScope* const scope = target.scope())
    return GraphInternals::require_may_join(ScopeInternals::handle(*scope));
  if (TaskGraph* const graph = target.graph()) return GraphInternals::require_may_join(*graph);
  GraphInternals::require_may_join(target.other());
}

}  // namespace Impl

/// Runs a section: a task whose body submits parts, with `section` in place of the graph. Returns
/// when all parts are complete. Throws what `Future::get()` would throw if one has failed.
///
///     trellis::fork_join("sweep", trellis::ResourcePolicy(graph, trellis::read_write(mesh)),
///                        [&](trellis::TaskScope& section) {
///                          for (Tile const& tile : tiles)
///                            trellis::host_task("tile", trellis::ResourcePolicy(
///                                section, trellis::read_write(tile.cells)), ...);
///                        });
///
/// To other tasks a section is one task, with the policy's accesses and properties. Its parts are
/// like those of any task, see TaskScope. The parts start when the body returns, or waits (with
/// `section.wait()` or otherwise). Then the graph's `Orchestration` decides whether to run them one
/// after the other or in parallel, see there. If the body waits for its parts, it decides anew for
/// the parts of each phase. Tasks that the body submits to the graph itself are no parts, and may
/// go on when the section is over.
///
/// The thread that runs the body runs only parts of this section until they are complete. If it
/// sleeps, another thread takes its place. If the section need not wait for earlier tasks, the
/// calling thread runs the body.
///
/// A task may call this, with the graph or with its own TaskScope. A section in another one has a
/// depth of 1 more, and by default its parts run one after the other. While a plan is recorded, the
/// call records the section and returns; each replay runs it as a section.
template <class... Annotations, class Body>
void fork_join(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy, Body&& body) {
  if constexpr (Impl::ForkJoinMustReturnNothing<std::decay_t<Body>>::holds()) {
    Impl::require_may_join(policy.target(), label);
    using Call = Impl::ForkJoinCall<std::decay_t<Body>>;
    Future<void> const section =
        host_task(std::move(label), policy,
                  Call{std::forward<Body>(body), Impl::GraphInternals::fork_join_depth()});
    Impl::GraphInternals::join_fork_join(Impl::FutureInternals::handle(section));
  }
}

/// Runs a section without a label: it is named by the file and line where its policy was made.
template <class... Annotations, class Body>
void fork_join(ResourcePolicy<Impl::Once, Annotations...> const& policy, Body&& body) {
  fork_join(Label::of(policy.target().site()), policy, std::forward<Body>(body));
}

}  // namespace trellis

#endif
