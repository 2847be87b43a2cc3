// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many tasks: what they cost, and what they hold, as their number grows and while they wait.
#include "Memory.hpp"

#include "Gate.hpp"
#include "Measure.hpp"
#include "Ring.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

constexpr std::int64_t ring_tiles = 1000;

// What a graph takes once must be there before: as many tasks in flight as there may be, and 100
// 000 tasks.
void warm_up(TaskGraph& graph, Ring const& ring) {
  ring.submit(graph, 100'000 / ring_tiles);
  graph.wait();
  auto const room = static_cast<std::int64_t>(*graph.options().in_flight) - 1;
  Gate gate(graph, write(ring.field(0)), write(ring.field(1)));
  ring.submit_tasks(graph, room);
  gate.open();
  graph.wait();
}

void stencil_tasks(benchmark::State& state) {
  if (!can_hold_back(state)) return;
  std::int64_t const tasks = state.range(0);
  Ring const ring(ring_tiles);
  bool const can_tell = restart_peak();
  TaskGraph graph(with_workers(state.range(1)));
  warm_up(graph, ring);
  std::optional<std::int64_t> const held = peak_resident_bytes();
  Tally const tally(graph);
  for (auto _ : state) {
    ring.submit(graph, tasks / ring_tiles);
    graph.wait();
  }
  std::optional<std::int64_t> const peak = peak_resident_bytes();
  tally.report(state);
  if (can_tell && held && peak)
    state.counters["bytes_per_task_grown"] =
        static_cast<double>(*peak - *held) / static_cast<double>(state.iterations() * tasks);
}
BENCHMARK(stencil_tasks)
    ->ArgNames({"tasks", "workers"})
    ->ArgsProduct({{10'000, 100'000, 1'000'000, 10'000'000}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// `submit(graph, gate, count)` submits that many tasks, all behind the gate. The time is that of
/// submitting them into a new graph.
template <class Submit, class... Accesses>
void measure_in_flight(benchmark::State& state, Submit const& submit, Accesses const&... accesses) {
  if (!can_hold_back(state)) return;
  std::int64_t const cap = state.range(0);
  TaskGraphOptions options = with_workers(1);
  options.in_flight = static_cast<std::size_t>(cap);
  for (auto _ : state) {
    TaskGraph graph(options);
    Gate gate(graph, accesses...);
    std::optional<std::int64_t> const before = allocated_bytes();
    std::size_t const slab_before = graph.task_memory();
    auto const begin = Clock::now();
    submit(graph, gate.task(), cap - 1);  // with the gate they fill the cap
    state.SetIterationTime(seconds_since(begin));
    std::optional<std::int64_t> const held = allocated_bytes();
    auto const tasks = static_cast<double>(graph.in_flight() - 1);
    if (tasks != static_cast<double>(cap - 1)) state.SkipWithError("the tasks are not held back");
    state.counters["task_memory_per_task"] =
        static_cast<double>(graph.task_memory() - slab_before) / tasks;
    if (before && held)
      state.counters["bytes_per_task_in_flight"] = static_cast<double>(*held - *before) / tasks;
    state.counters["time_per_task"] = benchmark::Counter(
        tasks, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    gate.open();
    graph.wait();
  }
}

void in_flight_host_tasks(benchmark::State& state) {
  measure_in_flight(state, [](TaskGraph& graph, Future<void> const& gate, std::int64_t count) {
    for (std::int64_t k = 0; k != count; ++k)
      host_task("host", ResourcePolicy(graph, after(gate)), [] {});
  });
}

void in_flight_chain(benchmark::State& state) {
  View const x("x", 1);
  measure_in_flight(
      state,
      [&](TaskGraph& graph, Future<void> const&, std::int64_t count) {
        for (std::int64_t k = 0; k != count; ++k)
          parallel_for("link", ResourcePolicy(graph, 1, on<Space>, read_write(x)), Nothing());
      },
      write(x));
}

void in_flight_independent(benchmark::State& state) {
  std::vector<View> views;
  for (std::int64_t k = 1; k != state.range(0); ++k) views.emplace_back("x", 1);
  measure_in_flight(state, [&](TaskGraph& graph, Future<void> const& gate, std::int64_t count) {
    for (std::int64_t k = 0; k != count; ++k)
      parallel_for("alone",
                   ResourcePolicy(graph, 1, on<Space>, after(gate),
                                  write(views[static_cast<std::size_t>(k)])),
                   Nothing());
  });
}

void in_flight_stencil(benchmark::State& state) {
  Ring const ring(ring_tiles);
  measure_in_flight(
      state,
      [&](TaskGraph& graph, Future<void> const&, std::int64_t count) {
        ring.submit_tasks(graph, count);
      },
      write(ring.field(0)), write(ring.field(1)));
}

// A functor that is larger than the room that a task has for it.
void in_flight_large_functors(benchmark::State& state) {
  struct Large {
    double values[64] = {};
    KOKKOS_FUNCTION void operator()(int) const {}
  };
  measure_in_flight(state, [](TaskGraph& graph, Future<void> const& gate, std::int64_t count) {
    for (std::int64_t k = 0; k != count; ++k)
      parallel_for("large", ResourcePolicy(graph, 1, on<Space>, after(gate)), Large());
  });
}

template <class Rows>
void caps(Rows* rows) {
  rows->ArgName("in_flight")->Arg(1024)->Arg(16384)->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(in_flight_host_tasks)->Apply(caps);
BENCHMARK(in_flight_chain)->Apply(caps);
BENCHMARK(in_flight_independent)->Apply(caps);
BENCHMARK(in_flight_stencil)->Apply(caps);
BENCHMARK(in_flight_large_functors)->Apply(caps);

}  // namespace
}  // namespace micro
