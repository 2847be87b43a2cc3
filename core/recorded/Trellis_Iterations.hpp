// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ITERATIONS_HPP
#define TRELLIS_IMPL_ITERATIONS_HPP

#include <Trellis_Label.hpp>
#include <Trellis_Plan.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <base/Trellis_Reserve.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace trellis::Impl {

class AsyncStreams;
class FailureLog;
class Kernel;
class Children;
class Iteration;
class IterationMemory;
class RecordedGraph;
class PlanGraphs;
struct PlanRecording;
class PolicyEdges;
class Recorder;
struct Scope;
class Submission;
class SubmissionLock;
struct TagRule;
class TaskSlab;
struct TaskSpec;

/// The iterations of loops in a graph: collects their tasks, and submits them; see Iteration.
class Iterations {
 public:
  Iterations(Kernel& kernel, Submission& admission, PlanGraphs& graphs, Children& children,
             PolicyEdges& policy_edges, AsyncStreams& streams);
  Iterations(Iterations const&) = delete;
  Iterations& operator=(Iterations const&) = delete;

  /// Calls `body` for each iteration until it returns false, and replays iterations that are like
  /// earlier ones.
  IterateReport iterate(Label&& label, std::uint64_t iterations,
                        FunctionRef<bool(std::uint64_t)> body);
  /// Collects the next task of an iteration. Returns an invalid handle if the iteration does not
  /// collect it, nor any other from there on.
  TaskHandle collect_task(PlanRecording& recording, TaskSpec& spec);
  /// Turns the tasks that these iterations have collected so far into ordinary tasks.
  void admit(Iteration* iteration);
  void admit(FunctionRef<bool(Iteration const&)> which);
  void admit_all() {
    admit([](Iteration const&) { return true; });
  }
  /// Returns the handle of the task that a collected task has become, and submits it if need be.
  /// Other handles are returned as they are; but a collected replay of a recorded task's plan is
  /// submitted, too.
  TaskHandle resolve(TaskHandle const& handle);

 private:
  TaskHandle collect(Iteration& iteration, IterationMemory& memory, TaskSpec& spec);
  void begin_plan(Iteration& iteration);
  std::shared_ptr<RecordedGraph> plan_of(Iteration& iteration, IterationMemory& memory);
  void number(Task& task);
  bool admit_whole(Label const& label, Iteration& iteration,
                   std::shared_ptr<RecordedGraph> const& plan);
  void link_child(RecordedGraph const& plan, std::vector<Task*> const& children, std::size_t k,
                  bool as_graph);
  void collects_no_more(Iteration& iteration);
  struct Unpublished {
    Task* task;
    std::int32_t rest;  ///< what has to be taken off its count
  };
  void admit_collected(Iteration& iteration, Vector<Unpublished>& admitted);
  void admit_and_publish(FunctionRef<void(Vector<Unpublished>& admitted)> collect);

  Kernel& m_kernel;
  Submission& m_admission;
  PlanGraphs& m_graphs;
  Children& m_children;
  PolicyEdges& m_policy_edges;
  SubmissionLock& m_submission;
  Scope& m_root;  ///< the graph's
  TaskSlab& m_slab;
  FailureLog& m_failures;
  std::deque<TagRule> const& m_rules;
  AsyncStreams& m_streams;
  Recorder* const m_recorder;  ///< null: the graph does not record

  std::atomic<std::uint64_t> m_last_iteration{0};
  std::vector<Iteration*>
      m_iterations;                  ///< guarded by m_submission: those that have collected tasks
  std::atomic<int> m_collecting{0};  ///< their number
};

}  // namespace trellis::Impl

#endif
