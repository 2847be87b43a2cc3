// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <task/Trellis_Region.hpp>
#include <trace/Trellis_Recorder.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace trellis::Impl {

std::vector<AccessRecord> Recorder::accesses_of(Task const& task) {
  std::vector<AccessRecord> records;
  task.for_each_access([&](TaskAccess const& access) {
    Resource const& resource = *access.entry->resource;
    Area const& area = access.entry->area;
    bool const whole =
        area.begin() == resource.begin && area.end() == resource.end && area.rank() == 0;
    records.push_back({resource.label, task.manner(access).text(),
                       whole ? "whole" : area_text(area, resource.begin, resource.shape)});
  });
  return records;
}

void Recorder::submitted(Task const& task) {
  TaskRecord node;
  node.id = task.public_id();
  node.label = task.label.string();
  node.pattern = task.ops->pattern;
  node.space = task.space ? std::string(task.space->name()) : "host";
  node.file = task.label.site().file_name();
  node.line = task.label.site().line();
  node.priority = task.priority;
  node.main_thread = task.main_thread;
  node.synchronizing = task.synchronizing;
  node.parent = owner_of(task) != nullptr ? owner_of(task)->public_id() : 0;
  node.accesses = accesses_of(task);
  node.submitted_ns = now_ns();
  std::lock_guard const lock(m_mutex);
  m_nodes.push_back(std::move(node));
}

void Recorder::edge(TaskId from, TaskId to, EdgeReason reason, bool released) {
  std::lock_guard const lock(m_mutex);
  m_edges.push_back({from, to, reason, released});
}

void Recorder::release(TaskId from, TaskId to) {
  std::lock_guard const lock(m_mutex);
  m_releases.push_back({from, to, m_edges.size()});
}

void Recorder::demoted(Task const& task) {
  std::uint64_t const now = now_ns();
  std::vector<AccessRecord> accesses = accesses_of(task);
  std::lock_guard const lock(m_mutex);
  record(task.public_id()).demotions.push_back({now, std::move(accesses)});
}

void Recorder::refined(Task const& task) {
  std::lock_guard const lock(m_mutex);
  record(task.public_id()).pattern = task.ops->pattern;
}

void Recorder::returned(Task const& task) {
  std::uint64_t const now = now_ns();
  std::lock_guard const lock(m_mutex);
  record(task.public_id()).returned_ns = now;
}

void Recorder::changed(Task const& task, TaskState state, int row) {
  std::uint64_t const now = now_ns();
  std::lock_guard const lock(m_mutex);
  TaskRecord& node = record(task.public_id());
  node.state = state;
  node.row = row;
  (state == TaskState::ready ? node.ready_ns : node.started_ns) = now;
}

void Recorder::finished(Task const& task, TaskState state, int row) {
  std::uint64_t const now = now_ns();
  std::lock_guard const lock(m_mutex);
  TaskRecord& node = record(task.public_id());
  node.state = state;
  if (node.finished_ns == 0) node.finished_ns = now;  // else the device knows better
  if (state != TaskState::cancelled && row >= 0) node.row = row;
}

void Recorder::ran_on_device(TaskId id, std::uint64_t started_ns, std::uint64_t finished_ns) {
  std::lock_guard const lock(m_mutex);
  TaskRecord& node = record(id);
  node.started_ns = started_ns;  // so far it was when the launch was over
  node.finished_ns = finished_ns;
}

std::vector<TaskRecord> Recorder::nodes() const {
  std::lock_guard const lock(m_mutex);
  return m_nodes;
}

std::vector<EdgeRecord> Recorder::edges(bool dependencies_only) const {
  std::vector<EdgeRecord> edges;
  std::vector<Release> releases;
  {
    std::lock_guard const lock(m_mutex);
    edges = m_edges;
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
  // Of two that differ in nothing else the one that still counts comes first, and stays.
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
