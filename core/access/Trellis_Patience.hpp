// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PATIENCE_HPP
#define TRELLIS_IMPL_PATIENCE_HPP

#include <base/Trellis_Reserve.hpp>

#include <Trellis_TaskId.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace trellis::Impl {

/// Decides how long areas that one task has used are worth remembering.
///
/// A program that sweeps over its areas returns to each of them, however many they are. If each
/// task brings an area of its own, none returns. Forgotten areas tell the two apart. If many of
/// them return, and each time after the same number of tasks, they were forgotten too soon. That
/// number then says how long they should have been remembered. An allocation that happens to be at
/// the address of an earlier one returns at any time. Counting these would never end. What is
/// remembered takes memory, so the next allocations are elsewhere, and return even later.
///
/// A table of fixed size cannot know all forgotten areas, so it knows a sample: those whose hash is
/// 0 modulo a power of two. That power grows until the table holds what is forgotten in one sweep.
/// It covers up to `places` times `largest` areas.
///
/// MEASURED. A table forgets nothing below 2^17 areas. Sweeps over 200 000 parts of a View took 1940
/// instructions for a task, and 3850 when all areas were remembered for `shortest` tasks. These are
/// the sweeps 7 to 9 of the row `areas_of_one_view/areas:200000` of `micro`, under callgrind.
class Patience {
 public:
  /// The time to remember an area, as a number of tasks.
  [[nodiscard]] TaskId tasks() const { return m_tasks; }

  /// True if nothing has been forgotten yet.
  [[nodiscard]] bool is_new() const { return m_sample.empty(); }

  void forgot(std::uint64_t hash, TaskId last_used) {
    if (!is_in_sample(hash)) return;
    if (m_sample.empty()) m_sample.resize(places);
    Forgotten& place = place_of(hash);
    if (place.hash == hash) {
      place.last_used = last_used;
      return;
    }
    // Overwriting an area of an earlier, larger sample is no loss.
    if (place.hash != 0 && is_in_sample(place.hash) && ++m_lost == places / 2) {
      m_lost = 0;
      m_skip = std::min(2 * m_skip + 1, largest - 1);
    }
    place = {hash, last_used, 0};
  }
  /// Called for an area that is new, or was forgotten.
  void met(std::uint64_t hash, TaskId now) {
    if (m_sample.empty() || !is_in_sample(hash)) return;
    ++m_met;
    Forgotten& place = place_of(hash);
    if (place.hash != hash) return;
    m_lost = 0;
    TaskId const away = now - place.last_used;
    TaskId const before = std::exchange(place.away, away);
    if (before == 0 || (away > before ? away - before : before - away) > before / 64) return;
    m_away += away;
    ++m_came_back;
  }
  void adapt() {
    constexpr std::uint64_t enough = 16;
    if (m_met < enough) return;
    if (m_came_back >= m_met / 4)
      m_tasks = std::max(m_tasks, 2 * m_away / m_came_back);
    else if (m_came_back < m_met / 32)
      m_tasks = std::max(m_tasks / 2, shortest);
    m_met = m_came_back = m_away = 0;
  }

 private:
  static constexpr TaskId shortest = 2048;
  static constexpr std::size_t places = 4096;
  static constexpr std::uint64_t largest = 4096;

  struct Forgotten {
    std::uint64_t hash = 0;
    TaskId last_used = 0;
    TaskId away = 0;  ///< between the last time that it was forgotten and the next use
  };
  // The low bits choose the place; others decide whether it is in the sample.
  [[nodiscard]] bool is_in_sample(std::uint64_t hash) const { return (hash >> 40 & m_skip) == 0; }
  [[nodiscard]] Forgotten& place_of(std::uint64_t hash) { return m_sample[hash % places]; }

  TaskId m_tasks = shortest;
  std::uint64_t m_skip = 0;
  std::uint64_t m_lost = 0;       ///< overwritten since an area returned
  std::uint64_t m_met = 0;        ///< areas of the sample that were met; of these,
  std::uint64_t m_came_back = 0;  ///< those that returned as regularly as a sweep
  TaskId m_away = 0;              ///< the sum of the tasks between
  Vector<Forgotten> m_sample;
};

}  // namespace trellis::Impl

#endif
