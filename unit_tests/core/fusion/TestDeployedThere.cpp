// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of host tasks that go to the devices of each space. (Of a space of the host they stay.)
#include "SpaceTest.hpp"
#include "FusionTest.hpp"

namespace trellis {
namespace {

using Home = Kokkos::DefaultHostExecutionSpace;
/// Both reach it.
using Shared = Kokkos::View<double*, Kokkos::SharedHostPinnedSpace>;

struct Grow {
  Shared x;
  double add;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = 2 * x(i) + i + add; }
};

std::vector<Shared> shared_views(int count, std::size_t extent) {
  std::vector<Shared> views;
  for (int k = 0; k < count; ++k) views.emplace_back("x", extent);
  return views;
}

void grow(TaskGraph& graph, Shared const& x, double add) {
  parallel_for("grow",
               ResourcePolicy(graph, Kokkos::RangePolicy<Home>(0, static_cast<int>(x.extent(0))),
                              experimental::fusable_on<Space>, read_write(x)),
               Grow{x, add});
}

/// What comes before and after a batch is on the host.
SPACE_TEST(DeployedThere, BetweenTasksOfTheHost) {
  int const count = 16, rounds = 20;
  std::vector<Shared> const views = shared_views(count, 50);
  auto const observed = std::make_shared<Test::Observed>(make_all_on_device(0));
  {
    TaskGraph graph(Test::with_workers(2));
    graph.orchestrate(observed);
    for (int round = 0; round < rounds; ++round) {
      fork_join("fork-join", ResourcePolicy(graph, read_write(views)), [&](TaskScope& scope) {
        for (int k = 0; k < count; ++k)
          parallel_for("grow",
                       ResourcePolicy(scope, Kokkos::RangePolicy<Home>(0, 50),
                                      experimental::fusable_on<Space>,
                                      read_write(views[static_cast<std::size_t>(k)])),
                       Grow{views[static_cast<std::size_t>(k)], 1.0 * k});
      });
      for (Shared const& x : views)
        host_task("check", ResourcePolicy(graph, read_write(x)), [x] { x(0) += 0.5; });
    }
    graph.wait();
  }
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < 50; ++i) {
      double expected = 0;
      for (int round = 0; round < rounds; ++round) {
        expected = 2 * expected + i + k;
        if (i == 0) expected += 0.5;
      }
      ASSERT_EQ(views[static_cast<std::size_t>(k)](i), expected) << k << ", " << i;
    }
}

/// By turns at home and there.
SPACE_TEST(DeployedThere, ByTurns) {
  int const count = 24, rounds = 30;
  std::vector<Shared> const views = shared_views(count, 9);
  TaskGraph graph(Test::with_workers(2));
  graph.orchestrate(make_round_robin(8));
  for (int round = 0; round < rounds; ++round)
    for (int k = 0; k < count; ++k) grow(graph, views[static_cast<std::size_t>(k)], round);
  graph.wait();
  for (Shared const& x : views)
    for (int i = 0; i < 9; ++i) {
      double expected = 0;
      for (int round = 0; round < rounds; ++round) expected = 2 * expected + i + round;
      ASSERT_EQ(x(i), expected);
    }
}

}  // namespace
}  // namespace trellis
