// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fork-joins of empty children: what forking and joining them costs, beside OpenMP's tasks and
// oneTBB's task groups where there are any. The counters are per child.
#if __has_include(<patterns/Trellis_ForkJoin.hpp>)

#include "Measure.hpp"

#include <Trellis_Fusion.hpp>

#ifdef MICRO_HAS_TBB
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

#include <cstdint>

namespace micro {
namespace {

using namespace trellis;

/// `run(n)` forks and joins n children.
template <class Run>
void measure_fork_joins(benchmark::State& state, Run const& run) {
  constexpr int rounds = 100;
  std::int64_t const children = state.range(0);
  run(children);
  for (auto _ : state)
    for (int k = 0; k < rounds; ++k) run(children);
  using benchmark::Counter;
  state.counters["time_per_child"] = Counter(static_cast<double>(children * rounds),
                                             Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["time_per_fork_join"] =
      Counter(rounds, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

template <ForkJoinPolicy policy>
struct Fixed final : Orchestration {
  [[nodiscard]] std::string name() const override { return "fixed"; }
  [[nodiscard]] ForkJoinPolicy fork_join(int, std::size_t, TaskKind) override { return policy; }
};

template <ForkJoinPolicy policy>
void fork_joins(benchmark::State& state) {
  TaskGraphOptions options = with_workers(state.range(1));
  options.orchestration = std::make_shared<Fixed<policy>>();
  TaskGraph graph(options);
  measure_fork_joins(state, [&](std::int64_t children) {
    fork_join("fork", ResourcePolicy(graph), [children](TaskScope& self) {
      for (std::int64_t k = 0; k < children; ++k) host_task("child", ResourcePolicy(self), [] {});
    });
  });
}
void fork_join_parallel(benchmark::State& state) {
  fork_joins<ForkJoinPolicy::parallel>(state);
}
void fork_join_serial(benchmark::State& state) {
  fork_joins<ForkJoinPolicy::serial>(state);
}

void with_children(benchmark::internal::Benchmark* family) {
  family->ArgNames({"children", "workers"})
      ->ArgsProduct({{1, 4, 16, 64}, {1, 2}})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK(fork_join_parallel)->Apply(with_children);
BENCHMARK(fork_join_serial)->Apply(with_children);

#ifdef MICRO_HAS_TBB
void fork_join_onetbb(benchmark::State& state) {
  tbb::task_arena arena(static_cast<int>(state.range(1)));
  measure_fork_joins(state, [&](std::int64_t children) {
    arena.execute([&] {
      tbb::task_group group;
      for (std::int64_t k = 0; k < children; ++k) group.run([] {});
      group.wait();
    });
  });
}
BENCHMARK(fork_join_onetbb)->Apply(with_children);
#endif

#ifdef _OPENMP
void fork_join_openmp(benchmark::State& state) {
  int const threads = static_cast<int>(state.range(1));
  measure_fork_joins(state, [&](std::int64_t children) {
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskgroup
    for (std::int64_t k = 0; k < children; ++k) {
#pragma omp task
      benchmark::ClobberMemory();
    }
  });
}
BENCHMARK(fork_join_openmp)->Apply(with_children);
#endif

}  // namespace
}  // namespace micro

#endif
