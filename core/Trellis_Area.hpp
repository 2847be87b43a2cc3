// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TRELLIS_AREA_HPP
#define TRELLIS_AREA_HPP

/// \file Describe which bytes an access covers, and ask whether two such sets share a byte or one
/// contains the other.

#include <cassert>
#include <cstdint>
#include <string>

namespace trellis::Impl {

/// The set of bytes that an access covers: equal runs of bytes, repeated along up to eight strides.
///
/// A subview of a View in any regular layout is such a set. The description is canonical if the
/// strides are nested: each stride is at least the span of everything inside it, as in every
/// subview of a LayoutLeft or LayoutRight View. Two such areas compare equal exactly when they are
/// the same bytes. Addresses must be those of real memory: the last byte has an address below 2^62.
class Area {
 public:
  static constexpr int max_rank = 8;

  /// One direction of repetition: `extent` (at least 2) starts, `stride` bytes apart.
  struct Dimension {
    std::uint64_t stride;
    std::uint64_t extent;
    bool operator==(Dimension const&) const = default;
  };

  /// No bytes at all: overlaps nothing and is contained in everything.
  Area() noexcept {}  // not defaulted, which would make `Area{}` clear the unused dimensions

  // Only the used dimensions are copied: most areas have none.
  Area(Area const& other) noexcept { copy(other); }
  Area& operator=(Area const& other) noexcept {
    copy(other);
    return *this;
  }

  /// One run of `bytes` bytes.
  static Area contiguous(void const* begin, std::uint64_t bytes) noexcept {
    Area area;
    if (bytes != 0) {
      area.m_begin = reinterpret_cast<std::uintptr_t>(begin);
      area.m_end = area.m_begin + bytes;
      area.m_run = bytes;
    }
    return area;
  }

  /// The elements of a View with this first element. Strides count elements (as `View::stride`
  /// does) and may come in any order, be 0, overlap or interleave; extents may be 0 or 1. Requires
  /// 0 <= rank <= max_rank.
  static Area strided(void const* first_element, std::uint64_t element_bytes, int rank,
                      std::uint64_t const* extents, std::uint64_t const* strides) noexcept;

  bool empty() const noexcept { return m_run == 0; }
  /// Address of the first byte; 0 for an empty area.
  std::uintptr_t begin() const noexcept { return m_begin; }
  /// One past the address of the last byte; 0 for an empty area.
  std::uintptr_t end() const noexcept { return m_end; }
  /// Contiguous bytes at each start.
  std::uint64_t run() const noexcept { return m_run; }
  /// Number of dimensions; 0 for a single run.
  int rank() const noexcept { return m_rank; }
  /// Outermost first: strides strictly descend, and the last one is greater than run().
  Dimension const& dimension(int k) const noexcept {
    assert(0 <= k && k < m_rank);
    return m_dimensions[k];
  }

  bool operator==(Area const& other) const noexcept {
    // Where these and the dimensions are equal, the ends are equal too.
    if (m_begin != other.m_begin || m_run != other.m_run || m_rank != other.m_rank) return false;
    for (int k = 0; k < m_rank; ++k)
      if (m_dimensions[k] != other.m_dimensions[k]) return false;
    return true;
  }

  /// Equal areas have equal hashes; all 64 bits are usable.
  std::uint64_t hash() const noexcept {
    std::uint64_t h = mix(mix(0, m_begin), m_run);
    for (int k = 0; k < m_rank; ++k)
      h = mix(mix(h, m_dimensions[k].stride), m_dimensions[k].extent);
    return h;
  }

 private:
  static std::uint64_t mix(std::uint64_t h, std::uint64_t word) noexcept {
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 32);
  }

  void copy(Area const& other) noexcept {
    m_begin = other.m_begin;
    m_end = other.m_end;
    m_run = other.m_run;
    m_rank = other.m_rank;
    for (int k = 0; k < m_rank; ++k) m_dimensions[k] = other.m_dimensions[k];
  }

  std::uintptr_t m_begin = 0;
  std::uintptr_t m_end = 0;
  std::uint64_t m_run = 0;
  int m_rank = 0;
  Dimension m_dimensions[max_rank];  // only the first m_rank are ever read
};

bool overlaps_strided(Area const& a, Area const& b) noexcept;
bool contains_strided(Area const& outer, Area const& inner) noexcept;

/// True if each index of a View with these extents and strides has an element of its own. Requires
/// 0 <= rank <= Area::max_rank. It is exact up to the limit of `overlaps`; beyond that it returns
/// false.
bool are_distinct(int rank, std::uint64_t const* extents, std::uint64_t const* strides) noexcept;

/// How many steps the search in `overlaps` takes before it gives up and returns true.
inline constexpr int overlap_budget = 1 << 16;
/// How often `overlaps` has given up in this process (for tests and statistics).
std::uint64_t overlap_budget_exhausted() noexcept;

/// True if the two areas share a byte.
///
/// The answer is exact for areas of any rank, element size and stride, nested or not. The one
/// exception is a safety limit. More than two distinct strides may interleave so badly that the
/// search takes more than overlap_budget steps (about a millisecond). Then the answer is true.
/// Subviews of one View with nested strides take at most two branches per dimension and never come
/// near the limit. Reaching it takes, say, three or more unrelated strides on each side, over a
/// million bytes with a hundred steps each.
inline bool overlaps(Area const& a, Area const& b) noexcept {
  if (a.begin() >= b.end() || b.begin() >= a.end()) return false;  // an empty area ends at 0
  if (a.rank() == 0 && b.rank() == 0) return true;
  return overlaps_strided(a, b);
}

/// True if every byte of `inner` is in `outer`.
///
/// True is always right. False is also right when the strides of `outer` are nested, as in every
/// subview of a LayoutLeft or LayoutRight View, padded or not. For an `outer` with overlapping or
/// interleaving strides, only an equal description is recognised. Beyond the limit of `overlaps`
/// the answer is false.
inline bool contains(Area const& outer, Area const& inner) noexcept {
  if (inner.empty()) return true;
  if (inner.begin() < outer.begin() || inner.end() > outer.end()) return false;
  if (outer.rank() == 0) return true;
  return contains_strided(outer, inner);
}

/// Text for error messages and records, in bytes from `base`: "[16, 528)" for a run, "[16, 24) x 8
/// every 128" for eight runs, "[16, 24) x 8 every 128 x 2 every 4096" for two times eight, "empty"
/// for no bytes.
std::string to_string(Area const& area, std::uintptr_t base);

}  // namespace trellis::Impl

#endif
