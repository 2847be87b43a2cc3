// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <recorded/Trellis_Iteration.hpp>

#include <algorithm>
#include <utility>

/// Finds the remembered iteration of a loop that a new one is like.
namespace trellis::Impl {

void IterationMemory::begin() {
  m_position = 0;
  m_leader = none;
  for (std::size_t k = 0; k < most; ++k)
    if (m_known[k].plan != nullptr &&
        (m_leader == none || m_known[k].used > m_known[m_leader].used))
      m_leader = k;
}

bool IterationMemory::next(TaskSpec const& spec) {
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

std::shared_ptr<RecordedGraph> IterationMemory::end() {
  for (std::size_t k = 0; k < most; ++k)
    if (m_leader != none && (k == m_leader || m_known[m_leader].common[k] == m_position) &&
        m_known[k].plan != nullptr && m_known[k].plan->size() == m_position) {
      m_known[k].used = ++m_uses;
      return m_known[k].plan;
    }
  return nullptr;
}

std::shared_ptr<RecordedGraph> const& IterationMemory::leader() const {
  static std::shared_ptr<RecordedGraph> const nobody;
  return m_leader != none ? m_known[m_leader].plan : nobody;
}

/// The new plan has all tasks up to the position in common with the leader. So it shares with each
/// other plan what that plan shares with the leader, and no more, as the comparison has shown.
void IterationMemory::add(std::shared_ptr<RecordedGraph> plan) {
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
