// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Submission and run together, for the shapes that a graph can have.
#include "Measure.hpp"
#include "Readers.hpp"
#include "Ring.hpp"
#include "Workers.hpp"

#include <Trellis_Observation.hpp>

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

void stencil(benchmark::State& state) {
  Ring const ring(state.range(0));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] { ring.submit(graph); });
}
BENCHMARK(stencil)
    ->ArgNames({"tiles", "workers"})
    ->ArgsProduct({{10, 100, 1000, 10000, 100000}, {1, 2}})
    ->Apply(with_more_workers<1000>)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void chain(benchmark::State& state) {
  View const x("x", 1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      parallel_for("link", ResourcePolicy(graph, 1, on<Space>, read_write(x)), Nothing());
  });
}
BENCHMARK(chain)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void independent(benchmark::State& state) {
  std::vector<View> views;
  for (int k = 0; k < task_count; ++k) views.emplace_back("x", 1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (View const& x : views)
      parallel_for("alone", ResourcePolicy(graph, 1, on<Space>, write(x)), Nothing());
  });
}
BENCHMARK(independent)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->Apply(with_more_workers<>)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

template <std::size_t count>
void readers(benchmark::State& state) {
  Readers const pattern;
  TaskGraph graph(with_workers(1));
  measure_run(state, graph, [&] { pattern.submit<count>(graph); });
}

template <std::size_t... count>
bool register_readers(std::index_sequence<count...>) {
  (benchmark::RegisterBenchmark(Readers::name("readers", count).c_str(), &readers<count>)
       ->UseRealTime()
       ->Unit(benchmark::kMillisecond),
   ...);
  return true;
}
bool const readers_are_registered = register_readers(Readers::counts());

// All of them are ready at once and wait for the token, so this is also about how many wait.
void exclusive_tasks(benchmark::State& state) {
  Token const token("token");
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      parallel_for("exclusive", ResourcePolicy(graph, 1, on<Space>, exclusive(token)), Nothing());
  });
}
BENCHMARK(exclusive_tasks)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void host_tasks(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k) host_task("host", ResourcePolicy(graph), [] {});
  });
}
BENCHMARK(host_tasks)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

#if __has_include(<Trellis_Completion.hpp>)
/// That are over when a Completion says so, which the body does.
void late_tasks(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      host_task("late", ResourcePolicy(graph), [](Completion<> completion) { completion.done(); });
  });
}
BENCHMARK(late_tasks)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// That a progress function completes.
void late_tasks_polled(benchmark::State& state) {
  TaskGraph graph(with_workers(state.range(0)));
  std::mutex mutex;
  std::vector<Completion<>> open;
  Progress progress = graph.add_progress([&] {
    std::vector<Completion<>> taken;
    {
      std::lock_guard const lock(mutex);
      taken.swap(open);
    }
    for (Completion<>& each : taken) each.done();
    return false;
  });
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      host_task("late", ResourcePolicy(graph), [&](Completion<> completion) {
        {
          std::lock_guard const lock(mutex);
          open.push_back(std::move(completion));
        }
        progress.ask();
      });
  });
}
BENCHMARK(late_tasks_polled)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
#endif

}  // namespace
}  // namespace micro
