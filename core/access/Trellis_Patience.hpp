// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PATIENCE_HPP
#define TRELLIS_IMPL_PATIENCE_HPP

#include <task/Trellis_Reserve.hpp>

#include <Trellis_TaskId.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// How long areas that one task has used are worth remembering.
///
/// A program that sweeps over its areas comes back to each of them, however many they are; where
/// each task brings an area of its own, none comes back. Which of the two it is, areas tell that
/// were forgotten: when many of them come back, and time and again after the same number of tasks,
/// they were forgotten too soon, and that number says how long they should have been remembered.
/// (An allocation that happens to be where another one was comes back at any time. Were that
/// counted, there would be no end: what is remembered takes memory, so that the next allocations
/// are elsewhere, and come back later still.)
///
/// A table of fixed size cannot know all that were forgotten, so it knows a sample: those whose
/// hash leaves 0 modulo a power of two, which grows until the table holds what is forgotten in one
/// sweep. It reaches over `places` times `largest` areas.
class Patience {
 public:
  /// As a number of tasks.
  [[nodiscard]] TaskId tasks() const { return m_tasks; }

  /// Nothing has been forgotten yet.
  [[nodiscard]] bool is_new() const { return m_sample.empty(); }

  void forgot(std::uint64_t hash, TaskId last_used) {
    if (!is_in_sample(hash)) return;
    if (m_sample.empty()) m_sample.resize(places);
    Forgotten& place = place_of(hash);
    if (place.hash == hash) {
      place.last_used = last_used;
      return;
    }
    // One of a larger sample that there was before is no loss.
    if (place.hash != 0 && is_in_sample(place.hash) && ++m_lost == places / 2) {
      m_lost = 0;
      m_skip = std::min(2 * m_skip + 1, largest - 1);
    }
    place = {hash, last_used, 0};
  }
  /// An area is new, or was forgotten.
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
  /// Called before some are forgotten.
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
  // The low bits choose the place, others whether it is in the sample.
  [[nodiscard]] bool is_in_sample(std::uint64_t hash) const { return (hash >> 40 & m_skip) == 0; }
  [[nodiscard]] Forgotten& place_of(std::uint64_t hash) { return m_sample[hash % places]; }

  TaskId m_tasks = shortest;
  std::uint64_t m_skip = 0;
  std::uint64_t m_lost = 0;       ///< overwritten since one came back
  std::uint64_t m_met = 0;        ///< of the sample, and
  std::uint64_t m_came_back = 0;  ///< as regularly as a sweep
  TaskId m_away = 0;              ///< the sum of these
  Vector<Forgotten> m_sample;
};

}  // namespace trellis::Impl

#endif
