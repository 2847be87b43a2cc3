// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANNEDRANKS_HPP
#define TRELLIS_IMPL_PLANNEDRANKS_HPP

#include <Trellis_PriorityPolicy.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trellis::Impl {

/// The urgencies of the tasks of one plan, and the mean time that each has taken so far.
///
/// Tasks are in order of submission, so an edge leads to a later one, and one walk from the last to
/// the first finds all longest paths.
class PlannedRanks {
 public:
  /// `hop_ns`: the assumed length of a task before any is measured.
  PlannedRanks(PlannedTasks const& plan, std::int64_t hop_ns);

  [[nodiscard]] std::size_t size() const { return m_urgency.size(); }
  [[nodiscard]] experimental::Urgency of(std::uint32_t index) const { return m_urgency[index]; }
  [[nodiscard]] std::vector<experimental::Urgency> const& all() const { return m_urgency; }

  /// Notes that a task has run. Ranks are computed again when all tasks have run once more on
  /// average, and later only every sixteenth time, as they change little then.
  void ran(std::uint32_t index, std::int64_t ns);

  std::uint64_t used = 0;  ///< when the policy used it last, counted in its look-ups of plans

 private:
  void measure();

  std::vector<experimental::Urgency> m_urgency;
  std::vector<std::uint32_t> m_first;  ///< by task, with one more behind the last
  std::vector<std::uint32_t> m_to;
  struct Average {
    float ns = 0;
    std::uint32_t runs = 0;
  };
  std::vector<Average> m_average;
  std::uint64_t m_runs = 0;
  std::uint64_t m_measured = 0;    ///< times
  std::uint64_t m_measure_at = 0;  ///< runs
};

}  // namespace trellis::Impl

#endif
