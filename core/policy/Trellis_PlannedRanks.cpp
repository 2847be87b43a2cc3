// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <policy/Trellis_PlannedRanks.hpp>

#include <algorithm>

namespace trellis::Impl {

PlannedRanks::PlannedRanks(PlannedTasks const& plan, std::int64_t hop_ns)
    : m_urgency(plan.tasks.size()),
      m_first(plan.tasks.size() + 1, 0),
      m_to(plan.edges.size()),
      m_average(plan.tasks.size()),
      m_measure_at(plan.tasks.size()) {
  for (PlannedTasks::Edge const& edge : plan.edges) ++m_first[edge.from + 1];
  for (std::size_t k = 0; k < size(); ++k) m_first[k + 1] += m_first[k];
  std::vector<std::uint32_t> next(m_first.begin(), m_first.end() - 1);
  for (PlannedTasks::Edge const& edge : plan.edges) m_to[next[edge.from]++] = edge.to;
  for (std::size_t k = size(); k-- > 0;) {
    m_urgency[k].consumers = m_first[k + 1] - m_first[k];
    for (std::uint32_t i = m_first[k]; i < m_first[k + 1]; ++i)
      m_urgency[k].rank = std::max(m_urgency[k].rank, m_urgency[m_to[i]].rank + hop_ns);
  }
}

void PlannedRanks::ran(std::uint32_t index, std::int64_t ns) {
  // The average is exact at first; later old runs fade.
  constexpr std::uint32_t memory = 8;
  Average& average = m_average[index];
  average.runs = std::min(average.runs + 1, memory);
  average.ns += (static_cast<float>(ns) - average.ns) / static_cast<float>(average.runs);
  if (++m_runs >= m_measure_at) measure();
}

void PlannedRanks::measure() {
  for (std::size_t k = size(); k-- > 0;) {
    std::int64_t behind = 0;
    for (std::uint32_t i = m_first[k]; i < m_first[k + 1]; ++i)
      behind = std::max(behind, m_urgency[m_to[i]].rank);
    m_urgency[k].rank = behind + static_cast<std::int64_t>(m_average[k].ns);
  }
  constexpr std::uint64_t each_time = 8;
  m_measure_at = m_runs + size() * (++m_measured < each_time ? 1 : 16);
}

}  // namespace trellis::Impl
