// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKGRAPH_HPP
#define TRELLIS_TASKGRAPH_HPP

#include <Trellis_Future.hpp>
#include <Trellis_Label.hpp>
#include <Trellis_Plan.hpp>
#include <Trellis_Progress.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_TaskGraphOptions.hpp>
#include <Trellis_TaskNumber.hpp>
#include <base/Trellis_ProgressSource.hpp>
#include <base/Trellis_FunctionRef.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {

// Each of these comes with the header of its topic.
class DependencyGraph;
struct GraphStatistics;
class Orchestration;
class SchedulingGraph;
class SchedulingPolicy;
struct Trace;

namespace Impl {
class Engine;
struct GraphControl;
struct GraphInternals;
}  // namespace Impl

/// A sequence of tasks, and the threads that run them as soon as their accesses allow.
/// `parallel_for` and the other patterns add tasks, from any thread and also inside tasks; the
/// order of the calls defines what each task sees.
///
/// With the environment variable `TRELLIS_SERIAL=1` every graph runs each task inside the call that
/// submits it.
class TaskGraph {
 public:
  /// Requires that Kokkos is initialised. Threads are started when there is work for them. The
  /// calling thread is the graph's main thread. Throws `Error` for invalid options.
  explicit TaskGraph(TaskGraphOptions const& options);
  TaskGraph();  ///< uses the options that the environment gives, or the defaults
  TaskGraph(TaskGraph const&) = delete;  // Trellis: a lambda takes it by reference: [&graph]
  TaskGraph& operator=(TaskGraph const&) = delete;
  /// Waits for all tasks. Other threads must no longer use the graph, but may use and drop its
  /// futures and plans. A failure that neither `wait()` nor `get()` has reported is printed to the
  /// standard error stream.
  ~TaskGraph();

  /// From now on `rule(earlier, later)` says whether the constraint holds between two tasks. It
  /// gets their `T` tags in the order of their submission. A task without a tag of this type has
  /// `T{}`. Only tasks of one graph, or children of one task, are compared. The edges that follow
  /// are in the scheduling graph. The rule must not throw. Throws `Error` when the graph already
  /// has tasks.
  ///
  /// Cost: for each task and rule, one comparison with each distinct tag value among the tasks in
  /// flight.
  template <TagValue T, class Rule>
  void add_rule(std::string name, Constraint constraint, Rule rule) {
    add(Impl::make_rule<T>(std::move(name), constraint, std::move(rule)));
  }

  /// Calls `body()` at once. The tasks that it submits to this graph on this thread do not run but
  /// become a plan, whose dependencies are derived here, once. Futures of these tasks hold the
  /// result of the newest replay.
  ///
  /// Throws what `body` throws, and `Error` when `body` waits for a task, or records on this thread
  /// again.
  template <class Body>
  [[nodiscard]] Plan record(Label label, Body&& body) {
    return make_plan(std::move(label), body);
  }
  template <class Body>
    requires(!std::is_convertible_v<Body, Label>)
  [[nodiscard]] Plan record(Body&& body,
                            std::source_location site = std::source_location::current()) {
    return make_plan(Label(std::string("plan"), site), body);
  }

  /// Submits the tasks of a plan, `rounds` times one round after the other, without analysing them
  /// again; returns at once. To the tasks before and after it, the replay is one task with the
  /// union of the plan's accesses. Two replays of one plan never run at the same time. In a
  /// recording, the replay becomes a part of the new plan.
  ///
  /// A task that throws cancels what depends on it, in later rounds too, and the replay as a whole
  /// has failed. Throws `Error` for a plan of another graph. It also throws when a View that had an
  /// owner outside of the plan at the recording no longer has one. The View has then been
  /// reallocated, and the plan's work would be lost.
  Future<void> replay(Plan const& plan, std::uint64_t rounds = 1);

  /// Calls `body(k)`, or `body()`, for the iterations k = 0, 1, ... `iterations` - 1, which
  /// submit tasks to this graph. When `body` returns false, that iteration was the last one. Does
  /// not wait for the tasks.
  ///
  /// The tasks of an iteration are collected and submitted when the body returns; other threads'
  /// tasks come before or after the iteration as a whole. An iteration may submit the same tasks as
  /// an earlier one (labels, functor types, ranges of bytes, modes, properties) in the same order.
  /// Then it is not analysed again but runs in the order found before. Up to eight different
  /// iterations are remembered, so buffers may swap roles, and some iterations may have extra
  /// tasks.
  ///
  /// A thread may ask for a task of an iteration whose body has not returned, with `is_done()`,
  /// `wait()`, `get()` or `after(...)`, or wait for the graph. Then the tasks collected so far are
  /// submitted at once, task by task, and so is the rest of the iteration. This also happens to an
  /// iteration with a task that comes after a future (`after(...)`, `value(...)`, `then`, ...) or
  /// that has user-defined access states, and in a graph with rules. The result is always that of a
  /// plain loop. But when a task of an iteration fails, a later iteration that may touch the same
  /// data is cancelled as a whole.
  template <class Body>
  IterateReport iterate(Label label, std::uint64_t iterations, Body&& body) {
    return run_iterations(std::move(label), iterations, [&](std::uint64_t iteration) -> bool {
      if constexpr (std::is_invocable_v<Body&, std::uint64_t>) {
        if constexpr (std::is_void_v<std::invoke_result_t<Body&, std::uint64_t>>)
          body(iteration);
        else
          return body(iteration);
      } else {
        static_assert(std::is_invocable_v<Body&>,
                      "Trellis: the body of iterate takes the number of the iteration, or nothing");
        if constexpr (std::is_void_v<std::invoke_result_t<Body&>>)
          body();
        else
          return body();
      }
      return true;
    });
  }

  /// From now on the task makes only these accesses where its accesses were wider, as if its body
  /// called `self.demote`. Any thread may call this, whether the task is pending, ready or running.
  /// A running body must obey the new accesses by itself. Tasks that no longer conflict may start
  /// at once: those behind the task and, if it is pending, the task itself.
  ///
  ///     graph.demote(future, read(x));      // was read_write(x)
  ///     graph.release(future, y, z);
  ///
  /// Returns false, and changes nothing, when it is too late:
  /// - the task is complete;
  /// - it is on a device and has been launched;
  /// - it is no longer pending and would only now become exclusive;
  /// - it is pending, and a failure that `wait()` has not reported yet may have to cancel it.
  ///
  /// Throws `Error` as `self.demote` does, for a future of another graph, and for a task of a plan
  /// or the replay of one. Costs a look at all tasks in flight if the task is pending. Defined in
  /// <Trellis_TaskScope.hpp>.
  template <class T, class... Accesses>
  bool demote(Future<T> const& task, Accesses const&... accesses);
  /// Calls `demote(task, none(resources)...)`: the task gives up all of its accesses within these
  /// Views, Tokens and ranges of them.
  template <class T, class... Resources>
  bool release(Future<T> const& task, Resources&&... resources);

  /// Returns when every task is complete; this thread runs tasks meanwhile. If a task's body threw
  /// since the last `wait()`, throws an `Error` that names the first such task and carries what it
  /// threw. Afterwards the graph is usable again.
  void wait(std::source_location site = std::source_location::current());

  /// Returns when the tasks with these numbers are complete, see Trellis_Numbers.hpp. Waits as
  /// `Future::wait()` does, also inside a task. A task counts as failed here if it has failed or
  /// was cancelled and `wait()` has not reported it. Throws what `Future::get()` would throw of the
  /// first such task in the given order, whatever `what` is. Throws `Error` at once, without
  /// waiting, when a number has no spawned task or belongs to another graph.
  ///
  ///     graph.wait(k);
  ///     graph.wait({k, k + 1}, trellis::Awaited::fused);
  ///     graph.wait(std::set<trellis::TaskNumber>{...});
  void wait(TaskNumber const& number, Awaited what = Awaited::any,
            std::source_location site = std::source_location::current()) {
    wait_for({&number, 1}, what, site);
  }
  void wait(std::initializer_list<TaskNumber> numbers, Awaited what = Awaited::any,
            std::source_location site = std::source_location::current());
  template <Impl::NumberRange R>
  void wait(R&& numbers, Awaited what = Awaited::any,
            std::source_location site = std::source_location::current()) {
    std::vector<TaskNumber> const all = Impl::numbers_in(numbers);
    wait_for(all, what, site);
  }
  /// True if the tasks with these numbers are complete. Throws `Error` as the wait does for a
  /// number without a task, but does not throw for a task that has failed.
  [[nodiscard]] bool is_done(TaskNumber const& number,
                             std::source_location site = std::source_location::current()) const {
    return are_done({&number, 1}, site);
  }
  template <Impl::NumberRange R>
  [[nodiscard]] bool is_done(R&& numbers,
                             std::source_location site = std::source_location::current()) const {
    std::vector<TaskNumber> const all = Impl::numbers_in(numbers);
    return are_done(all, site);
  }

  /// Asks the task of this future to stop; returns at once. Everything of it that has not started,
  /// children and rounds included, never runs. A running body may ask
  /// `TaskScope::stop_requested()`. The task is complete when everything that it would have waited
  /// for is, and its running bodies have returned. It then counts as cancelled, whatever these did.
  /// Only the tasks that depend on it are cancelled, too. `get()` throws an `Error` of the kind
  /// `cancelled`; `wait()` does not throw for it.
  ///
  /// Does nothing when the task is complete, or its last body has just returned: its future keeps
  /// its result. Throws `Error` for a future of another graph, and for a recorded task; cancel the
  /// future of the replay instead.
  template <class T>
  void cancel(Future<T> const& future) {
    ask_to_stop(Impl::FutureInternals::handle(future));
  }

  /// Makes the graph call `f()` while there is something to ask for, until it returns false. So
  /// work that tasks have started (messages, files, timers) advances without a thread of its own.
  /// `f` looks at the state of this work, calls `done` or `fail` of the `Completion`s, and returns
  /// at once, true if any are left. The graph does not call it before `Progress::ask()`, which is
  /// the last step of a task that starts something:
  ///
  ///     trellis::Progress progress = graph.add_progress([&] { return requests.test_some(); });
  ///     trellis::host_task("receive", trellis::ResourcePolicy(graph, trellis::write(x)),
  ///                        [&, x](trellis::Completion<> completion) {
  ///                          requests.receive(x, std::move(completion));
  ///                          progress.ask();
  ///                        });
  ///
  /// One thread at a time calls `f`: a worker, or a thread in `wait()`. It does so when it has no
  /// ready task, and every few microseconds between two tasks, but not while all threads are within
  /// long tasks. With `ProgressThread::main` only the main thread calls it, while it waits. `f`
  /// must not wait for tasks (an `Error`), and must not throw (the program ends). The `Progress`
  /// must exist until nothing is left to ask for. If `f` has a member `report()`, TRELLIS_WATCHDOG
  /// prints what that returns, a line for each thing that it waits for. Another thread calls it,
  /// between two calls of `f`.
  template <class F>
    requires std::is_invocable_r_v<bool, F&>
  [[nodiscard]] Progress add_progress(F&& f, ProgressThread thread = ProgressThread::any) {
    using Function = Impl::ProgressFunction<std::decay_t<F>>;
    return add(std::make_shared<Function>(thread == ProgressThread::main, std::forward<F>(f)));
  }

  /// From now on this object advises the graph, see Trellis_Fusion.hpp. Any thread may call this at
  /// any time, also while tasks run. Tasks that are held back remain so until the new advice
  /// releases them. A fork-join under way ends with the object that it began with. Returns the
  /// previous object. Throws `Error` for null.
  std::shared_ptr<Orchestration> orchestrate(std::shared_ptr<Orchestration> orchestration);
  [[nodiscard]] std::shared_ptr<Orchestration> orchestration() const;

  /// The options in force, with defaults and environment filled in, and with the numbers of threads
  /// of the last `set_threads`.
  [[nodiscard]] TaskGraphOptions const& options() const;
  [[nodiscard]] int workers() const;
  [[nodiscard]] int threads_per_worker() const;
  /// The largest number of threads on which bodies of this graph may be under way at the same time.
  /// Indices of workers (`this_worker::index()`) are below this. Besides the workers it counts the
  /// main thread, up to 128 other threads of yours that wait, and up to 128 that replace threads
  /// that wait inside a body. Indices are given to threads as they come, so most programs see no
  /// more than `workers() + 1` of them. 1 in a serial graph.
  [[nodiscard]] int concurrency() const;
  /// From now on this many tasks run at a time, with this many threads each. Both are at least 1,
  /// and `workers` is at most `most_workers()`. The graph must be idle: no task is in flight, and
  /// no other thread uses it before the call has returned. Only its main thread may call this,
  /// outside of tasks. Throws `Error` otherwise, and then nothing has changed.
  ///
  ///     graph.wait();
  ///     graph.set_threads(1, 8);   // was 8 x 1: operators in place of tasks
  ///
  /// All workers end; new ones are started when there is work for them, and each thread makes its
  /// Kokkos instances anew. That takes about 0.1 ms, or the time that a pool of threads takes.
  /// Everything else is kept: plans, futures, the scheduling policy, `concurrency()`, the cap on
  /// tasks in flight, what is recorded, `PerWorker` values, and the binding that was asked for. A
  /// `UniqueToken` keeps the numbers that it was made with. A task of a plan or of a model may have
  /// been made with more `threads(n)`, or larger teams, than there are now. It then fails with an
  /// `Error` when it is to run.
  void set_threads(int workers, int threads_per_worker);
  /// The largest number of workers for `set_threads`: the total number of threads with which the
  /// graph was made, or the cores of the process if that is more.
  [[nodiscard]] int most_workers() const;
  /// Number of tasks submitted so far, and of their edges to unfinished tasks. A replay is one
  /// task. An iteration of `iterate` that is submitted as a whole counts as its tasks and one more,
  /// or as one if it is a graph of a device.
  [[nodiscard]] std::uint64_t submitted() const;
  [[nodiscard]] std::uint64_t edges() const;
  /// Number of tasks submitted and not over. A task is over shortly after its future is complete,
  /// when its body has been destroyed. While other threads submit and run tasks the result may be
  /// less, but never more, than the number when the call began.
  [[nodiscard]] std::uint64_t in_flight() const;
  /// Bytes held for tasks; follows the largest number in flight, not the number submitted.
  [[nodiscard]] std::size_t task_memory() const;

  /// The present counters. Throws `Error` when the graph does not count, see
  /// TaskGraphOptions::statistics.
  [[nodiscard]] GraphStatistics statistics() const;

  /// What has been recorded so far. All three throw `Error` when the graph does not record.
  [[nodiscard]] DependencyGraph dependency_graph() const;
  [[nodiscard]] SchedulingGraph scheduling_graph() const;
  [[nodiscard]] Trace trace() const;

 private:
  friend struct Impl::GraphInternals;
  [[nodiscard]] Impl::Engine& engine() const;
  void ask_to_stop(Impl::TaskHandle const& task);
  void wait_for(std::span<TaskNumber const> numbers, Awaited what,
                std::source_location const& site);
  [[nodiscard]] bool are_done(std::span<TaskNumber const> numbers,
                              std::source_location const& site) const;
  [[nodiscard]] std::vector<Impl::TaskHandle> tasks_of(std::span<TaskNumber const> numbers,
                                                       char const* what,
                                                       std::source_location const& site) const;
  void add(Impl::TagRule&& rule);
  Progress add(std::shared_ptr<Impl::ProgressSource> source);
  Plan make_plan(Label&& label, Impl::FunctionRef<void()> body);
  IterateReport run_iterations(Label&& label, std::uint64_t iterations,
                               Impl::FunctionRef<bool(std::uint64_t)> body);

  Impl::GraphControl* m_control;
  std::uint64_t m_generation;
  TaskGraphOptions m_options;
};

}  // namespace trellis

#endif
