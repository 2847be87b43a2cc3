// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of loops on workers of one thread, where small ones are no launches (see DirectLoop), in
// rounds that overlap, against the same loops in serial order.
#include <Trellis.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <Kokkos_Core.hpp>

#include <atomic>
#include <utility>
#include <vector>

namespace trellis {
namespace {

/// Tiles of so many rows, each of which needs what the one before it has in the same round.
struct TilesOfRows {
  static constexpr int tiles = 4;
  int rows;
  int columns;
  View<long*> line{"line", static_cast<std::size_t>(1 + tiles * rows)};  // and the first one's edge
  View<long**> table{"table", static_cast<std::size_t>(tiles* rows),
                     static_cast<std::size_t>(columns)};

  static KOKKOS_FUNCTION long next_in_line(long value, long edge, int i) {
    return (3 * value + edge + i) % 1009;
  }
  static KOKKOS_FUNCTION long next_in_table(long value, long of_line, int j) {
    return (5 * value + of_line + j) % 1013;
  }

  /// Calls `in_line(t)` for each run of tile t.
  template <class InLine>
  void submit(TaskGraph& graph, InLine in_line) const {
    for (int t = 0; t < tiles; ++t) {
      int const begin = 1 + t * rows;
      int const end = begin + rows;
      auto const own = Kokkos::subview(line, std::pair(begin, end));
      auto const edge = Kokkos::subview(line, std::pair(begin - 1, begin));
      auto const plane = Kokkos::subview(table, std::pair(begin - 1, end - 1), Kokkos::ALL);
      parallel_for(
          "line", ResourcePolicy(graph, Range(begin, end), read(edge), read_write(own)),
          KOKKOS_LAMBDA(int i) {
            if (i == begin) in_line(t);
            own(i - begin) = next_in_line(own(i - begin), edge(0), i);
          });
      parallel_for(
          "table",
          ResourcePolicy(graph, Square({0, 0}, {rows, columns}), read(own), read_write(plane)),
          KOKKOS_LAMBDA(int i, int j) { plane(i, j) = next_in_table(plane(i, j), own(i), j); });
    }
  }
  void run_serially() const {
    for (int i = 1; i <= tiles * rows; ++i) {
      int const edge = (i - 1) / rows * rows;
      line(i) = next_in_line(line(i), line(edge), i);
    }
    for (int i = 0; i < tiles * rows; ++i)
      for (int j = 0; j < columns; ++j) table(i, j) = next_in_table(table(i, j), line(i + 1), j);
  }
};

SPACE_TEST(LoopsOfPlans, InRoundsThatOverlapGiveTheSerialResult) {
  for (auto const& [rows, columns] : {std::pair(5, 7), std::pair(70, 60)})  // few and many indices
    for (int const workers : {1, 2, 3}) {
      TilesOfRows const tiled{rows, columns};
      TilesOfRows const expected{rows, columns};
      TaskGraphOptions options = Test::with_workers(workers);
      options.threads_per_worker = 1;
      Test::Gate gate;
      std::atomic<int> first_tiles{0};
      {
        TaskGraph graph(options);
        // The last tile's first round ends when the first tile is in its second one.
        auto const hold = [workers, gate = &gate, count = &first_tiles](int tile) {
          if (tile == 0 && ++*count == 2) gate->open();
          bool const held = tile == TilesOfRows::tiles - 1 && workers > 1;
          EXPECT_TRUE(!held || gate->pass());
        };
        Plan const plan = graph.record([&] { tiled.submit(graph, hold); });
        graph.replay(plan, 12);
        graph.replay(plan, 3);
        graph.wait();
      }
      EXPECT_EQ(first_tiles, 15);
      for (int round = 0; round < 15; ++round) expected.run_serially();
      EXPECT_EQ(Test::values_of(tiled.line), Test::values_of(expected.line));
      EXPECT_EQ(Test::values_of(tiled.table), Test::values_of(expected.table));
    }
}

}  // namespace
}  // namespace trellis
