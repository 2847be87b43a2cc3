// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PATIENCE_HPP
#define TRELLIS_IMPL_PATIENCE_HPP

#include <Trellis_TaskId.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trellis::Impl {

/// How long areas that one task has used are worth remembering.
///
/// A program that sweeps over its areas comes back to each of them, however many they are; where
/// each task brings an area of its own, none comes back. Which of the two it is, areas tell that
/// were forgotten: when many of them come back, they were forgotten too soon.
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

  void forgot(std::uint64_t hash) {
    if (!is_in_sample(hash)) return;
    if (m_sample.empty()) m_sample.resize(places);
    std::uint64_t& place = place_of(hash);
    if (place != 0 && ++m_lost == places / 2) {
      m_lost = 0;
      m_skip = std::min(2 * m_skip + 1, largest - 1);
    }
    place = hash;
  }
  /// An area is new, or was forgotten.
  void met(std::uint64_t hash) {
    if (m_sample.empty() || !is_in_sample(hash)) return;
    ++m_met;
    if (std::uint64_t& place = place_of(hash); place == hash) {
      place = 0;
      m_lost = 0;
      ++m_came_back;
    }
  }
  /// Called before some are forgotten.
  void adapt() {
    constexpr std::uint32_t enough = 16;
    if (m_met < enough) return;
    if (m_came_back >= m_met / 4)
      m_tasks *= 2;
    else if (m_came_back < m_met / 32)
      m_tasks = std::max(m_tasks / 2, shortest);
    m_met = m_came_back = 0;
  }

 private:
  static constexpr TaskId shortest = 2048;
  static constexpr std::size_t places = 4096;
  static constexpr std::uint64_t largest = 4096;

  // The low bits choose the place, others whether it is in the sample.
  [[nodiscard]] bool is_in_sample(std::uint64_t hash) const { return (hash >> 40 & m_skip) == 0; }
  [[nodiscard]] std::uint64_t& place_of(std::uint64_t hash) { return m_sample[hash % places]; }

  TaskId m_tasks = shortest;
  std::uint64_t m_skip = 0;
  std::uint32_t m_lost = 0;  ///< overwritten since one came back
  std::uint32_t m_met = 0;   ///< of the sample, and
  std::uint32_t m_came_back = 0;
  std::vector<std::uint64_t> m_sample;  ///< hashes
};

}  // namespace trellis::Impl

#endif
