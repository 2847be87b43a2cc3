// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace trellis {

struct Graph::Index {
  /// The neighbours of the node at position p are to[begin[p]] up to to[begin[p + 1]], as
  /// positions.
  struct Adjacency {
    std::vector<std::size_t> begin;
    std::vector<std::size_t> to;
    /// Returns the ids of the neighbours of the node at position p, each once, in order.
    [[nodiscard]] std::vector<TaskId> ids(std::vector<TaskRecord> const& nodes,
                                          std::size_t p) const {
      std::vector<TaskId> found;
      found.reserve(begin[p + 1] - begin[p]);
      for (std::size_t i = begin[p]; i != begin[p + 1]; ++i) found.push_back(nodes[to[i]].id);
      // Two tasks may be joined by several edges, one per reason.
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      return found;
    }
  };
  std::unordered_map<TaskId, std::size_t> position;
  Adjacency in;
  Adjacency out;
};

std::string_view to_string(TaskState state) {
  switch (state) {
    case TaskState::pending:
      return "pending";
    case TaskState::ready:
      return "ready";
    case TaskState::running:
      return "running";
    case TaskState::done:
      return "done";
    case TaskState::failed:
      return "failed";
    case TaskState::cancelled:
      return "cancelled";
  }
  return "unknown state";
}

std::string_view to_string(EdgeReason reason) {
  switch (reason) {
    case EdgeReason::access:
      return "access";
    case EdgeReason::after:
      return "after";
    case EdgeReason::synchronizing:
      return "synchronizing";
    case EdgeReason::exclusion:
      return "exclusion";
    case EdgeReason::rule:
      return "rule";
    case EdgeReason::demotion:
      return "demotion";
    case EdgeReason::policy:
      return "policy";
  }
  return "unknown reason";
}

Graph::Graph(std::vector<TaskRecord> nodes, std::vector<EdgeRecord> edges)
    : m_nodes(std::move(nodes)), m_edges(std::move(edges)) {
  auto const index = std::make_shared<Index>();
  index->position.reserve(m_nodes.size());
  for (std::size_t p = 0; p != m_nodes.size(); ++p) {
    auto const [other, inserted] = index->position.emplace(m_nodes[p].id, p);
    if (!inserted) {
      throw Error(Error::Kind::bad_input,
                  "two tasks of a graph have the id " + std::to_string(m_nodes[p].id) + ": \"" +
                      m_nodes[other->second].label + "\" and \"" + m_nodes[p].label + "\"");
    }
  }

  // Positions are looked up once; both adjacencies are then made by counting.
  std::vector<std::pair<std::size_t, std::size_t>> ends;
  ends.reserve(m_edges.size());
  for (EdgeRecord const& edge : m_edges) {
    auto const from = index->position.find(edge.from);
    auto const to = index->position.find(edge.to);
    if (from == index->position.end() || to == index->position.end()) {
      throw Error(Error::Kind::bad_input,
                  "an edge leads from task " + std::to_string(edge.from) + " to task " +
                      std::to_string(edge.to) + " (" + std::string(to_string(edge.reason)) +
                      "), but task " +
                      std::to_string(from == index->position.end() ? edge.from : edge.to) +
                      " is not among the nodes of the graph");
    }
    ends.emplace_back(from->second, to->second);
  }
  auto const fill = [&](Index::Adjacency& adjacency, auto key, auto neighbour) {
    adjacency.begin.assign(m_nodes.size() + 1, 0);
    adjacency.to.resize(ends.size());
    for (auto const& edge : ends) ++adjacency.begin[edge.*key + 1];
    for (std::size_t p = 0; p != m_nodes.size(); ++p) adjacency.begin[p + 1] += adjacency.begin[p];
    std::vector<std::size_t> next(adjacency.begin.begin(), adjacency.begin.end() - 1);
    for (auto const& edge : ends) adjacency.to[next[edge.*key]++] = edge.*neighbour;
  };
  using Ends = std::pair<std::size_t, std::size_t>;
  fill(index->out, &Ends::first, &Ends::second);
  fill(index->in, &Ends::second, &Ends::first);
  m_index = index;
}

bool Graph::has(TaskId id) const {
  return m_index != nullptr && m_index->position.contains(id);
}

std::size_t Graph::position(TaskId id) const {
  if (has(id)) return m_index->position.find(id)->second;
  std::string text = "no task has the id " + std::to_string(id) + ": ";
  if (m_nodes.empty()) {
    text += "this graph has no tasks (it keeps them only when TaskGraphOptions::record is set)";
  } else {
    auto const [least, greatest] = std::minmax_element(
        m_nodes.begin(), m_nodes.end(), [](auto const& a, auto const& b) { return a.id < b.id; });
    text += "this graph has " + std::to_string(m_nodes.size()) +
            (m_nodes.size() == 1 ? " task" : " tasks") + " with ids from " +
            std::to_string(least->id) + " to " + std::to_string(greatest->id);
  }
  throw Error(Error::Kind::bad_input, text);
}

std::vector<TaskRecord> Graph::nodes() && {
  return std::move(m_nodes);
}
std::vector<EdgeRecord> Graph::edges() && {
  return std::move(m_edges);
}

TaskRecord const& Graph::node(TaskId id) const {
  return m_nodes[position(id)];
}

std::vector<TaskId> Graph::children(TaskId id) const {
  std::vector<TaskId> ids;
  for (TaskRecord const& task : m_nodes)
    if (task.parent == id) ids.push_back(task.id);
  return ids;
}

std::vector<TaskId> Graph::find(std::string_view label) const {
  std::vector<TaskId> ids;
  for (TaskRecord const& task : m_nodes) {
    if (task.label == label) ids.push_back(task.id);
  }
  return ids;
}

std::vector<TaskId> Graph::predecessors(TaskId id) const {
  std::size_t const p = position(id);  // first: it throws where there is no index
  return m_index->in.ids(m_nodes, p);
}

std::vector<TaskId> Graph::successors(TaskId id) const {
  std::size_t const p = position(id);
  return m_index->out.ids(m_nodes, p);
}

bool Graph::reaches(TaskId from, TaskId to) const {
  std::size_t const goal = position(to);
  // The search uses a stack of its own instead of recursion, as a path may be as long as the graph.
  // `from` itself starts unseen, so that a path back to it is found.
  std::vector<std::size_t> stack{position(from)};
  Index::Adjacency const& out = m_index->out;
  std::vector<bool> seen(m_nodes.size(), false);
  while (!stack.empty()) {
    std::size_t const p = stack.back();
    stack.pop_back();
    for (std::size_t i = out.begin[p]; i != out.begin[p + 1]; ++i) {
      std::size_t const next = out.to[i];
      if (next == goal) return true;
      if (seen[next]) continue;
      seen[next] = true;
      stack.push_back(next);
    }
  }
  return false;
}

}  // namespace trellis
