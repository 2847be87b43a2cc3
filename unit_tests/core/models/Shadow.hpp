// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SHADOW_HPP
#define TRELLIS_TEST_SHADOW_HPP

#include "Memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace trellis::model {

/// The last accesses to each byte of some pieces of memory, to find data races and uses of what has
/// ended.
class Shadow {
 public:
  enum class Finding : std::uint8_t { none, race, freed };
  static constexpr std::size_t granule = 16;  ///< in bytes: blocks of the heap share none

  void watch(char const* begin, std::size_t size, char const* statics, std::size_t static_size) {
    m_begin = begin;
    m_size = size;
    m_statics = statics;
    m_static_size = static_size;
    m_cells = std::make_unique<Cell[]>(size + static_size + slack);
    m_freed = std::make_unique<std::uint32_t[]>(size / granule);
  }
  /// Nothing has been accessed.
  void clear() { ++m_generation; }
  [[nodiscard]] bool watches(void const* address) const { return place_of(address) != nowhere; }
  [[nodiscard]] bool is_static(void const* address) const {
    std::size_t const place = place_of(address);
    return place >= m_size && place != nowhere;
  }
  /// `ends`: it is the last access. `any_variables`: is set where atomic variables are there.
  Finding access(void const* address, std::size_t size, bool writes, bool ends, int thread,
                 Knowledge const& now, bool& any_variables) {
    std::size_t const first = place_of(address);
    if (first == nowhere) return Finding::none;
    if (is_freed(first, size)) return Finding::freed;
    Finding found = Finding::none;
    for (std::size_t k = first; k < first + size; ++k) {
      if (ends && m_cells[k].generation != m_generation) continue;
      Cell& cell = cell_at(k);
      if (cell.has_ended) return Finding::freed;
      any_variables = any_variables || cell.variable >= 0;
      if (is_unknown(cell, writes, thread, now)) found = Finding::race;
      if (writes) {
        cell.writer = static_cast<std::int8_t>(thread);
        cell.written = now.clock[static_cast<std::size_t>(thread)];
      } else {
        cell.read[static_cast<std::size_t>(thread)] = now.clock[static_cast<std::size_t>(thread)];
        cell.readers |= bit(thread);
      }
    }
    return found;
  }
  /// Is there a plain access that the thread knows nothing of?
  [[nodiscard]] Finding look(void const* address, std::size_t size, bool writes, int thread,
                             Knowledge const& now) {
    std::size_t const first = place_of(address);
    if (first == nowhere) return Finding::none;
    if (is_freed(first, size)) return Finding::freed;
    for (std::size_t k = first; k < first + size; ++k) {
      Cell const& cell = cell_at(k);
      if (cell.has_ended) return Finding::freed;
      if (is_unknown(cell, writes, thread, now)) return Finding::race;
    }
    return Finding::none;
  }
  /// A block of the heap.
  void free(void const* address, std::size_t size) {
    std::size_t const first = place_of(address);
    for (std::size_t k = first / granule; k * granule < first + size; ++k)
      m_freed[k] = m_generation;
  }
  /// An object has ended there, or begins.
  void renew(void const* address, std::size_t size, bool has_ended) {
    std::size_t const first = place_of(address);
    if (first == nowhere) return;
    for (std::size_t k = first; k < first + size; ++k) {
      m_cells[k].renew(m_generation);
      m_cells[k].has_ended = has_ended;
    }
  }
  /// An atomic variable begins here.
  void mark(void const* address, int variable) {
    if (watches(address)) cell_at(place_of(address)).variable = static_cast<std::int16_t>(variable);
  }
  [[nodiscard]] int variable_at(void const* address) { return cell_at(place_of(address)).variable; }
  /// True for the first time: another thread has been here than that of the stack.
  [[nodiscard]] bool note_other(void const* address) {
    return !std::exchange(cell_at(place_of(address)).is_of_others, true);
  }

 private:
  struct Cell {
    std::uint32_t generation = 0;
    std::uint32_t written = 0;
    std::array<std::uint32_t, most_threads> read{};
    std::int16_t variable = -1;
    std::int8_t writer = -1;
    std::uint8_t readers = 0;  ///< threads, as bits
    bool has_ended = false;
    bool is_of_others = false;

    void renew(std::uint32_t now) {
      generation = now;
      written = 0;
      variable = -1;
      writer = -1;
      readers = 0;
      has_ended = is_of_others = false;
    }
  };
  [[nodiscard]] static std::uint8_t bit(int thread) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(thread));
  }
  static constexpr std::size_t nowhere = ~std::size_t{0};
  static constexpr std::size_t slack = 64;  ///< for an access at the end
  [[nodiscard]] std::size_t place_of(void const* address) const {
    auto const place = static_cast<std::size_t>(static_cast<char const*>(address) - m_begin);
    if (place < m_size) return place;
    auto const after = static_cast<std::size_t>(static_cast<char const*>(address) - m_statics);
    return after < m_static_size ? m_size + after : nowhere;
  }
  [[nodiscard]] bool is_freed(std::size_t first, std::size_t size) const {
    return first < m_size && (m_freed[first / granule] == m_generation ||
                              m_freed[(first + size - 1) / granule] == m_generation);
  }
  /// Is there an access that the thread knows nothing of?
  [[nodiscard]] static bool is_unknown(Cell const& cell, bool writes, int thread,
                                       Knowledge const& now) {
    if (cell.writer >= 0 && cell.writer != thread &&
        cell.written > now.clock[static_cast<std::size_t>(cell.writer)])
      return true;
    if (!writes) return false;
    for (unsigned others = cell.readers & ~unsigned{bit(thread)}; others != 0;
         others &= others - 1) {
      auto const other = static_cast<std::size_t>(__builtin_ctz(others));
      if (cell.read[other] > now.clock[other]) return true;
    }
    return false;
  }
  [[nodiscard]] Cell& cell_at(std::size_t place) {
    Cell& cell = m_cells[place];
    if (cell.generation != m_generation) cell.renew(m_generation);
    return cell;
  }

  char const* m_begin = nullptr;
  std::size_t m_size = 0;
  char const* m_statics = nullptr;
  std::size_t m_static_size = 0;
  std::uint32_t m_generation = 0;
  std::unique_ptr<Cell[]> m_cells;
  std::unique_ptr<std::uint32_t[]> m_freed;  ///< by granule: the generation in which it was
};

}  // namespace trellis::model

#endif
