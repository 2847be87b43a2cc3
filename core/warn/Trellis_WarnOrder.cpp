// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <warn/Trellis_WarnOrder.hpp>

#include <algorithm>
#include <unordered_set>

namespace trellis::Impl {

WarnOrder::Node& WarnOrder::add(Label const& label, std::uint64_t looks) {
  if (m_nodes.size() == most) m_nodes.pop_front();
  Node& node = m_nodes.emplace_back();
  node.label = label;
  node.looks = looks;
  ++m_last;
  return node;
}

void WarnOrder::add_edge(Sequence from, Node& to) {
  if (from > m_last - m_nodes.size()) node(from).has_next = true;
  to.before.push_back(from);
}

void WarnOrder::all_edges_are_there(Node& to) {
  std::sort(to.before.begin(), to.before.end());
  to.before.erase(std::unique(to.before.begin(), to.before.end()), to.before.end());
}

void WarnOrder::waits_for_none(Sequence task) {
  if (find(task) != nullptr) node(task).may_wait = false;
}

bool WarnOrder::may_reach(Sequence from, Sequence to) const {
  if (from == to || (from <= m_barrier && m_barrier <= to)) return true;
  std::vector<Sequence> stack{to};
  std::unordered_set<Sequence> seen{to};
  while (!stack.empty()) {
    Node const* const node = find(stack.back());
    stack.pop_back();
    if (node == nullptr || node->may_be_anywhere() || seen.size() > most_steps) return true;
    for (Sequence const before : node->before) {
      if (before == from) return true;
      if (before > from && seen.insert(before).second) stack.push_back(before);
    }
  }
  return false;
}

void WarnOrder::forget(Sequence last) {
  while (!m_nodes.empty() && m_last - m_nodes.size() < last) m_nodes.pop_front();
}

}  // namespace trellis::Impl
