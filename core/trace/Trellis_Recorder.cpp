// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <scope/Trellis_Scope.hpp>
#include <threads/Trellis_WideSpace.hpp>
#include <trace/Trellis_Recorder.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace trellis::Impl {

std::uint32_t Recorder::place_of(AreaEntry& entry) {
  Resource const& resource = *entry.resource;
  if (entry.recorded != 0) {
    Place const& known = m_places[entry.recorded - 1];
    if (known.begin == resource.begin && known.end == resource.end &&
        known.resource == resource.label && known.shape == resource.shape)
      return entry.recorded - 1;
  }
  Area const& area = entry.area;
  bool const whole =
      area.begin() == resource.begin && area.end() == resource.end && area.rank() == 0;
  m_places.push_back({resource.label, resource.begin, resource.end, resource.shape,
                      whole ? "whole" : area_text(area, resource.begin, resource.shape),
                      identify(resource)});
  entry.recorded = static_cast<std::uint32_t>(m_places.size());
  return entry.recorded - 1;
}

/// Resources with the same label at overlapping addresses are the same resource. If the label
/// differs, the earlier resource has been freed.
std::uint32_t Recorder::identify(Resource const& resource) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t identity = none;
  std::uintptr_t begin = resource.begin;
  std::uintptr_t end = resource.end;
  auto next = m_ranges.upper_bound(begin);
  if (next != m_ranges.begin() && std::prev(next)->second.end > begin) --next;
  while (next != m_ranges.end() && next->first < end) {
    std::uint32_t const other = root_of(next->second.identity);
    if (m_identities[other].label == resource.label) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second.end);
      if (identity == none) {
        identity = other;
      } else {
        std::uint32_t const older = std::min(identity, other);
        m_identities[std::max(identity, other)].same_as = older;
        identity = older;
      }
    }
    next = m_ranges.erase(next);
  }
  if (identity == none) {
    identity = static_cast<std::uint32_t>(m_identities.size());
    m_identities.push_back({resource.label, identity});
  }
  m_ranges[begin] = {end, identity};
  return identity;
}

std::uint32_t Recorder::root_of(std::uint32_t identity) const {
  while (m_identities[identity].same_as != identity) identity = m_identities[identity].same_as;
  return identity;
}

Recorder::Numbers Recorder::number_resources() const {
  Numbers numbers;
  numbers.number.resize(m_identities.size());
  numbers.is_shared.resize(m_identities.size());
  std::map<std::string_view, std::uint32_t> count;
  std::uint64_t last = 0;
  for (std::uint32_t k = 0; k < m_identities.size(); ++k) {
    std::uint32_t const root = root_of(k);  // not later than k
    numbers.number[k] = root == k ? ++last : numbers.number[root];
    if (root == k) ++count[m_identities[k].label];
  }
  for (std::uint32_t k = 0; k < m_identities.size(); ++k)
    numbers.is_shared[k] = count[m_identities[k].label] > 1;
  return numbers;
}

std::vector<std::string> Recorder::states_of(Task const& task) {
  std::vector<std::string> texts;
  if (task.has_objects)
    for (StatePtr const& state : task.extras->states) texts.push_back(state->text());
  return texts;
}

void Recorder::add_accesses(Task const& task, std::vector<std::string>&& states) {
  auto const first_state = static_cast<std::uint32_t>(m_states.size());
  for (std::string& text : states) m_states.push_back(std::move(text));
  task.for_each_access([&](TaskAccess const& access) {
    m_accesses.push_back({place_of(*access.entry), access.mode,
                          access.state < 0
                              ? Access::no_state
                              : first_state + static_cast<std::uint32_t>(access.state)});
  });
}

void Recorder::submitted(Task const& task) {
  Label label;
  std::vector<std::string> states;
  bool is_known = false;
  note([&] {
    label = task.label;
    states = states_of(task);
    is_known = true;
  });
  std::string_view const space = task.space != nullptr ? task.space->name() : "host";
  WideSpace const* const wide = wide_space(task.space);
  std::uint64_t const now = now_ns();
  std::lock_guard const lock(m_lock);
  Node& node = m_nodes.grow();
  node.id = task.public_id();
  node.parent = parent_of(task) != nullptr ? parent_of(task)->public_id() : 0;
  node.label = std::move(label);
  node.pattern = task.ops->pattern;
  node.space = space;
  if (wide != nullptr) {
    node.threads = wide->threads();
    node.workers = wide->permits();
  }
  node.priority = task.priority;
  node.main_thread = task.marks.main_thread;
  node.synchronizing = task.marks.synchronizing;
  node.submitted_ns = now;
  if (!is_known) return;
  note([&] {
    node.first_access = m_accesses.size();
    add_accesses(task, std::move(states));
    node.access_count = task.access_count;
  });
}

void Recorder::edge(TaskId from, TaskId to, EdgeReason reason, bool released) {
  std::lock_guard const lock(m_edges_lock);
  note([&] { m_edges.push_back({from, to, reason, released}); });
}

void Recorder::release(TaskId from, TaskId to) {
  std::lock_guard const lock(m_edges_lock);
  note([&] { m_releases.push_back({from, to, m_edges.size()}); });
}

void Recorder::demoted(Task const& task) {
  std::uint64_t const now = now_ns();
  note([&] {
    std::vector<std::string> states = states_of(task);
    std::lock_guard const lock(m_lock);
    std::size_t const first = m_accesses.size();
    add_accesses(task, std::move(states));
    m_demotions[task.public_id()].push_back({now, first, task.access_count});
  });
}

void Recorder::refined(Task const& task) {
  std::lock_guard const lock(m_lock);
  node(task.public_id()).pattern = task.ops->pattern;
}

void Recorder::completes_later(Task const& task) {
  std::lock_guard const lock(m_lock);
  node(task.public_id()).completes_later = true;
}
void Recorder::slept(Task const& task, std::chrono::nanoseconds time) {
  std::lock_guard const lock(m_lock);
  node(task.public_id()).waited_ns += static_cast<std::uint64_t>(time.count());
}
void Recorder::returned(Task const& task) {
  std::uint64_t const now = now_ns();
  std::lock_guard const lock(m_lock);
  node(task.public_id()).returned_ns = now;
}

void Recorder::batch(std::span<Task* const> tasks) {
  std::lock_guard const lock(m_lock);
  ++m_batches;
  for (Task const* const task : tasks) node(task->public_id()).batch = m_batches;
}

void Recorder::changed(Task const& task, TaskState state, int row) {
  Node& changed = node(task.public_id());
  changed.row = row;
  (state == TaskState::ready ? changed.ready_ns : changed.started_ns) = now_ns();
  changed.state.store(state, std::memory_order_release);
}

void Recorder::finished(Task const& task, TaskState state, int row) {
  Node& over = node(task.public_id());
  if (over.finished_ns == 0) over.finished_ns = now_ns();  // else the device has set it
  if (state != TaskState::cancelled && row >= 0) over.row = row;
  over.state.store(state, std::memory_order_release);
}

void Recorder::ran_on_device(TaskId id, std::uint64_t started_ns, std::uint64_t finished_ns) {
  Node& ran = node(id);
  ran.started_ns = started_ns;  // until now it was the end of the launch
  ran.finished_ns = finished_ns;
}

std::vector<AccessRecord> Recorder::records_of(Numbers const& numbers, std::size_t first,
                                               std::size_t count) const {
  std::vector<AccessRecord> records;
  records.reserve(count);
  for (std::size_t k = first; k < first + count; ++k) {
    Access const& access = m_accesses[k];
    Place const& place = m_places[access.place];
    records.push_back({place.resource,
                       access.state != Access::no_state ? m_states[access.state]
                                                        : std::string(to_string(access.mode)),
                       place.area, numbers.number[place.identity],
                       numbers.is_shared[place.identity]});
  }
  return records;
}

std::vector<TaskRecord> Recorder::nodes() const {
  std::vector<TaskRecord> records;
  Numbers numbers;
  auto const copy = [&](Node const& node) {
    TaskRecord record;
    record.state = node.state.load(std::memory_order_acquire);  // before the times
    record.id = node.id;
    record.label = node.label.string();
    record.pattern = node.pattern;
    record.space = node.space;
    record.file = node.label.site().file_name();
    record.line = node.label.site().line();
    record.priority = node.priority;
    record.threads = node.threads;
    record.workers = node.workers;
    record.batch = node.batch;
    record.main_thread = node.main_thread;
    record.synchronizing = node.synchronizing;
    record.parent = node.parent;
    record.accesses = records_of(numbers, node.first_access, node.access_count);
    record.submitted_ns = node.submitted_ns;
    record.ready_ns = node.ready_ns;
    record.started_ns = node.started_ns;
    record.returned_ns = node.returned_ns;
    record.waited_ns = node.waited_ns;
    record.completes_later = node.completes_later;
    record.finished_ns = node.finished_ns;
    record.row = node.row;
    records.push_back(std::move(record));
  };
  // Only a few nodes are copied in each hold, as tasks may run, and wait for the lock.
  constexpr std::size_t few = 16;
  std::size_t count = 0;
  {
    std::lock_guard const lock(m_lock);
    count = m_nodes.size();
    numbers = number_resources();
  }
  records.reserve(count);
  while (records.size() < count) {
    std::lock_guard const lock(m_lock);
    for (std::size_t k = 0; k < few && records.size() < count; ++k) copy(m_nodes[records.size()]);
  }
  std::lock_guard const lock(m_lock);
  numbers = number_resources();  // demotions may have newer resources
  for (auto const& [id, demotions] : m_demotions)
    for (Demotion const& each : demotions)
      if (id <= count)
        records[static_cast<std::size_t>(id - 1)].demotions.push_back(
            {each.time_ns, records_of(numbers, each.first_access, each.access_count)});
  return records;
}

std::vector<EdgeRecord> Recorder::edges(bool dependencies_only) const {
  std::vector<EdgeRecord> edges;
  std::vector<Release> releases;
  {
    std::lock_guard const lock(m_edges_lock);
    edges.reserve(m_edges.size());
    m_edges.for_each([&](EdgeRecord const& edge) { edges.push_back(edge); });
    releases = m_releases;
  }
  if (!releases.empty()) {
    std::map<std::pair<TaskId, TaskId>, std::size_t> last;
    for (Release const& release : releases) last[{release.from, release.to}] = release.edges;
    for (std::size_t k = 0; k < edges.size(); ++k)
      if (edges[k].reason == EdgeReason::access)
        if (auto const found = last.find({edges[k].from, edges[k].to}); found != last.end())
          edges[k].released = edges[k].released || k < found->second;
  }
  if (dependencies_only)
    std::erase_if(edges, [](EdgeRecord const& edge) { return !is_dependency(edge.reason); });
  // If two edges differ in nothing else, the one that still counts comes first, and stays.
  auto const key = [](EdgeRecord const& edge) {
    return std::tuple(edge.to, edge.from, edge.reason, edge.released);
  };
  std::sort(edges.begin(), edges.end(),
            [&](auto const& a, auto const& b) { return key(a) < key(b); });
  auto const same = [](EdgeRecord const& a, EdgeRecord const& b) {
    return a.to == b.to && a.from == b.from && a.reason == b.reason;
  };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
  return edges;
}

}  // namespace trellis::Impl
