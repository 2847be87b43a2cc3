// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MEMORYORDER_HPP
#define TRELLIS_IMPL_MEMORYORDER_HPP

#include <cstddef>
#include <vector>

/// In which order tasks need little memory, and how much.
namespace trellis::Impl {

/// Numbers in these graphs have a sign, places in containers have none.
template <class T>
[[nodiscard]] constexpr std::size_t nth(T number) {
  return static_cast<std::size_t>(number);
}

/// A model as far as its memory is concerned. A piece is live from the start of the first task that
/// makes it to the end of the last task that makes or uses it.
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

/// For each place, the most that is live at one time when tasks start in this order, each as soon
/// as all but `workers - 1` of those before it are over. Exact for one worker. For more it is the
/// sum of what the worst tasks still under way keep, so it may be a little too large, never too
/// small.
[[nodiscard]] std::vector<std::size_t> peaks_of(MemoryGraph const& graph,
                                                std::vector<int> const& order, int workers = 1);

/// The largest of these over all places.
[[nodiscard]] std::size_t peak_of(MemoryGraph const& graph, std::vector<int> const& order,
                                  int workers = 1);

/// An order for one worker that needs no more than `rooms` has for each place, if one is found;
/// else the best that is found, which lacks least at the place where it lacks most. Three simple
/// ways are tried first: depth first, whatever adds least, and the order of the tasks. When none is
/// good enough, a search over the sets of tasks that may be over, which finds the best order unless
/// it gives up: it looks at `most_sets` sets at most, and at graphs of up to 64 tasks.
///
/// Requires that there is no circle.
[[nodiscard]] std::vector<int> find_order(MemoryGraph const& graph,
                                          std::vector<std::size_t> const& rooms,
                                          std::size_t most_sets = 1 << 16);
/// With as much room at each place.
[[nodiscard]] std::vector<int> find_order(MemoryGraph const& graph, std::size_t limit,
                                          std::size_t most_sets = 1 << 16);

}  // namespace trellis::Impl

#endif
