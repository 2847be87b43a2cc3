// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FEATURES_HPP
#define TRELLIS_IMPL_FEATURES_HPP

#include <cancellation/Trellis_Cancellation.hpp>
#include <children/Trellis_Children.hpp>
#include <completion/Trellis_Completions.hpp>
#include <demotion/Trellis_Demotion.hpp>
#include <destruction/Trellis_Destructors.hpp>
#include <device/Trellis_LaunchQueue.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <forkjoin/Trellis_ForkJoins.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <kernel/Trellis_Waiters.hpp>
#include <launch/Trellis_DeviceTasks.hpp>
#include <launch/Trellis_PlanGraphs.hpp>
#include <policy/Trellis_PolicyEdges.hpp>
#include <recorded/Trellis_Iterations.hpp>
#include <recorded/Trellis_Plans.hpp>

#include <tuple>

namespace trellis::Impl {

class Kernel;
class Submission;
struct Task;
struct WorkerSlot;

/// The list of features: what tasks may need beyond the kernel. Each is a folder with a front class
/// that has its invariant. Its constructor takes the kernel, and the features whose verbs it uses
/// (Trellis_Features.cpp). None knows the engine.
///
/// To add one, write its folder, and add its class here in three places: its member, its
/// construction, and, if a station is to ask it, its place in `at_stations`. The stations ask the
/// features there, in that order, that have the function in question; others cost nothing.
///
/// - `void made(Task&)`: a call has made this task, of the graph, a plan or an iteration. The
///   caller holds the lock of its scope, so the function neither throws nor runs user code.
/// - `bool run(Task&, WorkerSlot&, Task*& next)`: a thread is about to run the task, which has
///   marks or a failure. True: the feature has run it, has put it away,
///   or has given it to another thread. `next` is then the task to run next on this slot, or null.
/// - `void completed(Task&)`: no other thread can find the task any more, and its successors have
///   not been released. Not called for a run of a recorded task, which does not end, or for a task
///   whose call throws after it was made.
struct Features {
  Features(Kernel& kernel, Submission& submission);
  Features(Features const&) = delete;
  Features& operator=(Features const&) = delete;

  Exclusion exclusion;
  Waiters waiters;
  PolicyEdges policy_edges;
  alignas(64) FusionPool fusion;
  Demotions demotions;
  Children children;
  Cancellation cancellation;
  Completions completions;
  ForkJoins fork_joins;
  LaunchQueue offered;  ///< shared by the two below
  Destructors destructors;
  DeviceTasks device_tasks;
  Plans plans;
  PlanGraphs plan_graphs;
  Iterations iterations;

  [[nodiscard]] auto at_stations() { return all_of(fusion, plans, device_tasks, cancellation); }

  // What the stations call.
  [[gnu::always_inline]] void made(Task& task) {
    each([&](auto& feature) {
      if constexpr (requires { feature.made(task); }) feature.made(task);
      return false;
    });
  }
  [[nodiscard]] bool run(Task& task, WorkerSlot& slot, Task*& next) {
    return each([&](auto& feature) {
      if constexpr (requires { feature.run(task, slot, next); })
        return feature.run(task, slot, next);
      else
        return false;
    });
  }
  [[gnu::always_inline]] void completed(Task& task) {
    each([&](auto& feature) {
      if constexpr (requires { feature.completed(task); }) feature.completed(task);
      return false;
    });
  }

 private:
  template <class F>
  static constexpr bool is_asked = requires(F& feature, Task& task) { feature.made(task); } ||
                                   requires(F& feature, Task& task) { feature.completed(task); } ||
                                   requires(F& feature, Task& task, WorkerSlot& slot, Task*& next) {
                                     feature.run(task, slot, next);
                                   };
  template <class... F>
  static std::tuple<F&...> all_of(F&... features) {
    static_assert((is_asked<F> && ...), "a feature has no function that a station calls");
    return {features...};
  }
  /// Calls `f` with each feature until it returns true. Returns whether it did.
  template <class F>
  [[gnu::always_inline]] bool each(F const& f) {
    return std::apply([&](auto&... features) { return (f(features) || ...); }, at_stations());
  }
};

}  // namespace trellis::Impl

#endif
