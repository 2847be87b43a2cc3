// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_VIRTUALEXCLUSION_HPP
#define TRELLIS_IMPL_VIRTUALEXCLUSION_HPP

#include <Trellis_Graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Decides which of a trace's exclusive tasks may run, in virtual time. Tasks of one area exclude
/// each other. Their order is decided anew, as in Exclusion: a task gets all its areas at once,
/// turns go by rank and then by arrival, and no task passes the first one that waits. Other
/// exclusion between tasks is an edge of the record, which stays.
class VirtualExclusion {
 public:
  explicit VirtualExclusion(Graph const& graph) : m_areas_of(graph.nodes().size()) {
    std::map<std::pair<std::uint64_t, std::string>, std::size_t> numbers;
    for (std::size_t p = 0; p < graph.nodes().size(); ++p)
      for (AccessRecord const& access : graph.nodes()[p].accesses)
        if (access.mode == "exclusive" && access.resource_id != 0) {
          auto const key = std::pair(access.resource_id, access.area);
          std::size_t const number = numbers.try_emplace(key, numbers.size()).first->second;
          std::vector<std::size_t>& areas = m_areas_of[p];
          if (std::find(areas.begin(), areas.end(), number) == areas.end()) areas.push_back(number);
        }
    m_holder.assign(numbers.size(), false);
  }

  [[nodiscard]] bool has(std::size_t task) const { return !m_areas_of[task].empty(); }
  /// True if this object keeps the two tasks apart, so that an edge between them is not needed.
  [[nodiscard]] bool share_an_area(std::size_t a, std::size_t b) const {
    return std::any_of(m_areas_of[a].begin(), m_areas_of[a].end(), [&](std::size_t area) {
      return std::find(m_areas_of[b].begin(), m_areas_of[b].end(), area) != m_areas_of[b].end();
    });
  }
  /// False: the task waits, and `release` will return it.
  [[nodiscard]] bool acquire(std::size_t task, std::int64_t rank) {
    Turn const turn{-rank, m_arrivals++, task};
    if (may_run(turn)) {
      hold(task, true);
      return true;
    }
    m_waiting.insert(turn);
    return false;
  }
  /// Returns the tasks that may run now.
  [[nodiscard]] std::vector<std::size_t> release(std::size_t task) {
    hold(task, false);
    std::vector<std::size_t> granted;
    for (auto each = m_waiting.begin(); each != m_waiting.end();) {
      if (!may_run(*each)) {
        ++each;
        continue;
      }
      hold(each->task, true);
      granted.push_back(each->task);
      each = m_waiting.erase(each);
    }
    return granted;
  }

 private:
  struct Turn {
    std::int64_t behind_rank;
    std::uint64_t arrival;
    std::size_t task;
    bool operator<(Turn const& other) const {
      return std::pair(behind_rank, arrival) < std::pair(other.behind_rank, other.arrival);
    }
  };
  [[nodiscard]] bool may_run(Turn const& turn) const {
    for (std::size_t const area : m_areas_of[turn.task])
      if (m_holder[area]) return false;
    if (m_waiting.empty()) return true;
    Turn const& first = *m_waiting.begin();
    return first.task == turn.task || turn < first || !share_an_area(first.task, turn.task);
  }
  void hold(std::size_t task, bool holds) {
    for (std::size_t const area : m_areas_of[task]) m_holder[area] = holds;
  }

  std::vector<std::vector<std::size_t>> m_areas_of;
  std::vector<bool> m_holder;
  std::set<Turn> m_waiting;
  std::uint64_t m_arrivals = 0;
};

}  // namespace trellis::Impl

#endif
