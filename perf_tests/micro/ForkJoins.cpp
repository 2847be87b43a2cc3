// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ForkJoins of empty children: what forking and joining them costs, beside OpenMP's tasks and
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

/// `fork-join(n)` forks and joins n children.
template <class Section>
void measure_fork_joins(benchmark::State& state, Section const& section) {
  constexpr int rounds = 100;
  std::int64_t const parts = state.range(0);
  section(parts);
  for (auto _ : state)
    for (int k = 0; k < rounds; ++k) section(parts);
  using benchmark::Counter;
  state.counters["time_per_part"] = Counter(static_cast<double>(parts * rounds),
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
void sections(benchmark::State& state) {
  TaskGraphOptions options = with_workers(state.range(1));
  options.orchestration = std::make_shared<Fixed<policy>>();
  TaskGraph graph(options);
  measure_fork_joins(state, [&](std::int64_t parts) {
    fork_join("section", ResourcePolicy(graph), [parts](TaskScope& section) {
      for (std::int64_t k = 0; k < parts; ++k) host_task("child", ResourcePolicy(section), [] {});
    });
  });
}
void fork_join_parallel(benchmark::State& state) {
  sections<ForkJoinPolicy::parallel>(state);
}
void fork_join_serial(benchmark::State& state) {
  sections<ForkJoinPolicy::serial>(state);
}

void with_parts(benchmark::internal::Benchmark* family) {
  family->ArgNames({"children", "workers"})
      ->ArgsProduct({{1, 4, 16, 64}, {1, 2}})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK(fork_join_parallel)->Apply(with_parts);
BENCHMARK(fork_join_serial)->Apply(with_parts);

#ifdef MICRO_HAS_TBB
void fork_join_onetbb(benchmark::State& state) {
  tbb::task_arena arena(static_cast<int>(state.range(1)));
  measure_fork_joins(state, [&](std::int64_t parts) {
    arena.execute([&] {
      tbb::task_group group;
      for (std::int64_t k = 0; k < parts; ++k) group.run([] {});
      group.wait();
    });
  });
}
BENCHMARK(fork_join_onetbb)->Apply(with_parts);
#endif

#ifdef _OPENMP
void fork_join_openmp(benchmark::State& state) {
  int const threads = static_cast<int>(state.range(1));
  measure_fork_joins(state, [&](std::int64_t parts) {
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskgroup
    for (std::int64_t k = 0; k < parts; ++k) {
#pragma omp task
      benchmark::ClobberMemory();
    }
  });
}
BENCHMARK(fork_join_openmp)->Apply(with_parts);
#endif

}  // namespace
}  // namespace micro

#endif
