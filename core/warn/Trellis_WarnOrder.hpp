// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WARNORDER_HPP
#define TRELLIS_IMPL_WARNORDER_HPP

#include <Trellis_Label.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_set>
#include <vector>

namespace trellis::Impl {

/// A task's place in the order of submission, counted from 1.
using Sequence = std::uint64_t;

/// Which tasks come before which, for warnings. It may find an order where there is none, but never
/// misses one: if it says that two tasks are not ordered, they are not.
class WarnOrder {
 public:
  struct Node {
    Label label;
    std::vector<Sequence> before;    ///< tasks that it directly depends on
    std::uint64_t looks = 0;         ///< `looks` of the host at that time
    bool unknown_before = false;     ///< it depends on tasks that are not known here
    bool may_wait = false;           ///< its body may wait for any task
    bool in_body = false;            ///< it was submitted in the body of another one
    bool has_next = false;           ///< some task depends on it
    bool writes_only_views = false;  ///< everything that it leaves is in Views that it declares

    [[nodiscard]] bool may_be_anywhere() const { return unknown_before || may_wait; }
  };

  Node& add(Label const& label, std::uint64_t looks) {
    if (m_nodes.size() == most) m_nodes.pop_front();
    Node& node = m_nodes.emplace_back();
    node.label = label;
    node.looks = looks;
    ++m_last;
    return node;
  }
  /// Orders the newest task after all before it, and before all after it.
  void newest_is_barrier() { m_barrier = m_last; }
  void add_edge(Sequence from, Node& to) {
    if (Node* const node = find(from)) node->has_next = true;
    to.before.push_back(from);
  }
  static void all_edges_are_there(Node& to) {
    std::sort(to.before.begin(), to.before.end());
    to.before.erase(std::unique(to.before.begin(), to.before.end()), to.before.end());
  }

  [[nodiscard]] Node& newest() { return m_nodes.back(); }
  /// 0: there is none.
  [[nodiscard]] Sequence last() const { return m_last; }
  /// Null if it has been forgotten.
  [[nodiscard]] Node* find(Sequence task) {
    Sequence const forgotten = m_last - m_nodes.size();
    return task > forgotten && task <= m_last
               ? &m_nodes[static_cast<std::size_t>(task - forgotten - 1)]
               : nullptr;
  }
  /// True if `to` may come after `from`, which is the earlier one.
  [[nodiscard]] bool may_reach(Sequence from, Sequence to) {
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
  /// Forgets all tasks up to this one.
  void forget(Sequence last) {
    while (!m_nodes.empty() && m_last - m_nodes.size() < last) m_nodes.pop_front();
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 16;
  static constexpr std::size_t most_steps = 4096;  ///< of a search

  std::deque<Node> m_nodes;  ///< the last one is number `m_last`
  Sequence m_last = 0;
  Sequence m_barrier = 0;
};

}  // namespace trellis::Impl

#endif
