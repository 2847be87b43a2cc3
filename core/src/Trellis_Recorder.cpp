// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <impl/Trellis_AccessTable.hpp>
#include <impl/Trellis_Recorder.hpp>

#include <algorithm>
#include <tuple>

namespace trellis::Impl {

void Recorder::submitted(Task const& task) {
  TaskRecord node;
  node.id = task.id;
  node.label = task.label.string();
  node.pattern = task.ops->pattern;
  node.space = task.space ? std::string(task.space->name()) : "host";
  node.file = task.label.site().file_name();
  node.line = task.label.site().line();
  node.priority = task.priority;
  node.main_thread = task.main_thread;
  node.synchronizing = task.synchronizing;
  task.for_each_access([&](TaskAccess const& access) {
    Resource const& resource = *access.entry->resource;
    Area const& area = access.entry->area;
    bool const whole = area.begin() == resource.begin && area.end() == resource.end && area.rank() == 0;
    node.accesses.push_back({resource.label, std::string(to_string(access.mode)),
                             whole ? "whole" : trellis::to_string(area, resource.begin)});
  });
  node.submitted_ns = now_ns();
  std::lock_guard const lock(m_mutex);
  m_nodes.push_back(std::move(node));
}

void Recorder::edge(TaskId from, TaskId to, EdgeReason reason) {
  std::lock_guard const lock(m_mutex);
  m_edges.push_back({from, to, reason});
}

void Recorder::changed(Task const& task, TaskState state, int row) {
  std::uint64_t const now = now_ns();
  std::lock_guard const lock(m_mutex);
  TaskRecord& node = record(task.id);
  node.state = state;
  node.row = row;
  (state == TaskState::ready ? node.ready_ns : node.started_ns) = now;
}

void Recorder::finished(Task const& task, TaskState state, int row) {
  std::uint64_t const now = now_ns();
  std::lock_guard const lock(m_mutex);
  TaskRecord& node = record(task.id);
  node.state = state;
  node.finished_ns = now;
  if (state != TaskState::cancelled) node.row = row;
}

std::vector<TaskRecord> Recorder::nodes() const {
  std::lock_guard const lock(m_mutex);
  return m_nodes;
}

std::vector<EdgeRecord> Recorder::edges(bool dependencies_only) const {
  std::vector<EdgeRecord> edges;
  {
    std::lock_guard const lock(m_mutex);
    edges = m_edges;
  }
  if (dependencies_only)
    std::erase_if(edges, [](EdgeRecord const& edge) { return !is_dependency(edge.reason); });
  auto const key = [](EdgeRecord const& edge) { return std::tuple(edge.to, edge.from, edge.reason); };
  std::sort(edges.begin(), edges.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

}  // namespace trellis::Impl
