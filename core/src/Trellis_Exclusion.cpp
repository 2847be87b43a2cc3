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
  return std::none_of(m_holding.begin(), m_holding.end(),
                      [&](Task const* holder) { return conflict(*holder, task); });
}

bool Exclusion::front_keeps_back(Task const& task) const {
  if (m_waiting.empty() || m_waiting.front() == &task || !conflict(*m_waiting.front(), task)) return false;
  return std::none_of(m_sleeping.begin(), m_sleeping.end(),
                      [&](Task const* sleeper) { return conflict(*sleeper, *m_waiting.front()); });
}

bool Exclusion::acquire(Task& task) {
  std::lock_guard const lock(m_mutex);
  if (may_hold(task) && !front_keeps_back(task)) {
    m_holding.push_back(&task);
    return true;
  }
  m_waiting.push_back(&task);
  return false;
}

void Exclusion::grant(std::vector<Task*>& ready) {
  for (std::size_t k = 0; k < m_waiting.size();) {
    Task& waiter = *m_waiting[k];
    if (may_hold(waiter) && !front_keeps_back(waiter)) {
      m_holding.push_back(&waiter);
      m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(k));
      ready.push_back(&waiter);
    } else {
      ++k;
    }
  }
}

void Exclusion::release(Task& task, std::vector<Task*>& ready, Recorder* recorder) {
  std::lock_guard const lock(m_mutex);
  std::erase(m_holding, &task);
  std::size_t const before = ready.size();
  grant(ready);
  if (recorder == nullptr) return;
  for (std::size_t k = before; k < ready.size(); ++k)
    if (conflict(task, *ready[k])) recorder->edge(task.id, ready[k]->id, EdgeReason::exclusion);
}

void Exclusion::sleep(Task& task, std::vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  m_sleeping.push_back(&task);
  grant(ready);
}

void Exclusion::wake(Task& task) {
  std::lock_guard const lock(m_mutex);
  std::erase(m_sleeping, &task);
}

bool Exclusion::holds(Task const& task) {
  std::lock_guard const lock(m_mutex);
  return std::find(m_holding.begin(), m_holding.end(), &task) != m_holding.end();
}

}  // namespace trellis::Impl
