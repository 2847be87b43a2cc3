// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Submission alone: a gate holds all tasks back until the clock has stopped.
#include "Gate.hpp"
#include "Measure.hpp"
#include "Readers.hpp"
#include "Ring.hpp"

#include <Trellis_Resources.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// What an access costs whose number is known at run time: tasks that read so many Views of a few
/// hundred. `submit(policy..., views)`.
template <class Submit>
void measure_accesses(benchmark::State& state, Submit const& submit) {
  auto const count = static_cast<std::size_t>(state.range(0));
  std::vector<View> views;
  for (std::size_t k = 0; k < 256 + count; ++k) views.emplace_back("x", 1);
  std::size_t const tasks = std::max<std::size_t>(task_count / count, 100);
  measure_submission(state, [&](TaskGraph& graph, Future<void> const& gate) {
    for (std::size_t k = 0; k < tasks; ++k)
      submit(graph, gate, std::span<View const>(views).subspan(k % 256, count));
  });
  state.counters["time_per_access"] = benchmark::Counter(
      static_cast<double>(tasks * count) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

struct TakesFour {
  using V = read_view<View>;
  KOKKOS_FUNCTION void operator()(int, V const&, V const&, V const&, V const&) const {}
};
struct TakesList {
  KOKKOS_FUNCTION void operator()(int, read_view_list<View> const&) const {}
};
template <class Functor>
void submission_fixed(benchmark::State& state) {
  measure_accesses(state, [](TaskGraph& graph, Future<void> const& gate, auto x) {
    parallel_for("fixed",
                 ResourcePolicy(graph, 1, on<Space>, after(gate), read(x[0]), read(x[1]),
                                read(x[2]), read(x[3])),
                 Functor());
  });
}
template <class Functor>
void submission_range(benchmark::State& state) {
  measure_accesses(state, [](TaskGraph& graph, Future<void> const& gate, auto x) {
    parallel_for("range", ResourcePolicy(graph, 1, on<Space>, after(gate), read(x)), Functor());
  });
}
/// Filled for each task.
void submission_access_list(benchmark::State& state) {
  AccessList list;
  measure_accesses(state, [&](TaskGraph& graph, Future<void> const& gate, auto x) {
    list.clear();
    list.read(x);
    parallel_for("list", ResourcePolicy(graph, 1, on<Space>, after(gate), list), Nothing());
  });
}

void register_accesses(char const* name, void (*measure)(benchmark::State&), bool is_fixed) {
  auto* const rows = benchmark::RegisterBenchmark(name, measure)->ArgName("accesses")->Arg(4);
  if (!is_fixed) rows->Arg(16)->Arg(256);
  rows->UseManualTime()->Unit(benchmark::kMillisecond);
}
bool const accesses_are_registered = [] {
  register_accesses("submission_fixed", &submission_fixed<Nothing>, true);
  register_accesses("submission_range", &submission_range<Nothing>, false);
  register_accesses("submission_access_list", &submission_access_list, false);
  register_accesses("submission_fixed_as_arguments", &submission_fixed<TakesFour>, true);
  register_accesses("submission_range_as_argument", &submission_range<TakesList>, false);
  return true;
}();

}  // namespace
}  // namespace micro
