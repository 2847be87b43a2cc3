// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MICRO_MEASURE_HPP
#define TRELLIS_MICRO_MEASURE_HPP

#include <Trellis.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>

/// What all benchmarks share. Only what Trellis has offered since its first version is used, so
/// that the same source builds with older and newer ones.
namespace micro {

#ifdef KOKKOS_ENABLE_SERIAL
using Space = Kokkos::Serial;  // the least that Kokkos adds to an empty body
#else
using Space = Kokkos::DefaultHostExecutionSpace;
#endif
using View = Kokkos::View<double*, Kokkos::HostSpace>;

struct Nothing {
  KOKKOS_FUNCTION void operator()(int) const {}
};

/// Tasks of one iteration, where the pattern does not fix their number.
inline constexpr int task_count = 10000;

inline trellis::TaskGraphOptions with_workers(std::int64_t workers) {
  trellis::TaskGraphOptions options;
  options.name = "micro";
  options.workers = static_cast<int>(workers);
  options.threads_per_worker = 1;
  options.record = false;
  return options;
}

/// Tasks and edges since it was made.
class Tally {
 public:
  explicit Tally(trellis::TaskGraph const& graph)
      : m_graph(&graph), m_tasks(graph.submitted()), m_edges(graph.edges()) {}

  /// `untimed`: tasks that are not what is measured, without edges to tasks before them.
  void report(benchmark::State& state, std::int64_t untimed = 0) const {
    using benchmark::Counter;
    auto const tasks =
        static_cast<double>(m_graph->submitted() - m_tasks) - static_cast<double>(untimed);
    state.counters["time_per_task"] = Counter(tasks, Counter::kIsRate | Counter::kInvert);
    state.counters["tasks_per_second"] = Counter(tasks, Counter::kIsRate);
    state.counters["edges_per_task"] = static_cast<double>(m_graph->edges() - m_edges) / tasks;
  }

 private:
  trellis::TaskGraph const* m_graph;
  std::uint64_t m_tasks;
  std::uint64_t m_edges;
};

/// Times `submit()` together with the run of what it submits.
template <class Submit>
void measure_run(benchmark::State& state, trellis::TaskGraph& graph, Submit const& submit) {
  submit();  // starts the threads and takes the memory
  graph.wait();
  Tally const tally(graph);
  for (auto _ : state) {
    submit();
    graph.wait();
  }
  tally.report(state);
}

}  // namespace micro

#endif
