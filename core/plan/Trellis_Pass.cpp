// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <device/Trellis_AsyncStreams.hpp>
#include <plan/Trellis_Pass.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

/// What passes of a loop are compared with.
namespace trellis::Impl {

namespace {

/// Of one call they are most often one literal.
bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.data() == b.data() || a == b);
}

bool same_tags(std::span<TagPtr const> a, std::span<TagPtr const> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](TagPtr const& x, TagPtr const& y) {
    return x->type() == y->type() && x->equals(*y);
  });
}

}  // namespace

PassPlan::~PassPlan() {
  if (graph.device == nullptr) return;
  auto const lock = m_streams.lock();
  graph.release();
}

bool PassPlan::is_same(std::size_t k, TaskSpec const& spec) const {
  if (k >= size()) return false;
  Node const& node = m_nodes[k];
  if (node.ops != spec.ops || node.space != spec.space || node.stream != spec.stream ||
      node.priority != spec.priority || node.main_thread != spec.main_thread ||
      node.synchronizing != spec.synchronizing || node.replayed != spec.replays ||
      node.label.site().line() != spec.label.site().line() ||
      !same_text(node.label.view(), spec.label.view()) || !same_tags(node.tags, spec.tags))
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

void PassPlan::give_accesses(std::size_t k, Task& task) const {
  std::span<TaskAccess const> const known = accesses(k);
  if (known.size() <= Task::inline_accesses) {
    std::copy(known.begin(), known.end(), task.accesses);
    task.access_count = static_cast<std::uint32_t>(known.size());
  } else {
    for (TaskAccess const& access : known) task.add_access(access);
  }
  task.exclusive = m_nodes[k].exclusive;
}

void PassPlan::prepare(TaskSpec const& spec) {
  m_prepared.clear();
  for (AccessRequest const& request : spec.accesses)
    if (request.counts()) m_prepared.push_back(&m_table.find_or_make(request, m_nodes.size()));
}

void PassPlan::add(Task& task, TaskSpec const& spec) {
  Node& node = m_nodes.emplace_back();
  node.ops = spec.ops;
  node.space = spec.space;
  node.stream = spec.stream;
  node.priority = spec.priority;
  node.main_thread = spec.main_thread;
  node.synchronizing = spec.synchronizing;
  if (spec.replays != nullptr) {
    node.replayed = spec.replays;
    node.replays = static_cast<ReplayBody const*>(task.body)->plan;
  }
  node.label = task.label;
  node.tags.assign(spec.tags.begin(), spec.tags.end());
  node.first_access = static_cast<std::uint32_t>(m_accesses.size());
  std::size_t prepared = 0;
  for (AccessRequest const& request : spec.accesses) {
    if (!request.counts()) continue;
    // Which exclusive accesses meet in one group differs from pass to pass.
    m_accesses.push_back(
        {m_prepared[prepared++], request.mode, false, -1, TaskAccess::any_generation});
    node.exclusive = node.exclusive || request.mode == Mode::exclusive;
  }
  node.access_count = static_cast<std::uint32_t>(prepared);
  enter(task);
}

void PassPlan::note_identities(std::size_t k, TaskSpec const& spec, std::uint64_t pass) const {
  TaskAccess const* access = accesses(k).data();
  for (AccessRequest const& request : spec.accesses) {
    if (!request.counts()) continue;
    Resource& resource = *(access++)->entry->resource;
    if (std::exchange(resource.looked_at_in, pass) == pass) continue;
    std::uint64_t const identity = request.identity();
    if (identity >= Identity::first_allocation) resource.identity = identity;
  }
}

void PassPlan::add_like(PassPlan const& other, std::size_t k, Task& task) {
  Node& node = m_nodes.emplace_back(other.m_nodes[k]);
  node.first_access = static_cast<std::uint32_t>(m_accesses.size());
  node.edges_to = 0;
  for (TaskAccess const& access : other.accesses(k)) {
    Resource const& resource = *access.entry->resource;
    AccessRequest const request{access.entry->area, access.mode, &resource, &resource_ops};
    m_accesses.push_back(access);
    m_accesses.back().entry = &m_table.find_or_make(request, k);
  }
  enter(task);
}

/// The last task, which the table knows by its place, counted from 1.
void PassPlan::enter(Task& task) {
  std::size_t const place = m_nodes.size() - 1;
  for (TaskAccess const& access : accesses(place))
    m_table.enter(*access.entry, access.mode, task, place + 1, [&](LiveAccess before) {
      add_edge(before.id - 1, place, EdgeReason::access);
      return true;
    });
  if (m_nodes[place].synchronizing) {  // behind all since the last one, and so behind all
    for (std::size_t k = m_barrier == none ? 0 : m_barrier; k < place; ++k)
      add_edge(k, place, EdgeReason::synchronizing);
    m_barrier = place;
    m_synchronizes = true;
  } else if (m_barrier != none) {
    add_edge(m_barrier, place, EdgeReason::synchronizing);
  }
  m_priority = place == 0 ? m_nodes[place].priority : std::max(m_priority, m_nodes[place].priority);
}

void PassPlan::add_edge(std::size_t from, std::size_t to, EdgeReason reason) {
  auto const is_it = [&](Edge const& edge) { return edge.from == from; };
  auto const of_last = m_edges.end() - m_nodes[to].edges_to;  // they come one after the other
  if (std::any_of(of_last, m_edges.end(), is_it)) return;
  m_edges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), reason});
  ++m_nodes[to].edges_to;
}

void PassPlan::seal() {
  std::stable_sort(m_edges.begin(), m_edges.end(),
                   [](Edge const& a, Edge const& b) { return a.from < b.from; });
  m_first_edge.reserve(size() + 1);
  std::uint32_t edge = 0;
  for (std::uint32_t k = 0; k < size(); ++k) {
    m_first_edge.push_back(edge);
    while (edge < m_edges.size() && m_edges[edge].from == k) ++edge;
    if (m_nodes[k].edges_to == 0) m_roots.push_back(k);
  }
  m_first_edge.push_back(edge);
  m_outer = join_accesses([&](FunctionRef<void(TaskAccess const&)> f) {
    for (TaskAccess const& access : m_accesses) f(access);
  });
  m_requests = requests_of(m_outer);
}

void PassPlan::tell(SchedulingPolicy& planner) const {
  std::vector<PlannedTasks::Node> tasks;
  std::vector<PlannedTasks::Edge> edges;
  for (Node const& node : m_nodes) tasks.push_back({node.label.view(), node.priority});
  for (Edge const& edge : m_edges) edges.push_back({edge.from, edge.to});
  planner.planned({m_number, tasks, edges});
}

// --- which one -----------------------------------------------------------------------------------

void PassMemory::begin() {
  m_position = 0;
  m_leader = none;
  for (std::size_t k = 0; k < most; ++k)
    if (m_known[k].plan != nullptr &&
        (m_leader == none || m_known[k].used > m_known[m_leader].used))
      m_leader = k;
}

bool PassMemory::next(TaskSpec const& spec) {
  if (m_leader == none) return false;
  if (m_known[m_leader].plan->is_same(m_position, spec)) {
    ++m_position;
    return true;
  }
  Known const& leader = m_known[m_leader];
  for (std::size_t k = 0; k < most; ++k)
    if (k != m_leader && m_known[k].plan != nullptr && leader.common[k] == m_position &&
        m_known[k].plan->is_same(m_position, spec)) {
      m_leader = k;
      ++m_position;
      return true;
    }
  return false;
}

std::shared_ptr<PassPlan> PassMemory::end() {
  for (std::size_t k = 0; k < most; ++k)
    if (m_leader != none && (k == m_leader || m_known[m_leader].common[k] == m_position) &&
        m_known[k].plan != nullptr && m_known[k].plan->size() == m_position) {
      m_known[k].used = ++m_uses;
      return m_known[k].plan;
    }
  return nullptr;
}

std::shared_ptr<PassPlan> const& PassMemory::leader() const {
  static std::shared_ptr<PassPlan> const nobody;
  return m_leader != none ? m_known[m_leader].plan : nobody;
}

/// With the leader it has all up to the position in common, so with each other one what that has in
/// common with the leader, but not more: that was asked.
void PassMemory::add(std::shared_ptr<PassPlan> plan) {
  std::array<std::size_t, most> common{};
  for (std::size_t k = 0; k < most && m_leader != none; ++k)
    common[k] = k == m_leader ? m_position : std::min(m_position, m_known[m_leader].common[k]);
  std::size_t place = 0;
  for (std::size_t k = 0; k < most; ++k)
    if (m_known[k].used < m_known[place].used) place = k;
  m_known[place] = {std::move(plan), ++m_uses, common};
  for (std::size_t k = 0; k < most; ++k) m_known[k].common[place] = common[k];
  m_leader = none;
}

}  // namespace trellis::Impl
