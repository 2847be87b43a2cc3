// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MEMORYLAYOUT_HPP
#define TRELLIS_IMPL_MEMORYLAYOUT_HPP

#include <fields/impl/Trellis_MemoryOrder.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// This header places the fields of an iteration in one piece of memory, if their places do not
/// change.
namespace trellis::Impl {

/// Gives each piece of a MemoryGraph its bytes in the memory of its place.
struct MemoryLayout {
  std::vector<std::size_t> offsets;  ///< by piece
  std::vector<std::size_t> bytes;    ///< total, by place
};

/// Lays out pieces. Two pieces may share bytes if the tasks that touch the one end before the other
/// is made: by the graph's edges, or because they come at least `window` tasks earlier in this
/// order. So tasks that are closer in the order wait for each other only if the graph says so. With
/// a window of 0 only the order counts, and the layout is the smallest that is found.
///
/// Each piece in turn gets the lowest bytes that it may have. The turns are tried in several
/// orders: of creation, by size, and by size times lifetime; then some more, in which the piece at
/// the top goes first. The best layout counts. Another candidate gives the pieces of each size
/// bytes of their own. So with a window of 0 the layout needs no more than a pool of blocks by size
/// would with one worker. If all pieces have one size, it needs the minimum: the bytes that are
/// live at one time.
///
/// `alignments` are those of the pieces at each place.
[[nodiscard]] MemoryLayout lay_out(MemoryGraph const& graph, std::vector<int> const& order,
                                   std::span<std::size_t const> alignments, std::size_t window);

/// Lays out with the largest window for which no place needs more than its room. The windows tried
/// are this one, its half, its quarter, and so on; the last one is 0.
[[nodiscard]] MemoryLayout lay_out_within(MemoryGraph const& graph, std::vector<int> const& order,
                                          std::span<std::size_t const> alignments,
                                          std::size_t window, std::span<std::size_t const> rooms);

}  // namespace trellis::Impl

#endif
