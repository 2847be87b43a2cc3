// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_THREADRATIO_HPP
#define TRELLIS_THREADRATIO_HPP

#include <Trellis_Analysis.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_TaskId.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// With this header a program that runs the same tasks again and again finds out how to divide its
/// threads: many tasks at a time with few threads each, or few tasks with many threads each.
///
///     auto const meter = trellis::make_task_meter();
///     options.policy = meter;
///     trellis::TaskGraph graph(options);
///     trellis::ThreadFeedback feedback(8);           // threads in all
///     for (int k = 0; k < steps; ++k) {
///       submit_iteration(graph);
///       graph.wait();
///       feedback.adapt(graph, structure, meter->take());
///     }
///
/// `structure` is the graph of one iteration, e.g. that of a first iteration in a graph that
/// records.
namespace trellis {

class TaskGraph;

/// How the threads of a graph are divided: how many tasks run at a time, and with how many threads
/// each.
struct ThreadRatio {
  int workers = 1;
  int threads = 1;  ///< of each worker
  friend bool operator==(ThreadRatio const&, ThreadRatio const&) = default;
};

/// The ratios that are worth trying, the most workers first. There are no more workers than
/// `max_speedup`, rounded up (see GraphAnalysis). Each worker has `threads / workers` threads,
/// rounded down. Among ratios with the same number of threads per worker, only the one with the
/// most workers is included. Throws `Error` when there is no thread.
[[nodiscard]] std::vector<ThreadRatio> thread_ratios(int threads, double max_speedup);

/// The time that the tasks of a graph take on this many workers, in virtual time (see `simulate`).
/// A free worker takes the ready task with the longest path behind it. All tasks run on workers.
[[nodiscard]] double list_makespan(Graph const& graph, int workers, TaskCost const& cost);

/// The tasks that were submitted after this one, and the edges between them: e.g. the last
/// iteration of a graph that records. Tasks of a plan and children are included.
[[nodiscard]] Graph tasks_after(Graph const& graph, TaskId last);

/// How a `ThreadFeedback` chooses a ratio.
struct ThreadFeedbackOptions {
  /// The ratio changes only when this fraction of an iteration is predicted to be saved: a change
  /// has a cost, and times vary.
  double least_gain = 0.05;
  /// Predicts what a task would take with `has` threads if it took `took` with `had`, as long as no
  /// measurement exists. By default a host task, or one with `threads(n)`, takes the same time. Any
  /// other task takes `took * had / has`, as if all of its threads were of use.
  std::function<double(TaskRecord const& task, double took, int had, int has)> guess = nullptr;
};

/// Learns what the tasks of an iteration take with each number of threads, and after each iteration
/// says with which ratio the next one should run.
///
/// A ratio is rated by the length of its list schedule. The times are those measured with that many
/// threads per worker (a moving average), or guesses where there are none. It tries the ratio that
/// seems better, measures it, and goes back if it is not. Each number of threads is tried at most
/// once before it has been measured, so the ratio comes to rest. Guesses are made from times with
/// one thread: if there is a choice, an iteration with one thread comes first.
///
/// An iteration is known by the labels of its tasks: when they differ from those of the iteration
/// before, all measurements are forgotten. One thread at a time may use it.
class ThreadFeedback {
 public:
  /// `threads`: the total number. Throws `Error` when there is none.
  explicit ThreadFeedback(int threads, ThreadFeedbackOptions options = {});

  /// Reports that an iteration has run with this ratio, and what each of its tasks took. Returns
  /// the ratio for the next iteration. Throws as `analyse` does.
  ThreadRatio passed(Graph const& iteration, TaskCost const& took, ThreadRatio const& with);
  /// Does the same for an idle graph, which gets the new ratio: one iteration, one decision.
  /// Returns true if the ratio has changed.
  bool adapt(TaskGraph& graph, Graph const& iteration, TaskCost const& took);

  /// How long the newest iteration would take with this ratio, by what is known. Throws `Error`
  /// before the first iteration.
  [[nodiscard]] double predicted(ThreadRatio const& ratio) const;
  [[nodiscard]] int threads() const { return m_threads; }

 private:
  [[nodiscard]] std::vector<double> times(int threads) const;
  [[nodiscard]] double makespan(ThreadRatio const& ratio) const;

  int const m_threads;
  ThreadFeedbackOptions m_options;
  Graph m_iteration;
  /// By number of threads of a worker: what each task took, in the order of `m_iteration.nodes()`.
  std::map<int, std::vector<double>> m_measured;
};

/// A scheduling policy that leaves all decisions to another one and measures what tasks of each
/// label take, without recording. It reads clocks around each task.
class TaskMeter : public ForwardingPolicy {
 public:
  using ForwardingPolicy::ForwardingPolicy;
  /// Returns what a task of each label has taken on average since the last call, in nanoseconds; 0
  /// if none has run. Any thread may call it.
  [[nodiscard]] virtual TaskCost take() = 0;
};
/// Makes a TaskMeter that leaves decisions to `to`; null: to the default policy.
[[nodiscard]] std::shared_ptr<TaskMeter> make_task_meter(
    std::shared_ptr<SchedulingPolicy> to = nullptr);

}  // namespace trellis

#endif
