// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GRAPH_HPP
#define TRELLIS_GRAPH_HPP

#include <Trellis_TaskId.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// With this header you look at what a `TaskGraph` did: its dependency graph, its scheduling graph
/// and, with time stamps, its trace. All are plain values, copied at the moment of the call. They
/// are available only when the graph records (`TaskGraphOptions::record`).
namespace trellis {

/// The state of a task.
enum class TaskState : std::uint8_t {
  pending,    ///< has unfinished predecessors
  ready,      ///< may run, waits for a worker
  running,    ///< its body runs
  done,       ///< its body returned
  failed,     ///< its body threw
  cancelled,  ///< never ran: a task that it depends on failed
};
[[nodiscard]] std::string_view to_string(TaskState state);

// A property of tasks is also called `synchronizing`.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// Why an edge exists. The first three, and the edges that a demotion has made of them, are the
/// dependency graph; the scheduling graph adds the rest.
enum class EdgeReason : std::uint8_t {
  access,         ///< two accesses conflict
  after,          ///< asked for with `after(future)`
  synchronizing,  ///< one of the two is a synchronizing task
  exclusion,      ///< two exclusive tasks, in the order that the scheduler chose
  rule,           ///< a user-defined rule keeps the order of two tasks with these tags
  /// The second task conflicts with something before the first, and a task between these gave up
  /// its accesses before it started.
  demotion,
  policy,  ///< added by the scheduling policy, see SchedulingEdges
};
#pragma GCC diagnostic pop
[[nodiscard]] std::string_view to_string(EdgeReason reason);
[[nodiscard]] constexpr bool is_dependency(EdgeReason reason) {
  return reason == EdgeReason::access || reason == EdgeReason::after ||
         reason == EdgeReason::synchronizing || reason == EdgeReason::demotion;
}

/// One access of a recorded task, as text.
struct AccessRecord {
  std::string resource;  ///< label of the View or Token
  std::string mode;      ///< "read", "write", ...
  /// "whole", or indices of the View with the most dimensions seen so far: "[2, 5) x [0, 8)". A
  /// part that is no range of indices in each dimension is given in elements from the start of the
  /// allocation, "[3, 4) x 8 every 16". Where the elements are unknown it is given in bytes.
  std::string area;
  /// Number of the resource: counts from 1, in the order in which the graph met them. Views whose
  /// memory has no owner are one resource as soon as an access covers both. 0: not known.
  std::uint64_t resource_id = 0;
  /// True if another resource of the graph has the same label; texts then add the number: "x #2".
  bool label_is_shared = false;
};

/// A task gave up some of its accesses while it ran.
struct DemotionRecord {
  std::uint64_t time_ns = 0;
  std::vector<AccessRecord> accesses;  ///< what it still had afterwards
};

/// One node of both graphs. Times are nanoseconds since the graph was made; 0: did not happen
/// (yet).
struct TaskRecord {
  TaskId id = 0;
  std::string label;
  std::string pattern;  ///< "parallel_for", "host_task", ...
  std::string space;    ///< name of the execution space it is meant for
  std::string file;     ///< call site
  unsigned line = 0;
  int priority = 0;
  int threads = 0;          ///< asked for with `threads(n)`; 0: those of a worker
  int workers = 1;          ///< workers whose places it takes while it runs
  std::uint32_t batch = 0;  ///< tasks with the same number have run as one; 0: ran by itself
  bool main_thread = false;
  bool synchronizing = false;
  TaskId parent = 0;  ///< the task that this one is a child of; 0: of none
  std::vector<AccessRecord> accesses;
  std::vector<DemotionRecord> demotions;
  TaskState state = TaskState::pending;
  std::uint64_t submitted_ns = 0;
  std::uint64_t ready_ns = 0;
  std::uint64_t started_ns = 0;
  std::uint64_t returned_ns =
      0;                        ///< its body ended, but not all its children; 0: it has no children
  std::uint64_t waited_ns = 0;  ///< how long its thread slept until others were complete
  bool completes_later = false;  ///< it had a Completion, which may have been open until then
  std::uint64_t finished_ns = 0;
  int row = -1;  ///< index into Trace::rows: the instance that ran it; -1: did not run
};

/// One edge of a graph.
struct EdgeRecord {
  TaskId from = 0;
  TaskId to = 0;
  EdgeReason reason = EdgeReason::access;
  bool released =
      false;  ///< by a demotion: the later task did not have to wait for the end of the earlier one
  friend bool operator==(EdgeRecord const&, EdgeRecord const&) = default;
};

/// What both graphs share: nodes in order of submission, edges from earlier to later ones (edges of
/// exclusion and of a policy may point either way).
class Graph {
 public:
  Graph() = default;
  /// Throws `Error` when two nodes share an id, or an edge names a task that is not among the
  /// nodes.
  Graph(std::vector<TaskRecord> nodes, std::vector<EdgeRecord> edges);

  [[nodiscard]] std::vector<TaskRecord> const& nodes() const& { return m_nodes; }
  [[nodiscard]] std::vector<EdgeRecord> const& edges() const& { return m_edges; }
  // By value from a temporary: `for (auto& edge : graph.dependency_graph().edges())` must not
  // dangle.
  [[nodiscard]] std::vector<TaskRecord> nodes() &&;
  [[nodiscard]] std::vector<EdgeRecord> edges() &&;
  /// The node with this id; throws `Error` when there is none.
  [[nodiscard]] TaskRecord const& node(TaskId id) const;
  /// Returns the tasks that this one was split into, in order of submission. For id 0: the tasks
  /// that are children of no task. Empty when there is no such task.
  [[nodiscard]] std::vector<TaskId> children(TaskId id) const;
  /// Ids of all nodes with exactly this label, in order of submission; there may be none.
  [[nodiscard]] std::vector<TaskId> find(std::string_view label) const;
  /// Returns the tasks with an edge to this one, each once, by id. Throws `Error` when there is no
  /// such task.
  [[nodiscard]] std::vector<TaskId> predecessors(TaskId id) const;
  /// Returns the tasks that this one has an edge to, each once, by id. Throws `Error` when there is
  /// no such task.
  [[nodiscard]] std::vector<TaskId> successors(TaskId id) const;
  /// True when a path of one or more edges, released ones included, leads from one task to the
  /// other. Takes time linear in the size of the graph. Throws `Error` when there is no such task.
  [[nodiscard]] bool reaches(TaskId from, TaskId to) const;

  /// Writes the graph in Graphviz's DOT language. Dependency edges are solid; edges added by a
  /// scheduler are dashed and carry their reason.
  void write_dot(std::ostream& out) const;

 private:
  struct Index;
  [[nodiscard]] bool has(TaskId id) const;
  [[nodiscard]] std::size_t position(TaskId id) const;
  std::vector<TaskRecord> m_nodes;
  std::vector<EdgeRecord> m_edges;
  std::shared_ptr<Index const> m_index;  ///< positions and neighbours of the nodes; copies share it
};

/// The graph that follows from the calls alone: accesses, `after(...)`, synchronizing tasks, order.
class DependencyGraph : public Graph {
  using Graph::Graph;
};

/// The scheduling graph has the same nodes, every dependency edge, and what scheduling added.
class SchedulingGraph : public Graph {
  using Graph::Graph;
};

/// Additional contents of a trace file, for files that are joined with others, e.g. one of each
/// process of a program.
struct ChromeTraceOptions {
  int process = 1;  ///< its number in the file
  std::string process_name = "Trellis";
  /// Added to all times, so that they count from another moment than when the graph was made.
  std::chrono::nanoseconds shift{0};
  std::string clock = "time since the graph was made";  ///< what times are, in words
  /// A JSON object, as text, whose members are added to the file's `otherData`; empty: none.
  std::string other_data = "";
  /// Returns such an object for the `args` of a task.
  std::function<std::string(TaskRecord const&)> arguments = nullptr;
};

/// A thread slept from then until then, as there was no task for it. Times are those of records.
struct ThreadSleep {
  std::size_t row = 0;  ///< index into Trace::rows
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// A scheduling graph together with the rows (instances) that its tasks ran on.
struct Trace {
  SchedulingGraph graph;
  std::vector<std::string> rows;  ///< e.g. "worker 0", "main thread", "Cuda stream 3"
  /// The number of threads that run tasks at a time, and how many of the first rows are threads.
  /// The other threads have lent their places, e.g. to the main thread while it waits. 0: not
  /// known.
  int workers = 0;
  std::size_t threads = 0;
  /// When the graph was made: times of records count from here.
  std::chrono::steady_clock::time_point origin{};
  std::vector<ThreadSleep> sleeps{};  ///< in the order of their begins

  /// Writes Chrome trace-event JSON, for Perfetto or chrome://tracing: one row per instance, flow
  /// arrows for edges. Throws `Error` when an option that must be a JSON object is not.
  void write_chrome_json(std::ostream& out, ChromeTraceOptions const& options = {}) const;
  /// Writes a self-contained SVG picture of the timeline: one row per instance, one box per task,
  /// coloured by label.
  void write_svg(std::ostream& out) const;
  /// Writes the graph as such a picture, in the same colours and without edges that follow from
  /// others. More than 200 tasks are folded: a node stands for the tasks of a label and a step.
  void write_graph_svg(std::ostream& out) const;
  /// Writes a page for a browser, one file that needs no other one: the timeline, the graph, the
  /// analysis and statistics. A click on a task shows its accesses and its neighbours.
  void write_html(std::ostream& out) const;
};

}  // namespace trellis

#endif
