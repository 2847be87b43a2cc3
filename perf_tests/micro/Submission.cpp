// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Submission alone: a gate holds all tasks back until the clock has stopped.
#include "Gate.hpp"
#include "Measure.hpp"
#include "Readers.hpp"
#include "Ring.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

/// Times `submit(graph, gate)`, which must see to it that all of its tasks are held back: with
/// `after(gate)`, or by `accesses`, which are the gate's.
template <class Submit, class... Accesses>
void measure_submission(benchmark::State& state, Submit const& submit,
                        Accesses const&... accesses) {
  if (!can_hold_back(state)) return;
  TaskGraph graph(without_cap(1));
  auto const once = [&] {
    Gate gate(graph, accesses...);
    auto const begin = Clock::now();
    submit(graph, gate.task());
    double const seconds = seconds_since(begin);
    gate.open();
    graph.wait();  // before the gate is gone
    return seconds;
  };
  once();  // takes the memory
  Tally const tally(graph);
  for (auto _ : state) state.SetIterationTime(once());
  tally.report(state, static_cast<std::int64_t>(state.iterations()));
}

void submission_independent(benchmark::State& state) {
  std::vector<View> views;
  for (int k = 0; k < task_count; ++k) views.emplace_back("x", 1);
  measure_submission(state, [&](TaskGraph& graph, Future<void> const& gate) {
    for (View const& x : views)
      parallel_for("alone", ResourcePolicy(graph, 1, on<Space>, after(gate), write(x)), Nothing());
  });
}
BENCHMARK(submission_independent)->UseManualTime()->Unit(benchmark::kMillisecond);

void submission_stencil(benchmark::State& state) {
  Ring const ring(state.range(0));
  measure_submission(
      state, [&](TaskGraph& graph, Future<void> const&) { ring.submit(graph); },
      write(ring.field(0)), write(ring.field(1)));
}
BENCHMARK(submission_stencil)
    ->ArgName("tiles")
    ->Arg(10)
    ->Arg(1000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

template <std::size_t count>
void submission_readers(benchmark::State& state) {
  Readers const readers;
  measure_submission(state, [&](TaskGraph& graph, Future<void> const& gate) {
    readers.submit<count>(graph, after(gate));
  });
}

template <std::size_t... count>
bool register_readers(std::index_sequence<count...>) {
  (benchmark::RegisterBenchmark(Readers::name("submission_readers", count).c_str(),
                                &submission_readers<count>)
       ->UseManualTime()
       ->Unit(benchmark::kMillisecond),
   ...);
  return true;
}
bool const readers_are_registered = register_readers(Readers::counts());

}  // namespace
}  // namespace micro
