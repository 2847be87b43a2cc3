// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKSCOPE_HPP
#define TRELLIS_TASKSCOPE_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Future.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <annotations/impl/Trellis_OpenAccess.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>
#include <task/Trellis_NumberedTasks.hpp>

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// With this header a task changes while it runs: it splits into children, and gives up what it no
/// longer needs.
namespace trellis {

namespace Impl {

struct ScopeInternals;

/// Demotes first, and then separately releases what is given up. Returns true when anything has
/// been done.
template <class Demote, class Release, class... Accesses>
bool demote_and_release(Demote demote, Release release, Accesses const&... accesses) {
  constexpr bool are_accesses = sizeof...(Accesses) > 0 && (is_access_v<Accesses> && ...);
  static_assert(are_accesses, "Trellis: demote takes accesses: read(x), write(subview), ...");
  if constexpr (are_accesses) {
    auto const change = [&](auto const&... piece) {
      RequestRoom<sizeof...(piece)> room;
      Requests requests(room);
      (add_access(requests, piece), ...);
      auto const gives_up = std::stable_partition(
          requests.begin(), requests.end(),
          [](AccessRequest const& request) { return request.mode != Mode::none; });
      using Span = std::span<AccessRequest const>;
      bool done = false;
      if (gives_up != requests.begin()) done = demote(Span(requests.begin(), gives_up));
      if (gives_up != requests.end()) done = release(Span(gives_up, requests.end())) || done;
      return done;
    };
    return Opening<Kokkos::DefaultHostExecutionSpace, Hooks::skip>().open(change, accesses...);
  } else {
    return false;
  }
}

}  // namespace Impl

/// A task as its own body sees it:
///
///     trellis::host_task("solve", trellis::ResourcePolicy(graph, trellis::read_write(x)),
///                        [=](trellis::TaskScope& self) {
///                          trellis::parallel_for("left", trellis::ResourcePolicy(self, n / 2,
///                                                trellis::write(left)), ...);
///                          trellis::parallel_for("right", ...);
///                        });
///
/// Tasks submitted with `self` in place of the graph are children of this one. They are ordered
/// among themselves, like the tasks of a graph. For all other tasks they belong to this task, which
/// is done when its body and all its children are. Each access of a child must lie within one
/// access of this task: the same or a smaller area, in a mode that adds no dependency. It may also
/// lie within a resource that the body made itself, see `local`. A child may have children in turn.
/// When a child fails, this task has failed.
///
/// Use it only in the body that receives it, and only while that body runs. A child may run later,
/// so it must not capture the TaskScope of its parent by reference. A child that has children in
/// turn takes a `TaskScope&` of its own.
class TaskScope {
 public:
  TaskScope(TaskScope const&) = delete;  // Trellis: a TaskScope is for the body that receives it
  TaskScope& operator=(TaskScope const&) = delete;
  ~TaskScope();

  /// Returns the id of this task.
  [[nodiscard]] TaskId id() const { return m_self.id; }
  /// Returns the future of this task, without its value. Copies may be kept: when one child of a
  /// search has found the result, it cancels the others by `graph.cancel` with its parent's future.
  /// Waiting for it in the task itself is an error.
  [[nodiscard]] Future<void> future() const { return Impl::FutureInternals::make(m_self); }

  /// Returns when the children submitted so far are complete. The calling thread runs some of them,
  /// on the stack of this task. When none are left for it, it sleeps, and another thread takes its
  /// place. Throws `Error` when one of them failed; this task then fails as well, even if the
  /// exception is caught.
  void wait() { Impl::GraphInternals::wait_for_children(m_self, m_running); }

  /// Replaces accesses of this task by narrower ones from here on. Each new access must lie within
  /// one access of the task. All new ones that lie within an access replace it. (If several
  /// accesses contain a new one, the one with exactly its area is replaced, else the first.) Tasks
  /// that no longer conflict may start at once. Other accesses stay as they are. Throws `Error`,
  /// and changes nothing, when a new access is a promotion, was never declared or has been given
  /// up, or when an unfinished child needs more. (If `none(x)` is among others, it is done
  /// separately, after the rest.)
  ///
  ///     self.demote(read(x));                      // was read_write(x)
  ///     self.demote(write(left), read(right));     // two subviews of what was read_write(x)
  ///     self.demote(read(tiles));                  // a range of Views
  template <class... Accesses>
  void demote(Accesses const&... accesses) {
    Impl::demote_and_release(
        [&](auto to) { return Impl::GraphInternals::demote(m_self, to), true; },
        [&](auto what) { return Impl::GraphInternals::release(m_self, what), true; }, accesses...);
  }

  /// Means `demote(none(resources)...)`: from here on this task does not access these Views, Tokens
  /// and ranges of them. It gives up every access whose area lies within them. Throws `Error` as
  /// `demote` does, also for something that has been released before.
  template <class... Resources>
  void release(Resources&&... resources) {
    demote(none(std::forward<Resources>(resources))...);
  }

  /// From here on this task makes no access of its own. It keeps only the accesses that its
  /// unfinished children need, and when a child ends, it gives up what no other child needs. So
  /// later tasks start as soon as the children that they depend on are over. The usual place is the
  /// end of the body. Children submitted later may use the accesses that are left.
  ///
  /// When a child ends that was the last one to need something, the task's successors are checked
  /// once.
  void shrink_to_children() { Impl::GraphInternals::shrink_to_children(m_self); }

  /// Declares that this body made the View or Token, so that its children may use it freely.
  /// Returns it.
  template <class R>
  R local(R resource) {
    static_assert(Impl::is_resource_v<R>,
                  "Trellis: local takes a View, a Token or another resource");
    static_assert(!Impl::owns_elements<R>,
                  "Trellis: local takes a std::span of a container that owns its elements");
    using Space = Kokkos::DefaultHostExecutionSpace;
    auto const made = made_here(resource);
    Impl::Opening<Space, Impl::Hooks::skip>().open(
        [&](auto const&... piece) {
          Impl::RequestRoom<sizeof...(piece)> room;
          Impl::Requests requests(room);
          (Impl::add_access(requests, piece), ...);
          for (Impl::AccessRequest const& request : requests)
            Impl::GraphInternals::add_local(m_self, request);
          return true;
        },
        made);
    return resource;
  }

  /// When the body returns, the task is not over: its body runs again when all children submitted
  /// so far and these tasks are complete. No thread is held meanwhile. The task keeps its accesses,
  /// so its successors wait. The functor keeps its state (a `mutable` lambda). The return value of
  /// this run is dropped; the result is that of the last run. When a child or one of these tasks
  /// fails, the body does not run again, and the task fails.
  ///
  ///     host_task("iterate", ResourcePolicy(graph, read_write(x)), [=](TaskScope& self) mutable {
  ///       if (converged(x) || ++step == limit) return step;
  ///       submit_step(self, x);
  ///       self.respawn();
  ///       return 0;
  ///     });
  ///
  /// A body that polls for something by running again lets other tasks run in between, see the
  /// guide.
  ///
  /// Throws nothing; if one of the tasks can never be complete before this one, this task fails
  /// with an `Error`.
  void respawn() { run_again(nullptr, 0); }
  template <std::size_t N>
  void respawn(Impl::After<N> const& tasks) {
    run_again(tasks.tasks.data(), N);
  }
  void respawn(Impl::AfterAll const& tasks) { run_again(tasks.tasks.data(), tasks.tasks.size()); }
  /// Throws `Error` when no task has been spawned with one of the numbers.
  template <class Numbers>
    requires requires(Numbers const& tasks) { tasks.numbers.data()->valid(); }
  void respawn(Numbers const& tasks, std::source_location site = std::source_location::current()) {
    auto const numbered = Impl::tasks_of(tasks.numbers, m_self, "a body", "runs again in", site);
    run_again(tasks.tasks.data(), tasks.tasks.size());
    run_again(numbered.data(), numbered.size());
  }

  /// True if this task, or one that it is a child of, has been asked to stop. See
  /// `TaskGraph::cancel`.
  [[nodiscard]] bool stop_requested() const { return Impl::GraphInternals::stop_requested(m_self); }

 private:
  friend struct Impl::ScopeInternals;
  /// Returns an access of the resource, whose elements may be const.
  template <class R>
  static auto made_here(R& resource) {
    constexpr Mode mode = Impl::IsReadOnly<R>::value ? Mode::read : Mode::write;  // any works
    if constexpr (Impl::HasOpen<R>::value)
      return access(std::as_const(resource), Impl::ModeConstant<mode>());
    else if constexpr (Impl::ResourceRange<R> && !Impl::lasts<R>)
      return Impl::Access<Mode::write, typename Impl::KeptAs<R>::type>{
          Impl::KeptAs<R>::make(resource)};
    else
      return Impl::Access<Mode::write, R const&>{resource};
  }
  /// Makes the body run again after these tasks, and those named before.
  void run_again(Impl::TaskHandle const* first, std::size_t count);
  TaskScope(Impl::TaskHandle const& self, Impl::TaskHandle const& running)
      : m_self(self), m_running(running) {}
  // The code that makes the TaskScope owns both handles.
  Impl::TaskHandle const& m_self;
  Impl::TaskHandle const& m_running;  ///< the task, or the rest of its body when that runs again
  /// The tasks that the next run of the body comes after; null if there is none.
  std::vector<Impl::TaskHandle>* m_again = nullptr;
};

namespace Impl {

struct ScopeInternals {
  static TaskHandle const& handle(TaskScope const& scope) { return scope.m_self; }
  static TaskHandle const& running(TaskScope const& scope) { return scope.m_running; }
  static TaskScope make(TaskHandle const& self, TaskHandle const& running) {
    return TaskScope(self, running);
  }
  /// Returns the tasks that the next run of the body comes after; null if there is none.
  static std::vector<TaskHandle> const* next_run(TaskScope const& scope) { return scope.m_again; }
};

}  // namespace Impl

template <class T, class... Accesses>
bool TaskGraph::demote(Future<T> const& task, Accesses const&... accesses) {
  Impl::TaskHandle const handle = Impl::FutureInternals::handle(task);
  return Impl::demote_and_release(
      [&](auto to) { return Impl::GraphInternals::demote_other(*this, handle, to); },
      [&](auto what) { return Impl::GraphInternals::release_other(*this, handle, what); },
      accesses...);
}

template <class T, class... Resources>
bool TaskGraph::release(Future<T> const& task, Resources&&... resources) {
  return demote(task, none(std::forward<Resources>(resources))...);
}

/// Replaces a task that is still pending by a sub-graph. Calls `split(self)` at once, on this
/// thread; tasks submitted with `self` become the children of the task, as if its body had
/// submitted them. They start when the task would have started, and its body never runs. For other
/// tasks nothing changes. Returns false, and does nothing, when the task is no longer pending.
///
/// Children may be refined in turn. An exception from `split` is the failure of the task. Throws
/// `Error` when the task has been refined before, or runs on a device.
template <class Split>
bool refine(Future<void> const& task, Split&& split) {
  static_assert(std::is_invocable_v<Split&, TaskScope&>,
                "Trellis: refine(task, split) calls split with a TaskScope&: "
                "refine(task, [](TaskScope& self) { ... })");
  if constexpr (std::is_invocable_v<Split&, TaskScope&>) {
    return Impl::GraphInternals::refine(
        Impl::FutureInternals::handle(task), [&](Impl::TaskHandle const& self) {
          TaskScope scope = Impl::ScopeInternals::make(self, self);
          split(scope);
          if (Impl::ScopeInternals::next_run(scope) != nullptr)
            throw Error(Error::Kind::bad_input,
                        "Trellis: self.respawn() in refine(...), which replaces the body: there "
                        "is none to run again");
        });
  } else {
    return false;
  }
}

}  // namespace trellis

#endif
