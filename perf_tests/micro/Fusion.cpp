// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of small kernels: as fusable tasks that run as one, by themselves, and as one kernel that
// somebody has written by hand over the same work. All are submitted behind a gate, so the run alone
// is measured, on one worker.
#if __has_include(<fusion/Trellis_FusionPool.hpp>)

#include "Gate.hpp"

#include <vector>

namespace micro {
namespace {

using namespace trellis;

struct Update {
  View y;
  KOKKOS_FUNCTION void operator()(int i) const { y(i) = 0.5 * y(i) + 1; }
};

std::vector<View> tiles_of(View const& all, std::int64_t tasks, std::int64_t indices) {
  std::vector<View> tiles;
  for (std::int64_t k = 0; k < tasks; ++k)
    tiles.push_back(Kokkos::subview(all, std::pair(k * indices, (k + 1) * indices)));
  return tiles;
}

/// `submit(graph, gate)` submits the work of one batch; the time is that from the gate to its end.
template <class Submit>
void measure_batches(benchmark::State& state, std::shared_ptr<Orchestration> const& orchestration,
                     Submit const& submit) {
  if (!can_hold_back(state)) return;
  TaskGraphOptions options = without_cap(1);
  options.orchestration = orchestration;
  TaskGraph graph(options);
  auto const once = [&] {
    Gate gate(graph);
    Future<void> const last = submit(graph, gate.task());
    auto const begin = Clock::now();
    gate.open();
    last.wait();
    double const time = seconds_since(begin);
    graph.wait();
    return time;
  };
  once();
  for (auto _ : state) state.SetIterationTime(once());
}

void batch(benchmark::State& state, std::shared_ptr<Orchestration> const& orchestration) {
  std::int64_t const tasks = state.range(0), indices = state.range(1);
  View const all("y", static_cast<std::size_t>(tasks * indices));
  auto const tiles = tiles_of(all, tasks, indices);
  measure_batches(state, orchestration, [&](TaskGraph& graph, Future<void> const& gate) {
    for (View const& tile : tiles)
      parallel_for("update",
                   ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, indices), after(gate),
                                  fusable, read_write(tile)),
                   Update{tile});
    return host_task("end", ResourcePolicy(graph, read(all)), [] {});
  });
}
void batch_fused(benchmark::State& state) {
  batch(state, make_fuse_immediately(static_cast<std::size_t>(state.range(0))));
}
void batch_unfused(benchmark::State& state) {
  batch(state, make_native());
}
void batch_by_hand(benchmark::State& state) {
  std::int64_t const tasks = state.range(0), indices = state.range(1);
  View const all("y", static_cast<std::size_t>(tasks * indices));
  measure_batches(state, make_native(), [&](TaskGraph& graph, Future<void> const& gate) {
    parallel_for("update",
                 ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, tasks * indices), after(gate),
                                read_write(all)),
                 Update{all});
    return host_task("end", ResourcePolicy(graph, read(all)), [] {});
  });
}

void with_batches(benchmark::internal::Benchmark* family) {
  family->ArgNames({"tasks", "indices"})
      ->ArgsProduct({{1, 16, 256}, {64, 1024, 65536}})
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK(batch_fused)->Apply(with_batches);
BENCHMARK(batch_unfused)->Apply(with_batches);
BENCHMARK(batch_by_hand)->Apply(with_batches);

}  // namespace
}  // namespace micro

#endif
