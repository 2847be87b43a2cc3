// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ENTRYSLAB_HPP
#define TRELLIS_IMPL_ENTRYSLAB_HPP

#include <base/Trellis_LargePages.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>

namespace trellis::Impl {

/// Memory for the entries of one table. Entries that are made in sequence lie next to each other,
/// as a program returns to its areas in the same order. The memory grows by blocks, each twice as
/// large as the one before, up to a large page. The entry that was given back last is reused first.
/// Until `clear`, memory is that of the largest number of entries.
///
/// Until then a pointer to an entry always leads to an entry. Where one has been given back there
/// is a new one, in its initial state or in use again.
template <class Entry>
class EntrySlab {
 public:
  EntrySlab() = default;
  EntrySlab(EntrySlab const&) = delete;
  EntrySlab& operator=(EntrySlab const&) = delete;
  ~EntrySlab() { free_behind(0); }

  [[nodiscard]] Entry& make() {
    if (!m_free.empty()) {
      Entry& entry = *m_free.back();
      m_free.pop_back();
      return entry;
    }
    if (m_blocks.empty() || m_blocks.back().used == m_blocks.back().size) add_block();
    Block& block = m_blocks.back();
    Entry& entry = *std::construct_at(block.first + block.used);
    ++block.used;
    ++m_made;
    return entry;
  }
  void give_back(Entry& entry) noexcept {
    std::destroy_at(&entry);
    std::construct_at(&entry);
    m_free.push_back(&entry);  // has room for it
  }
  /// The number of entries made and not given back.
  [[nodiscard]] std::size_t size() const { return m_made - m_free.size(); }
  /// Calls f for these entries, and for places that have been given back.
  template <class F>
  void for_each(F&& f) {
    for (Block const& block : m_blocks)
      for (std::size_t k = 0; k < block.used; ++k) f(block.first[k]);
  }
  /// Gives back all entries, and their memory except for that of a few.
  void clear() noexcept {
    free_behind(1);
    if (m_blocks.empty()) return;
    std::destroy_n(m_blocks.front().first, m_blocks.front().used);
    m_blocks.front().used = 0;
  }

 private:
  struct Block {
    Entry* first;
    std::size_t size;
    std::size_t used;  ///< number of entries there so far
    /// A block of nearly a large page takes a whole one.
    [[nodiscard]] std::size_t bytes() const {
      return size == largest ? large_page : size * sizeof(Entry);
    }
  };
  static constexpr std::size_t smallest = 4;
  static constexpr std::size_t largest = large_page / sizeof(Entry);

  void add_block() {
    std::size_t const size =
        m_blocks.empty() ? smallest : std::min(2 * m_blocks.back().size, largest);
    m_free.reserve(m_made + size);
    m_blocks.push_back({nullptr, size, 0});
    try {
      m_blocks.back().first =
          static_cast<Entry*>(allocate_table(m_blocks.back().bytes(), alignof(Entry)));
    } catch (...) {
      m_blocks.pop_back();
      throw;
    }
  }
  /// Frees all blocks but the first `kept`. All entries in those have been given back.
  void free_behind(std::size_t kept) noexcept {
    m_free.clear();
    m_made = 0;
    for (; m_blocks.size() > kept; m_blocks.pop_back()) {
      Block const& block = m_blocks.back();
      std::destroy_n(block.first, block.used);
      free_table(block.first, block.bytes(), alignof(Entry));
    }
  }

  Vector<Block> m_blocks;
  Vector<Entry*> m_free;
  std::size_t m_made = 0;  ///< in all blocks
};

}  // namespace trellis::Impl

#endif
