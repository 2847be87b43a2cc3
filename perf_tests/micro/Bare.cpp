// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kokkos without tasks, on an instance as each worker has one: what a task's body costs in any
// case.
#include "Measure.hpp"

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace micro {
namespace {

Space make_instance() {
#ifdef KOKKOS_ENABLE_SERIAL
  return Space(Kokkos::NewInstance{});
#else
  if constexpr (std::is_constructible_v<Space, int>)
    return Space(1);  // a pool of one thread
  else
    return Space();
#endif
}

using Range = Kokkos::RangePolicy<Space>;

/// `launch(instance)` counts as a task.
template <class Launch>
void measure_launches(benchmark::State& state, Launch const& launch) {
  Space const instance = make_instance();
  for (auto _ : state) {
    for (int k = 0; k < task_count; ++k) launch(instance);
    instance.fence("micro");
  }
  using benchmark::Counter;
  state.counters["time_per_task"] =
      Counter(task_count, Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["tasks_per_second"] = Counter(task_count, Counter::kIsIterationInvariantRate);
}

void kokkos_launch(benchmark::State& state) {
  measure_launches(
      state, [](Space const& instance) { Kokkos::parallel_for(Range(instance, 0, 1), Nothing()); });
}
BENCHMARK(kokkos_launch)->UseRealTime()->Unit(benchmark::kMillisecond);

void kokkos_launch_label(benchmark::State& state) {
  measure_launches(state, [](Space const& instance) {
    Kokkos::parallel_for("a label longer than fifteen characters", Range(instance, 0, 1),
                         Nothing());
  });
}
BENCHMARK(kokkos_launch_label)->UseRealTime()->Unit(benchmark::kMillisecond);

struct Sum {
  KOKKOS_FUNCTION void operator()(int i, double& sum) const { sum += i; }
  KOKKOS_FUNCTION void operator()(int i, double& sum, bool) const { sum += i; }
};

void kokkos_reduce(benchmark::State& state) {
  measure_launches(state, [](Space const& instance) {
    double sum = 0;
    Kokkos::parallel_reduce(Range(instance, 0, 1), Sum(), sum);
    benchmark::DoNotOptimize(sum);
  });
}
BENCHMARK(kokkos_reduce)->UseRealTime()->Unit(benchmark::kMillisecond);

void kokkos_scan(benchmark::State& state) {
  measure_launches(state, [](Space const& instance) {
    double sum = 0;
    Kokkos::parallel_scan(Range(instance, 0, 1), Sum(), sum);
    benchmark::DoNotOptimize(sum);
  });
}
BENCHMARK(kokkos_scan)->UseRealTime()->Unit(benchmark::kMillisecond);

void kokkos_deep_copy(benchmark::State& state) {
  View const from("from", 8);
  View const to("to", 8);
  measure_launches(state, [&](Space const& instance) { Kokkos::deep_copy(instance, to, from); });
}
BENCHMARK(kokkos_deep_copy)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro
