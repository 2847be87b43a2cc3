// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FORKJOIN_HPP
#define TRELLIS_FORKJOIN_HPP

#include <Trellis_ResourcePolicy.hpp>
#include <impl/Trellis_WrongCalls.hpp>  // here, so that its messages have few lines before them
#include <Trellis_TaskScope.hpp>
#include <graph/Trellis_GraphDoor.hpp>
#include <graph/Trellis_ModelTasks.hpp>
#include <patterns/Trellis_HostTask.hpp>

#include <functional>
#include <type_traits>
#include <utility>

/// With this header a program forks parts and joins them: a section.
namespace trellis {

namespace Impl {

/// The callable of a section's task.
template <class Body>
struct SectionCall {
  using is_section = void;
  Body body;
  int depth;
  template <class... Views>
    requires std::is_invocable_v<Body&, TaskScope&, Views...>
  void operator()(TaskScope& section, Views&&... views) {
    GraphDoor::run_section(ScopeDoor::handle(section), ScopeDoor::running(section), depth,
                           [&] { std::invoke(body, section, std::forward<Views>(views)...); });
  }
};

/// Before anything is submitted that refers to what the caller has.
inline void require_may_join(Target const& target, Label const& section) {
  if (target.collector() != nullptr) refuse_section_in_model(section);
  if (TaskScope* const scope = target.scope())
    return GraphDoor::require_may_join(ScopeDoor::handle(*scope));
  if (TaskGraph* const graph = target.graph()) return GraphDoor::require_may_join(*graph);
  GraphDoor::require_may_join(target.other());
}

}  // namespace Impl

/// Runs a section: a task whose body submits parts, `section` in place of the graph. Returns when
/// all of them are complete, and throws what `Future::get()` would throw if one has failed.
///
///     trellis::fork_join("sweep", trellis::ResourcePolicy(graph, trellis::read_write(mesh)),
///                        [&](trellis::TaskScope& section) {
///                          for (Tile const& tile : tiles)
///                            trellis::host_task("tile", trellis::ResourcePolicy(
///                                section, trellis::read_write(tile.cells)), ...);
///                        });
///
/// To other tasks a section is one task, with the policy's accesses and properties, and its parts
/// are as those of any task, see TaskScope. The parts start when the body returns, or waits, with
/// `section.wait()` or for anything else. Then the graph's `Orchestration` is asked how to run them:
/// one after the other, or in parallel, see there; of a body that waits for its parts it is asked
/// anew for those of each phase. What the body submits to the graph itself is no part, and may go on
/// when the section is over.
///
/// The thread that runs the body runs parts of this section and nothing else until they are
/// complete, or sleeps, and then another thread takes its place. Where the section need not wait
/// for earlier tasks, that is the calling thread.
///
/// May be called in a task, with the graph or with its own TaskScope; a section in another one has
/// a depth of 1 more, and by default its parts run one after the other. While a plan is recorded the
/// call records the section and returns; it runs as one in each replay.
template <class... Annotations, class Body>
void fork_join(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy, Body&& body) {
  if constexpr (Impl::SectionMustReturnNothing<std::decay_t<Body>>::holds()) {
    Impl::require_may_join(policy.target(), label);
    using Call = Impl::SectionCall<std::decay_t<Body>>;
    Future<void> const section = host_task(
        std::move(label), policy, Call{std::forward<Body>(body), Impl::GraphDoor::section_depth()});
    Impl::GraphDoor::join_section(Impl::FutureDoor::handle(section));
  }
}

/// The same without a label: the section is called by the file and line where its policy was made.
template <class... Annotations, class Body>
void fork_join(ResourcePolicy<Impl::Once, Annotations...> const& policy, Body&& body) {
  fork_join(Label::of(policy.target().site()), policy, std::forward<Body>(body));
}

}  // namespace trellis

#endif
