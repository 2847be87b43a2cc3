// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// deep_copy as a task.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include "Timing.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

namespace trellis {
namespace {

using testing::HasSubstr;
template <class T>
using HostView = Kokkos::View<T, Kokkos::HostSpace>;

TaskGraphOptions recorded() {
  TaskGraphOptions options;
  options.record = true;
  return options;
}

TEST(DeepCopy, OfAViewReadsOneAndWritesTheOther) {
  TaskGraph graph(recorded());
  HostView<int*> x("x", 4), y("y", 4);
  host_task("fill", ResourcePolicy(graph, write(x)), [x] { x(2) = 7; });
  auto const copied = trellis::deep_copy("copy", graph, y, x);
  auto const look = host_task("look", ResourcePolicy(graph, read(y)), [y] { return y(2); });
  host_task("again", ResourcePolicy(graph, write(x)), [x] { x(2) = 8; });
  EXPECT_EQ(look.get(), 7);
  graph.wait();
  auto const dependencies = graph.dependency_graph();
  EXPECT_THAT(dependencies.edges(),
              testing::UnorderedElementsAre(EdgeRecord{1, 2, EdgeReason::access},
                                            EdgeRecord{2, 3, EdgeReason::access},
                                            EdgeRecord{2, 4, EdgeReason::access}));
  EXPECT_EQ(dependencies.node(copied.id()).label, "copy");
  EXPECT_EQ(dependencies.node(copied.id()).pattern, "deep_copy");
}

TEST(DeepCopy, OfAValueFills) {
  TaskGraph graph(recorded());
  HostView<double**> x("x", 3, 4);
  unsigned const line = __LINE__ + 1;
  auto const filled = trellis::deep_copy(graph, x, 2.5);
  trellis::deep_copy("zero", graph, Kokkos::subview(x, 1, Kokkos::ALL), 0);
  graph.wait();
  EXPECT_EQ(x(2, 3), 2.5);
  EXPECT_EQ(x(1, 3), 0);
  auto const node = graph.dependency_graph().node(filled.id());
  EXPECT_EQ(node.label, "deep_copy");
  EXPECT_EQ(node.line, line);
  EXPECT_EQ(node.file, __FILE__);
}

TEST(DeepCopy, ChangesLayouts) {
  TaskGraph graph;
  Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> left("left", 30, 40);
  Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> right("right", 30, 40);
  host_task("fill", ResourcePolicy(graph, write(left)), [left] {
    for (int i = 0; i < 30; ++i)
      for (int j = 0; j < 40; ++j) left(i, j) = 100 * i + j;
  });
  trellis::deep_copy(graph, right, left);
  graph.wait();
  EXPECT_EQ(right(29, 17), 2917);
  EXPECT_EQ(right(3, 0), 300);
}

TEST(DeepCopy, OfSubviewsTouchesTheseAlone) {
  TaskGraphOptions options = recorded();
  options.workers = 2;
  TaskGraph graph(options);
  Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> x("x", 4, 6);
  auto const columns = [&](int first) {
    return Kokkos::subview(x, Kokkos::ALL, std::pair(first, first + 2));
  };
  host_task("fill", ResourcePolicy(graph, write(columns(0))), [x] { x(3, 1) = 5; });
  trellis::deep_copy(graph, columns(2), columns(0));
  trellis::deep_copy(graph, columns(4), 9);
  graph.wait();
  EXPECT_EQ(x(3, 3), 5);
  EXPECT_EQ(x(0, 4), 9);
  EXPECT_EQ(graph.dependency_graph().edges().size(), 1u) << "the fill beside them is independent";
}

TEST(DeepCopy, OfRank0AndOfNothing) {
  TaskGraph graph;
  HostView<int> x("x"), y("y");
  HostView<int*> none("none", 0), nothing("nothing", 0), null, zero;
  trellis::deep_copy(graph, x, 4);
  trellis::deep_copy(graph, y, x);
  trellis::deep_copy(graph, none, nothing);
  trellis::deep_copy(graph, null, zero);
  trellis::deep_copy(graph, none, 3);
  trellis::deep_copy(graph, null, 3);
  EXPECT_NO_THROW(graph.wait());
  EXPECT_EQ(y(), 4);
}

TEST(DeepCopy, OfADifferentExtentIsAnErrorThatNamesBothViews) {
  TaskGraph graph;
  HostView<int**> x("wide", 4, 5), y("narrow", 4, 3);
  unsigned const line = __LINE__ + 1;
  Error const error = trellis::Test::error_of([&] { trellis::deep_copy("mismatch", graph, y, x); });
  EXPECT_EQ(error.kind(), Error::Kind::bad_input);
  EXPECT_THAT(
      error.what(),
      testing::AllOf(HasSubstr("\"mismatch\""), HasSubstr("\"wide\""), HasSubstr("\"narrow\""),
                     HasSubstr("extents 1 are 5 and 3"), HasSubstr(":" + std::to_string(line))));
  EXPECT_THROW(trellis::deep_copy(graph, y, x), Error);
  EXPECT_EQ(graph.submitted(), 0u);
}

TEST(DeepCopy, OfConstViews) {
  TaskGraph graph;
  HostView<int*> x("x", 3), y("y", 3);
  Kokkos::deep_copy(x, 6);
  trellis::deep_copy(graph, y, HostView<int const*>(x));
  graph.wait();
  EXPECT_EQ(y(1), 6);
}

TEST(DeepCopy, KeepsBothViewsAlive) {
  TaskGraphOptions options;
  options.workers = 1;
  TaskGraph graph(options);
  HostView<int*> result("result", 100);
  trellis::Test::Gate gate;
  {
    HostView<int*> x("x", 100);
    host_task("fill", ResourcePolicy(graph, write(x)), [x, &gate] {
      gate.pass();
      x(50) = 3;
    });
    trellis::deep_copy(graph, result, x);
  }
  gate.open();
  graph.wait();
  EXPECT_EQ(result(50), 3);
  EXPECT_EQ(result.use_count(), 1);
}

}  // namespace
}  // namespace trellis
