// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SUBMISSIONPACE_HPP
#define TRELLIS_IMPL_SUBMISSIONPACE_HPP

#include <Trellis_Graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// The pace at which the tasks of a trace were submitted, one after the other, without children of
/// other tasks.
///
/// A record does not say when the submitting thread waited, but it shows where it must have: tasks
/// were in flight when one task was submitted, and none when the next one was.
class SubmissionPace {
 public:
  struct Step {
    std::size_t task = 0;     ///< position among the nodes
    double gap = 0;           ///< since the last submission, or the end of what it waited for
    bool has_waited = false;  ///< the thread waited until all earlier tasks were complete
  };

  explicit SubmissionPace(Graph const& graph) {
    std::vector<TaskRecord> const& nodes = graph.nodes();
    std::unordered_set<TaskId> ids;
    for (TaskRecord const& task : nodes) ids.insert(task.id);
    for (std::size_t p = 0; p < nodes.size(); ++p)
      if (!ids.contains(nodes[p].parent)) m_steps.push_back({p});
    std::stable_sort(m_steps.begin(), m_steps.end(), [&](Step const& a, Step const& b) {
      return nodes[a.task].submitted_ns < nodes[b.task].submitted_ns;
    });
    note_gaps(nodes);
  }

  [[nodiscard]] std::vector<Step> const& steps() const { return m_steps; }

 private:
  void note_gaps(std::vector<TaskRecord> const& nodes) {
    // Tasks on the first row run on the main thread, which submits, or waits for room.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> main;
    for (TaskRecord const& task : nodes)
      if (task.row == 0 && task.finished_ns != 0)
        main.emplace_back(task.started_ns,
                          task.returned_ns != 0 ? task.returned_ns : task.finished_ns);
    std::sort(main.begin(), main.end());
    std::size_t next_main = 0;
    std::uint64_t covered = 0;
    auto const ran_between = [&](std::uint64_t from, std::uint64_t to) {
      std::uint64_t sum = 0;
      covered = std::max(covered, from);
      for (; next_main < main.size() && main[next_main].first < to; ++next_main) {
        auto const [begin, end] = main[next_main];
        std::uint64_t const first = std::max(begin, covered);
        std::uint64_t const last = std::min(end, to);
        if (last > first) sum += last - first;
        covered = std::max(covered, last);
        if (end > to) break;
      }
      return sum;
    };
    std::uint64_t before = m_steps.empty() ? 0 : nodes[m_steps.front().task].submitted_ns;
    std::uint64_t finished = 0;  // the latest end so far
    for (Step& step : m_steps) {
      std::uint64_t const now = nodes[step.task].submitted_ns;
      std::uint64_t const ran = ran_between(before, now);
      step.has_waited = finished > before && finished <= now;
      std::uint64_t const since = step.has_waited ? now - finished : now - before;
      step.gap = static_cast<double>(step.has_waited ? since : since - std::min(since, ran));
      before = now;
      std::uint64_t const end = nodes[step.task].finished_ns;
      finished = end != 0 ? std::max(finished, end) : ~std::uint64_t{0};
    }
  }

  std::vector<Step> m_steps;
};

}  // namespace trellis::Impl

#endif
