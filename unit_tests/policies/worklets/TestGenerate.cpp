// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SpaceTest.hpp"
#include "GenerateTest.hpp"

#include <Trellis_Worklets.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Worklets that make new items, on each space.
namespace trellis {
namespace {

struct CountOdd : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION int operator()(int x) const { return x % 3; }
};
struct Copies : GenerateFields {
  using ControlSignature = void(Field, Counts, Field(Out), Field(Out));
  using ExecutionSignature = void(_1, VisitIndex, WorkIndex, SourceIndex, _3, _4);
  KOKKOS_FUNCTION void operator()(int x, std::int64_t visit, std::int64_t index,
                                  std::int64_t source, int& value, std::int64_t& all) const {
    value = 10 * x + static_cast<int>(visit);
    all = 100 * index + source;
  }
};
struct Twice : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION int operator()(int x) const { return 2 * x; }
};

struct SumOfTwo : MapFields {
  using ControlSignature = void(Field, Field, Field(Out));
  using ExecutionSignature = _3(_1, _2);
  KOKKOS_FUNCTION int operator()(int x, int y) const { return x + y; }
};

SPACE_TEST(WorkletGenerate, CopiesOfItems) {
  TaskGraph graph;
  View<int*> x("x", 6), counts;
  auto const host = Kokkos::create_mirror_view(x);
  for (int i = 0; i < 6; ++i) host(i) = i;
  Kokkos::deep_copy(x, host);
  LateView<int*, Memory> made("made"), doubled("doubled");
  LateView<std::int64_t*, Memory> all("all");
  ResourcePolicy const policy(graph, on<Space>);
  invoke("counts", policy, CountOdd(), x, counts);
  auto const n = invoke("copies", policy, Copies(), x, counts, made, all);
  invoke("twice", policy, Twice(), made, doubled);
  EXPECT_EQ(n.get(), 6);
  graph.wait();
  EXPECT_THAT(Test::values_of(made.managed()), testing::ElementsAre(10, 20, 21, 40, 50, 51));
  EXPECT_THAT(Test::values_of(all.managed()), testing::ElementsAre(1, 102, 202, 304, 405, 505));
  EXPECT_THAT(Test::values_of(doubled.managed()), testing::ElementsAre(20, 40, 42, 80, 100, 102));
}

struct SumOfKey : ReduceByKey {
  using ControlSignature = void(Keys, Values, Field(Out), Field(Out));
  using ExecutionSignature = _4(_1, _2, _3);
  template <class Group>
  KOKKOS_FUNCTION double operator()(int key, Group const& group, int& same_key) const {
    same_key = key;
    double sum = 0;
    for (std::int64_t k = 0; k < group.size(); ++k) sum += group[k];
    return sum;
  }
};

SPACE_TEST(WorkletReduce, SumsOfKeys) {
  TaskGraph graph;
  View<int*> keys("keys", 6);
  V values("values", 6);
  int const key[] = {3, 1, 3, 7, 1, 3};
  auto const host_keys = Kokkos::create_mirror_view(keys);
  auto const host_values = Kokkos::create_mirror_view(values);
  for (int i = 0; i < 6; ++i) {
    host_keys(i) = key[i];
    host_values(i) = i + 1;
  }
  Kokkos::deep_copy(keys, host_keys);
  Kokkos::deep_copy(values, host_values);
  ResourcePolicy const policy(graph, on<Space>);
  auto const groups = group_by_key("group", policy, keys);
  LateView<double*, Memory> sums("sums");
  LateView<int*, Memory> found("found");
  invoke("sum", policy, SumOfKey(), groups, values, found, sums);
  graph.wait();
  EXPECT_THAT(Test::values_of(found.managed()), testing::ElementsAre(1, 3, 7));
  EXPECT_THAT(Test::values_of(sums.managed()), testing::ElementsAre(7, 10, 4));
}

/// A line between the middles of two edges of each quad that the level crosses, left to right.
struct CountLines : MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out));
  using ExecutionSignature = _3(_2);
  template <class Values>
  KOKKOS_FUNCTION int operator()(Values const& values) const {
    return values[0] < 0.5 && values[3] > 0.5 ? 1 : 0;
  }
};
struct Lines : InterpolateCells {
  using ControlSignature = void(Topology, Field(Point), Counts, Topology(Out));
  using ExecutionSignature = void(Vertices(_1), _2, Vertices(_4));
  template <class Points, class Values, class New>
  KOKKOS_FUNCTION void operator()(Points const& points, Values const& values, New& line) const {
    line[0] = {points[0], points[3], (0.5 - values[0]) / (values[3] - values[0])};
    line[1] = {points[2], points[1], (0.5 - values[2]) / (values[1] - values[2])};
  }
};

struct SumOfShapes : MapCells {
  using ControlSignature = void(Topology, Field(AtomicAdd));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION int operator()(CellShape shape) const { return static_cast<int>(shape); }
};

SPACE_TEST(WorkletInterpolate, MergesPoints) {
  TaskGraph graph;
  UniformGrid<2> const grid({5, 4});
  View<double**> values("values", 5, 4);
  View<int**> counts;
  auto const host = Kokkos::create_mirror_view(values);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) host(i, j) = j < 2 ? 0 : 1;
  Kokkos::deep_copy(values, host);
  ResourcePolicy const policy(graph, on<Space>);
  InterpolatedCells<CellShape::line, Memory> lines("lines");
  LateView<double* [2], Memory> at("at");
  invoke("counts", policy, CountLines(), grid, values, counts);
  auto const n = invoke("lines", policy, Lines(), grid, values, counts, lines);
  interpolate("at", policy, lines, grid.coordinates(), at);
  EXPECT_EQ(n.get(), 4);
  graph.wait();
  EXPECT_THAT(Test::values_of(lines.cells().managed().connectivity()),
              testing::ElementsAre(0, 1, 1, 2, 2, 3, 3, 4));
  EXPECT_THAT(Test::values_of(at.managed()),
              testing::ElementsAre(0, 1.5, 1, 1.5, 2, 1.5, 3, 1.5, 4, 1.5));
}

/// Lines between the middles of the edges of triangles, as many as the triangle's number says.
struct MidLines : InterpolateCells {
  using ControlSignature = void(Topology, Counts, Topology(Out), Field(Out));
  using ExecutionSignature = void(Vertices(_1), VisitIndex, SourceIndex, Vertices(_3), _4);
  template <class Points, class New>
  KOKKOS_FUNCTION void operator()(Points const& points, std::int64_t visit, std::int64_t source,
                                  New& line, std::int64_t& from) const {
    int const k = static_cast<int>(visit);
    line[0] = {points[k % 3], points[(k + 1) % 3], 0.25};
    line[1] = {points[(k + 2) % 3], points[(k + 1) % 3], 0.25};
    from = source;
  }
};

/// Few points, so that many lines end in the same ones.
SPACE_TEST(WorkletInterpolate, MergesWhatManyCellsShare) {
  for (std::uint64_t const seed : random_program::seeds(1, 40)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TaskGraph graph(Test::with_workers(1 + static_cast<int>(seed % 2)));
    ResourcePolicy const policy(graph, on<Space>);
    std::int64_t const points = 1 + static_cast<std::int64_t>(random() % 8);
    std::size_t const cells = random() % 80;
    View<int* [3]> connectivity("triangles", cells);
    View<int*> counts("counts", cells);
    auto const host = Kokkos::create_mirror_view(connectivity);
    auto const host_counts = Kokkos::create_mirror_view(counts);
    std::vector<std::array<InterpolatedPoint, 2>> raw;
    for (std::size_t c = 0; c < cells; ++c) {
      for (std::size_t k = 0; k < 3; ++k)
        host(c, k) = static_cast<int>(random() % static_cast<std::uint64_t>(points));
      host_counts(c) = seed % 5 == 0 ? 0 : static_cast<int>(random() % 4);
      for (int visit = 0; visit < host_counts(c); ++visit)
        raw.push_back(
            {InterpolatedPoint{host(c, visit % 3), host(c, (visit + 1) % 3), 0.25},
             InterpolatedPoint{host(c, (visit + 2) % 3), host(c, (visit + 1) % 3), 0.25}});
    }
    Kokkos::deep_copy(connectivity, host);
    Kokkos::deep_copy(counts, host_counts);
    InterpolatedCells<CellShape::line, Memory> lines("lines");
    LateView<std::int64_t*, Memory> from("from");
    auto const n =
        invoke("lines", policy, MidLines(), make_cells<CellShape::triangle>(connectivity, points),
               counts, lines, from);
    EXPECT_EQ(n.get(), static_cast<std::int64_t>(raw.size()));
    graph.wait();
    // The first of those that are the same says where the point is.
    std::map<std::pair<std::int64_t, std::int64_t>, double> expected;
    for (auto const& line : raw)
      for (InterpolatedPoint const& each : line)
        expected.emplace(std::pair(each.in_order().first, each.in_order().second),
                         each.in_order().weight);
    auto const made =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), lines.points().managed());
    ASSERT_EQ(made.extent(0), expected.size());
    std::size_t at = 0;
    for (auto const& [ends, weight] : expected) {
      EXPECT_EQ(made(at).first, ends.first);
      EXPECT_EQ(made(at).second, ends.second);
      EXPECT_EQ(made(at).weight, weight);
      ++at;
    }
    auto const of_lines = Test::values_of(lines.cells().managed().connectivity());
    for (std::size_t k = 0; k < of_lines.size(); ++k) {
      auto const& point = made(static_cast<std::size_t>(of_lines[k]));
      EXPECT_EQ(point.first, raw[k / 2][k % 2].in_order().first);
      EXPECT_EQ(point.second, raw[k / 2][k % 2].in_order().second);
    }
  }
}

/// What generates fails where a count is negative, or numbers do not agree, and says so.
template <class F>
std::string failure_of(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "none";
}
SPACE_TEST(WorkletGenerate, SaysWhatIsWrong) {
  TaskGraph graph;
  ResourcePolicy const policy(graph, on<Space>);
  View<int*> x("x", 6), counts("counts", 5);
  LateView<int*, Memory> made("made"), other("other");
  LateView<std::int64_t*, Memory> all("all");
  EXPECT_THAT(failure_of([&] { invoke("copies", policy, Copies(), x, counts, made, all); }),
              testing::HasSubstr("the worklet \"copies\" ("));
  EXPECT_THAT(failure_of([&] { invoke("copies", policy, Copies(), x, counts, made, all); }),
              testing::HasSubstr("has different numbers of items: argument 1 (\"x\") has 6, "
                                 "argument 2 (\"counts\") has 5"));
  counts = View<int*>("counts", 6);
  Kokkos::deep_copy(counts, -1);
  auto const n = invoke("copies", policy, Copies(), x, counts, made, all);
  EXPECT_THAT(failure_of([&] { n.get(); }), testing::HasSubstr("negative count"));
  EXPECT_THROW(graph.wait(), Error);
  // The numbers of items of arrays are compared when the task is launched.
  allocate("three", ResourcePolicy(graph), made, 3);
  allocate("four", ResourcePolicy(graph), other, 4);
  graph.wait();
  auto const sum = invoke("sum", policy, SumOfTwo(), made, other, all);
  EXPECT_THAT(failure_of([&] { sum.get(); }),
              testing::HasSubstr("has different numbers of items: argument 1 (\"made\") has 3, "
                                 "argument 2 (\"other\") has 4"));
  EXPECT_THROW(graph.wait(), Error);
}

/// Known numbers beside those that come late: nothing is written, or read, out of bounds.
SPACE_TEST(WorkletGenerate, ComparesKnownAndLateNumbers) {
  TaskGraph graph;
  ResourcePolicy const policy(graph, on<Space>);
  LateView<int*, Memory> five("five"), out("out");
  View<int*> known("known", 5);
  invoke("five", policy, Twice(), known, five);
  auto const says = [&](std::string const& text, auto&& submit) {
    auto const future = submit();
    EXPECT_THAT(failure_of([&] { future.get(); }), testing::HasSubstr(text));
    EXPECT_THROW(graph.wait(), Error);
  };
  View<int*> const none("none", 0), four("four", 4);
  View<int*> empty("empty", 0);
  says("argument 1 (\"none\") has 0, argument 2 (\"five\") has 5",
       [&] { return invoke("sum", policy, SumOfTwo(), none, five, out); });
  says("argument 3 (\"empty\") has 0, argument 1 (\"five\") has 5",
       [&] { return invoke("sum", policy, SumOfTwo(), five, five, empty); });
  says("argument 3 (\"four\") has 4, argument 1 (\"five\") has 5",
       [&] { return invoke("sum", policy, SumOfTwo(), five, five, four); });
  auto const groups = group_by_key("group", policy, five);
  says("argument 1 (\"group: keys\") has 5, argument 2 (\"four\") has 4",
       [&] { return invoke("sum", policy, Test::SumOfValues(), groups, four, out); });
  EXPECT_THAT(failure_of([&] { invoke("twice", policy, Twice(), five, five); }),
              testing::HasSubstr("writes into argument 2 (\"five\")"));
  invoke("add", policy, Test::AddOne(), five);  // in place
  invoke("sum", policy, SumOfTwo(), five, five, known);
  graph.wait();
  EXPECT_THAT(Test::values_of(known), testing::Each(2));
}

/// The number of points of cells is asked for by tasks that touch no point.
SPACE_TEST(WorkletInterpolate, KnowsItsPointsWhereNobodyTouchesThem) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    TaskGraphOptions options = Test::with_workers(2);
    options.policy = make_shake_policy(static_cast<std::uint64_t>(repetition));
    TaskGraph graph(options);
    ResourcePolicy const policy(graph, on<Space>);
    UniformGrid<2> const grid({9, 9});
    View<double**> values("values", 9, 9);
    auto const host = Kokkos::create_mirror_view(values);
    for (int i = 0; i < 9; ++i)
      for (int j = 0; j < 9; ++j) host(i, j) = j < 2 ? 0 : 1;
    Kokkos::deep_copy(values, host);
    View<int**> counts;
    InterpolatedCells<CellShape::line, Memory> lines("lines");
    View<int> shapes("shapes");
    invoke("counts", policy, CountLines(), grid, values, counts);
    invoke("lines", policy, Lines(), grid, values, counts, lines);
    invoke("shapes", policy, SumOfShapes(), lines.cells(), shapes);
    graph.wait();
    EXPECT_EQ(Test::value_of(shapes), 8 * static_cast<int>(CellShape::line));
  }
}

/// What is not made anew stays as it is.
SPACE_TEST(WorkletGenerate, KeepsArraysWhenItIsCancelled) {
  TaskGraph graph;
  ResourcePolicy const policy(graph, on<Space>);
  View<int*> x("x", 3), longer("longer", 5);
  Kokkos::deep_copy(x, 2);
  LateView<int*, Memory> twice("twice");
  invoke("twice", policy, Twice(), x, twice);
  graph.wait();
  auto const fails =
      host_task("fails", ResourcePolicy(graph), [] { throw std::runtime_error("no"); });
  invoke("twice", ResourcePolicy(graph, on<Space>, after(fails)), Twice(), longer, twice);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_THAT(Test::values_of(twice.managed()), testing::ElementsAre(4, 4, 4));
}

/// A failure before it cancels all its tasks; the graph, and the arrays, are of use afterwards. The
/// call site is the user's.
SPACE_TEST(WorkletGenerate, IsCancelledAsAWhole) {
  for (int const workers : {1, 2}) {
    TaskGraph graph(Test::with_workers(workers));
    ResourcePolicy const policy(graph, on<Space>);
    View<int*> x("x", 6), counts("counts", 6);
    Kokkos::deep_copy(counts, 1);
    LateView<int*, Memory> made("made"), sums("sums"), found("found");
    LateView<std::int64_t*, Memory> all("all");
    auto const fails =
        host_task("fails", ResourcePolicy(graph), [] { throw std::runtime_error("no"); });
    auto const n = invoke("copies", ResourcePolicy(graph, on<Space>, after(fails)), Copies(), x,
                          counts, made, all);
    invoke("sum", policy, Test::SumOfValues(), group_by_key("group", policy, made), made, sums);
    EXPECT_THAT(
        failure_of([&] { n.get(); }),
        testing::AllOf(testing::HasSubstr("was cancelled"), testing::HasSubstr("TestGenerate.cpp"),
                       testing::Not(testing::HasSubstr("impl/"))));
    EXPECT_THROW(graph.wait(), Error);
    EXPECT_FALSE(sums.is_allocated());
    EXPECT_EQ(invoke("copies", policy, Copies(), x, counts, made, all).get(), 6);
  }
}

SPACE_TEST(RandomWorklets, ThatMakeArraysEqualTheOracle) {
  Test::run_array_programs<Space>(Test::sanitized ? 24 : 80);
}

}  // namespace
}  // namespace trellis
