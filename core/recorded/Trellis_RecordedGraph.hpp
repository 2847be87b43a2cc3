// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RECORDEDGRAPH_HPP
#define TRELLIS_IMPL_RECORDEDGRAPH_HPP

#include <Trellis_Access.hpp>
#include <Trellis_Area.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_Label.hpp>
#include <Trellis_Tag.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <device/Trellis_PlanGraph.hpp>
#include <task/Trellis_FoundEntries.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskSpec.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace trellis {
class SchedulingPolicy;
}

namespace trellis::Impl {

class AsyncStreams;

/// An edge between two recorded tasks, which are known by their places in the order of submission.
struct RecordedEdge {
  enum class Kind : std::uint8_t {
    own_round,   ///< within a round
    next_round,  ///< to the next round, where it may lead from a task to itself
    back,        ///< to the next round, for the counts alone: it carries no failure
  };
  std::uint32_t from;
  std::uint32_t to;
  Kind kind;
  EdgeReason reason;
};

/// Edges, sorted by the task that they lead from, and then by their kind.
class RecordedEdges {
 public:
  RecordedEdges() = default;
  /// Takes edges among tasks at places below `count`.
  RecordedEdges(std::vector<RecordedEdge>&& edges, std::size_t count);

  [[nodiscard]] std::span<RecordedEdge const> all() const { return m_edges; }
  [[nodiscard]] std::span<RecordedEdge const> from(std::size_t k) const {
    return std::span(m_edges).subspan(m_first[k], m_first[k + 1] - m_first[k]);
  }
  /// Returns the edges that are left where `stands_for[k]`, which is below `count`, runs in the
  /// place of task k.
  [[nodiscard]] RecordedEdges contracted(std::span<std::uint32_t const> stands_for,
                                         std::size_t count) const;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<RecordedEdge> m_edges;
  std::vector<std::uint32_t> m_first;  ///< by task, with one more behind the last
};

/// Tasks in the order of submission, with all data that is the same each time they run. That is all
/// but the data in their functors: their signatures, the edges among them, and their accesses
/// together.
///
/// It is made by admission with a linker that records: each task is entered into a scope of the
/// recorded graph, whose table knows the tasks by their places, counted from 1. A plan (see
/// PlanState) consists of this and a task for each place, which runs in rounds. An iteration of a
/// loop (see Iteration) consists of this and new tasks. After `seal` its tasks and edges do not
/// change, so any number of iterations may use it at the same time.
class RecordedGraph {
 public:
  RecordedGraph(TaskSlab& tasks, FailureLog const& failures, AsyncStreams& streams);
  RecordedGraph(RecordedGraph const&) = delete;
  RecordedGraph& operator=(RecordedGraph const&) = delete;
  ~RecordedGraph();

  [[nodiscard]] std::size_t size() const { return m_signatures.size(); }
  /// See PlannedTasks.
  [[nodiscard]] std::uint64_t number() const { return m_number; }
  [[nodiscard]] Scope& scope() { return m_scope; }
  [[nodiscard]] std::span<TaskAccess const> accesses(std::size_t k) const {
    return std::span(m_accesses)
        .subspan(m_signatures[k].first_access, m_signatures[k].access_count);
  }
  /// Gives the task at this place its accesses; it has none.
  void give_accesses(std::size_t k, Task& task) const;

  // Used while it is made. The caller holds the graph's lock.
  /// Adds a task whose accesses have been found in the scope, and gives it these. May throw.
  /// `replays`: the plan that the task replays, if any.
  void add(Task& task, TaskSpec const& spec, FoundEntries const& found,
           std::deque<TagRule> const& rules, std::weak_ptr<PlanState> const& replays = {});
  /// Adds a task that another graph has at place `k`. That graph has been the same as this one so
  /// far.
  void add_like(RecordedGraph const& other, std::size_t k, Task& task);
  /// Called when all tasks have been added.
  void seal();
  /// Seals the graph of tasks that run in rounds, and also derives the edges to the next round.
  /// `overlap`: a round need not wait for the end of the one before. If it must, the edges to the
  /// next round only tell where a failure goes. `tasks`: by place.
  void seal_rounds(std::span<Task* const> tasks, bool overlap, std::deque<TagRule> const& rules);

  // Used for iterations:
  /// True if submitting `spec` would give the task at this place, except for the data in its
  /// functor.
  [[nodiscard]] bool is_same(std::size_t k, TaskSpec const& spec) const;
  /// Notes that the iteration with this number has this task. Its Views may differ from those of
  /// the one before, at the same addresses; the accesses of the parent have to tell this. Only one
  /// thread collects with a graph, and no other thread reads what is changed here. The caller holds
  /// the graph's lock.
  void note_identities(std::size_t k, TaskSpec const& spec, std::uint64_t iteration) const;

  // Used after `seal`.
  [[nodiscard]] RecordedEdges const& edges() const { return m_edges; }
  /// Counts the edges to a task within its round.
  [[nodiscard]] std::int32_t edges_to(std::size_t k) const { return m_signatures[k].edges_to; }
  /// Returns the tasks without such an edge.
  [[nodiscard]] std::span<std::uint32_t const> roots() const { return m_roots; }
  /// Returns the accesses of all tasks together, one for each area. Neighbouring runs of bytes in
  /// one mode are merged.
  [[nodiscard]] std::span<AccessRequest const> requests() const { return m_requests; }
  /// Returns the synchronizing tasks, by place.
  [[nodiscard]] std::span<std::uint32_t const> barriers() const { return m_barriers; }
  [[nodiscard]] int priority() const { return m_priority; }  ///< the highest
  void tell(SchedulingPolicy& planner) const;

  /// Exists where all tasks only launch work on one device.
  PlanGraph graph;
  /// True if iterations use `graph`. False: there is no graph, or it could not be made.
  std::atomic<bool> has_graph{false};

 private:
  struct Signature {
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
    /// Keeps the plan's address from being reused, but does not keep its tasks.
    std::weak_ptr<PlanState> replays;
    PlanState const* replayed = nullptr;
    Label label;
    std::vector<TagPtr> tags;
  };
  void enter_accesses(std::size_t place, Task& task, TaskId id, FunctionRef<bool(LiveAccess)> link);
  void order_by_accesses(std::size_t place, Task& task);
  void order_by_barrier(std::size_t place, Task& task);
  void add_edge(TaskId before, std::size_t to, EdgeReason reason);
  void join_accesses();

  std::uint64_t const m_number;
  AsyncStreams& m_streams;
  Scope m_scope;
  std::vector<Signature> m_signatures;
  std::vector<TaskAccess> m_accesses;
  std::vector<RecordedEdge> m_recorded;    ///< until they are sorted
  std::vector<std::uint32_t> m_linked_to;  ///< by task: where its newest edge leads, counted from 1
  RecordedEdges m_edges;
  std::vector<std::uint32_t> m_roots;
  std::vector<std::uint32_t> m_barriers;
  std::vector<AccessRequest> m_requests;  ///< for all tasks together
  int m_priority = std::numeric_limits<int>::min();
};

/// Returns a request for an access of a recorded task.
[[nodiscard]] AccessRequest request_like(TaskAccess const& access);

}  // namespace trellis::Impl

#endif
