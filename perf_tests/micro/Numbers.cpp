// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that are ordered by what they name: numbers beside futures.
#include "Measure.hpp"

#include <Trellis_Numbers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

/// Each task comes after the one before it.
void chain_by_futures(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  Tally const tally(graph);
  for (auto _ : state) {
    Future<void> last = host_task("first", ResourcePolicy(graph), [] {});
    for (int k = 1; k < task_count; ++k)
      last = host_task("next", ResourcePolicy(graph, after(last)), [] {});
    graph.wait();
  }
  tally.report(state);
}
void chain_by_numbers(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  TaskNumbers const numbers(graph);
  Tally const tally(graph);
  for (auto _ : state) {
    TaskNumber last;
    for (int k = 0; k < task_count; ++k) {
      TaskNumber const own = numbers.reserve();
      host_task("next", ResourcePolicy(graph, number(own), after(last)), [] {});
      last = own;
    }
    graph.wait();
  }
  tally.report(state);
}

/// Each task of a step comes after its own of the step before and that one's neighbours.
constexpr std::size_t tiles = 100;

void stencil_by_futures(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  Tally const tally(graph);
  std::vector<Future<void>> before(tiles);
  std::vector<Future<void>> now(tiles);
  for (auto _ : state) {
    for (Future<void>& each : before) each = host_task("first", ResourcePolicy(graph), [] {});
    for (std::size_t step = 1; step < task_count / tiles; ++step) {
      for (std::size_t t = 0; t < tiles; ++t)
        now[t] = host_task("tile",
                           ResourcePolicy(graph, after(before[(t + tiles - 1) % tiles], before[t],
                                                       before[(t + 1) % tiles])),
                           [] {});
      before.swap(now);
    }
    graph.wait();
  }
  tally.report(state);
}
void stencil_by_numbers(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  TaskNumbers const numbers(graph);
  Tally const tally(graph);
  for (auto _ : state) {
    TaskNumber before = numbers.reserve(tiles);
    for (std::size_t t = 0; t < tiles; ++t)
      host_task("first", ResourcePolicy(graph, number(before + t)), [] {});
    for (std::size_t step = 1; step < task_count / tiles; ++step) {
      TaskNumber const now = numbers.reserve(tiles);
      for (std::size_t t = 0; t < tiles; ++t)
        host_task("tile",
                  ResourcePolicy(graph, number(now + t),
                                 after(before + (t + tiles - 1) % tiles, before + t,
                                       before + (t + 1) % tiles)),
                  [] {});
      before = now;
    }
    graph.wait();
  }
  tally.report(state);
}

#define MICRO_NAMED(f) \
  BENCHMARK(f)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond)
MICRO_NAMED(chain_by_futures);
MICRO_NAMED(chain_by_numbers);
MICRO_NAMED(stencil_by_futures);
MICRO_NAMED(stencil_by_numbers);
#undef MICRO_NAMED

}  // namespace
}  // namespace micro
