// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MEMORYLAYOUT_HPP
#define TRELLIS_IMPL_MEMORYLAYOUT_HPP

#include <fields/impl/Trellis_MemoryOrder.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// Where in one piece of memory the fields of a pass lie, when that does not change.
namespace trellis::Impl {

/// Of each piece of a MemoryGraph, the bytes that it has in the memory of its place.
struct MemoryLayout {
  std::vector<std::size_t> offsets;  ///< of each piece
  std::vector<std::size_t> bytes;    ///< of each place, in all
};

/// Pieces share bytes where the tasks that touch the one are through before the other is made: by
/// the graph's edges, or because they come at least `window` tasks earlier in this order. So tasks
/// that are fewer apart in the order wait for each other where the graph says so, and nowhere else.
/// With 0 the order alone counts, and the layout is the smallest that is found.
///
/// Each piece goes, in turn, to the lowest bytes that it may have: in the order in which they are
/// made, by size, and by size times lifetime; then some more turns, in which the piece at the top
/// goes first. The best counts. Another candidate has the pieces of each size in bytes of their
/// own; so with the window 0 no more is needed than a pool of blocks by size would have with one
/// worker, and where all pieces are of one size the least there can be: what is live at one time.
///
/// `alignments`: of the pieces at each place.
[[nodiscard]] MemoryLayout lay_out(MemoryGraph const& graph, std::vector<int> const& order,
                                   std::span<std::size_t const> alignments, std::size_t window);

/// The same with the largest window, of the half, the quarter, and so on of this one, for which no
/// place needs more than its room; with 0 if there is none.
[[nodiscard]] MemoryLayout lay_out_within(MemoryGraph const& graph, std::vector<int> const& order,
                                          std::span<std::size_t const> alignments,
                                          std::size_t window, std::span<std::size_t const> rooms);

}  // namespace trellis::Impl

#endif
