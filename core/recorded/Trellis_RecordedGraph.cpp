// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <device/Trellis_AsyncStreams.hpp>
#include <scope/Trellis_Ordering.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <recorded/Trellis_RecordedGraph.hpp>

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

namespace trellis::Impl {

std::uint64_t new_plan_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// --- edges ---------------------------------------------------------------------------------------

RecordedEdges::RecordedEdges(std::vector<RecordedEdge>&& edges, std::size_t count)
    : m_edges(std::move(edges)) {
  std::stable_sort(m_edges.begin(), m_edges.end(),
                   [](RecordedEdge const& a, RecordedEdge const& b) {
                     return std::pair(a.from, a.kind) < std::pair(b.from, b.kind);
                   });
  // Where an edge carries failures, the counts have an edge already.
  std::vector<std::uint32_t> carried_from(count, none);  // by the task that the edge leads to
  std::erase_if(m_edges, [&](RecordedEdge const& edge) {
    if (edge.kind == RecordedEdge::Kind::next_round) carried_from[edge.to] = edge.from;
    return edge.kind == RecordedEdge::Kind::back && carried_from[edge.to] == edge.from;
  });
  m_first.reserve(count + 1);
  std::uint32_t edge = 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    m_first.push_back(edge);
    while (edge < m_edges.size() && m_edges[edge].from == k) ++edge;
  }
  m_first.push_back(edge);
}

/// Within a piece that runs as one task there are no edges, except the one from a run to the next.
RecordedEdges RecordedEdges::contracted(std::span<std::uint32_t const> stands_for,
                                        std::size_t count) const {
  std::vector<RecordedEdge> edges;
  for (RecordedEdge const& edge : m_edges) {
    std::uint32_t const from = stands_for[edge.from], to = stands_for[edge.to];
    if (from != to || edge.kind == RecordedEdge::Kind::next_round)
      edges.push_back({from, to, edge.kind, edge.reason});
  }
  auto const key = [](RecordedEdge const& edge) {
    return std::tuple(edge.from, edge.kind, edge.to);
  };
  std::stable_sort(edges.begin(), edges.end(),
                   [&](RecordedEdge const& a, RecordedEdge const& b) { return key(a) < key(b); });
  auto const is_same = [&](RecordedEdge const& a, RecordedEdge const& b) {
    return key(a) == key(b);
  };
  edges.erase(std::unique(edges.begin(), edges.end(), is_same), edges.end());
  return {std::move(edges), count};
}

// --- making it -----------------------------------------------------------------------------------

namespace {

constexpr SubjectOps resource_ops{
    [](void const* subject, ResourceInfo& info) {
      auto const& resource = *static_cast<Resource const*>(subject);
      info = {resource.label, resource.begin, resource.end, resource.shape};
    },
    nullptr, nullptr,
    [](void const* subject) { return static_cast<Resource const*>(subject)->identity; }};

}  // namespace

AccessRequest request_like(TaskAccess const& access) {
  return {access.entry->area, access.mode, access.entry->resource, &resource_ops};
}

RecordedGraph::RecordedGraph(TaskSlab& tasks, FailureLog const& failures, AsyncStreams& streams)
    : m_number(new_plan_number()), m_streams(streams), m_scope(tasks, failures, true) {
  m_scope.kind = ScopeKind::rounds;
}

RecordedGraph::~RecordedGraph() {
  if (!graph.exists()) return;
  auto const lock = m_streams.lock();
  graph.release();
}

void RecordedGraph::add(Task& task, TaskSpec const& spec, FoundEntries const& found,
                        std::deque<TagRule> const& rules, std::weak_ptr<PlanState> const& replays) {
  std::size_t const place = size();
  m_linked_to.resize(place + 1);
  Signature& signature = m_signatures.emplace_back();
  signature.ops = spec.ops;
  signature.space = spec.space;
  signature.stream = spec.stream;
  signature.priority = spec.priority;
  signature.main_thread = spec.main_thread;
  signature.synchronizing = spec.synchronizing;
  signature.replayed = spec.replays;
  signature.replays = replays;
  signature.label = task.label;
  signature.tags.assign(spec.tags.begin(), spec.tags.end());
  signature.first_access = static_cast<std::uint32_t>(m_accesses.size());
  // The generation is open, as it differs from round to round which exclusive accesses meet in one
  // group.
  for (std::size_t k = 0; k < spec.accesses.size(); ++k)
    if (found.of[k] != nullptr)
      task.add_access({found.of[k], spec.accesses[k].mode, false, -1, TaskAccess::any_generation});
  if (found.is_special) note_special(task, spec, found);
  task.for_each_access([&](TaskAccess const& access) { m_accesses.push_back(access); });
  signature.access_count = task.access_count;
  signature.exclusive = task.exclusive;

  order_by_accesses(place, task);
  for (TaskHandle const& before : spec.after)
    if ((before.id & PlanNode::recorded) != 0)
      add_edge(before.task->node->index + 1, place, EdgeReason::after);
  order_by_rules(rules, task, place + 1, m_scope, [&](LiveAccess before) {
    add_edge(before.id, place, EdgeReason::rule);
    return true;
  });
  order_by_barrier(place, task);
}

void RecordedGraph::add_like(RecordedGraph const& other, std::size_t k, Task& task) {
  m_linked_to.resize(k + 1);
  Signature& signature = m_signatures.emplace_back(other.m_signatures[k]);
  signature.first_access = static_cast<std::uint32_t>(m_accesses.size());
  signature.edges_to = 0;
  task.exclusive = signature.exclusive;
  for (TaskAccess const& access : other.accesses(k)) {
    m_accesses.push_back(access);
    m_accesses.back().entry = &m_scope.table.find_or_make(request_like(access), k);
  }
  order_by_accesses(k, task);
  order_by_barrier(k, task);
}

void RecordedGraph::enter_accesses(std::size_t place, Task& task, TaskId id,
                                   FunctionRef<bool(LiveAccess)> link) {
  for (TaskAccess const& access : accesses(place)) enter_access(task, access, id, m_scope, link);
}

void RecordedGraph::order_by_accesses(std::size_t place, Task& task) {
  enter_accesses(place, task, place + 1, [&](LiveAccess before) {
    add_edge(before.id, place, EdgeReason::access);
    return true;
  });
}

/// Orders a task behind barriers. The linker knows tasks by their ids alone, so any pointer will
/// do.
void RecordedGraph::order_by_barrier(std::size_t place, Task& task) {
  Impl::order_by_barrier(
      task, place + 1, m_scope,
      [&](auto&& come_after) {
        for (TaskId id = m_scope.barrier.id + 1; id <= place; ++id) come_after({&task, id});
      },
      [&](LiveAccess before) {
        add_edge(before.id, place, EdgeReason::synchronizing);
        return true;
      });
  if (m_signatures[place].synchronizing) m_barriers.push_back(static_cast<std::uint32_t>(place));
  m_priority = std::max(m_priority, m_signatures[place].priority);
}

/// Adds an edge. All edges to one task come one after the other. `before`: the earlier task's
/// place, counted from 1.
void RecordedGraph::add_edge(TaskId before, std::size_t to, EdgeReason reason) {
  auto const from = static_cast<std::uint32_t>(before - 1);
  auto const next = static_cast<std::uint32_t>(to);
  if (std::exchange(m_linked_to[from], next + 1) == next + 1) return;
  m_recorded.push_back({from, next, RecordedEdge::Kind::own_round, reason});
  ++m_signatures[to].edges_to;
}

void RecordedGraph::seal() {
  m_edges = {std::exchange(m_recorded, {}), size()};
  m_linked_to = {};
  for (std::uint32_t k = 0; k < size(); ++k)
    if (m_signatures[k].edges_to == 0) m_roots.push_back(k);
  join_accesses();
}

/// Enters each task once more, as if it were submitted again. Each task of the first round that it
/// then comes after has an edge to its next run.
void RecordedGraph::seal_rounds(std::span<Task* const> tasks, bool overlap,
                                std::deque<TagRule> const& rules) {
  using Kind = RecordedEdge::Kind;
  auto const count = static_cast<std::uint32_t>(size());
  std::size_t const within_round = m_recorded.size();
  std::fill(m_linked_to.begin(), m_linked_to.end(), 0);
  for (std::uint32_t to = 0; to < count; ++to) {
    auto const link = [&](LiveAccess before) {
      if (before.id > count) return true;  // it is of this round
      auto const from = static_cast<std::uint32_t>(before.id - 1);
      // From an earlier task to a later one there is a path: within this round, on to the earlier
      // one's next run, and from there. An edge instead could fire before the round in between, see
      // PlanState.
      if (overlap && from < to) return true;
      if (std::exchange(m_linked_to[from], to + 1) != to + 1)
        m_recorded.push_back({from, to, Kind::next_round, EdgeReason::access});
      return true;
    };
    enter_accesses(to, *tasks[to], count + to + 1, link);
    // If rounds overlap, no rule orders tasks. If not, rules order tasks of two rounds, too.
    if (!overlap) order_by_rules(rules, *tasks[to], count + to + 1, m_scope, link);
  }
  if (overlap)
    for (std::size_t k = 0; k < within_round; ++k) {
      RecordedEdge const edge = m_recorded[k];
      if (edge.reason != EdgeReason::access)
        m_recorded.push_back({edge.to, edge.from, Kind::back, EdgeReason::access});
    }
  seal();
}

void RecordedGraph::join_accesses() {
  struct Joined {
    AreaEntry* entry;
    Mode mode;
  };
  std::vector<Joined> joined;
  for (TaskAccess const& access : m_accesses) {
    // A state of the user's counts as the mode that it is for tasks without states.
    AreaEntry& entry = *access.entry;
    bool const is_known = entry.joined < joined.size() && joined[entry.joined].entry == &entry;
    if (!is_known) {
      entry.joined = static_cast<std::uint32_t>(joined.size());
      joined.push_back({&entry, access.mode});
    } else if (Mode& mode = joined[entry.joined].mode; mode != access.mode) {
      mode = Mode::read_write;
    }
  }
  auto const key = [](Joined const& each) {
    return std::tuple(each.entry->resource->begin, each.mode, each.entry->area.rank(),
                      each.entry->area.begin());
  };
  std::sort(joined.begin(), joined.end(),
            [&](Joined const& a, Joined const& b) { return key(a) < key(b); });
  for (Joined const& each : joined) {
    Resource const* const resource = each.entry->resource;
    Area const& area = each.entry->area;
    if (!m_requests.empty()) {
      AccessRequest& last = m_requests.back();
      if (last.subject == resource && last.mode == each.mode && last.area.rank() == 0 &&
          area.rank() == 0 && area.begin() <= last.area.end()) {
        std::uintptr_t const end = std::max(last.area.end(), area.end());
        last.area = Area::contiguous(reinterpret_cast<void const*>(last.area.begin()),
                                     end - last.area.begin());
        continue;
      }
    }
    m_requests.push_back({area, each.mode, resource, &resource_ops});
  }
}

// --- using it ------------------------------------------------------------------------------------

namespace {

bool same_tags(std::span<TagPtr const> a, std::span<TagPtr const> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](TagPtr const& x, TagPtr const& y) {
    return x->type() == y->type() && x->equals(*y);
  });
}

}  // namespace

bool RecordedGraph::is_same(std::size_t k, TaskSpec const& spec) const {
  if (k >= size()) return false;
  Signature const& mine = m_signatures[k];
  if (mine.ops != spec.ops || mine.space != spec.space || mine.stream != spec.stream ||
      mine.priority != spec.priority || mine.main_thread != spec.main_thread ||
      mine.synchronizing != spec.synchronizing || mine.replayed != spec.replays ||
      mine.label.site().line() != spec.label.site().line() ||
      mine.label.view() != spec.label.view() || !same_tags(mine.tags, spec.tags))
    return false;
  std::span<TaskAccess const> const known = accesses(k);
  std::size_t n = 0;
  for (AccessRequest const& request : spec.accesses) {
    if (!request.counts()) continue;
    if (n == known.size()) return false;
    TaskAccess const& access = known[n++];
    if (access.mode != request.mode || !(access.entry->area == request.area)) return false;
  }
  return n == known.size();
}

void RecordedGraph::give_accesses(std::size_t k, Task& task) const {
  for (TaskAccess const& access : accesses(k)) task.add_access(access);
  task.exclusive = m_signatures[k].exclusive;
}

void RecordedGraph::note_identities(std::size_t k, TaskSpec const& spec,
                                    std::uint64_t iteration) const {
  TaskAccess const* access = accesses(k).data();
  for (AccessRequest const& request : spec.accesses) {
    if (!request.counts()) continue;
    Resource& resource = *(access++)->entry->resource;
    if (std::exchange(resource.looked_at_in, iteration) == iteration) continue;
    std::uint64_t const identity = request.identity();
    if (identity >= Identity::first_allocation) resource.identity = identity;
  }
}

void RecordedGraph::tell(SchedulingPolicy& planner) const {
  std::vector<PlannedTasks::Node> tasks;
  std::vector<PlannedTasks::Edge> edges;
  for (Signature const& each : m_signatures) tasks.push_back({each.label.view(), each.priority});
  for (RecordedEdge const& edge : m_edges.all())
    if (edge.kind == RecordedEdge::Kind::own_round) edges.push_back({edge.from, edge.to});
  planner.planned({m_number, tasks, edges});
}

}  // namespace trellis::Impl
