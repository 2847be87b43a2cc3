// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Time-step programs wait after each step: bursts of tasks of some microseconds, each followed by a
// wait. How much of the workers' time is work? And how long does it take until all workers work?
#include "Measure.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

/// Arithmetic that takes a while, without a look at the clock or at memory.
class Work {
 public:
  explicit Work(double microseconds) {
    using Clock = std::chrono::steady_clock;
    // The best of several: what disturbs a measurement makes it longer.
    constexpr std::int64_t trial = 100000;
    double best = 1e9;
    for (int k = 0; k < 20; ++k) {
      auto const begin = Clock::now();
      run(trial);
      best = std::min(
          best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / trial);
    }
    m_rounds = static_cast<std::int64_t>(microseconds / best);
  }
  void operator()() const { run(m_rounds); }
  /// Seconds that it takes on the calling thread alone, now: a machine that others share changes
  /// its speed from one second to the next.
  [[nodiscard]] double seconds() const {
    using Clock = std::chrono::steady_clock;
    constexpr int times = 400;
    auto const begin = Clock::now();
    for (int k = 0; k < times; ++k) (*this)();
    return std::chrono::duration<double>(Clock::now() - begin).count() / times;
  }

 private:
  static void run(std::int64_t rounds) {
    double x = 1.0;
    for (std::int64_t k = 0; k < rounds; ++k) benchmark::DoNotOptimize(x = x * 0.999999 + 1e-6);
  }

  std::int64_t m_rounds = 0;
};

/// `gap`: microseconds that the calling thread computes by itself between two bursts, which is not
/// timed; the workers go to sleep meanwhile. The counter `work` is work / (workers * time), at best
/// 1; of workers beyond the hardware's threads none counts. One iteration is some 100 ms of bursts,
/// before which is measured how long the work takes alone, and a burst that does not count.
void bursts(benchmark::State& state) {
  std::int64_t const tasks = state.range(0);
  Work const work(static_cast<double>(state.range(1)));
  Work const gap(static_cast<double>(state.range(2)));
  auto const workers = static_cast<double>(
      std::min<std::int64_t>(state.range(3), std::max(1U, std::thread::hardware_concurrency())));
  std::vector<View> tiles;
  for (int k = 0; k < 16; ++k) tiles.emplace_back("tile", 1);
  TaskGraph graph(with_workers(state.range(3)));
  auto const burst = [&] {
    for (std::int64_t k = 0; k < tasks; ++k)
      host_task("step", ResourcePolicy(graph, read_write(tiles[static_cast<std::size_t>(k % 16)])),
                work);
    graph.wait();
  };
  burst();
  auto const bursts_each =
      std::max<std::int64_t>(1, 100000 * state.range(3) / (tasks * state.range(1)));
  Tally const tally(graph);
  using benchmark::Counter;
  double alone = 0;
  double times_alone = 0;
  std::int64_t untimed = 0;
  for (auto _ : state) {
    std::chrono::duration<double> time{};
    alone += work.seconds();
    ++times_alone;
    for (std::int64_t k = 0; k < tasks; ++k) host_task("warm up", ResourcePolicy(graph), work);
    graph.wait();
    untimed += tasks;
    for (std::int64_t k = 0; k < bursts_each; ++k) {
      gap();
      auto const begin = std::chrono::steady_clock::now();
      burst();
      time += std::chrono::steady_clock::now() - begin;
    }
    state.SetIterationTime(time.count());
  }
  tally.report(state, untimed);
  state.counters["work"] =
      Counter(alone / times_alone * static_cast<double>(tasks * bursts_each) / workers,
              Counter::kIsIterationInvariantRate);
}
BENCHMARK(bursts)
    ->ArgNames({"tasks", "us", "gap", "workers"})
    ->ArgsProduct({{400}, {2, 5}, {0, 1000}, {1, 2}})
    ->ArgsProduct({{1600, 16000}, {5}, {0, 1000}, {1, 2}})
    ->Args({1600, 5, 0, 8})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// Chains of 100 tasks each, which do not depend on each other, submitted at once. Unless all
/// advance at the same pace, the last one is run alone. The counter is as above.
void chains(benchmark::State& state) {
  constexpr std::int64_t length = 100;
  std::int64_t const count = state.range(0);
  Work const work(static_cast<double>(state.range(1)));
  auto const workers = static_cast<double>(
      std::min<std::int64_t>(state.range(2), std::max(1U, std::thread::hardware_concurrency())));
  std::vector<View> tiles;
  for (std::int64_t k = 0; k < count; ++k) tiles.emplace_back("tile", 1);
  TaskGraph graph(with_workers(state.range(2)));
  auto const submit = [&] {
    for (std::int64_t step = 0; step < length; ++step)
      for (View const& tile : tiles)
        host_task("step", ResourcePolicy(graph, read_write(tile)), work);
    graph.wait();
  };
  submit();
  Tally const tally(graph);
  double alone = work.seconds();
  double times_alone = 1;
  for (auto _ : state) {
    submit();
    state.PauseTiming();
    alone += work.seconds();
    ++times_alone;
    state.ResumeTiming();
  }
  tally.report(state);
  state.counters["work"] =
      benchmark::Counter(alone / times_alone * static_cast<double>(count * length) / workers,
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(chains)
    ->ArgNames({"chains", "us", "workers"})
    ->ArgsProduct({{3, 8}, {20}, {2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// From the submission of a task for each worker, all of which sleep, until the last one has
/// started. The tasks sleep until then, so that a machine with fewer cores shows it, too.
void wake_all(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  std::int64_t const workers = state.range(0);
  TaskGraph graph(with_workers(workers));
  std::atomic<std::int64_t> missing{0};
  std::atomic<Clock::time_point> last{};
  auto const start_all = [&] {
    missing = workers;
    for (std::int64_t k = 0; k < workers; ++k)
      host_task("awake", ResourcePolicy(graph), [&] {
        if (missing.fetch_sub(1) == 1) last = Clock::now();
        while (missing.load() > 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      });
    graph.wait();
  };
  start_all();
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto const begin = Clock::now();
    start_all();
    state.SetIterationTime(std::chrono::duration<double>(last.load() - begin).count());
  }
}
BENCHMARK(wake_all)
    ->ArgName("workers")
    ->ArgsProduct({{2, 4, 16, 64}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace micro
