// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views that a task keeps alive: held by its functor, or handed to it as arguments.
#include "Measure.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

constexpr std::size_t most_views = 8;
using Views = std::array<View, most_views>;

Views make_views() {
  Views views;
  for (View& each : views) each = View("x", 1);
  return views;
}

/// Copying it copies tracked Views.
template <std::size_t count>
struct Holds {
  std::array<View, count> views;
  KOKKOS_FUNCTION void operator()(int) const {}
};
template <>
struct Holds<0> : Nothing {};

template <std::size_t count>
Holds<count> hold([[maybe_unused]] Views const& views) {
  Holds<count> functor;
  if constexpr (count > 0)
    for (std::size_t k = 0; k != count; ++k) functor.views[k] = views[k];
  return functor;
}

struct TakesViews {
  template <class... Arguments>
  KOKKOS_FUNCTION void operator()(int, Arguments const&...) const {}
};

template <std::size_t count, class Functor>
void submit_reader(TaskGraph& graph, Views const& views, Functor const& functor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    parallel_for("reader", ResourcePolicy(graph, 1, on<Space>, read(views[I])...), functor);
  }(std::make_index_sequence<count>());
}

/// Captured, but not annotated: what the Views alone cost. The task reads one more View, for all
/// counts.
template <std::size_t count>
void captured(benchmark::State& state) {
  Views const views = make_views();
  View const annotated("annotated", 1);
  Holds<count> const functor = hold<count>(views);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k)
      parallel_for("captures", ResourcePolicy(graph, 1, on<Space>, read(annotated)), functor);
  });
}

/// The same, but each task holds Views of its own, one set of 1000 in turn: the reference counts
/// are not what two threads change all the time.
template <std::size_t count>
void captured_in_turn(benchmark::State& state) {
  std::vector<Holds<count>> functors;
  for (int k = 0; k < 1000; ++k) functors.push_back(hold<count>(make_views()));
  View const annotated("annotated", 1);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (std::size_t k = 0; k < task_count; ++k)
      parallel_for("captures", ResourcePolicy(graph, 1, on<Space>, read(annotated)),
                   functors[k % functors.size()]);
  });
}

/// Captured and annotated, as a lambda's user writes it.
template <std::size_t count>
void captured_annotated(benchmark::State& state) {
  Views const views = make_views();
  Holds<count> const functor = hold<count>(views);
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k) submit_reader<count>(graph, views, functor);
  });
}

/// Annotated and handed over as arguments.
template <std::size_t count>
void view_arguments(benchmark::State& state) {
  Views const views = make_views();
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count; ++k) submit_reader<count>(graph, views, TakesViews());
  });
}

template <std::size_t count>
void register_one() {
  auto const rows = [](char const* pattern, auto* function) {
    benchmark::RegisterBenchmark((std::string(pattern) + "/views:" + std::to_string(count)).c_str(),
                                 function)
        ->ArgName("workers")
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  rows("captured", &captured<count>);
  rows("captured_in_turn", &captured_in_turn<count>);
  rows("captured_annotated", &captured_annotated<count>);
  rows("view_arguments", &view_arguments<count>);
}

template <std::size_t... count>
bool register_all(std::index_sequence<count...>) {
  (register_one<count>(), ...);
  return true;
}
bool const all_are_registered = register_all(std::make_index_sequence<most_views + 1>());

}  // namespace
}  // namespace micro
