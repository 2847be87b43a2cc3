// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tree of empty tasks, each of which waits for its two halves: what forking and joining costs,
// beside oneTBB's task groups where CMake finds them. The counters are per task of the tree.
#include "Measure.hpp"

#ifdef MICRO_HAS_TBB
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

#include <cstdint>

namespace micro {
namespace {

using namespace trellis;

void fork_and_wait(TaskScope& self, std::int64_t depth) {
  if (depth == 0) return;
  for (int half = 0; half != 2; ++half)
    host_task("half", ResourcePolicy(self),
              [depth](TaskScope& inner) { fork_and_wait(inner, depth - 1); });
  self.wait();
}

std::int64_t fork_and_get(TaskScope& self, std::int64_t depth) {
  if (depth == 0) return 1;
  auto const half = [depth](TaskScope& inner) { return fork_and_get(inner, depth - 1); };
  auto const left = host_task("left", ResourcePolicy(self), half);
  auto const right = host_task("right", ResourcePolicy(self), half);
  return left.get() + right.get();
}

void recursion_wait(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    host_task("whole", ResourcePolicy(graph),
              [&](TaskScope& self) { fork_and_wait(self, state.range(0)); });
  });
}

void recursion_get(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    auto const whole = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
      return fork_and_get(self, state.range(0));
    });
    if (whole.get() != std::int64_t{1} << state.range(0)) state.SkipWithError("leaves are missing");
  });
}

void with_trees(benchmark::internal::Benchmark* family) {
  family->ArgNames({"depth", "workers"})
      ->ArgsProduct({{1, 14}, {1, 2}})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}
BENCHMARK(recursion_wait)->Apply(with_trees);
BENCHMARK(recursion_get)->Apply(with_trees);

#ifdef MICRO_HAS_TBB
void fork_and_wait_in_groups(std::int64_t depth) {
  if (depth == 0) return;
  tbb::task_group halves;
  for (int half = 0; half != 2; ++half) halves.run([depth] { fork_and_wait_in_groups(depth - 1); });
  halves.wait();
}

void recursion_onetbb(benchmark::State& state) {
  tbb::task_arena arena(static_cast<int>(state.range(1)));
  auto const once = [&] { arena.execute([&] { fork_and_wait_in_groups(state.range(0)); }); };
  once();
  for (auto _ : state) once();
  using benchmark::Counter;
  auto const tasks = static_cast<double>((std::int64_t{2} << state.range(0)) - 1);
  state.counters["time_per_task"] =
      Counter(tasks, Counter::kIsIterationInvariantRate | Counter::kInvert);
}
BENCHMARK(recursion_onetbb)->Apply(with_trees);
#endif

}  // namespace
}  // namespace micro
