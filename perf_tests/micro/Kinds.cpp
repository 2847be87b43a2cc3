// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks other than `parallel_for`, and results.
#include "Measure.hpp"

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;
using Scalar = Kokkos::View<double, Kokkos::HostSpace>;

struct Sum {
  KOKKOS_FUNCTION void operator()(int i, double& sum) const { sum += i; }
};
struct PrefixSum {
  KOKKOS_FUNCTION void operator()(int i, double& sum, bool) const { sum += i; }
};

template <class Rows>
void workers(Rows* rows) {
  rows->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
}

/// Each task works on one of these, in turn.
constexpr std::size_t view_count = 100;

struct Views {
  explicit Views(std::size_t extent) {
    for (std::size_t k = 0; k != view_count; ++k) views.emplace_back("x", extent);
  }
  View const& operator[](int k) const { return views[static_cast<std::size_t>(k) % view_count]; }
  std::vector<View> views;
};

void reductions(benchmark::State& state) {
  Views const x(1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      parallel_reduce("sum", ResourcePolicy(graph, 1, on<Space>, read(x[k])), Sum());
  });
}
BENCHMARK(reductions)->Apply(workers);

void reductions_into_views(benchmark::State& state) {
  Views const x(1);
  std::vector<Scalar> sums;
  for (std::size_t k = 0; k != view_count; ++k) sums.emplace_back("sum");
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      parallel_reduce("sum", ResourcePolicy(graph, 1, on<Space>, read(x[k])), Sum(),
                      sums[static_cast<std::size_t>(k) % view_count]);
  });
}
BENCHMARK(reductions_into_views)->Apply(workers);

void scans(benchmark::State& state) {
  Views const x(1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      parallel_scan("scan", ResourcePolicy(graph, 1, on<Space>, write(x[k])), PrefixSum());
  });
}
BENCHMARK(scans)->Apply(workers);

// On Kokkos' default host space, as deep_copy chooses itself where it runs.
void deep_copies(benchmark::State& state) {
  Views const x(8);
  Views const y(8);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k) deep_copy("copy", graph, y[k], x[k]);
  });
}
BENCHMARK(deep_copies)->Apply(workers);

void fills(benchmark::State& state) {
  Views const x(8);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k) deep_copy("fill", graph, x[k], 1.0);
  });
}
BENCHMARK(fills)->Apply(workers);

void space_tasks(benchmark::State& state) {
  Views const x(1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      space_task("call", ResourcePolicy(graph, on<Space>, write(x[k])), [](Space const&) {});
  });
}
BENCHMARK(space_tasks)->Apply(workers);

template <std::size_t count>
void host_task_writers(benchmark::State& state) {
  std::vector<Views> x;
  for (std::size_t a = 0; a != count; ++a) x.emplace_back(1);
  TaskGraph graph(with_workers(1));
  auto const submit = [&]<std::size_t... I>(std::index_sequence<I...>, [[maybe_unused]] int k) {
    host_task("host", ResourcePolicy(graph, write(x[I][k])...), [] {});
  };
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k) submit(std::make_index_sequence<count>(), k);
  });
}

template <std::size_t... count>
bool register_host_tasks(std::index_sequence<count...>) {
  (benchmark::RegisterBenchmark(("host_task_writers/accesses:" + std::to_string(count)).c_str(),
                                &host_task_writers<count>)
       ->UseRealTime()
       ->Unit(benchmark::kMillisecond),
   ...);
  return true;
}
bool const host_tasks_are_registered = register_host_tasks(std::make_index_sequence<9>());

// All results are asked for when all tasks are submitted.
void futures(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  std::vector<Future<int>> results;
  results.reserve(task_count);
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      results.push_back(host_task("one", ResourcePolicy(graph), [] { return 1; }));
    int sum = 0;
    for (Future<int> const& result : results) sum += result.get();
    if (sum != task_count) state.SkipWithError("a result is wrong");
    results.clear();
  });
}
BENCHMARK(futures)->Apply(workers);

// Each result is asked for before the next task is submitted: the way there and back.
template <class Submit>
void measure_round_trips(benchmark::State& state, TaskGraph& graph, Submit const& submit) {
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count / 10; ++k) {
      auto result = submit().get();
      benchmark::DoNotOptimize(result);
    }
  });
}

void round_trip_host_task(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  measure_round_trips(state, graph,
                      [&] { return host_task("one", ResourcePolicy(graph), [] { return 1; }); });
}
BENCHMARK(round_trip_host_task)->Apply(workers);

void round_trip_reduction(benchmark::State& state) {
  View const x("x", 1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_round_trips(state, graph, [&] {
    return parallel_reduce("sum", ResourcePolicy(graph, 1, on<Space>, read(x)), Sum());
  });
}
BENCHMARK(round_trip_reduction)->Apply(workers);

// The same without a result.
void round_trip_wait(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count / 10; ++k) {
      host_task("one", ResourcePolicy(graph), [] {});
      graph.wait();
    }
  });
}
BENCHMARK(round_trip_wait)->Apply(workers);

}  // namespace
}  // namespace micro
