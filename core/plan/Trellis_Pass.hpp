// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PASS_HPP
#define TRELLIS_IMPL_PASS_HPP

#include <Trellis_Label.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <plan/Trellis_PlanState.hpp>
#include <graph/Trellis_GraphControl.hpp>
#include <kernel/Trellis_TaskSpec.hpp>
#include <kernel/Trellis_Task.hpp>
#include <kernel/Trellis_TaskSlab.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace trellis::Impl {

class AsyncStreams;
class PlanGraphs;

/// Of a Resource.
inline constexpr SubjectOps resource_ops{
    [](void const* subject, ResourceInfo& info) {
      auto const& resource = *static_cast<Resource const*>(subject);
      info = {resource.label, resource.begin, resource.end, resource.shape};
    },
    nullptr, nullptr,
    [](void const* subject) { return static_cast<Resource const*>(subject)->identity; }};

/// What the tasks of a pass have in common with those of each pass that is like it: everything but
/// what their functors hold. Made while the first such pass is collected; does not change after
/// `seal`, so that any number of passes may use it at the same time.
class PassPlan {
 public:
  PassPlan(TaskSlab& tasks, FailureLog const& failures, AsyncStreams& streams)
      : m_streams(streams), m_table(tasks, failures, true) {}
  PassPlan(PassPlan const&) = delete;
  PassPlan& operator=(PassPlan const&) = delete;
  ~PassPlan();

  [[nodiscard]] std::size_t size() const { return m_nodes.size(); }
  /// See PlannedTasks.
  [[nodiscard]] std::uint64_t number() const { return m_number; }
  void tell(SchedulingPolicy& planner) const;
  /// Would submitting `spec` give this task, but for what its functor holds?
  [[nodiscard]] bool is_same(std::size_t k, TaskSpec const& spec) const;
  [[nodiscard]] std::span<TaskAccess const> accesses(std::size_t k) const {
    return std::span(m_accesses).subspan(m_nodes[k].first_access, m_nodes[k].access_count);
  }
  /// Gives the task at this place its accesses; it has none.
  void give_accesses(std::size_t k, Task& task) const;

  // While it is made; the graph's lock is held.
  /// Finds the places of a task's accesses, and may throw. Then `add` is called, with that task.
  void prepare(TaskSpec const& spec);
  void add(Task& task, TaskSpec const& spec);
  /// A pass, with this number, has this task. Its Views may be other ones than those of the pass
  /// before, at the same addresses: the whole is to say so. Only one thread collects with a plan,
  /// and no other thread asks for what is changed here. The graph's lock is held.
  void note_identities(std::size_t k, TaskSpec const& spec, std::uint64_t pass) const;
  /// Adds a task of another plan, which is the same as this one so far.
  void add_like(PassPlan const& other, std::size_t k, Task& task);
  /// All tasks are there. Needs no lock: others only ask for accesses.
  void seal();

  // Afterwards.
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
    EdgeReason reason;
  };
  [[nodiscard]] std::span<Edge const> edges_from(std::size_t k) const {
    return std::span(m_edges).subspan(m_first_edge[k], m_first_edge[k + 1] - m_first_edge[k]);
  }
  [[nodiscard]] std::int32_t edges_to(std::size_t k) const { return m_nodes[k].edges_to; }
  [[nodiscard]] std::span<std::uint32_t const> roots() const { return m_roots; }
  [[nodiscard]] std::span<AccessRequest const> requests() const {
    return m_requests;
  }  ///< of the whole
  [[nodiscard]] bool synchronizes() const { return m_synchronizes; }
  [[nodiscard]] int priority() const { return m_priority; }  ///< the highest

  /// Of a pass whose tasks all do nothing but launch work on one device. Each pass updates it with
  /// its functors, under the lock of the streams.
  PlanGraph graph;
  /// False: it has no graph, or that could not be made.
  std::atomic<bool> has_graph{false};

 private:
  struct Node {
    TaskOps const* ops = nullptr;
    SpaceAdapter* space = nullptr;
    int stream = -1;
    int priority = 0;
    bool main_thread = false;
    bool synchronizing = false;
    bool exclusive = false;
    std::uint32_t first_access = 0;
    std::uint32_t access_count = 0;
    std::int32_t edges_to = 0;
    /// Keeps its address from being used for another one, but not its tasks.
    std::weak_ptr<PlanState> replays;
    PlanState const* replayed = nullptr;
    Label label;
    std::vector<TagPtr> tags;
  };
  void enter(Task& task);
  void add_edge(std::size_t from, std::size_t to, EdgeReason reason);

  std::uint64_t const m_number = new_plan_number();
  AsyncStreams& m_streams;
  AccessTable m_table;
  std::vector<Node> m_nodes;
  std::vector<TaskAccess> m_accesses;
  std::vector<Edge> m_edges;                ///< after `seal` by `from`
  std::vector<std::uint32_t> m_first_edge;  ///< by task, and one behind the last
  std::vector<std::uint32_t> m_roots;       ///< tasks without an edge to them
  std::vector<AreaEntry*> m_prepared;
  std::size_t m_barrier = none;  ///< the newest synchronizing task
  static constexpr std::size_t none = ~std::size_t{0};
  std::vector<OuterAccess> m_outer;
  std::vector<AccessRequest> m_requests;
  bool m_synchronizes = false;
  int m_priority = 0;
};

/// The different passes that a loop remembers, and which of them a new pass is like so far.
///
/// All plans that agree with the pass so far agree with each other so far. So a task is compared
/// with one of them, the leader; when that is another one, with those that part from the leader
/// just there.
class PassMemory {
 public:
  static constexpr std::size_t most = 8;

  /// A new pass. Begins with the plan used last.
  void begin();
  /// The next task of the pass. False: no plan goes on with it.
  [[nodiscard]] bool next(TaskSpec const& spec);
  /// The pass is over: the plan that it is like, or null.
  [[nodiscard]] std::shared_ptr<PassPlan> end();
  /// The plan that the pass has been like so far; null when there is none.
  [[nodiscard]] std::shared_ptr<PassPlan> const& leader() const;
  /// Remembers the plan of a pass that was none of these, in the place of the one used longest ago.
  void add(std::shared_ptr<PassPlan> plan);

 private:
  struct Known {
    std::shared_ptr<PassPlan> plan;
    std::uint64_t used = 0;
    std::array<std::size_t, most> common{};  ///< so many tasks are those of another one, too
  };
  static constexpr std::size_t none = most;
  std::array<Known, most> m_known;
  std::size_t m_leader = none;
  std::size_t m_position = 0;  ///< tasks of the pass that the leader has as well
  std::uint64_t m_uses = 0;
};

/// A pass of `iterate`, whose tasks are collected until its body is over.
///
/// A collected task is made, with its functor and its properties, and the user has a handle of it.
/// It is not submitted: it has no id, no edges, and nobody but its pass knows it. At the end of the
/// body all of them are submitted as one task, the whole, of which they are the parts: their edges
/// are those of the plan.
///
/// ON DEMAND. Whoever asks after a collected task (`Passes::settle`), or for everything, has the
/// pass submitted at once: what it has collected becomes ordinary tasks, in order, and so does what
/// it hands in from there on. So nobody ever waits for the body.
///
/// TICKETS. The handle of a collected task carries a ticket in place of an id: a number that is no
/// id, and says of which pass it is and at which place. `Task::live_id` is the ticket while the
/// task is collected. When it is submitted it gets its id, which is its place among all that is
/// submitted, and `Task::ticket_for` says which: whoever comes with the ticket goes on with the id.
///
/// All but the comparison with plans is guarded by the graph's lock.
class Pass {
 public:
  static constexpr TaskId ticket = TaskId{1} << 62;  ///< in all tickets, and in no ids
  static constexpr unsigned place_bits = 24;
  static constexpr std::size_t most_tasks = std::size_t{1} << place_bits;

  [[nodiscard]] static bool is_ticket(TaskId id) { return id >> 62 == 1; }
  [[nodiscard]] TaskId ticket_of(std::size_t place) const {
    return ticket | m_number << place_bits | place;
  }
  [[nodiscard]] bool gave_out(TaskId id) const {
    return id >> place_bits == ticket_of(0) >> place_bits;
  }

  /// `number`: different for each pass of the graph.
  void begin(std::uint64_t number) {
    m_number = number % (TaskId{1} << (62 - place_bits));
    collects = true;
    tasks.clear();
    plan = nullptr;
    recorded = nullptr;
  }

  /// Else it has been submitted, and what comes is submitted as it comes. Never becomes true again.
  std::atomic<bool> collects{false};
  std::vector<Task*> tasks;  ///< collected so far
  PassPlan* plan = nullptr;  ///< that begins with these
  /// That one, when it is made of this pass.
  std::shared_ptr<PassPlan> recorded;
  [[nodiscard]] std::uint64_t number() const { return m_number; }

 private:
  std::uint64_t m_number = 0;
};

/// The body of a whole.
struct WholePass {
  std::shared_ptr<PassPlan> plan;  ///< what the parts' accesses refer to
  PlanGraphs* graphs;
  std::vector<Task*> parts;  ///< when they are launched as a graph
};

}  // namespace trellis::Impl

#endif
