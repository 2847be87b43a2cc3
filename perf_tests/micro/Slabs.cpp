// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A time-step program in small: a plan of some loops over slabs of rows, and a time step that the
// program waits for. Cutting the same work into more slabs must cost little: what does each further
// task take of the processors?
#if __has_include(<Trellis_Plan.hpp>)

#include "Cpu.hpp"
#include "Measure.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

using Field = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// out(i, j) from in at (i, j) and its neighbours above and below.
struct Sweep {
  Field in;
  Field out;
  int first;
  KOKKOS_FUNCTION void operator()(int k) const {
    int const i = first + k;
    for (std::size_t j = 0; j < in.extent(1); ++j)
      out(i, j) = 0.25 * in(i - 1, j) + 0.5 * in(i, j) + 0.25 * in(i + 1, j);
  }
};

/// The largest value of a slab.
struct Largest {
  Field in;
  int begin;
  int end;
  Kokkos::View<double, Kokkos::HostSpace> out;
  void operator()() const {
    double largest = 0;
    for (int i = begin; i < end; ++i)
      for (std::size_t j = 0; j < in.extent(1); ++j) largest = std::max(largest, in(i, j));
    out() = largest;
  }
};

/// A step: loops that lead from one field to the next, a value of each slab, and one of all.
class Steps {
 public:
  static constexpr int rows = 960;
  static constexpr int columns = 480;
  static constexpr int loops = 10;

  Steps(TaskGraph& graph, int slabs) : m_graph(&graph) {
    for (std::size_t k = 0; k < fields; ++k) m_fields.emplace_back("field", rows + 2, columns);
    Kokkos::deep_copy(m_fields[0], 1.0);
    for (int s = 0; s < slabs; ++s) m_values.emplace_back("value");
    m_plan = graph.record([&] { record(slabs); });
    m_tasks = slabs * (loops + 1) + 1;
  }
  void run() {
    m_graph->replay(m_plan, 1);
    double time_step = m_time_step.get();
    benchmark::DoNotOptimize(time_step);
  }
  [[nodiscard]] int tasks() const { return m_tasks; }

 private:
  static constexpr std::size_t fields = 5;

  void record(int slabs) {
    for (int loop = 0; loop < loops; ++loop) {
      Field const& from = m_fields[static_cast<std::size_t>(loop) % fields];
      Field const& to = m_fields[static_cast<std::size_t>(loop + 1) % fields];
      for (int s = 0; s < slabs; ++s) {
        auto const [begin, end] = of_slab(s, slabs);
        auto const halo = Kokkos::subview(from, std::pair(begin - 1, end + 1), Kokkos::ALL);
        auto const own = Kokkos::subview(to, std::pair(begin, end), Kokkos::ALL);
        parallel_for("sweep",
                     ResourcePolicy(*m_graph, end - begin, on<Space>, read(halo), write(own)),
                     Sweep{from, to, begin});
      }
    }
    Field const& last = m_fields[static_cast<std::size_t>(loops) % fields];
    Token const all("all values", static_cast<std::size_t>(slabs));
    for (int s = 0; s < slabs; ++s) {
      auto const [begin, end] = of_slab(s, slabs);
      auto const own = Kokkos::subview(last, std::pair(begin, end), Kokkos::ALL);
      host_task("value",
                ResourcePolicy(*m_graph, read(own), write(all.part(static_cast<std::size_t>(s)))),
                Largest{last, begin, end, m_values[static_cast<std::size_t>(s)]});
    }
    m_time_step = host_task("time step", ResourcePolicy(*m_graph, read(all)), [this] {
      double largest = 0;
      for (auto const& value : m_values) largest = std::max(largest, value());
      return 1 / (1 + largest);
    });
  }
  static std::pair<int, int> of_slab(int s, int slabs) {
    return {1 + rows * s / slabs, 1 + rows * (s + 1) / slabs};
  }

  TaskGraph* m_graph;
  std::vector<Field> m_fields;
  std::vector<Kokkos::View<double, Kokkos::HostSpace>> m_values;
  Plan m_plan;
  Future<double> m_time_step;
  int m_tasks = 0;
};

/// Steps of few and of many slabs in turns. The counters are processor time, of all threads, for
/// each task that many slabs have more.
void further_slabs(benchmark::State& state) {
  constexpr int steps = 10;
  TaskGraph graph(with_workers(state.range(0)));
  Steps few(graph, 96);
  Steps many(graph, 480);
  few.run();
  many.run();
  CpuTime more;
  std::int64_t rounds = 0;
  for (auto _ : state) {
    CpuTime const begin = CpuTime::now();
    for (int k = 0; k < steps; ++k) few.run();
    CpuTime const middle = CpuTime::now();
    for (int k = 0; k < steps; ++k) many.run();
    CpuTime const end = CpuTime::now();
    more.user += end.user - 2 * middle.user + begin.user;
    more.system += end.system - 2 * middle.system + begin.system;
    ++rounds;
  }
  auto const tasks = static_cast<double>(rounds * steps * (many.tasks() - few.tasks()));
  state.counters["cpu_per_further_task"] = (more.user + more.system) / tasks;
  state.counters["system_per_further_task"] = more.system / tasks;
}
BENCHMARK(further_slabs)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro

#endif
