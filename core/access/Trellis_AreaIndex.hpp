// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TRELLIS_IMPL_AREAINDEX_HPP
#define TRELLIS_IMPL_AREAINDEX_HPP

#include <Trellis_Area.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trellis::Impl {

/// The live areas of one allocation. The index finds those that may overlap a given area, without
/// looking at all of them.
///
/// An address is read as a number with mixed radix, (a / pitch0, a % pitch0 / pitch1, a % pitch1).
/// Its digits are plane, row and byte of the array that the strides of the stored areas suggest. In
/// this frame an area is a box. That includes a column strip, whose span of bytes covers the whole
/// matrix. Boxes live in grids, one per power-of-two box size, each box in the one cell that holds
/// its low corner. A query looks at the cells it covers and at the next lower ones. Cells are at
/// least as large as the boxes, and so large that there are about as many cells as boxes. Two areas
/// that share a byte share its three digits, so their boxes intersect: no overlap is missed,
/// whatever the frame.
///
/// Insertion and erasure take constant time while few boxes share a low corner. Only concurrent
/// queries are thread safe.
class AreaIndex : public NewFromReserve {
 public:
  /// `base` is where the allocation begins. Any value is correct; the true one gives the tightest
  /// boxes. The default is where the first area begins.
  explicit AreaIndex(std::uintptr_t base = 0) noexcept : m_base(base) {}

  /// Adds an area. The item must not be in the index, so give equal areas one item. An empty area
  /// is not stored.
  void insert(Area const& area, void* item);
  /// Removes an area. The pair must have been inserted, or the area is empty.
  void erase(Area const& area, void* item);

  /// Calls f(item), once per item, for a superset of the items whose areas overlap `query`; f must
  /// not change the index. Returns the number of cells and entries visited.
  template <class F>
  std::size_t for_each_candidate(Area const& query, F&& f) const;

  std::size_t size() const noexcept { return m_size; }

 private:
  static constexpr int axes = 3;
  static constexpr std::size_t max_frames = 4;
  static constexpr std::uint64_t no_pitch = std::uint64_t{1} << 63;
  static constexpr std::uint32_t no_entry = ~std::uint32_t{0};

  using Coordinates = std::array<std::uint64_t, axes>;

  struct Box {
    Coordinates low;   // first and
    Coordinates high;  // last, inclusive
    bool intersects(Box const& other) const noexcept {
      for (int a = 0; a < axes; ++a)
        if (low[a] > other.high[a] || other.low[a] > high[a]) return false;
      return true;
    }
  };

  struct Entry {
    Box box;
    void* item;
    std::uint32_t next;  // in the same bucket
  };

  /// The boxes of one size: along axis a, at most 2^size[a] long and longer than half of that.
  struct Grid {
    std::array<std::uint8_t, axes> size;
    std::array<std::uint8_t, axes>
        shift;  // cells are 2^shift[a] long, at least as long as the boxes
    Vector<Entry> entries;
    Vector<Area> areas;             // of the entries; apart, because queries do not read them
    Vector<std::uint32_t> buckets;  // hash table of cells: the first entry of each chain

    std::uint32_t& bucket(Coordinates const& cell) noexcept {
      return buckets[hash(cell) & (buckets.size() - 1)];
    }
    std::uint32_t bucket(Coordinates const& cell) const noexcept {
      return buckets[hash(cell) & (buckets.size() - 1)];
    }
    Coordinates cell(Coordinates const& point) const noexcept {
      return {point[0] >> shift[0], point[1] >> shift[1], point[2] >> shift[2]};
    }
    // Neighbours on the last axis, which a query visits together, are neighbours in memory.
    static std::size_t hash(Coordinates const& cell) noexcept {
      return ((cell[0] * 0x9E3779B97F4A7C15u + cell[1] * 0xC2B2AE3D27D4EB4Fu) >> 32) + cell[2];
    }
    void grow();
    void insert(Box const& box, Area const& area, void* item);
    bool erase(Box const& box, void* item);
    template <class F>
    std::size_t for_each(Box const& query, F&& f) const;
  };

  struct Frame {
    std::uint64_t pitch0;
    std::uint64_t pitch1;  // equal to pitch0 if there is no second one
    std::uint64_t phase;   // makes the base a multiple of pitch0
    Vector<Grid> grids;

    struct Fit {
      Box box;
      bool tight;  // each dimension of the area fell on an axis
    };
    Fit box(Area const& area) const noexcept;
    Grid& grid(Box const& box);
  };

  /// Returns the frame of this area, and how it fits. The result depends only on the area and the
  /// frames.
  Frame& place(Area const& area, Frame::Fit& fit);
  void add_frame(Area const& area);

  std::uintptr_t m_base;
  std::size_t m_size = 0;
  Vector<Frame> m_frames;  // largest pitches first
};

template <class F>
std::size_t AreaIndex::for_each_candidate(Area const& query, F&& f) const {
  std::size_t looked_at = 0;
  if (m_size == 0 || query.empty()) return looked_at;
  for (Frame const& frame : m_frames) {
    Box const box = frame.box(query).box;
    for (Grid const& grid : frame.grids)
      if (!grid.entries.empty()) looked_at += grid.for_each(box, f);
  }
  return looked_at;
}

template <class F>
std::size_t AreaIndex::Grid::for_each(Box const& query, F&& f) const {
  Coordinates first{};
  Coordinates const last = cell(query.high);
  std::size_t cells = 1;
  for (int a = 0; a < axes && cells <= entries.size(); ++a) {
    // A box reaches at most this far beyond its low corner.
    std::uint64_t const beyond = (std::uint64_t{1} << size[a]) - 1;
    first[a] = query.low[a] > beyond ? (query.low[a] - beyond) >> shift[a] : 0;
    cells *= std::min<std::uint64_t>(last[a] - first[a] + 1, entries.size() + 1);
  }
  if (cells > entries.size()) {
    for (Entry const& entry : entries)
      if (entry.box.intersects(query)) f(entry.item);
    return entries.size();
  }
  Coordinates at;
  for (at[0] = first[0]; at[0] <= last[0]; ++at[0])
    for (at[1] = first[1]; at[1] <= last[1]; ++at[1])
      for (at[2] = first[2]; at[2] <= last[2]; ++at[2])
        for (std::uint32_t n = bucket(at); n != no_entry; n = entries[n].next, ++cells)
          if (entries[n].box.intersects(query) && cell(entries[n].box.low) == at)
            f(entries[n].item);
  return cells;
}

}  // namespace trellis::Impl

#endif
