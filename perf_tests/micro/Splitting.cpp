// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that become several: children of a running task, children of children, and of a task that
// still waits. The counters are per task, children and parents alike.
#include "Gate.hpp"
#include "Measure.hpp"
#include "Workers.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

/// Enough Views that no task waits for another one for long.
constexpr std::size_t whole_count = 64;

struct Whole {
  View all;
  std::vector<View> parts;
};

std::vector<Whole> make_wholes(std::int64_t part_count, std::size_t count = whole_count) {
  std::vector<Whole> wholes;
  for (std::size_t w = 0; w != count; ++w) {
    Whole whole{View("whole", static_cast<std::size_t>(part_count)), {}};
    for (std::int64_t k = 0; k != part_count; ++k)
      whole.parts.push_back(Kokkos::subview(whole.all, std::pair(k, k + 1)));
    wholes.push_back(std::move(whole));
  }
  return wholes;
}

/// The number of parents in an iteration, which counts these and their children.
std::int64_t count_parents(std::int64_t child_count) {
  return task_count / (child_count + 1);
}

void submit_children(TaskScope& self, Whole const& whole) {
  for (View const& part : whole.parts)
    parallel_for("child", ResourcePolicy(self, 1, on<Space>, write(part)), Nothing());
}

void split(benchmark::State& state) {
  std::vector<Whole> const wholes = make_wholes(state.range(0));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (std::int64_t k = 0; k != count_parents(state.range(0)); ++k) {
      Whole const& whole = wholes[static_cast<std::size_t>(k) % whole_count];
      host_task("parent", ResourcePolicy(graph, write(whole.all)),
                [&whole](TaskScope& self) { submit_children(self, whole); });
    }
  });
}
BENCHMARK(split)
    ->ArgNames({"children", "workers"})
    ->ArgsProduct({{1, 10, 100, 1000}, {1, 2}})
    ->Apply(with_more_workers<100>)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Bodies that submit children at the same time, each into its own scope, while no thread runs any.
// Only the submission is measured, from when all bodies have begun to when the last one is through.
void split_at_once(benchmark::State& state) {
  auto const bodies = static_cast<std::size_t>(state.range(0));
  std::size_t const children_each = static_cast<std::size_t>(task_count) / bodies;
  std::vector<Whole> const wholes = make_wholes(whole_count);
  TaskGraph graph(without_cap(state.range(0)));
  auto const once = [&] {
    std::atomic<std::size_t> begun{0};
    std::vector<double> seconds(bodies);
    for (std::size_t b = 0; b != bodies; ++b)
      host_task(
          "parent", ResourcePolicy(graph, write(wholes[b * 32].all)), [&, b](TaskScope& self) {
            begun.fetch_add(1);
            while (begun.load() != bodies) {
            }
            auto const begin = Clock::now();
            for (std::size_t k = 0; k != children_each; ++k)
              host_task("child", ResourcePolicy(self, write(wholes[b * 32].parts[k % whole_count])),
                        [] {});
            seconds[b] = seconds_since(begin);
          });
    graph.wait();
    return *std::max_element(seconds.begin(), seconds.end());
  };
  once();  // takes the memory
  Tally const tally(graph);
  for (auto _ : state) state.SetIterationTime(once());
  tally.report(state, static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(split_at_once)
    ->ArgName("bodies")
    ->Arg(1)
    ->Arg(2)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// The body waits for its children, and runs them.
void split_and_wait(benchmark::State& state) {
  std::vector<Whole> const wholes = make_wholes(state.range(0));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (std::int64_t k = 0; k != count_parents(state.range(0)) / 10; ++k) {
      Whole const& whole = wholes[static_cast<std::size_t>(k) % whole_count];
      host_task("parent", ResourcePolicy(graph, write(whole.all)), [&whole](TaskScope& self) {
        submit_children(self, whole);
        self.wait();
      });
    }
  });
}
BENCHMARK(split_and_wait)
    ->ArgNames({"children", "workers"})
    ->ArgsProduct({{10, 100}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// The two halves of a range, and theirs, until `depth` is 0.
void halve(TaskScope& self, View const& area, std::int64_t depth) {
  if (depth == 0) return;
  std::size_t const middle = area.extent(0) / 2;
  View const halves[] = {Kokkos::subview(area, std::pair(std::size_t{0}, middle)),
                         Kokkos::subview(area, std::pair(middle, area.extent(0)))};
  for (View const& half : halves)
    host_task("half", ResourcePolicy(self, write(half)),
              [half, depth](TaskScope& inner) { halve(inner, half, depth - 1); });
}

void split_nested(benchmark::State& state) {
  std::int64_t const depth = state.range(0);
  std::int64_t const leaves = std::int64_t{1} << depth;
  std::vector<View> wholes;
  for (std::size_t w = 0; w != whole_count; ++w)
    wholes.emplace_back("whole", static_cast<std::size_t>(leaves));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (std::int64_t k = 0; k != task_count / (2 * leaves - 1); ++k) {
      View const& whole = wholes[static_cast<std::size_t>(k) % whole_count];
      host_task("parent", ResourcePolicy(graph, write(whole)),
                [&whole, depth](TaskScope& self) { halve(self, whole, depth); });
    }
  });
}
BENCHMARK(split_nested)
    ->ArgNames({"depth", "workers"})
    ->ArgsProduct({{1, 4, 8}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// One parent that names each of its areas, or makes them itself; its children take them in no
// order.
void split_many(benchmark::State& state, bool made) {
  Whole whole = make_wholes(state.range(0), 1).front();
  std::vector<View> const areas = whole.parts;
  std::shuffle(whole.parts.begin(), whole.parts.end(), std::mt19937(1));
  TaskGraph graph(with_workers(1));
  measure_run(state, graph, [&] {
    auto const split = [&](TaskScope& self) {
      if (made) self.local(areas);
      for (std::int64_t k = 0; k < task_count; k += state.range(0)) submit_children(self, whole);
    };
    if (made)
      host_task("parent", ResourcePolicy(graph), split);
    else
      host_task("parent", ResourcePolicy(graph, write(areas)), split);
  });
}
void split_many_declared(benchmark::State& state) {
  split_many(state, false);
}
void split_many_local(benchmark::State& state) {
  split_many(state, true);
}
BENCHMARK(split_many_declared)
    ->ArgName("areas")
    ->ArgsProduct({{1, 100, 1000, 10000}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(split_many_local)
    ->ArgName("areas")
    ->ArgsProduct({{1, 100, 1000, 10000}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// While all of them wait for a gate. Submission, refinement and run together.
void refined(benchmark::State& state) {
  if (!can_hold_back(state)) return;
  std::vector<Whole> const wholes = make_wholes(state.range(0));
  TaskGraph graph(without_cap(state.range(1)));
  auto const once = [&] {
    Gate gate(graph);
    auto const begin = Clock::now();
    for (std::int64_t k = 0; k != count_parents(state.range(0)); ++k) {
      Whole const& whole = wholes[static_cast<std::size_t>(k) % whole_count];
      Future<void> const task =
          host_task("parent", ResourcePolicy(graph, after(gate.task()), write(whole.all)), [] {});
      if (!refine(task, [&](TaskScope& self) { submit_children(self, whole); }))
        state.SkipWithError("a task behind the gate was not refined");
    }
    gate.open();
    graph.wait();
    return seconds_since(begin);
  };
  once();  // takes the memory
  Tally const tally(graph);
  for (auto _ : state) state.SetIterationTime(once());
  tally.report(state, static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(refined)
    ->ArgNames({"children", "workers"})
    ->ArgsProduct({{1, 10, 100}, {1, 2}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro
