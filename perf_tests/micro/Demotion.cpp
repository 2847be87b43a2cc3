// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that give up accesses while they run and others wait for them.
#include "Gate.hpp"
#include "Measure.hpp"
#include "Ring.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

enum How : std::int64_t { keep = 0, to_read = 1, give_up = 2 };

// Each group: a task that writes, and `successors` that read and wait for it. All groups wait for a
// gate.
void demotion(benchmark::State& state, How how) {
  std::int64_t const successors = state.range(0);
  std::vector<View> views;
  for (std::int64_t k = 0; k != task_count / (successors + 1); ++k) views.emplace_back("x", 1);
  measure_execution(state, state.range(1), [&](TaskGraph& graph, Future<void> const& gate) {
    for (View const& x : views) {
      host_task("writer", ResourcePolicy(graph, after(gate), write(x)), [&x, how](TaskScope& self) {
        if (how == to_read) self.demote(read(x));
        if (how == give_up) self.release(x);
      });
      for (std::int64_t k = 0; k != successors; ++k)
        parallel_for("reader", ResourcePolicy(graph, 1, on<Space>, read(x)), Nothing());
    }
  });
}

template <class Rows>
void groups(Rows* rows) {
  rows->ArgNames({"successors", "workers"})
      ->ArgsProduct({{0, 1, 10, 100}, {1, 2}})
      ->UseManualTime();
  rows->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(demotion, none, keep)->Name("demoted_not")->Apply(groups);
BENCHMARK_CAPTURE(demotion, to_read, to_read)->Name("demoted_to_read")->Apply(groups);
BENCHMARK_CAPTURE(demotion, release, give_up)->Name("released")->Apply(groups);

// As a chain: each task demotes what it has to reading, behind it one reads, behind that the next
// one writes. What has to be looked at is what waits on the same View.
void demoted_in_chain(benchmark::State& state) {
  View const x("x", 1);
  measure_execution(
      state, state.range(0),
      [&](TaskGraph& graph, Future<void> const&) {
        for (int k = 0; k != task_count / 2; ++k) {
          host_task("writer", ResourcePolicy(graph, read_write(x)),
                    [&x](TaskScope& self) { self.demote(read(x)); });
          parallel_for("reader", ResourcePolicy(graph, 1, on<Space>, read(x)), Nothing());
        }
      },
      write(x));
}
BENCHMARK(demoted_in_chain)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// As messages of one channel do: each task gives that up, and the next one is let go. What it costs
// must not depend on the number behind it.
void released_in_chain(benchmark::State& state, How how) {
  View const x("x", static_cast<std::size_t>(state.range(0)));
  Token const channel("channel");
  measure_execution(state, state.range(1), [&](TaskGraph& graph, Future<void> const& gate) {
    for (std::int64_t k = 0; k != state.range(0); ++k)
      host_task("message",
                ResourcePolicy(graph, after(gate), read(Kokkos::subview(x, std::pair(k, k + 1))),
                               read_write(channel)),
                [&channel, how](TaskScope& self) {
                  if (how == give_up) self.release(channel);
                });
  });
}
template <class Rows>
void chains(Rows* rows) {
  rows->ArgNames({"tasks", "workers"})->ArgsProduct({{20, 1000, 10000}, {1, 2}})->UseManualTime();
  rows->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(released_in_chain, none, keep)->Name("chain_not_released")->Apply(chains);
BENCHMARK_CAPTURE(released_in_chain, release, give_up)->Name("chain_released")->Apply(chains);

// What other tasks pay in a graph where one has demoted: `stencil` behind a single demotion, long
// over.
void stencil_after_demotion(benchmark::State& state) {
  Ring const ring(state.range(0));
  View const x("x", 1);
  TaskGraph graph(with_workers(state.range(1)));
  host_task("demotes", ResourcePolicy(graph, write(x)),
            [&x](TaskScope& self) { self.demote(read(x)); });
  measure_run(state, graph, [&] { ring.submit(graph); });
}
BENCHMARK(stencil_after_demotion)
    ->ArgNames({"tiles", "workers"})
    ->ArgsProduct({{10, 1000}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro
