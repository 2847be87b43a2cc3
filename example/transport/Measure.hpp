// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TRANSPORT_MEASURE_HPP
#define TRELLIS_EXAMPLE_TRANSPORT_MEASURE_HPP

#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "Model.hpp"
#include "Plain.hpp"
#include "Problem.hpp"
#include "Report.hpp"

/// This header solves the equations in each of the ways, and measures them.
namespace transport {

template <class Act>
double seconds_of(Act const& act) {
  auto const begin = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns how much memory the fields of a model take at most on so many workers.
inline std::size_t predicted_bytes(trellis::TaskGraph& graph, Problem const& problem, int workers) {
  return Model(graph, problem).memory().peak(workers);
}

/// Runs one step that is not timed, then `steps` that are, with a wait after each. Adds to the
/// findings for this ratio. `oracle` has done as many steps.
inline bool run_ratio(trellis::TaskGraph& graph, Problem const& problem, int steps, bool limit,
                      Plain const& oracle, RatioFindings& found) {
  graph.set_threads(found.ratio.workers, found.ratio.threads);
  if (found.predicted == 0) found.predicted = predicted_bytes(graph, problem, found.ratio.workers);
  trellis::FieldGraphOptions options;
  options.name = "transport";
  if (limit) options.memory_limit = found.predicted;
  Model model(graph, problem, std::move(options));
  auto const step = [&] {
    model.step();
    graph.wait();
  };
  step();
  std::uint64_t const allocated = model.counts().allocated;
  double const seconds = seconds_of([&] {
    for (int k = 0; k < steps; ++k) step();
  });
  found.seconds.push_back(seconds / steps);
  found.measured = std::max(found.measured, model.counts().most_live);
  found.allocated = allocated;
  found.allocated_later = std::max(found.allocated_later, model.counts().allocated - allocated);
  found.held_back = model.tasks_held_back();
  return agree(problem, model, oracle);
}

inline bool run_serially(Problem const& problem, int steps, Plain const& oracle) {
  trellis::TaskGraphOptions options;
  options.name = "transport, serial";
  options.workers = options.threads_per_worker = 1;
  options.serial = true;
  trellis::TaskGraph graph(options);
  Model model(graph, problem);
  for (int k = 0; k <= steps; ++k) model.step();
  graph.wait();
  return agree(problem, model, oracle);
}

/// Records steps of a graph.
inline trellis::Trace record(Problem const& problem, int workers, int steps) {
  trellis::TaskGraphOptions options;
  options.name = "transport, recorded";
  options.workers = workers;
  options.threads_per_worker = 1;
  options.record = true;
  trellis::TaskGraph graph(options);
  Model model(graph, problem);
  for (int k = 0; k < steps; ++k) {
    model.step();
    graph.wait();
  }
  return graph.trace();
}

/// Returns a step as a graph, without those before it.
inline trellis::Graph one_step(trellis::Graph const& graph, Problem const& problem) {
  trellis::TaskId const last = graph.nodes().back().id;
  return trellis::tasks_after(graph, last - static_cast<trellis::TaskId>(problem.tasks()));
}

/// Runs steps after each of which the ratio may change. It begins with as many workers as there are
/// threads.
inline std::vector<Findings::Iteration> run_with_feedback(Problem const& problem, int threads,
                                                          int iterations,
                                                          trellis::Graph const& structure) {
  auto const meter = trellis::make_task_meter();
  trellis::TaskGraphOptions options;
  options.name = "transport, with feedback";
  options.workers = threads;
  options.threads_per_worker = 1;
  options.policy = meter;
  trellis::TaskGraph graph(options);
  Model model(graph, problem);
  trellis::ThreadFeedback feedback(threads);
  std::vector<Findings::Iteration> found;
  for (int k = -1; k < iterations; ++k) {
    trellis::ThreadRatio const ratio{graph.workers(), graph.threads_per_worker()};
    double const seconds = seconds_of([&] {
      model.step();
      graph.wait();
    });
    trellis::TaskCost const took = meter->take();
    if (k < 0) continue;  // it has touched its memory first
    found.push_back({ratio, seconds});
    feedback.adapt(graph, structure, took);
  }
  return found;
}

}  // namespace transport

#endif
