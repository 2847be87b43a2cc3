// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One task before many, many before one, and both in turn.
#include "Measure.hpp"
#include "Workers.hpp"

#include <cstdint>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

/// As many groups of `width` tasks and one or two more as there are in one iteration.
std::int64_t group_count(std::int64_t width) {
  return task_count / (width + 1);
}

std::vector<View> roots(std::int64_t count) {
  std::vector<View> views;
  for (std::int64_t k = 0; k != count; ++k) views.emplace_back("root", 1);
  return views;
}

void submit_one(TaskGraph& graph, View const& root) {
  parallel_for("one", ResourcePolicy(graph, 1, on<Space>, write(root)), Nothing());
}
void submit_many(TaskGraph& graph, View const& root, std::int64_t width) {
  for (std::int64_t k = 0; k != width; ++k)
    parallel_for("many", ResourcePolicy(graph, 1, on<Space>, read(root)), Nothing());
}

void fan_out(benchmark::State& state) {
  std::int64_t const width = state.range(0);
  std::vector<View> const views = roots(group_count(width));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (View const& root : views) {
      submit_one(graph, root);
      submit_many(graph, root, width);
    }
  });
}

void fan_in(benchmark::State& state) {
  std::int64_t const width = state.range(0);
  std::vector<View> const views = roots(group_count(width));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (View const& root : views) {
      submit_many(graph, root, width);
      submit_one(graph, root);
    }
  });
}

// The one that ends a diamond begins the next.
void diamonds(benchmark::State& state) {
  std::int64_t const width = state.range(0);
  View const root("root", 1);
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (std::int64_t k = 0; k != group_count(width); ++k) {
      submit_one(graph, root);
      submit_many(graph, root, width);
    }
  });
}

template <class Rows>
void widths(Rows* rows) {
  rows->ArgNames({"width", "workers"})->ArgsProduct({{10, 100, 1000}, {1, 2}})->UseRealTime();
  rows->Unit(benchmark::kMillisecond);
}
BENCHMARK(fan_out)->Apply(widths);
BENCHMARK(fan_in)->Apply(widths);
BENCHMARK(diamonds)->Apply(widths)->Apply(with_more_workers<100>);

}  // namespace
}  // namespace micro
