// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any Kokkos::View is a resource and any subview an area: what conflicts, what does not, and what
// runs at the same time.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <access/Trellis_AccessTable.hpp>

#include "Memory.hpp"
#include "Timing.hpp"
#include "WithWorkers.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Host = Kokkos::HostSpace;
using Kokkos::ALL;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Host>;

/// Is the second of two writing tasks ordered after the first?
template <class A, class B>
bool conflict(A const& a, B const& b) {
  TaskGraphOptions options = with_workers(1);
  options.record = true;
  TaskGraph graph(options);
  host_task("first", ResourcePolicy(graph, exclusive(a), write(a)), [] {});
  host_task("second", ResourcePolicy(graph, read(b)), [] {});
  graph.wait();
  return !graph.dependency_graph().edges().empty();
}

TEST(Views, OfTheSameMemoryConflictAndOthersDoNot) {
  Kokkos::View<int*, Host> x("x", 10), same = x, other("x", 10);
  EXPECT_TRUE(conflict(x, x));
  EXPECT_TRUE(conflict(x, same));
  EXPECT_FALSE(conflict(x, other));
  EXPECT_TRUE(conflict(x, Kokkos::View<int const*, Host>(x)));
}

TEST(Views, OfConstElementsAreRead) {
  Kokkos::View<int*, Host> x("x", 10);
  Kokkos::View<int const*, Host> const looked_at = x;
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  host_task("fill", ResourcePolicy(graph, write(x)), [x] { x(3) = 5; });
  EXPECT_EQ(
      host_task("look", ResourcePolicy(graph, read(looked_at)), [](auto const& v) { return v(3); })
          .get(),
      5);
  EXPECT_EQ(graph.dependency_graph().edges().size(), 1u);
}

TEST(Views, UnmanagedOnesConflictWithTheManagedOneWhoseMemoryTheyShare) {
  Kokkos::View<double*, Host> x("x", 100);
  using Unmanaged = Kokkos::View<double*, Host, Kokkos::MemoryUnmanaged>;
  Unmanaged const all(x.data(), 100), part(x.data() + 40, 20), beside(x.data() + 60, 40);
  EXPECT_TRUE(conflict(x, all));
  EXPECT_TRUE(conflict(all, x));
  EXPECT_TRUE(conflict(x, part));
  EXPECT_TRUE(conflict(part, x));
  EXPECT_FALSE(conflict(part, beside));
  EXPECT_TRUE(conflict(part, Kokkos::subview(x, 59)));
  EXPECT_FALSE(conflict(part, Kokkos::subview(x, 60)));
  EXPECT_FALSE(conflict(Kokkos::subview(x, std::pair(0, 40)), part));
}

TEST(Views, UnmanagedOnesOfPlainMemoryAreResourcesToo) {
  std::vector<double> memory(100);
  using Unmanaged = Kokkos::View<double*, Host, Kokkos::MemoryUnmanaged>;
  Unmanaged const low(memory.data(), 60), high(memory.data() + 50, 50), top(memory.data() + 60, 40);
  EXPECT_TRUE(conflict(low, high));
  EXPECT_FALSE(conflict(low, top));

  // In one graph: each of them is first met on its own, then something that covers several.
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  host_task("1", ResourcePolicy(graph, write(low)), [] {});
  host_task("2", ResourcePolicy(graph, write(top)), [] {});
  host_task("3", ResourcePolicy(graph, read(high)), [] {});
  host_task("4", ResourcePolicy(graph, write(Unmanaged(memory.data(), 100))), [] {});
  host_task("5", ResourcePolicy(graph, read(low)), [] {});
  graph.wait();
  EXPECT_THAT(graph.dependency_graph().edges(),
              testing::UnorderedElementsAre(
                  EdgeRecord{1, 3, EdgeReason::access}, EdgeRecord{2, 3, EdgeReason::access},
                  EdgeRecord{1, 4, EdgeReason::access}, EdgeRecord{2, 4, EdgeReason::access},
                  EdgeRecord{3, 4, EdgeReason::access}, EdgeRecord{4, 5, EdgeReason::access}));
}

TEST(Views, OfOtherElementTypesOnTheSameMemoryConflict) {
  Kokkos::View<double*, Host> x("x", 16);
  Kokkos::View<char*, Host, Kokkos::MemoryUnmanaged> const bytes(
      reinterpret_cast<char*>(x.data() + 3), 8);
  EXPECT_TRUE(conflict(bytes, x));
  EXPECT_TRUE(conflict(bytes, Kokkos::subview(x, 3)));
  EXPECT_FALSE(conflict(bytes, Kokkos::subview(x, 4)));
}

template <class Layout>
void check_all_ranks() {
  Kokkos::View<int, Layout, Host> v0("0");
  Kokkos::View<int*, Layout, Host> v1("1", 2);
  Kokkos::View<int**, Layout, Host> v2("2", 2, 2);
  Kokkos::View<int***, Layout, Host> v3("3", 2, 2, 2);
  Kokkos::View<int****, Layout, Host> v4("4", 2, 2, 2, 2);
  Kokkos::View<int*****, Layout, Host> v5("5", 2, 2, 2, 2, 2);
  Kokkos::View<int******, Layout, Host> v6("6", 2, 2, 2, 2, 2, 2);
  Kokkos::View<int*******, Layout, Host> v7("7", 2, 2, 2, 2, 2, 2, 2);
  Kokkos::View<int********, Layout, Host> v8("8", 2, 2, 2, 2, 2, 2, 2, 2);
  TaskGraph graph(with_workers(2));
  auto const count = [&](auto const& view) {
    for (int k = 0; k < 3; ++k)
      host_task("count", ResourcePolicy(graph, read_write(view)), [view] { ++view.data()[0]; });
    EXPECT_EQ(
        host_task("look", ResourcePolicy(graph, read(view)), [view] { return view.data()[0]; })
            .get(),
        3);
  };
  count(v0), count(v1), count(v2), count(v3), count(v4), count(v5), count(v6), count(v7), count(v8);
  // The slices along the first and the last direction.
  EXPECT_FALSE(conflict(Kokkos::subview(v8, 0, ALL, ALL, ALL, ALL, ALL, ALL, ALL),
                        Kokkos::subview(v8, 1, ALL, ALL, ALL, ALL, ALL, ALL, ALL)));
  EXPECT_FALSE(conflict(Kokkos::subview(v8, ALL, ALL, ALL, ALL, ALL, ALL, ALL, 0),
                        Kokkos::subview(v8, ALL, ALL, ALL, ALL, ALL, ALL, ALL, 1)));
  EXPECT_TRUE(conflict(Kokkos::subview(v8, 0, ALL, ALL, ALL, ALL, ALL, ALL, ALL),
                       Kokkos::subview(v8, ALL, ALL, ALL, ALL, ALL, ALL, ALL, 1)));
  EXPECT_TRUE(conflict(Kokkos::subview(v5, ALL, 1, ALL, ALL, ALL),
                       Kokkos::subview(v5, ALL, ALL, ALL, 0, ALL)));
}

TEST(Views, OfAnyRankInLayoutLeft) {
  check_all_ranks<Kokkos::LayoutLeft>();
}
TEST(Views, OfAnyRankInLayoutRight) {
  check_all_ranks<Kokkos::LayoutRight>();
}

TEST(Views, OfLayoutStride) {
  Kokkos::View<int**, Kokkos::LayoutStride, Host> x("x", Kokkos::LayoutStride(4, 10, 5, 2));
  EXPECT_FALSE(conflict(Kokkos::subview(x, 0, ALL), Kokkos::subview(x, 3, ALL)));
  EXPECT_FALSE(conflict(Kokkos::subview(x, ALL, 0), Kokkos::subview(x, ALL, 4)));
  EXPECT_TRUE(conflict(Kokkos::subview(x, 2, ALL), Kokkos::subview(x, ALL, 4)));
  // Every second element of one row of memory: two combs that mesh.
  Kokkos::View<int*, Host> row("row", 20);
  using Comb = Kokkos::View<int*, Kokkos::LayoutStride, Host, Kokkos::MemoryUnmanaged>;
  Comb const even(row.data(), Kokkos::LayoutStride(10, 2)),
      odd(row.data() + 1, Kokkos::LayoutStride(10, 2));
  EXPECT_FALSE(conflict(even, odd));
  EXPECT_TRUE(conflict(even, row));
}

TEST(Views, WithStaticExtents) {
  Kokkos::View<int* [3], Kokkos::LayoutRight, Host> x("x", 4);
  EXPECT_FALSE(conflict(Kokkos::subview(x, ALL, 0), Kokkos::subview(x, ALL, 2)));
  EXPECT_TRUE(conflict(Kokkos::subview(x, 1, ALL), Kokkos::subview(x, ALL, 2)));
}

TEST(Views, WithoutElementsConflictWithNothing) {
  Kokkos::View<int*, Host> empty("empty", 0), x("x", 10), null;
  Kokkos::View<int**, Host> flat("flat", 3, 0);
  Kokkos::View<int, Host> nothing;
  EXPECT_FALSE(conflict(empty, empty));
  EXPECT_FALSE(conflict(null, null));
  EXPECT_FALSE(conflict(nothing, nothing));
  EXPECT_FALSE(conflict(flat, flat));
  EXPECT_FALSE(conflict(Kokkos::subview(x, std::pair(4, 4)), x));
  EXPECT_FALSE(conflict(x, Kokkos::subview(x, std::pair(4, 4))));
  TaskGraph graph(with_workers(1));
  EXPECT_EQ(host_task("null", ResourcePolicy(graph, write(null), read(nothing)),
                      [](auto const& a, auto const& b) {
                        return a.data() == nullptr && b.data() == nullptr;
                      })
                .get(),
            true);
}

TEST(Views, AsNoneAccessesConflictWithNothing) {
  TaskGraph graph(with_workers(2));
  Kokkos::View<int*, Host> x("x", 10);
  Rendezvous both(2);
  host_task("write", ResourcePolicy(graph, write(x)), [&] { EXPECT_TRUE(both.meet()); });
  host_task("none", ResourcePolicy(graph, none(x)), [&] { EXPECT_TRUE(both.meet()); });
  graph.wait();
}

TEST(Subviews, DisjointColumnBlocksOverlapInTime) {
  // In LayoutRight the spans of two column blocks of a matrix interleave: only an exact test lets
  // them go together.
  TaskGraph graph(with_workers(2));
  Matrix const x("x", 100, 64);
  for (int width : {1, 8, 32}) {
    Rendezvous both(2);
    auto const left = Kokkos::subview(x, ALL, std::pair(0, width)),
               right = Kokkos::subview(x, ALL, std::pair(width, 2 * width));
    host_task("left", ResourcePolicy(graph, write(left)),
              [&] { EXPECT_TRUE(both.meet()) << width; });
    host_task("right", ResourcePolicy(graph, write(right)),
              [&] { EXPECT_TRUE(both.meet()) << width; });
    graph.wait();
  }
}

TEST(Subviews, BlocksThatShareAColumnDoNotOverlapInTime) {
  TaskGraph graph(with_workers(2));
  Matrix const x("x", 100, 64);
  Occupancy occupancy;
  for (int k = 0; k < 20; ++k)
    host_task("block",
              ResourcePolicy(
                  graph, write(Kokkos::subview(x, std::pair(k % 50, 100), std::pair(k, k + 40)))),
              [&] {
                Occupancy::Stay const stay(occupancy);
                std::this_thread::sleep_for(200us);
              });
  graph.wait();
  EXPECT_EQ(occupancy.most(), 1);
}

TEST(Subviews, TilesAndTheirHalosHaveTheEdgesOfTheStencil) {
  // A 3x3 tiling of a matrix, two steps: each tile of step 2 reads its tile and the rows and
  // columns around it.
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  int const tiles = 3, size = 8;
  Matrix const a("a", tiles * size, tiles * size), b("b", tiles * size, tiles * size);
  auto const span = [&](int t, int halo) {
    return std::pair(std::max(0, t * size - halo), std::min(tiles * size, (t + 1) * size + halo));
  };
  auto const tile = [&](Matrix const& m, int i, int j) {
    return Kokkos::subview(m, span(i, 0), span(j, 0));
  };
  for (int i = 0; i < tiles; ++i)
    for (int j = 0; j < tiles; ++j)
      host_task("1", ResourcePolicy(graph, write(tile(a, i, j))), [] {});
  for (int i = 0; i < tiles; ++i)
    for (int j = 0; j < tiles; ++j)  // a cross of two bands: no corners
      host_task(
          "2",
          ResourcePolicy(graph, read(Kokkos::subview(a, span(i, 1), span(j, 0))),
                         read(Kokkos::subview(a, span(i, 0), span(j, 1))), write(tile(b, i, j))),
          [] {});
  graph.wait();
  auto const dependencies = graph.dependency_graph();
  auto const number = [&](int i, int j) { return static_cast<TaskId>(i * tiles + j + 1); };
  for (int i = 0; i < tiles; ++i)
    for (int j = 0; j < tiles; ++j) {
      std::vector<TaskId> expected;
      for (auto [di, dj] : {std::pair{-1, 0}, {0, -1}, {0, 0}, {0, 1}, {1, 0}})
        if (i + di >= 0 && i + di < tiles && j + dj >= 0 && j + dj < tiles)
          expected.push_back(number(i + di, j + dj));
      EXPECT_EQ(dependencies.predecessors(number(i, j) + tiles * tiles), expected) << i << ' ' << j;
    }
}

/// A task has edges to the step before its own, however many are in flight.
TEST(Subviews, HalosOfEarlierStepsCostNoEdges) {
  constexpr int tiles = 6, size = 4, steps = 30;
  TaskGraph graph(with_workers(2));
  std::array<Kokkos::View<double*>, 2> copies{Kokkos::View<double*>("a", tiles * size),
                                              Kokkos::View<double*>("b", tiles * size)};
  auto const part = [&](int copy, int t, int halo) {
    return Kokkos::subview(
        copies[static_cast<std::size_t>(copy)],
        std::pair(std::max(0, t * size - halo), std::min(tiles * size, (t + 1) * size + halo)));
  };
  Gate gate;
  host_task("gate", ResourcePolicy(graph, write(copies[0]), write(copies[1])),
            [&] { EXPECT_TRUE(gate.pass()); });
  std::uint64_t before = 0;
  std::vector<std::uint64_t> edges;
  std::array<std::atomic<int>, tiles> step_of{};
  for (int step = 0; step < steps; ++step) {
    for (int t = 0; t < tiles; ++t)
      host_task(
          "tile",
          ResourcePolicy(graph, read(part(step % 2, t, 1)), write(part((step + 1) % 2, t, 0))),
          [&, step, t] {
            for (int const other : {t - 1, t, t + 1})
              if (other >= 0 && other < tiles) {
                EXPECT_THAT(step_of[static_cast<std::size_t>(other)].load(),
                            testing::AnyOf(step, step + (other == t ? 0 : 1)));
              }
            ++step_of[static_cast<std::size_t>(t)];
          });
    edges.push_back(graph.edges() - before);
    before = graph.edges();
  }
  gate.open();
  graph.wait();
  // To itself and its neighbours in the step before, and to the gate.
  for (std::size_t step = 2; step < steps; ++step)
    EXPECT_EQ(edges[step], 3U * tiles - 2 + tiles) << step;
}

TEST(Subviews, AreNamedByTheirAllocation) {
  TaskGraphOptions options = with_workers(1);
  options.record = true;
  TaskGraph graph(options);
  Matrix const x("field", 4, 8);
  host_task("row", ResourcePolicy(graph, write(Kokkos::subview(x, 1, ALL)), read(x)), [] {});
  graph.wait();
  auto const accesses = graph.dependency_graph().node(1).accesses;
  EXPECT_EQ(accesses.at(0).resource, "field");
  EXPECT_EQ(accesses.at(0).area, "[1, 2) x [0, 8)");
  EXPECT_EQ(accesses.at(1).resource, "field");
  EXPECT_EQ(accesses.at(1).area, "whole");
}

template <class... View>
std::string areas_of(View const&... view) {
  TaskGraphOptions options = with_workers(1);
  options.record = true;
  TaskGraph graph(options);
  std::string text;
  ((host_task("task", ResourcePolicy(graph, read(view)), [] {}),
    text += graph.dependency_graph().nodes().back().accesses.at(0).area + "; "),
   ...);
  return text;
}

TEST(Subviews, HaveIndicesOfTheirViewInRecords) {
  Kokkos::View<int***, Kokkos::LayoutRight, Host> const x("x", 4, 5, 6);
  Kokkos::View<int***, Kokkos::LayoutLeft, Host> const y("y", 4, 5, 6);
  std::pair const a(1, 3), b(2, 4);
  EXPECT_EQ(areas_of(x, Kokkos::subview(x, a, b, 5), Kokkos::subview(x, 2, ALL, ALL)),
            "whole; [1, 3) x [2, 4) x [5, 6); [2, 3) x [0, 5) x [0, 6); ");
  EXPECT_EQ(areas_of(y, Kokkos::subview(y, a, b, 5), Kokkos::subview(y, 2, ALL, ALL)),
            "whole; [1, 3) x [2, 4) x [5, 6); [2, 3) x [0, 5) x [0, 6); ");
  // Of a subview that keeps all dimensions, nobody need have seen the whole.
  EXPECT_EQ(areas_of(Kokkos::subview(x, a, b, b)), "[1, 3) x [2, 4) x [2, 4); ");
  Kokkos::View<double*, Host> const line("line", 100);
  EXPECT_EQ(areas_of(Kokkos::subview(line, std::pair(20, 30))), "[20, 30); ");
}

TEST(Views, ANewViewAtTheAddressOfAnOldOneIsAResourceOfItsOwn) {
  TaskGraph graph(with_workers(1));
  for (int k = 0; k < 20; ++k) {
    Kokkos::View<int*, Host> x("x" + std::to_string(k), 1000);
    host_task("bad", ResourcePolicy(graph, write(x)), [x, k] {
      x(0) = k;
      throw std::runtime_error("boom");
    });
    EXPECT_THAT(error_of([&] { graph.wait(); }).what(),
                testing::HasSubstr("\"x" + std::to_string(k) + '"'));
  }
}

TEST(Views, AFreshOneInEachOfAMillionTasksTakesConstantMemory) {
  // Else the table of accesses is as large as it ever gets only after most of the tasks.
  std::size_t const kept = Impl::table_kept.exchange(4096);
  TaskGraphOptions options = with_workers(2);
  options.in_flight = 256;
  TaskGraph graph(options);
  int const count = sanitized ? 10'000 : 1'000'000;
  Kokkos::View<long, Host> sum("sum");
  std::size_t resident = 0;
  for (int k = 0; k < count; ++k) {
    Kokkos::View<int, Host> x(Kokkos::view_alloc(Kokkos::WithoutInitializing, "x"));
    host_task("fresh", ResourcePolicy(graph, write(x)), [x] { x() = 1; });
    if (k % 16 == 0)
      host_task("sum", ResourcePolicy(graph, read(x), read_write(sum)), [x, sum] { sum() += x(); });
    if (k == count / 10) resident = resident_bytes();
  }
  EXPECT_LT(resident_bytes(), resident + (std::size_t{16} << 20)) << "16 bytes for each task";
  EXPECT_LE(graph.task_memory(), std::size_t{1} << 20)
      << "256 in flight at most, and what each thread keeps for reuse";
  graph.wait();
  EXPECT_EQ(sum(), count / 16);
  Impl::table_kept = kept;
}

TEST(Views, ManyDifferentSubviewsOfOneTakeConstantMemory) {
  TaskGraphOptions options = with_workers(2);
  options.in_flight = 256;
  TaskGraph graph(options);
  Matrix const x("x", 500, 500);
  int const third = sanitized ? 2'000 : 60'000;
  std::mt19937 random(1);
  auto const largest_in_a_third = [&] {
    std::size_t largest = 0;
    for (int k = 0; k < third; ++k) {
      int const i = static_cast<int>(random() % 480), j = static_cast<int>(random() % 480);
      int const rows = static_cast<int>(1 + random() % 20),
                columns = static_cast<int>(1 + random() % 20);
      auto const tile = Kokkos::subview(x, std::pair(i, i + rows), std::pair(j, j + columns));
      host_task("tile", ResourcePolicy(graph, write(tile)), [] {});
      if (k % 1000 == 0) largest = std::max(largest, resident_bytes());
    }
    return largest;
  };
  largest_in_a_third();  // areas that nobody comes back to are forgotten after a while
  std::size_t const second = largest_in_a_third();
  EXPECT_LT(largest_in_a_third(), second + second / 10 + (std::size_t{1} << 20));
}

}  // namespace
}  // namespace trellis
