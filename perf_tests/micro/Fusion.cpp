// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of small kernels: as fusable tasks that run as one, by themselves, and as one kernel that
// somebody has written by hand over the same work. All are submitted behind a task, so the run
// alone is measured, on one worker: from the end of that task's body to the begin of one that comes
// after the batch. So no thread is woken within that time, and what it takes to make the tasks
// ready and to complete them is in it.
#if __has_include(<fusion/Trellis_FusionPool.hpp>)

#include "Gate.hpp"

#include <Trellis_Fusion.hpp>

#include <algorithm>
#include <limits>
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

/// `submit(graph, first, end)` submits the work of one batch behind `first`, and a task behind that
/// which calls `end`.
template <class Submit>
void measure_batches(benchmark::State& state, std::shared_ptr<Orchestration> const& orchestration,
                     Submit const& submit) {
  if (!can_hold_back(state)) return;
  TaskGraphOptions options = without_cap(1);
  options.orchestration = orchestration;
  TaskGraph graph(options);
  auto const once = [&] {
    Clock::time_point begin;
    double time = 0;
    Gate gate(graph);
    auto const first = host_task("first", ResourcePolicy(graph, after(gate.task())),
                                 [&] { begin = Clock::now(); });
    submit(graph, first, [&] { time = seconds_since(begin); });
    gate.open();
    graph.wait();
    return time;
  };
  once();
  double least = std::numeric_limits<double>::max();
  for (auto _ : state) {
    double const time = once();
    least = std::min(least, time);
    state.SetIterationTime(time);
  }
  state.counters["least_us"] = 1e6 * least;
  state.counters["time_per_member"] =
      benchmark::Counter(static_cast<double>(state.range(0) * state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void batch(benchmark::State& state, std::shared_ptr<Orchestration> const& orchestration) {
  std::int64_t const tasks = state.range(0), indices = state.range(1);
  View const all("y", static_cast<std::size_t>(tasks * indices));
  auto const tiles = tiles_of(all, tasks, indices);
  auto const submit = [&](TaskGraph& graph, Future<void> const& first, auto const& end) {
    for (View const& tile : tiles)
      parallel_for("update",
                   ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, indices), after(first),
                                  fusable, read_write(tile)),
                   Update{tile});
    host_task("end", ResourcePolicy(graph, read(all)), end);
  };
  measure_batches(state, orchestration, submit);
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
  auto const submit = [&](TaskGraph& graph, Future<void> const& first, auto const& end) {
    parallel_for("update",
                 ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, tasks * indices), after(first),
                                read_write(all)),
                 Update{all});
    host_task("end", ResourcePolicy(graph, read(all)), end);
  };
  measure_batches(state, make_native(), submit);
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
