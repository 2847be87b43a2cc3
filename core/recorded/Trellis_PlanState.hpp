// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANSTATE_HPP
#define TRELLIS_IMPL_PLANSTATE_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Label.hpp>
#include <failure/Trellis_Failure.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <task/Trellis_Task.hpp>
#include <recorded/Trellis_HeldResources.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <recorded/Trellis_RecordedGraph.hpp>
#include <locks/Trellis_Unlocked.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

class PlanGraphs;
class Plans;

/// A set of a plan's tasks that are connected by edges, within a round or to the next one.
///
/// THE END OF CANCELLED ROUNDS. Say a run of task v is over in round r, and from there on nothing
/// of the component will run any more. Then `rounds` is set to r + 1 + the number of its tasks, if
/// that is fewer. So the end takes no longer when more rounds are left.
///
/// All tasks of the component take the same run for their last one. For each edge from one task to
/// another there is a path back, see PlanState, so a path leads from v to each task w of the
/// component. It visits no task twice, so it leads to w's run in round r + n - 1 at the latest,
/// where n is the number of tasks. That run, and those behind it, happen after the store, by the
/// chain of acquire-release decrements, and find the new number. All other runs are in earlier
/// rounds, and are not the last one by either number. The first thread that sets the number wins,
/// and others do not change it.
struct PlanComponent {
  std::atomic<std::uint64_t> rounds{0};  ///< how often each of its tasks runs in all
  std::uint32_t tasks = 0;
  /// A failure of any of its tasks reaches all of them, also in all later rounds.
  bool fails_as_one = true;
};

/// The tasks of a piece of a plan, which are launched as one graph.
struct PlanPiece {
  PlanGraph graph;
  std::vector<Task*> members;  ///< in the order of submission, and so of their places
  Task* task = nullptr;        ///< runs in their place; its index is behind those of all tasks
};

/// Tasks that run round by round, without being analysed, copied or allocated again: a recorded
/// graph, and a task for each of its places.
///
/// To the tasks around it a replay is one task, called the whole, with the union of the accesses.
/// When it starts, the tasks that no edge leads to start. When all tasks have finished their last
/// round, it is complete. A plan serves one whole at a time; others that may run wait in a queue.
///
/// ROUNDS. The edges are those of two rounds in a row: within the first one, and from the first one
/// to the second. For tasks u before v whose accesses conflict there is a path from u to v in each
/// round, and one from v to u in the next round. So by induction paths order conflicting tasks of
/// all rounds, and a round need not wait for the end of the one before. An edge from u to v for
/// another reason than accesses is accompanied by one from v to u of the next round, so this holds
/// for it, too. Edges to the next round only lead from later tasks to earlier ones: from u to v of
/// the next round there is a path through v of this round and u of the next.
///
/// FAILURES go along the edges that the same tasks would have if they were submitted round by
/// round. The edges from v to u of the next round, which accompany an edge for another reason, are
/// none of these. They come last among the successors of v, behind `PlanNode::carrying`. Where
/// rounds do not overlap the tasks have no edges to the next round. Then those of the recorded
/// graph say which tasks of the next round a failure reaches.
///
/// INVARIANT (counts). `unfinished` of task v counts the edges to its next run whose trigger has
/// not fired. It is set for a run when the run before it is over, before the successors are
/// triggered. No edge to that next run can fire earlier. For its other end u has an edge to v, so
/// there is a path from v's run to the next run of u, in the same round or in the next one.
///
/// So v's runs never overlap, and a plain store is enough: a thread that decrements the count
/// happens after the store by the chain of acquire-release decrements along the path. A task
/// without any edge to it starts its next run itself.
///
/// INVARIANT (end). `open` counts the tasks without a successor in their own round which have not
/// run their last round. In the last round only the edges within it fire, and each task has a path
/// to one of these. So when `open` is 0 all tasks have finished, and have their counts set for the
/// first round of the next replay. None of them reads the plan any more: a task reads what it needs
/// before it triggers its last successor.
struct PlanState : std::enable_shared_from_this<PlanState> {
  PlanState() = default;
  PlanState(PlanState const&) = delete;
  PlanState& operator=(PlanState const&) = delete;
  ~PlanState();

  Plans* plans = nullptr;        ///< of the graph, while that is there
  PlanGraphs* graphs = nullptr;  ///< of the graph, while there is a replay
  TaskHandle graph;              ///< without a task
  Label label;

  // These do not change once the plan is recorded.
  std::unique_ptr<RecordedGraph> recorded;  ///< null: the plan has been dismantled
  /// The parent of the scope of all tasks. Only its `scope`, `parent`, `node` and `unfinished` are
  /// used; the last counts replays that are not complete. Its memory outlives the plan.
  Task* parent = nullptr;
  std::deque<PlanNode> nodes;  ///< of the tasks that follow
  std::vector<Task*> tasks;    ///< by place
  /// Used in a plan that is not one graph as a whole.
  std::vector<std::unique_ptr<PlanPiece>> pieces;
  /// The tasks that run, by place; those of the pieces come behind all others.
  std::vector<Task*> runs;
  RecordedEdges between_pieces;  ///< edges of the tasks that run, where there are pieces
  std::vector<Task*> roots;      ///< tasks that run without an edge to them in their round
  std::size_t leaves = 0;        ///< number of tasks that run without a successor in their round
  bool rounds_overlap = true;
  bool is_broken = false;  ///< a task could not be recorded in full
  HeldResources resources;
  std::vector<PlanComponent> components;
  /// The first and the last synchronizing task, or null. The first comes after all tasks of the
  /// round before, and the last comes before all tasks of the next round.
  Task* first_barrier = nullptr;
  Task* last_barrier = nullptr;
  std::vector<PlanState*> nested;  ///< plans that tasks of this one replay, and keep alive
  std::vector<TaskHandle> after;   ///< earlier tasks that it explicitly depends on

  // The answers of `Plan`, as the graph may end meanwhile.
  std::size_t task_count = 0;
  std::size_t edges_within_round = 0;
  std::size_t edges_between_rounds = 0;
  std::size_t access_count = 0;

  // The state of the replay under way.
  std::uint64_t rounds_at_once = 0;  ///< how often each task runs until `open` is 0
  std::uint64_t rounds_left = 0;     ///< rounds after these
  alignas(64) std::atomic<std::size_t> open{0};
  alignas(64) std::atomic<Task*> whole{nullptr};  ///< null: none
  DeferringLock<SpinLock> lock;
  /// Wholes that may run after this one. Guarded by `lock`.
  std::deque<Task*, FromReserve<Task*>> waiting;
  TaskHandle last{};  ///< the newest replay; guarded by the graph's lock
  struct Failed {
    std::string text;
    FailurePtr failure;
    bool cancelled;
  };
  Map<std::uint32_t, Failed> failed;  ///< by index, in the newest replay; guarded by lock
  struct FailedRun {
    Task* task;
    FailurePtr failure;
  };
  /// The failed runs of this round, where rounds do not overlap. Guarded by `lock`.
  Vector<FailedRun> failed_runs;

  /// True if all tasks only launch work on one device, and a graph of that device does it instead.
  [[nodiscard]] bool is_graph() const { return recorded->graph.exists(); }
  /// Returns the edges of the tasks that run.
  [[nodiscard]] RecordedEdges const& edges() const {
    return pieces.empty() ? recorded->edges() : between_pieces;
  }
  /// Called when a replay starts, under `lock`. Tells the futures.
  void forget_failures() {
    for (auto const& [index, each] : failed)
      tasks[index]->ops->fail(tasks[index]->body, 0, {}, nullptr);
    failed.clear();
  }
  template <class F>
  void for_each_run(F&& f) const {
    for (std::size_t k = 0; k < runs.size(); ++k)
      if (runs[k]->node->index == k) f(*runs[k]);
  }
};

/// Calls f for the plan and for all plans that it replays.
template <class F>
void for_each_plan(PlanState& plan, F&& f) {
  f(plan);
  for (PlanState* nested : plan.nested) for_each_plan(*nested, f);
}
/// Adds to the count of replays that are not complete.
void add_pending(PlanState& plan, std::int32_t by);

/// The body of a replay. If a device graph runs the plan, it has at most as many rounds as are
/// launched at once.
struct ReplayBody {
  static constexpr std::uint64_t graphs_at_once = 32;
  std::shared_ptr<PlanState> plan;
  std::uint64_t rounds;
};

}  // namespace trellis::Impl

#endif
