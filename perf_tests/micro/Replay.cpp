// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans: the patterns of Patterns.cpp, recorded once and replayed.
#if __has_include(<Trellis_Plan.hpp>)

#include "Measure.hpp"
#include "Ring.hpp"

#include <Trellis_Plan.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

/// `tasks`: how many `submit()` submits.
template <class Submit>
void measure_replay(benchmark::State& state, TaskGraph& graph, std::int64_t tasks,
                    Submit const& submit) {
  Plan plan = graph.record(submit);
  graph.replay(plan, 1);  // starts the threads and takes the memory
  graph.wait();
  for (auto _ : state) {
    graph.replay(plan, 1);
    graph.wait();
  }
  using benchmark::Counter;
  auto const count = static_cast<double>(tasks);
  state.counters["time_per_task"] =
      Counter(count, Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["tasks_per_second"] = Counter(count, Counter::kIsIterationInvariantRate);
}

void replay_stencil(benchmark::State& state) {
  Ring const ring(state.range(0));
  TaskGraph graph(with_workers(state.range(1)));
  measure_replay(state, graph, ring.steps() * state.range(0), [&] { ring.submit(graph); });
}
BENCHMARK(replay_stencil)
    ->ArgNames({"tiles", "workers"})
    ->ArgsProduct({{10, 1000, 10000}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// As programs do it: one plan of two steps, many times.
void replay_steps(benchmark::State& state) {
  Ring const ring(state.range(0));
  std::int64_t const times = ring.steps() / 2;
  TaskGraph graph(with_workers(state.range(1)));
  Plan plan = graph.record([&] { ring.submit(graph, 2); });
  graph.replay(plan, 1);
  graph.wait();
  for (auto _ : state) {
    graph.replay(plan, static_cast<int>(times));
    graph.wait();
  }
  using benchmark::Counter;
  state.counters["time_per_task"] = Counter(static_cast<double>(2 * times * state.range(0)),
                                            Counter::kIsIterationInvariantRate | Counter::kInvert);
}
BENCHMARK(replay_steps)
    ->ArgNames({"tiles", "workers"})
    ->ArgsProduct({{10, 1000, 10000}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// The same as a loop that `iterate` makes plans of: iterations of two steps, each with functors of
// its own.
void iterate_steps(benchmark::State& state) {
  Ring const ring(state.range(0));
  std::int64_t const iterations = ring.steps() / 2;
  TaskGraph graph(with_workers(state.range(1)));
  auto const loop = [&](std::int64_t times) {
    graph.iterate("steps", static_cast<std::uint64_t>(times), [&] { ring.submit(graph, 2); });
    graph.wait();
  };
  loop(2);
  for (auto _ : state) loop(iterations);
  using benchmark::Counter;
  state.counters["time_per_task"] = Counter(static_cast<double>(2 * iterations * state.range(0)),
                                            Counter::kIsIterationInvariantRate | Counter::kInvert);
}
BENCHMARK(iterate_steps)
    ->ArgNames({"tiles", "workers"})
    ->ArgsProduct({{1, 10, 1000}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void replay_chain(benchmark::State& state) {
  View const x("x", 1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_replay(state, graph, task_count, [&] {
    for (int k = 0; k < task_count; ++k)
      parallel_for("link", ResourcePolicy(graph, 1, on<Space>, read_write(x)), Nothing());
  });
}
BENCHMARK(replay_chain)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void replay_independent(benchmark::State& state) {
  std::vector<View> views;
  for (int k = 0; k < task_count; ++k) views.emplace_back("x", 1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_replay(state, graph, task_count, [&] {
    for (View const& x : views)
      parallel_for("alone", ResourcePolicy(graph, 1, on<Space>, write(x)), Nothing());
  });
}
BENCHMARK(replay_independent)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// What the first time costs.
void record_stencil(benchmark::State& state) {
  Ring const ring(state.range(0));
  TaskGraph graph(with_workers(1));
  for (auto _ : state) {
    Plan plan = graph.record([&] { ring.submit(graph); });
    benchmark::DoNotOptimize(&plan);
    graph.wait();
  }
  using benchmark::Counter;
  state.counters["time_per_task"] = Counter(static_cast<double>(ring.steps() * state.range(0)),
                                            Counter::kIsIterationInvariantRate | Counter::kInvert);
}
BENCHMARK(record_stencil)
    ->ArgName("tiles")
    ->Arg(10)
    ->Arg(1000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro

#endif
