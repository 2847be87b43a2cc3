// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKSCOPE_HPP
#define TRELLIS_TASKSCOPE_HPP

#include <Trellis_ResourcePolicy.hpp>
#include <graph/Trellis_GraphDoor.hpp>
#include <impl/Trellis_ViewAccess.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

/// With this header a task changes while it runs: it splits into parts, and gives up what it no
/// longer needs.
namespace trellis {

namespace Impl {
struct ScopeDoor;
}  // namespace Impl

/// A task, as its own body sees it:
///
///     trellis::host_task("solve", trellis::ResourcePolicy(graph, trellis::read_write(x)),
///                        [=](trellis::TaskScope& self) {
///                          trellis::parallel_for("left", trellis::ResourcePolicy(self, n / 2,
///                                                trellis::write(left)), ...);
///                          trellis::parallel_for("right", ...);
///                        });
///
/// Tasks submitted with `self` in place of the graph are parts of this one. They are ordered among
/// themselves, as the tasks of a graph are. To all other tasks they are this task, which is done
/// when its body and all its parts are. What a part accesses must lie within one access of this
/// task (the same or a smaller area, in a mode that adds no dependency), or within something that
/// the body made itself, see `local`. A part may have parts in turn. When a part fails, this task
/// has failed.
///
/// Use it only in the body that receives it, and only while that body runs.
class TaskScope {
 public:
  TaskScope(TaskScope const&) = delete;
  TaskScope& operator=(TaskScope const&) = delete;

  /// The id of this task.
  [[nodiscard]] TaskId id() const { return m_self.id; }

  /// Returns when the parts submitted so far are complete. The calling thread runs some of them, on
  /// the stack of this task; when none are left for it, it sleeps and another thread takes its
  /// place. Throws `Error` when one of them failed; this task then fails as well, whether or not
  /// the exception is caught.
  void wait() { Impl::GraphDoor::wait_for_parts(m_self); }

  /// From here on this task makes only these accesses where its accesses were wider: each one must
  /// lie within one access that the task has. All those given that lie within an access replace it.
  /// Tasks that no longer conflict may start at once. Other accesses stay as they are. Throws
  /// `Error`, and changes nothing, when one of them is a promotion, was never declared or has been
  /// given up, or when an unfinished part needs more. (What is given up, `none(x)` among others, is
  /// given up after the rest, by itself.)
  ///
  ///     self.demote(read(x));                      // was read_write(x)
  ///     self.demote(write(left), read(right));     // two subviews of what was read_write(x)
  ///     self.demote(read(tiles));                  // a range of Views
  template <class... Accesses>
  void demote(Accesses const&... accesses) {
    static_assert(sizeof...(Accesses) > 0 && (Impl::is_access_v<Accesses> && ...),
                  "Trellis: demote takes accesses: read(x), write(subview), ...");
    auto requests = Impl::requests_of(accesses...);
    auto const gives_up = std::stable_partition(
        requests.begin(), requests.end(),
        [](Impl::AccessRequest const& request) { return request.mode != Mode::none; });
    if (gives_up != requests.begin()) Impl::GraphDoor::demote(m_self, {requests.begin(), gives_up});
    if (gives_up != requests.end()) Impl::GraphDoor::release(m_self, {gives_up, requests.end()});
  }

  /// From here on this task does not access these Views, Tokens and ranges of them: it gives up
  /// every access whose area lies within them. Throws `Error` as `demote` does, also for something
  /// that has been released before.
  template <class... Resources>
  void release(Resources&&... resources) {
    demote(none(std::forward<Resources>(resources))...);
  }

  /// Declares that this body made the View or Token, so that its parts may use it freely. Returns
  /// it.
  template <class R>
  R local(R resource) {
    static_assert(Impl::is_resource_v<R>, "Trellis: local takes a View or a Token");
    for (Impl::AccessRequest const& request :
         Impl::requests_of(Impl::Access<Mode::write, R const&>{resource}))
      Impl::GraphDoor::add_local(m_self, request);
    return resource;
  }

 private:
  friend struct Impl::ScopeDoor;
  explicit TaskScope(Impl::TaskHandle const& self) : m_self(self) {}
  Impl::TaskHandle m_self;
};

namespace Impl {

struct ScopeDoor {
  static TaskHandle const& handle(TaskScope const& scope) { return scope.m_self; }
  static TaskScope running() { return TaskScope(GraphDoor::running()); }
  static TaskScope make(TaskHandle const& self) { return TaskScope(self); }
};

}  // namespace Impl

/// Replaces a task that is still pending by a sub-graph. Calls `split(self)` at once, on this
/// thread; tasks submitted with `self` become the parts of the task, as if its body had submitted
/// them. They start when the task would have started, and its body never runs. To the tasks around
/// it nothing changes. Returns false, and does nothing, when the task is no longer pending.
///
/// Parts may be refined in turn. An exception from `split` is the failure of the task. Throws
/// `Error` when the task has been refined before, or runs on a device.
template <class Split>
bool refine(Future<void> const& task, Split&& split) {
  static_assert(std::is_invocable_v<Split&, TaskScope&>,
                "Trellis: refine(task, split) calls split with a TaskScope&");
  return Impl::GraphDoor::refine(Impl::FutureDoor::handle(task), [&](Impl::TaskHandle const& self) {
    TaskScope scope = Impl::ScopeDoor::make(self);
    split(scope);
  });
}

}  // namespace trellis

#endif
