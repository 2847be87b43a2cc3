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
///     for (int pass = 0; pass < passes; ++pass) {
///       submit_pass(graph);
///       graph.wait();
///       feedback.adapt(graph, structure, meter->take());
///     }
///
/// `structure` is the graph of one pass, e.g. that of a first pass in a graph that records.
namespace trellis {

class TaskGraph;

/// How the threads of a graph are divided: how many tasks run at a time, and with how many threads.
struct ThreadRatio {
  int workers = 1;
  int threads = 1;  ///< of each worker
  friend bool operator==(ThreadRatio const&, ThreadRatio const&) = default;
};

/// The ratios that are worth a thought, the most workers first. There are no more workers than
/// `max_speedup`, rounded up, can be of use (see GraphAnalysis), each has `threads / workers`
/// threads, rounded down, and of those with as many threads each only the one with the most workers
/// is there. Throws `Error` when there is no thread.
[[nodiscard]] std::vector<ThreadRatio> thread_ratios(int threads, double max_speedup);

/// How long the tasks of a graph take on so many workers if whoever is free takes the ready task
/// with the longest path behind it, in virtual time; see `simulate`. All of them run on workers.
[[nodiscard]] double list_makespan(Graph const& graph, int workers, TaskCost const& cost);

/// The tasks that were submitted after this one, and the edges between them: e.g. the last pass of
/// a graph that records. Tasks of a plan and parts are among them.
[[nodiscard]] Graph tasks_after(Graph const& graph, TaskId last);

/// How a `ThreadFeedback` chooses a ratio.
struct ThreadFeedbackOptions {
  /// The ratio changes only when that is predicted to take so much off a pass: changing has a cost,
  /// and times vary.
  double least_gain = 0.05;
  /// What a task would take with `has` threads that took `took` with `had`, as long as nobody has
  /// measured it. Default: a host task, or one with `threads(n)`, takes the same; any other one
  /// `took * had / has`, as if all of its threads were of use.
  std::function<double(TaskRecord const& task, double took, int had, int has)> guess = nullptr;
};

/// Learns what the tasks of a pass take with each number of threads, and says after each pass with
/// which ratio the next one should run.
///
/// A ratio is worth what its list schedule takes, with the times that were measured with as many
/// threads per worker (a moving average), and with a guess where there are none. So it tries what
/// seems to be better, measures that, and goes back if it is not. Each number of threads is tried
/// once at most before it has been measured, so it comes to rest. Guesses are made from what tasks
/// take with one thread: where there is a choice a pass with that comes first.
///
/// A pass is known by the labels of its tasks: when they are others than those of the pass before,
/// all that was measured is forgotten. For one thread at a time.
class ThreadFeedback {
 public:
  /// `threads`: in all. Throws `Error` when there is none.
  explicit ThreadFeedback(int threads, ThreadFeedbackOptions options = {});

  /// A pass has run with this ratio, and this is what each of its tasks took. Returns the ratio for
  /// the next pass. Throws as `analyse` does.
  ThreadRatio passed(Graph const& pass, TaskCost const& took, ThreadRatio const& with);
  /// The same for an idle graph, which gets the new ratio: one pass, one decision. True: another
  /// one than before.
  bool adapt(TaskGraph& graph, Graph const& pass, TaskCost const& took);

  /// How long the newest pass would take with this ratio, by what is known. Throws `Error` before
  /// the first pass.
  [[nodiscard]] double predicted(ThreadRatio const& ratio) const;
  [[nodiscard]] int threads() const { return m_threads; }

 private:
  [[nodiscard]] std::vector<double> times(int threads) const;
  [[nodiscard]] double makespan(ThreadRatio const& ratio) const;

  int const m_threads;
  ThreadFeedbackOptions m_options;
  Graph m_pass;
  /// By number of threads of a worker: what each task took, in the order of `m_pass.nodes()`.
  std::map<int, std::vector<double>> m_measured;
};

/// A scheduling policy that leaves all decisions to another one, and measures what tasks of each
/// label take, without recording. With it clocks are read around each task.
class TaskMeter : public ForwardingPolicy {
 public:
  using ForwardingPolicy::ForwardingPolicy;
  /// What a task of each label has taken on average since the last call, in nanoseconds; 0 where
  /// none has run. For any thread.
  [[nodiscard]] virtual TaskCost take() = 0;
};
/// `to`: null: the default policy.
[[nodiscard]] std::shared_ptr<TaskMeter> make_task_meter(
    std::shared_ptr<SchedulingPolicy> to = nullptr);

}  // namespace trellis

#endif
