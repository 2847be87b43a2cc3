// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MEMORYORDER_HPP
#define TRELLIS_IMPL_MEMORYORDER_HPP

#include <cstddef>
#include <vector>

/// This header finds an order in which tasks need little memory, and how much they need.
namespace trellis::Impl {

/// Numbers in these graphs are signed; indices of containers are not.
template <class T>
[[nodiscard]] constexpr std::size_t nth(T number) {
  return static_cast<std::size_t>(number);
}

/// Describes the memory of a model. A piece is live from the start of the first task that makes it
/// to the end of the last task that makes or uses it.
struct MemoryGraph {
  struct Task {
    std::vector<int> before;  ///< tasks that must be over when it starts
    std::vector<int> makes;   ///< pieces
    std::vector<int> uses;
  };
  struct Piece {
    std::size_t bytes;
    int place;
  };
  std::vector<Task> tasks;
  std::vector<Piece> pieces;
  int places = 1;
};

/// Returns, for each place, the most that is live at one time when tasks start in this order, each
/// as soon as all but `workers - 1` of those before it are over. The result is exact for one
/// worker. For more it adds what the worst tasks still under way keep, so it may be a little too
/// large, but never too small.
[[nodiscard]] std::vector<std::size_t> peaks_of(MemoryGraph const& graph,
                                                std::vector<int> const& order, int workers = 1);

/// Returns the largest of these over all places.
[[nodiscard]] std::size_t peak_of(MemoryGraph const& graph, std::vector<int> const& order,
                                  int workers = 1);

/// Returns an order for one worker that fits into `rooms` at each place, if one is found. Otherwise
/// it returns the best order found, whose largest shortage at a place is least. Three simple ways
/// are tried first: depth first, the task that adds least, and the order of the tasks. If none
/// fits, a search over the sets of tasks that may be over finds the best order, unless it gives up.
/// It looks at no more than `most_sets` sets, and only at graphs of up to 64 tasks.
///
/// Requires that there is no cycle.
[[nodiscard]] std::vector<int> find_order(MemoryGraph const& graph,
                                          std::vector<std::size_t> const& rooms,
                                          std::size_t most_sets = 1 << 16);
/// Returns an order with room `limit` at each place.
[[nodiscard]] std::vector<int> find_order(MemoryGraph const& graph, std::size_t limit,
                                          std::size_t most_sets = 1 << 16);

}  // namespace trellis::Impl

#endif
