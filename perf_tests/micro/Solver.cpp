// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The processor time of an iterative solver whose steps have two global sums. Threads that have
// nothing to do in between must not burn it.
#if __has_include(<Trellis_Plan.hpp>)

#include "Cpu.hpp"
#include "Measure.hpp"

#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

using Field = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Sums = Kokkos::View<double*, Kokkos::HostSpace>;
using Scalar = Kokkos::View<double, Kokkos::HostSpace>;

/// The conjugate gradients of Poisson's equation in a rectangle, in slabs of rows. A loop over a
/// slab takes about 100 us.
class Problem {
 public:
  static constexpr int rows = 1024;
  static constexpr int columns = 1024;
  static constexpr int slabs = 16;

  Problem()
      : x("x", rows + 2, columns + 2),
        r("r", rows + 2, columns + 2),
        p("p", rows + 2, columns + 2),
        q("q", rows + 2, columns + 2),
        of_apply("p.q", slabs),
        of_update("r.r", slabs),
        rr("rr"),
        alpha("alpha"),
        beta("beta") {
    begin();
  }
  void begin() const {
    Kokkos::deep_copy(x, 0.0);
    for (int i = 1; i <= rows; ++i)
      for (int j = 1; j <= columns; ++j) r(i, j) = p(i, j) = std::sin(0.01 * i * j);
    for (int s = 0; s < slabs; ++s) {
      double sum = 0;
      for (auto [i, end] = of_slab(s); i < end; ++i)
        for (int j = 1; j <= columns; ++j) sum += r(i, j) * r(i, j);
      of_update(s) = sum;
    }
    rr() = sum_of(of_update);
  }
  static std::pair<int, int> of_slab(int s) {
    return {1 + rows * s / slabs, 1 + rows * (s + 1) / slabs};
  }

  // The steps, for one slab:
  void apply(int s) const {  // q = A p
    double sum = 0;
    for (auto [i, end] = of_slab(s); i < end; ++i)
      for (int j = 1; j <= columns; ++j) {
        q(i, j) = 4 * p(i, j) - p(i - 1, j) - p(i + 1, j) - p(i, j - 1) - p(i, j + 1);
        sum += p(i, j) * q(i, j);
      }
    of_apply(s) = sum;
  }
  void update(int s) const {
    double sum = 0;
    for (auto [i, end] = of_slab(s); i < end; ++i)
      for (int j = 1; j <= columns; ++j) {
        x(i, j) += alpha() * p(i, j);
        r(i, j) -= alpha() * q(i, j);
        sum += r(i, j) * r(i, j);
      }
    of_update(s) = sum;
  }
  void direct(int s) const {
    for (auto [i, end] = of_slab(s); i < end; ++i)
      for (int j = 1; j <= columns; ++j) p(i, j) = r(i, j) + beta() * p(i, j);
  }
  // And for the numbers:
  void find_alpha() const { alpha() = rr() / sum_of(of_apply); }
  void find_beta() const {
    double const before = std::exchange(rr(), sum_of(of_update));
    beta() = rr() / before;
  }

  Field x, r, p, q;
  Sums of_apply, of_update;
  Scalar rr, alpha, beta;

 private:
  static double sum_of(Sums const& all) {
    double sum = 0;
    for (std::size_t s = 0; s < all.extent(0); ++s) sum += all(s);
    return sum;
  }
};

/// Submits the tasks of one step.
void submit_step(TaskGraph& graph, Problem const& of) {
  auto const rows_of = [](Field const& field, int begin, int end) {
    return Kokkos::subview(field, std::pair(begin, end), Kokkos::ALL);
  };
  for (int s = 0; s < Problem::slabs; ++s) {
    auto const [begin, end] = Problem::of_slab(s);
    host_task(
        "apply",
        ResourcePolicy(graph, read(rows_of(of.p, begin - 1, end + 1)),
                       write(rows_of(of.q, begin, end)), write(Kokkos::subview(of.of_apply, s))),
        [of, s] { of.apply(s); });
  }
  host_task("alpha", ResourcePolicy(graph, read(of.of_apply, of.rr), write(of.alpha), priority(1)),
            [of] { of.find_alpha(); });
  for (int s = 0; s < Problem::slabs; ++s) {
    auto const [begin, end] = Problem::of_slab(s);
    host_task("update",
              ResourcePolicy(graph, read(of.alpha, rows_of(of.p, begin, end)),
                             read(rows_of(of.q, begin, end)),
                             read_write(rows_of(of.x, begin, end), rows_of(of.r, begin, end)),
                             write(Kokkos::subview(of.of_update, s))),
              [of, s] { of.update(s); });
  }
  host_task(
      "beta",
      ResourcePolicy(graph, read(of.of_update), read_write(of.rr), write(of.beta), priority(1)),
      [of] { of.find_beta(); });
  for (int s = 0; s < Problem::slabs; ++s) {
    auto const [begin, end] = Problem::of_slab(s);
    host_task("direction",
              ResourcePolicy(graph, read(of.beta, rows_of(of.r, begin, end)),
                             read_write(rows_of(of.p, begin, end))),
              [of, s] { of.direct(s); });
  }
}

/// Plain threads that share the slabs of each loop evenly and sleep at its end, as a pool of OpenMP
/// with passive waiting does.
class PlainThreads {
 public:
  PlainThreads(Problem const& of, int threads) : m_of(of), m_threads(threads), m_all(threads) {
    for (int k = 1; k < threads; ++k)
      m_pool.emplace_back([this, k] {
        for (;;) {
          m_all.arrive_and_wait();
          if (m_steps == 0) return;
          run_steps(k);
        }
      });
  }
  PlainThreads(PlainThreads const&) = delete;
  PlainThreads& operator=(PlainThreads const&) = delete;
  ~PlainThreads() {
    m_steps = 0;
    m_all.arrive_and_wait();
    for (std::thread& thread : m_pool) thread.join();
  }
  void run(int steps) {
    m_steps = steps;
    m_all.arrive_and_wait();
    run_steps(0);
  }

 private:
  void run_steps(int k) {
    for (int step = 0, steps = m_steps; step < steps; ++step) {
      loop(k, &Problem::apply);
      if (k == 0) m_of.find_alpha();
      m_all.arrive_and_wait();
      loop(k, &Problem::update);
      if (k == 0) m_of.find_beta();
      m_all.arrive_and_wait();
      loop(k, &Problem::direct);
    }
  }
  void loop(int k, void (Problem::*body)(int) const) {
    for (int s = Problem::slabs * k / m_threads; s < Problem::slabs * (k + 1) / m_threads; ++s)
      (m_of.*body)(s);
    m_all.arrive_and_wait();
  }

  Problem const& m_of;
  int const m_threads;
  int m_steps = 0;
  std::barrier<> m_all;
  std::vector<std::thread> m_pool;
};

/// Steps as tasks and by plain threads, in turns. `more_cpu` is the processor time of all threads
/// of the tasks over that of the plain threads. `plan`: the tasks are replayed.
void solver(benchmark::State& state, bool plan) {
  constexpr int steps = 10;  // until the program looks at the residual
  auto const workers = static_cast<int>(state.range(0));
  TaskGraph graph(with_workers(workers));
  Problem const of_tasks, of_threads;
  Plan step;
  if (plan) step = graph.record([&] { submit_step(graph, of_tasks); });
  auto const run_tasks = [&] {
    for (int k = 0; !plan && k < steps; ++k) submit_step(graph, of_tasks);
    if (plan) graph.replay(step, steps);
    graph.wait();
  };
  PlainThreads threads(of_threads, workers);
  run_tasks();
  threads.run(steps);
  if (of_tasks.rr() != of_threads.rr()) state.SkipWithError("the results differ");
  double tasks = 0, plain = 0;
  for (auto _ : state) {
    double const begin = CpuTime::now().all();
    run_tasks();
    double const middle = CpuTime::now().all();
    threads.run(steps);
    double const end = CpuTime::now().all();
    tasks += middle - begin;
    plain += end - middle;
  }
  state.counters["more_cpu"] = tasks / plain;
  state.counters["cpu_per_step"] = tasks / static_cast<double>(state.iterations() * steps);
}
void solver_submitted(benchmark::State& state) {
  solver(state, false);
}
void solver_plan(benchmark::State& state) {
  solver(state, true);
}
BENCHMARK(solver_submitted)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(solver_plan)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro

#endif
