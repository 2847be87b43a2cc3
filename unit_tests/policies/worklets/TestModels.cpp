// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Worklets that are tasks of a model of fields, and those with properties of tasks.
#include "MapTest.hpp"

#include <Trellis_Fields.hpp>
#include <Trellis_Fusion.hpp>
#include <Trellis_Numbers.hpp>
#include <Trellis_Recorded.hpp>
#include <fields/Trellis_Fields.hpp>

#include <gmock/gmock.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace trellis::Test {
namespace {

using HostSpace = Kokkos::DefaultHostExecutionSpace;
using Line = Kokkos::View<double*, Kokkos::HostSpace>;
using F = Field<double*, Line::array_layout>;

/// In any order; what nobody needs is left out; each iteration, and each replay, computes it again.
TEST(WorkletModels, ComputeFieldsFromFields) {
  for (bool const replays : {false, true}) {
    TaskGraph graph;
    FieldGraph model(graph);
    UniformGrid<2> const grid({3, 3});
    Line const x("x", 9), result("result", 4);
    Kokkos::deep_copy(x, 3.0);
    F const at_points = model.bind("x", x), at_cells = model.bind("result", result);
    F const scaled = model.field<double*, Line::array_layout>("scaled", 9);
    F const unused = model.field<double*, Line::array_layout>("unused", 9);
    ResourcePolicy const policy(model, on<HostSpace>);
    invoke("average", policy, CellAverage(), grid, scaled, at_cells);
    invoke("scale", policy, Scale(), 2.0, at_points, scaled);
    invoke("not needed", policy, Scale(), 2.0, at_points, unused);
    model.require(at_cells);
    if (replays) {
      graph.replay(model.record(), 2);
    } else {
      model.submit();
      model.submit();
    }
    graph.wait();
    EXPECT_EQ(model.order(), (std::vector<std::string>{"scale", "average"}));
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(result(c), 6.0);
  }
}

/// As for Views: in whichever order the extents become known.
TEST(WorkletModels, GiveFieldsTheExtentsThatTheOthersHave) {
  for (bool const backwards : {false, true}) {
    TaskGraph graph;
    FieldGraph model(graph);
    Line const x("x", 9);
    Kokkos::deep_copy(x, 3.0);
    F const at_points = model.bind("x", x);
    auto const unknown = [&](char const* name) {
      return model.field<double*, Line::array_layout>(std::string(name));
    };
    F const once = unknown("once"), twice = unknown("twice"), late = unknown("late"),
            of_late = unknown("of late"), at_cells = unknown("at cells");
    ResourcePolicy const policy(model, on<HostSpace>);
    auto const first = [&] { invoke("once", policy, Scale(), 2.0, at_points, once); };
    auto const second = [&] { invoke("twice", policy, Scale(), 2.0, once, twice); };
    if (backwards) {
      second();
      EXPECT_EQ(twice.extent(0), 0U);
      first();
    } else {
      first();
      EXPECT_EQ(once.extent(0), 9U);
      second();
    }
    EXPECT_EQ(twice.extent(0), 9U);
    invoke("cells", policy, CellAverage(), UniformGrid<2>({3, 3}), twice, at_cells);
    EXPECT_EQ(at_cells.extent(0), 4U);
    // By the next iteration.
    invoke("of late", policy, Scale(), 2.0, late, of_late);
    for (F const& each : {twice, at_cells, of_late}) model.require(each);
    EXPECT_THAT(text_of_failure([&] { model.submit(); }),
                testing::HasSubstr("nobody has said its extents"));
    static_cast<void>(model.field<double*, Line::array_layout>("late", 5));
    parallel_for(
        "late", ResourcePolicy(model, extent(late), on<HostSpace>, write(late)),
        KOKKOS_LAMBDA(int i, F::view const& v) { v(i) = i; });
    model.submit();
    graph.wait();
    EXPECT_EQ(of_late.extent(0), 5U);
    EXPECT_EQ(model.host_view(of_late)(4), 8.0);
    EXPECT_EQ(model.host_view(at_cells)(3), 12.0);
    EXPECT_EQ(model.host_view(twice)(8), 12.0);
  }
}

TEST(WorkletModels, SayWhereNumbersOfItemsDiffer) {
  TaskGraph graph;
  FieldGraph model(graph);
  Line const x("x", 9), result("result", 4);
  F const from = model.bind("x", x), to = model.bind("result", result);
  invoke("scale", ResourcePolicy(model, on<HostSpace>), Scale(), 2.0, from, to);
  model.require(to);
  model.submit();
  EXPECT_THAT(text_of_failure([&] { graph.wait(); }),
              testing::HasSubstr("has different numbers of items: argument 2 (\"x\") has 9, "
                                 "argument 3 (\"result\") has 4"));
}

/// Constants fit any number of items, and an empty output has none.
TEST(WorkletTasks, NeedSomethingThatTellsHowManyItemsThereAre) {
  TaskGraph graph;
  ResourcePolicy const policy(graph, on<HostSpace>);
  Line none, empty("empty", 0), four("four", 4);
  auto const told =
      testing::AllOf(testing::HasSubstr("\"scale\" ("), testing::HasSubstr("tells how many items"));
  for (Line* const each : {&none, &empty})
    EXPECT_THAT(text_of_failure([&] { invoke("scale", policy, Scale(), 2.0, 3.0, *each); }), told);
  EXPECT_EQ(graph.submitted(), 0U);
  invoke("scale", policy, Scale(), 2.0, 3.0, four);
  invoke("scale", policy, Scale(), 2.0, four, none);
  invoke("scale", policy, Scale(), 2.0, Line("no items", 0), empty);  // these tell that there are 0
  graph.wait();
  EXPECT_EQ(none.extent(0), 4U);
  EXPECT_EQ(none(3), 12.0);
  EXPECT_EQ(empty.extent(0), 0U);
}

/// Priorities, tasks before, numbers, values besides, and batches.
TEST(WorkletTasks, HaveTheirProperties) {
  TaskGraphOptions options;
  options.record = true;
  options.workers = 2;
  options.orchestration = make_fuse_immediately(4);
  TaskGraph graph(options);
  TaskNumbers numbers(graph);
  TaskNumber const k = numbers.reserve(1);
  Line const x("x", 4), y("y", 4);
  auto const before = host_task("before", ResourcePolicy(graph), [] {});
  invoke("one", ResourcePolicy(graph, on<HostSpace>, priority(3), after(before), number(k)),
         Scale(), 2.0, x, y);
  host_task("behind", ResourcePolicy(graph, after(k)), [] {});
  // All tiles become ready at once, so some of them run as one.
  auto const gate = host_task("gate", ResourcePolicy(graph), [&graph] {
    while (graph.submitted() < 20) std::this_thread::yield();
  });
  std::vector<Line> tiles;
  for (int i = 0; i < 16; ++i) {
    tiles.emplace_back("tile", 8);
    Kokkos::deep_copy(tiles.back(), i);
    invoke("tile", ResourcePolicy(graph, on<HostSpace>, fusable, after(gate)), Scale(), 2.0,
           tiles.back(), tiles.back());
  }
  graph.wait();
  Graph const record = graph.dependency_graph();
  TaskId const one = record.find("one").at(0);
  EXPECT_EQ(record.node(one).priority, 3);
  EXPECT_EQ(record.predecessors(one), record.find("before"));
  EXPECT_EQ(record.successors(one), record.find("behind"));
  int in_batches = 0;
  for (TaskRecord const& node : record.nodes()) in_batches += node.batch != 0 ? 1 : 0;
  EXPECT_GE(in_batches, 4);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(tiles[i](7), 2.0 * static_cast<double>(i));
}

}  // namespace
}  // namespace trellis::Test
