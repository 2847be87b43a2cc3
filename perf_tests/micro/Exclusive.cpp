// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that exclude each other without an order, where there is more than one thing to exclude
// from.
#include "Measure.hpp"
#include "Workers.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

std::vector<View> disjoint_areas(std::int64_t count) {
  View const all("areas", static_cast<std::size_t>(count));
  std::vector<View> areas;
  for (std::int64_t k = 0; k != count; ++k)
    areas.push_back(Kokkos::subview(all, std::pair(k, k + 1)));
  return areas;
}

// One area would be what `exclusive_tasks` measures, but for the Token.
void exclusive_areas(benchmark::State& state) {
  std::vector<View> const areas = disjoint_areas(state.range(0));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (std::size_t k = 0; k != task_count; ++k)
      parallel_for("exclusive",
                   ResourcePolicy(graph, 1, on<Space>, exclusive(areas[k % areas.size()])),
                   Nothing());
  });
}
BENCHMARK(exclusive_areas)
    ->ArgNames({"areas", "workers"})
    ->ArgsProduct({{1, 2, 10, 100}, {1, 2}})
    ->Apply(with_more_workers<100>)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Each takes its area and the next one: the philosophers and their forks.
void exclusive_pairs(benchmark::State& state) {
  std::vector<View> const areas = disjoint_areas(state.range(0));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (std::size_t k = 0; k != task_count; ++k)
      parallel_for("exclusive",
                   ResourcePolicy(graph, 1, on<Space>, exclusive(areas[k % areas.size()]),
                                  exclusive(areas[(k + 1) % areas.size()])),
                   Nothing());
  });
}
BENCHMARK(exclusive_pairs)
    ->ArgNames({"areas", "workers"})
    ->ArgsProduct({{2, 10, 100}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro
