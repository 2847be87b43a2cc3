// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <impl/Trellis_AccessTable.hpp>
#include <impl/Trellis_Exclusion.hpp>

#include <algorithm>

namespace trellis::Impl {

bool Exclusion::conflict(Task const& a, Task const& b) {
  bool found = false;
  a.for_each_access([&](TaskAccess const& x) {
    if (found || x.mode != Mode::exclusive) return;
    b.for_each_access([&](TaskAccess const& y) {
      if (y.mode == Mode::exclusive) found = found || overlaps(x.entry->area, y.entry->area);
    });
  });
  return found;
}

bool Exclusion::may_hold(Task const& task) const {
  return std::none_of(m_holding.begin(), m_holding.end(), [&](Task const* holder) { return conflict(*holder, task); });
}

bool Exclusion::acquire(Task& task) {
  std::lock_guard const lock(m_mutex);
  if (may_hold(task) && (m_waiting.empty() || !conflict(*m_waiting.front(), task))) {
    m_holding.push_back(&task);
    return true;
  }
  m_waiting.push_back(&task);
  return false;
}

void Exclusion::release(Task& task, std::vector<Task*>& ready, Recorder* recorder) {
  std::lock_guard const lock(m_mutex);
  std::erase(m_holding, &task);
  for (std::size_t k = 0; k < m_waiting.size();) {
    Task& waiter = *m_waiting[k];
    if (may_hold(waiter) && (k == 0 || !conflict(*m_waiting.front(), waiter))) {
      m_holding.push_back(&waiter);
      m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(k));
      ready.push_back(&waiter);
      if (recorder != nullptr && conflict(task, waiter)) recorder->edge(task.id, waiter.id, EdgeReason::exclusion);
    } else {
      ++k;
    }
  }
}

}  // namespace trellis::Impl
