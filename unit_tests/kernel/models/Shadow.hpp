// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SHADOW_HPP
#define TRELLIS_TEST_SHADOW_HPP

#include "Memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace trellis::model {

/// The last accesses to each byte of a piece of memory, to find data races and uses of memory that
/// has been freed.
class Shadow {
 public:
  enum class Finding : std::uint8_t { none, race, freed };

  void watch(char const* begin, std::size_t size) {
    m_begin = begin;
    m_size = size;
    m_cells = std::make_unique<Cell[]>(size);
  }
  /// Nothing has been accessed.
  void clear() { ++m_generation; }
  [[nodiscard]] bool watches(void const* address) const {
    return static_cast<std::size_t>(static_cast<char const*>(address) - m_begin) < m_size;
  }
  Finding access(void const* address, std::size_t size, bool writes, int thread,
                 Knowledge const& now) {
    auto const first = static_cast<std::size_t>(static_cast<char const*>(address) - m_begin);
    if (first >= m_size) return Finding::none;
    Finding found = Finding::none;
    for (std::size_t k = first; k < first + size; ++k) {
      Cell& cell = cell_at(k);
      if (cell.is_freed) return Finding::freed;
      if (is_unknown(cell.writer, cell.written, thread, now)) found = Finding::race;
      if (writes) {
        for (int other = 0; other < most_threads; ++other)
          if (is_unknown(other, cell.read[static_cast<std::size_t>(other)], thread, now))
            found = Finding::race;
        cell.writer = static_cast<std::int8_t>(thread);
        cell.written = now.clock[static_cast<std::size_t>(thread)];
      } else {
        cell.read[static_cast<std::size_t>(thread)] = now.clock[static_cast<std::size_t>(thread)];
      }
    }
    return found;
  }
  /// Is there a plain access that the thread knows nothing of?
  [[nodiscard]] Finding look(void const* address, std::size_t size, bool writes, int thread,
                             Knowledge const& now) {
    auto const first = static_cast<std::size_t>(static_cast<char const*>(address) - m_begin);
    if (first >= m_size) return Finding::none;
    for (std::size_t k = first; k < first + size; ++k) {
      Cell const& cell = cell_at(k);
      if (cell.is_freed) return Finding::freed;
      if (is_unknown(cell.writer, cell.written, thread, now)) return Finding::race;
      for (int other = 0; writes && other < most_threads; ++other)
        if (is_unknown(other, cell.read[static_cast<std::size_t>(other)], thread, now))
          return Finding::race;
    }
    return Finding::none;
  }
  void free(void const* address, std::size_t size) {
    auto const first = static_cast<std::size_t>(static_cast<char const*>(address) - m_begin);
    for (std::size_t k = first; k < first + size; ++k) cell_at(k).is_freed = true;
  }
  /// An atomic variable begins here.
  void mark(void const* address, int variable) {
    if (watches(address))
      cell_at(static_cast<std::size_t>(static_cast<char const*>(address) - m_begin)).variable =
          static_cast<std::int16_t>(variable);
  }
  [[nodiscard]] int variable_at(void const* address) {
    return cell_at(static_cast<std::size_t>(static_cast<char const*>(address) - m_begin)).variable;
  }

 private:
  struct Cell {
    std::uint32_t generation = 0;
    std::uint32_t written = 0;
    std::array<std::uint32_t, most_threads> read{};
    std::int16_t variable = -1;
    std::int8_t writer = -1;
    bool is_freed = false;
  };
  [[nodiscard]] static bool is_unknown(int thread, std::uint32_t clock, int here,
                                       Knowledge const& now) {
    return clock != 0 && thread != here && thread >= 0 &&
           clock > now.clock[static_cast<std::size_t>(thread)];
  }
  [[nodiscard]] Cell& cell_at(std::size_t place) {
    Cell& cell = m_cells[place];
    if (cell.generation != m_generation) {
      cell = Cell();
      cell.generation = m_generation;
    }
    return cell;
  }

  char const* m_begin = nullptr;
  std::size_t m_size = 0;
  std::uint32_t m_generation = 0;
  std::unique_ptr<Cell[]> m_cells;
};

}  // namespace trellis::model

#endif
