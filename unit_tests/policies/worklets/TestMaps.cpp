// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SpaceTest.hpp"
#include "MapTest.hpp"

#include <Trellis_Recorded.hpp>
#include <Trellis_States.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Worklets that map, on each space.
namespace trellis {
namespace {

using Test::text_of_failure;
using testing::HasSubstr;

SPACE_TEST(WorkletMaps, AllocateWhatIsOverwritten) {
  TaskGraph graph;
  ResourcePolicy const policy(graph, on<Space>);
  UniformGrid<3> const grid({4, 3, 3});
  V x("x", static_cast<std::size_t>(grid.point_count())), flat, unset;
  View<double***> cells;
  View<double* [2]> pairs("pairs", 0);
  Kokkos::deep_copy(x, 2.0);
  invoke("average", policy, Test::CellAverage(), grid, x, cells);
  invoke("average", policy, Test::CellAverage(), grid, x, flat);
  invoke("pairs", policy, Test::MakePairs(), x, pairs);
  invoke("none", policy, Test::Scale(), 2.0, V("empty", 0), unset);
  graph.wait();
  ASSERT_EQ(cells.extent(0), 3u);
  ASSERT_EQ(cells.extent(1), 2u);
  ASSERT_EQ(cells.extent(2), 2u);
  EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), cells)(2, 1, 1), 2.0);
  EXPECT_EQ(flat.label(), "output 3");
  EXPECT_THAT(Test::values_of(flat), testing::AllOf(testing::SizeIs(12), testing::Each(2.0)));
  EXPECT_THAT(Test::values_of(pairs), testing::Contains(4.0));
  EXPECT_EQ(unset.extent(0), 0u);
}

SPACE_TEST(WorkletMaps, SayWhatIsWrong) {
  TaskGraph graph;
  ResourcePolicy const policy(graph, on<Space>);
  UniformGrid<2> const grid({4, 3});
  V x("x", 5), y("y", 6), points("points", 12), cells("cells", 6);
  auto const says = [](std::string const& text, auto&& f) {
    EXPECT_THAT(text_of_failure(f), HasSubstr(text));
  };
  says("has different numbers of items: argument 2 (\"x\") has 5, argument 3 (\"y\") has 6",
       [&] { invoke("scale", policy, Test::Scale(), 2.0, x, y); });
  says(
      "has different numbers of points: argument 1 (\"uniform grid\") has 4 x 3, argument 2 "
      "(\"x\") has 5",
      [&] { invoke("average", policy, Test::CellAverage(), grid, x, cells); });
  says(
      "has different numbers of cells: argument 1 (\"uniform grid\") has 3 x 2, argument 3 "
      "(\"points\") has 12",
      [&] { invoke("average", policy, Test::CellAverage(), grid, points, points); });
  says("has no argument that tells how many items there are", [&] {
    invoke("scale", policy, Test::Scale(), 2.0, View<double>("one"), View<double>("t"));
  });
  V const all("all", 20);
  auto const part = [&](int begin, int end) { return Kokkos::subview(all, std::pair(begin, end)); };
  says("writes into argument 3 (\"all\") what other items gather from argument 2 (\"all\")",
       [&] { invoke("average", policy, Test::CellAverage(), grid, part(0, 12), part(10, 16)); });
  says("writes into argument 3 (\"all\") what other items have in argument 2 (\"all\")",
       [&] { invoke("scale", policy, Test::Scale(), 2.0, part(0, 6), part(1, 7)); });
  MixedCells const mixed(cells, View<int*>("offsets", 7), View<int*>("corners", 24), 12);
  says("writes into argument 3 (\"cells\") what other items gather from argument 1 (\"corners\")",
       [&] { invoke("average", policy, Test::CellAverage(), mixed, points, cells); });
  says("both are written",
       [&] { invoke("two", policy, Test::WriteTwo(), part(0, 6), part(6, 12), part(6, 12)); });
  V const constant;
  says("cannot allocate argument 3 (\"\") for 5 items",
       [&] { invoke("scale", policy, Test::Scale(), 2.0, x, constant); });
  says("cannot allocate argument 3 (\"temporary\") for 5 items",
       [&] { invoke("scale", policy, Test::Scale(), 2.0, x, V("temporary", 0)); });
  View<double**> rows("rows", 0, 0);
  says("cannot allocate argument 2 (\"rows\") for 5 items",
       [&] { invoke("pairs", policy, Test::MakePairs(), x, rows); });
  rows = View<double**>("rows", 0, 2);
  invoke("pairs", policy, Test::MakePairs(), x, rows);
  EXPECT_EQ(rows.extent(0), 5u);
  // The same, and what lies between, are right.
  Kokkos::View<double* [2], Kokkos::LayoutRight, Memory> const columns("columns", 6);
  invoke("scale", policy, Test::Scale(), 2.0, part(0, 6), part(0, 6));
  invoke("scale", policy, Test::Scale(), 2.0, Kokkos::subview(columns, Kokkos::ALL, 0),
         Kokkos::subview(columns, Kokkos::ALL, 1));
  graph.wait();
}

/// The same edges as tasks that say by hand what they touch.
SPACE_TEST(WorkletMaps, TouchWhatTheSignatureSays) {
  auto const edges = [](auto const& submit) {
    TaskGraphOptions options;
    options.record = true;
    options.workers = 2;
    TaskGraph graph(options);
    submit(graph);
    graph.wait();
    std::vector<std::pair<TaskId, TaskId>> all;
    for (auto const& edge : graph.dependency_graph().edges()) all.emplace_back(edge.from, edge.to);
    std::sort(all.begin(), all.end());
    return all;
  };
  UniformGrid<2> const grid({4, 3});
  V const x("x", 12), y("y", 12), cells("cells", 6);
  auto const by_worklets = edges([&](TaskGraph& graph) {
    ResourcePolicy const policy(graph, on<Space>);
    invoke("scale", policy, Test::Scale(), 2.0, x, y);
    invoke("average", policy, Test::CellAverage(), grid, y, cells);
    invoke("spread", policy, Test::Spread(), grid, cells, x);
    invoke("spread", policy, Test::Spread(), grid, cells, x);
    invoke("add", policy, Test::AddInto(), x, y);
    invoke("average", policy, Test::CellAverage(), grid, y, cells);
    invoke("scale", policy, Test::Scale(), 2.0, y, x);
  });
  auto const by_hand = edges([&](TaskGraph& graph) {
    auto const task = [&](auto const&... access) {
      parallel_for("task", ResourcePolicy(graph, 1, access..., on<Space>), Test::Nothing());
    };
    task(read(x), write(y));
    task(read(y), write(cells));
    task(read(cells), atomic_add(x));
    task(read(cells), atomic_add(x));
    task(read(x), read_write(y));
    task(read(y), write(cells));
    task(read(y), write(x));
  });
  EXPECT_EQ(by_worklets, by_hand);
  EXPECT_GE(by_hand.size(), 6u);
}

// --- what parameters mean: concept, access and domain in any order, with their defaults

template <class Word, class Kind>
using Said = typename worklets::Impl::ParameterOf<std::decay_t<Word>, typename Kind::domain>::type;
struct Fast {};

/// The mode of the access, whether the worklet sees what is there, and the domain.
template <class Word, class Kind, Mode mode, bool reads, class Domain>
constexpr bool says = Said<Word, Kind>::mode == mode && Said<Word, Kind>::reads == reads &&
                      Said<Word, Kind>::writes == (mode != Mode::read) &&
                      std::is_same_v<typename Said<Word, Kind>::domain_type, Domain>;
template <class Word, class Kind>
constexpr bool is_gathered = worklets::Impl::is_at_points<Kind, Said<Word, Kind>>;

/// (The names of words, as in a worklet.)
struct Signatures : worklets::Words {
  static_assert(says<Field, MapFields, Mode::read, true, Item>);
  static_assert(says<Field, MapCells, Mode::read, true, Cell>);
  static_assert(says<Field, MapPoints, Mode::read, true, Point>);
  static_assert(says<Field(), MapCells, Mode::read, true, Cell>);
  static_assert(says<Field(In), MapCells, Mode::read, true, Cell>);
  static_assert(says<Field(Point), MapCells, Mode::read, true, Point>);
  static_assert(says<Field(In, Point), MapCells, Mode::read, true, Point>);
  static_assert(says<Field(Point, In), MapCells, Mode::read, true, Point>);
  static_assert(says<Field(Out), MapCells, Mode::write, false, Cell>);
  static_assert(says<Field(Out, Point), MapPoints, Mode::write, false, Point>);
  static_assert(says<Field(InOut), MapCells, Mode::read_write, true, Cell>);
  static_assert(says<Field(Cell, InOut), MapFields, Mode::read_write, true, Cell>);
  static_assert(says<Field(AtomicAdd, Point), MapCells, Mode::atomic_add, false, Point>);
  static_assert(says<Field(Point, AtomicAdd), MapCells, Mode::atomic_add, false, Point>);
  static_assert(says<Field(AtomicMul), MapFields, Mode::atomic_mul, false, Item>);
  static_assert(says<Topology, MapCells, Mode::read, true, Cell>);
  static_assert(says<Topology(Out), GenerateCells, Mode::write, false, Cell>);
  static_assert(says<Whole, MapFields, Mode::read, true, Item>);
  static_assert(says<Counts, GenerateFields, Mode::read, true, Item>);
  static_assert(says<Keys, ReduceByKey, Mode::read, true, Key>);
  // Words of a program's own are kept, behind the domain.
  static_assert(std::is_same_v<Said<Field(Fast, Out), MapCells>,
                               worklets::Parameter<Field, Out, Cell, Fast>>);

  // --- and what the call operator gets: the value, or the values at the points of the cell

  static_assert(is_gathered<Field(Point), MapCells> && is_gathered<Field(Point), GenerateCells>);
  static_assert(is_gathered<Field(AtomicAdd, Point), MapCells>);
  static_assert(is_gathered<Field(Point), InterpolateCells>);
  static_assert(!is_gathered<Field, MapCells> && !is_gathered<Field(Cell), MapCells>);
  static_assert(!is_gathered<Field(Point), MapFields> && !is_gathered<Field(Point), MapPoints>);
  static_assert(!is_gathered<Whole, MapCells>);
};

// --- numbers of items have 64 bits, from the extents to the scan and the indices

static_assert(
    std::is_same_v<decltype(worklets::Extents::of(std::int64_t{1} << 40).count()), std::int64_t>);
static_assert(worklets::Extents::of(std::int64_t{1} << 40).count() == std::int64_t{1} << 40);
static_assert(std::is_same_v<decltype(worklets::Impl::Totals::made), std::int64_t>);
static_assert(
    std::is_same_v<Impl::PolicyTraits<worklets::Impl::Items, Space>::policy_type::index_type,
                   std::int64_t>);
static_assert(
    std::is_same_v<LateCells<CellShape::quad>::connectivity_type::view::value_type, std::int64_t>);
SPACE_TEST(RandomWorklets, ThatMapEqualPlainLoops) {
  Test::run_map_programs<Space>(Test::sanitized ? 20 : 60);
}

}  // namespace
}  // namespace trellis
