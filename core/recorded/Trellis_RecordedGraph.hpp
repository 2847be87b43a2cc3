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
#include <kernel/Trellis_FoundEntries.hpp>
#include <kernel/Trellis_Region.hpp>
#include <kernel/Trellis_Task.hpp>
#include <kernel/Trellis_TaskSpec.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
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
    back,        ///< to the next round, for the counts alone: a failure does not go along
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
  /// Among tasks at places below `count`.
  RecordedEdges(std::vector<RecordedEdge>&& edges, std::size_t count);

  [[nodiscard]] std::span<RecordedEdge const> all() const { return m_edges; }
  [[nodiscard]] std::span<RecordedEdge const> from(std::size_t k) const {
    return std::span(m_edges).subspan(m_first[k], m_first[k + 1] - m_first[k]);
  }
  /// The edges that are left where `stands_for[k]`, which is below `count`, runs in the place of
  /// task k.
  [[nodiscard]] RecordedEdges contracted(std::span<std::uint32_t const> stands_for,
                                         std::size_t count) const;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<RecordedEdge> m_edges;
  std::vector<std::uint32_t> m_first;  ///< by task, and one behind the last
};

/// What others see of the accesses of several tasks.
struct OuterAccess {
  ResourceInfo info;
  Area area;
  Mode mode;
  Resource const* resource;  ///< of the table of these tasks
};

/// Tasks in the order of submission, as far as they are the same each time they run: everything but
/// what their functors hold. That is their signatures, the edges among them, and what they access
/// together.
///
/// It is made by admission with a linker that records: each task is entered into a region of its
/// own, whose table knows the tasks by their places, counted from 1. A plan (see PlanState) is this
/// and a task for each place, which runs in rounds. A pass of a loop (see Pass) is this and new
/// tasks. After `seal` its tasks and edges do not change, so that any number of passes may use it
/// at the same time.
class RecordedGraph {
 public:
  RecordedGraph(TaskSlab& tasks, FailureLog const& failures, AsyncStreams& streams);
  RecordedGraph(RecordedGraph const&) = delete;
  RecordedGraph& operator=(RecordedGraph const&) = delete;
  ~RecordedGraph();

  [[nodiscard]] std::size_t size() const { return m_signatures.size(); }
  /// See PlannedTasks.
  [[nodiscard]] std::uint64_t number() const { return m_number; }
  [[nodiscard]] Region& region() { return m_region; }
  [[nodiscard]] std::span<TaskAccess const> accesses(std::size_t k) const {
    return std::span(m_accesses)
        .subspan(m_signatures[k].first_access, m_signatures[k].access_count);
  }
  /// Gives the task at this place its accesses; it has none.
  void give_accesses(std::size_t k, Task& task) const;

  // While it is made; the graph's lock is held.
  /// Adds a task, whose accesses have been found in the region, and gives it these. May throw.
  /// `replays`: the plan that the task replays, if any.
  void add(Task& task, TaskSpec const& spec, FoundEntries const& found,
           std::deque<TagRule> const& rules, std::weak_ptr<PlanState> const& replays = {});
  /// Adds a task that another graph, the same as this one so far, has at place `k`.
  void add_like(RecordedGraph const& other, std::size_t k, Task& task);
  /// All tasks are there.
  void seal();
  /// This seals the graph of tasks that run in rounds: it derives the edges to the next round, too.
  /// `overlap`: a round need not wait for the end of the one before. Where it must, the edges to
  /// the next round only say where a failure goes. `tasks`: by place.
  void seal_rounds(std::span<Task* const> tasks, bool overlap, std::deque<TagRule> const& rules);

  // Of passes.
  /// Would submitting `spec` give the task at this place, but for what its functor holds?
  [[nodiscard]] bool is_same(std::size_t k, TaskSpec const& spec) const;
  /// The pass with this number has this task. Its Views may be other ones than those of the pass
  /// before, at the same addresses: the whole is to say so. Only one thread collects with a graph,
  /// and no other thread asks for what is changed here. The graph's lock is held.
  void note_identities(std::size_t k, TaskSpec const& spec, std::uint64_t pass) const;

  // Afterwards.
  [[nodiscard]] RecordedEdges const& edges() const { return m_edges; }
  /// Edges to a task within its round.
  [[nodiscard]] std::int32_t edges_to(std::size_t k) const { return m_signatures[k].edges_to; }
  /// Tasks without such an edge.
  [[nodiscard]] std::span<std::uint32_t const> roots() const { return m_roots; }
  /// The accesses of all tasks together: one for each area. Neighbouring runs of bytes in one mode
  /// are put together.
  [[nodiscard]] std::span<AccessRequest const> requests() const { return m_requests; }
  /// Synchronizing tasks, by place.
  [[nodiscard]] std::span<std::uint32_t const> barriers() const { return m_barriers; }
  [[nodiscard]] int priority() const { return m_priority; }  ///< the highest
  void tell(SchedulingPolicy& planner) const;

  /// Where all tasks do nothing but launch work on one device.
  PlanGraph graph;
  /// A pass uses it. False: there is no graph, or it could not be made.
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
    /// Keeps its address from being used for another one, but not its tasks.
    std::weak_ptr<PlanState> replays;
    PlanState const* replayed = nullptr;
    Label label;
    std::vector<TagPtr> tags;
  };
  template <class Link>
  void enter_accesses(std::size_t place, Task& task, TaskId id, Link&& link);
  void order_by_barrier(std::size_t place, Task& task);
  void add_edge(TaskId before, std::size_t to, EdgeReason reason);
  void join_accesses();

  std::uint64_t const m_number;
  AsyncStreams& m_streams;
  Region m_region;
  std::vector<Signature> m_signatures;
  std::vector<TaskAccess> m_accesses;
  std::vector<RecordedEdge> m_recorded;    ///< until they are sorted
  std::vector<std::uint32_t> m_linked_to;  ///< by task: where its newest edge leads, counted from 1
  RecordedEdges m_edges;
  std::vector<std::uint32_t> m_roots;
  std::vector<std::uint32_t> m_barriers;
  std::vector<OuterAccess> m_outer;
  std::vector<AccessRequest> m_requests;  ///< for these
  int m_priority = 0;
};

/// A request for what a recorded task accesses.
[[nodiscard]] AccessRequest request_like(TaskAccess const& access);

}  // namespace trellis::Impl

#endif
