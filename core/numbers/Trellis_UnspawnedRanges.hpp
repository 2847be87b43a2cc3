// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_UNSPAWNEDRANGES_HPP
#define TRELLIS_IMPL_UNSPAWNEDRANGES_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace trellis::Impl {

/// The numbers from 1 that have been reserved and that no task has, as ranges. Most programs spawn
/// in about the order of the numbers, so there are few ranges.
///
/// INVARIANT. No two ranges overlap, and none is empty except the newest one, which ends where the
/// next reservation begins.
class UnspawnedRanges {
 public:
  [[nodiscard]] std::uint64_t end() const { return m_end; }  ///< one behind the last reserved
  /// How many may still be reserved.
  [[nodiscard]] std::uint64_t left() const { return ~std::uint64_t{0} - m_end; }
  /// Requires `count <= left()`. Returns the first.
  std::uint64_t reserve(std::uint64_t count) {
    std::uint64_t const first = m_end;
    m_end += count;
    return first;
  }
  [[nodiscard]] bool contains(std::uint64_t number) const {
    if (number >= m_first) return number < m_end;
    auto const range = m_ranges.upper_bound(number);
    return range != m_ranges.end() && range->second <= number;
  }
  /// Takes a number for a task. False if it is none of these; then nothing has changed.
  bool take(std::uint64_t number) {
    if (number >= m_first) {
      if (number >= m_end) return false;
      if (number != m_first) m_ranges.emplace_hint(m_ranges.end(), number, m_first);
      m_first = number + 1;
      return true;
    }
    auto const range = m_ranges.upper_bound(number);
    if (range == m_ranges.end() || range->second > number) return false;
    std::uint64_t const first = std::exchange(range->second, number + 1);
    if (first != number) m_ranges.emplace_hint(range, number, first);
    if (range->first == number + 1) m_ranges.erase(range);
    return true;
  }
  /// Gives a number back that has no task after all. Requires that it has been taken.
  void put_back(std::uint64_t number) {
    if (m_first == number + 1) {
      m_first = number;
      return;
    }
    auto const next = m_ranges.upper_bound(number);
    if (next != m_ranges.end() && next->second == number + 1)
      next->second = number;
    else
      m_ranges.emplace_hint(next, number + 1, number);
  }
  [[nodiscard]] std::size_t size() const { return m_ranges.size() + 1; }
  void clear() {
    m_ranges.clear();
    m_first = m_end = 1;
  }

 private:
  std::uint64_t m_first = 1;  ///< of the newest range
  std::uint64_t m_end = 1;
  std::map<std::uint64_t, std::uint64_t> m_ranges;  ///< the first number, by one behind the last
};

}  // namespace trellis::Impl

#endif
