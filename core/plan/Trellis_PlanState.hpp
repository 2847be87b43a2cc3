// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANSTATE_HPP
#define TRELLIS_IMPL_PLANSTATE_HPP

#include <Trellis_Access.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Area.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_Label.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <device/Trellis_CapturedGraph.hpp>
#include <task/Trellis_Failure.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <graph/Trellis_GraphControl.hpp>
#include <kernel/Trellis_TaskSpec.hpp>
#include <kernel/Trellis_Task.hpp>
#include <threads/Trellis_Unlocked.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

class PlanGraphs;
class Plans;

/// What others see of the accesses of several tasks.
struct OuterAccess {
  ResourceInfo info;
  Area area;
  Mode mode;
  Resource const* resource;  ///< of the table of these tasks
};
inline constexpr SubjectOps outer_access_ops{
    [](void const* subject, ResourceInfo& info) {
      info = static_cast<OuterAccess const*>(subject)->info;
    },
    nullptr, nullptr,
    [](void const* subject) {
      return static_cast<OuterAccess const*>(subject)->resource->identity;
    }};
/// The union of the accesses that `for_each(f)` calls f with: one for each area; neighbouring runs
/// of bytes in one mode are put together.
[[nodiscard]] std::vector<OuterAccess> join_accesses(
    FunctionRef<void(FunctionRef<void(TaskAccess const&)>)> for_each);
/// Requests for these, which refer to them.
[[nodiscard]] std::vector<AccessRequest> requests_of(std::vector<OuterAccess> const& accesses);

/// An allocation that a plan has been recorded with.
///
/// A plan works on the Views that its functors captured. When those outside have been reallocated
/// or dropped, nobody will ever see what it does, and it must be a mistake. So it counts: of all
/// references to the allocation `held` are its own.
struct HeldResource {
  std::string label;
  std::unique_ptr<ResourceHold> hold;
  long held = 1;                  ///< with `hold`; not more than there are
  bool held_outside = false;      ///< when it had been recorded
  bool is_counted = false;        ///< by HeldByPlans
  std::uint32_t counted_for = 0;  ///< number of the task whose references were counted last
};

/// How many references to each allocation the plans of all graphs have. None of them is one of the
/// program's, which several plans over one View must not take each other's for.
class HeldByPlans {
 public:
  static void add(HeldResource& resource);
  static void remove(HeldResource const& resource) noexcept;
  /// Does the program hold it, too?
  [[nodiscard]] static bool is_held_outside(HeldResource const& resource);
};

/// Tasks of a plan that hang together by edges, within a round or to the next one.
///
/// THE END OF ROUNDS THAT ARE CANCELLED. Say a run of task v is over in round r, and from there on
/// nothing of the component will run any more. Then `rounds` is set to r + 1 + the number of its
/// tasks, if that is fewer. So it takes no longer the more rounds are left. Why do all tasks of the
/// component take the same run for their last one? For each edge from one to another there is a
/// path back, see PlanState, so a path leads from v to each task w of the component. It visits no
/// task twice, so it leads to w's run in round r + n - 1 at the latest, where n is the number of
/// tasks. That run, and those behind it, happen after the store, by the chain of acquire-release
/// decrements, and find the new number. All other runs are in earlier rounds, and are not the last
/// one by either number. The first one that sets it wins, and others leave it as it is.
struct PlanComponent {
  std::atomic<std::uint64_t> rounds{0};  ///< how often each of its tasks runs until it is through
  std::uint32_t tasks = 0;
  /// A failure of any of its tasks reaches all of them, and so it does in all later rounds.
  bool fails_as_one = true;
};

/// A plan whose tasks all run on one device, or a piece of a plan, as a graph of that
/// device. A graph waits for the end of its own launch before, so rounds overlap only within one:
/// where many are to be run, a graph of several is launched as often as it fits.
///
/// SEVERAL ROUNDS. Such a graph has the edges within each round, those from each round to the next
/// one, and one from each task's run to its next. By the argument in PlanState paths order all
/// conflicting tasks of two rounds in a row, and with that of all.
struct PlanGraph {
  static constexpr std::size_t most_rounds = 8;
  static constexpr std::size_t most_nodes = 4096;  ///< of several rounds

  /// So many rounds are run one by one before it is worth to capture several.
  static constexpr std::uint64_t rounds_before = 32;

  /// Branches of the graph for each stream that the graph's tasks would have otherwise: in a graph
  /// they cost nothing, and fewer than the plan is wide delay what could run.
  static constexpr std::size_t branches_per_stream = 4;

  DeviceAdapter* device = nullptr;  ///< null: there is none
  CapturedGraph one;
  CapturedGraph several;
  std::size_t rounds = 0;  ///< of `several`; 0: they cannot be had
  std::uint64_t asked_for_several = 0;

  /// Does not change once the plan is recorded.
  [[nodiscard]] bool exists() const { return device != nullptr; }
  void make_stale() { one.stale = several.stale = true; }
  /// Requires the lock of the streams.
  void release() noexcept {
    if (device == nullptr) return;
    one.release(*device);
    several.release(*device);
    *this = {};
  }
};

/// The tasks of a piece of a plan, launched as one graph.
struct PlanPiece {
  PlanGraph graph;
  std::vector<Task*> members;  ///< in the order of submission
  Task* task = nullptr;        ///< in their place; its index is behind those of all tasks
};

/// Tasks that run round by round, without being analysed, copied or allocated again.
///
/// To the tasks around it a replay is one task (here: the whole) with the union of their accesses;
/// when that starts, the tasks without an edge to them start, and when all are through with their
/// last round it is complete. A plan serves one whole at a time; others that may run wait in a
/// queue.
///
/// ROUNDS. The edges are those of two rounds in a row: within the first one, and from the first one
/// to the second. For tasks u before v whose accesses conflict there is a path from u to v in each
/// round, and one from v to u in the next one, so by induction paths order conflicting tasks of all
/// rounds, and a round need not wait for the end of the one before. An edge for another reason than
/// accesses, from u to v, is given one from v to u of the next round, which makes the same true for
/// it. Edges to the next round only lead from later tasks to earlier ones: from u to v there is a
/// path through v of this round and u of the next.
///
/// FAILURES go along the edges that the same tasks would have if they were submitted round by
/// round. The edges from v to u of the next round, which accompany an edge for another reason, are
/// none of these. They come last among the successors of v, behind `PlanNode::carrying`. Where
/// rounds do not overlap there are no edges to the next round, and `carried` says between which
/// tasks there would be some.
///
/// INVARIANT (counts). `unfinished` of task v counts the edges to its next run whose trigger has
/// not fired. It is set for a run when the run before it is over, before the successors are
/// triggered. No edge to that next run can fire earlier: its other end u has an edge to v, so there
/// is a path from v's run to the next run of u, whether that is in the same round or in the next
/// one. That also means that v's runs never overlap, and that a plain store is enough: whoever
/// decrements the count happens after the store by the chain of acquire-release decrements along
/// the path. A task without any edge to it starts its next run itself.
///
/// INVARIANT (end). `open` counts the tasks without a successor in their own round which have not
/// run their last round. In the last round only the edges within it fire, and each task has a path
/// to one of these; so when `open` is 0 everybody is through, has its count set for the first round
/// of the next replay, and reads nothing of the plan any more: a task reads what it needs before it
/// triggers its last successor.
struct PlanState : std::enable_shared_from_this<PlanState> {
  PlanState() = default;
  PlanState(PlanState const&) = delete;
  PlanState& operator=(PlanState const&) = delete;
  ~PlanState();

  Plans* plans = nullptr;        ///< of the graph, while that is there
  PlanGraphs* graphs = nullptr;  ///< of the graph, while there is a replay
  GraphControl* control = nullptr;
  std::uint64_t generation = 0;
  Label label;

  // Does not change once it is recorded.
  std::uint64_t const number = new_plan_number();
  /// The parent of all tasks, of which nothing but `scope`, `parent`, `run_id` and `unfinished` is
  /// used: the last counts replays that are not complete. Its memory outlives the plan.
  Task* owner = nullptr;
  std::vector<Task*> tasks;    ///< in the order of submission
  std::vector<Task*> roots;    ///< those without an edge to them in their round
  std::size_t leaves = 0;      ///< tasks without a successor in their round
  std::size_t capturable = 0;  ///< tasks that can be in a graph of their device
  std::size_t edges = 0;
  std::size_t edges_between_rounds = 0;
  bool rounds_overlap = true;
  /// of edges not by access
  std::map<std::pair<std::uint32_t, std::uint32_t>, EdgeReason> reasons;
  std::map<std::uintptr_t, HeldResource> resources;  ///< by the begin of the allocation
  std::unique_ptr<PlanComponent[]> components;
  std::size_t component_count = 0;
  std::size_t task_count = 0;  ///< what `Plan` says, while the graph may end
  std::size_t access_count = 0;

  // Where rounds do not overlap.
  struct Carried {
    Task* from;
    Task* to;  ///< in the next round
  };
  std::vector<Carried> carried;  ///< sorted by `from`
  /// The first and the last synchronizing task, or null: the first one comes after all tasks of the
  /// round before, and the last one before all of the next round.
  Task* first_barrier = nullptr;
  Task* last_barrier = nullptr;
  std::vector<PlanState*> nested;  ///< that tasks of this one replay; they keep them alive
  /// Of a plan that is no graph as a whole.
  std::vector<std::unique_ptr<PlanPiece>> pieces;
  PlanGraph graph;  ///< guarded by the mutex of AsyncStreams, once it has been recorded

  // What others see.
  std::vector<OuterAccess> outer;
  std::vector<AccessRequest> requests;  ///< for these
  std::vector<TaskHandle> after;        ///< tasks from before, that it explicitly depends on

  // The replay under way.
  std::uint64_t rounds_at_once = 0;  ///< how often each task runs until `open` is 0
  std::uint64_t rounds_left = 0;     ///< behind these
  alignas(64) std::atomic<std::size_t> open{0};
  alignas(64) std::atomic<Task*> whole{nullptr};  ///< null: none
  QuietLock<SpinLock> lock;
  /// Guarded by lock: wholes that may run, after this one.
  std::deque<Task*, FromReserve<Task*>> waiting;
  TaskHandle last{};  ///< guarded by the graph's lock: of the newest replay
  struct Failed {
    std::string text;
    FailurePtr failure;
    bool cancelled;
  };
  Map<std::uint32_t, Failed> failed;  ///< guarded by lock: by index, in the newest replay
  struct FailedRun {
    Task* task;
    FailurePtr failure;
  };
  /// Guarded by lock: of this round, where rounds do not overlap.
  Vector<FailedRun> failed_runs;
};

/// Calls f for the plan and for all that it replays.
template <class F>
void for_each_plan(PlanState& plan, F&& f) {
  f(plan);
  for (PlanState* nested : plan.nested) for_each_plan(*nested, f);
}
/// Can the task be in a graph of its device?
[[nodiscard]] bool can_be_captured(Task const& task);
/// To the count of replays that are not complete.
void add_pending(PlanState& plan, std::int32_t by);

/// The body of a replay. Of a graph's: not more rounds than are launched at once.
struct ReplayBody {
  static constexpr std::uint64_t graphs_at_once = 32;
  std::shared_ptr<PlanState> plan;
  std::uint64_t rounds;
};
extern TaskOps const replay_ops;
/// Is its body a plan? (Not a graph of a device, which is launched like any kernel.)
[[nodiscard]] inline bool replays_plan(Task const& task) {
  return task.ops == &replay_ops;
}

}  // namespace trellis::Impl

#endif
