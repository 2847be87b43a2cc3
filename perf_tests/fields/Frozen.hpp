// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PERF_FIELDS_FROZEN_HPP
#define TRELLIS_PERF_FIELDS_FROZEN_HPP

#include "../../example/transport/Measure.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

/// The same steps as iterations of a model and as replays of a plan that has been recorded from
/// one.
namespace fields {

struct FrozenFindings {
  std::vector<double> passes;  ///< seconds of a step, with a wait after each
  std::vector<double> frozen;
  std::vector<double> passes_at_once;  ///< the same with one wait behind all
  std::vector<double> frozen_at_once;
  std::size_t passes_bytes = 0;  ///< the most that were live, with a wait after each step
  std::size_t frozen_bytes = 0;
  std::size_t frozen_predicted = 0;
  std::size_t passes_predicted = 0;
  bool agrees = true;
};

/// One round: each way does two steps that are not timed and twice `steps` that are.
inline void measure_round(trellis::TaskGraph& graph, transport::Problem const& problem, int steps,
                          FrozenFindings& found) {
  auto const per_step = [&](auto&& act) { return transport::seconds_of(act) / steps; };
  auto const time = [&](auto const& step, auto const& steps_at_once, std::vector<double>& waited,
                        std::vector<double>& at_once) {
    for (int k = 0; k < 2; ++k) step();
    graph.wait();
    waited.push_back(per_step([&] {
      for (int k = 0; k < steps; ++k) {
        step();
        graph.wait();
      }
    }));
    at_once.push_back(per_step([&] {
      steps_at_once();
      graph.wait();
    }));
  };
  transport::Model passes(graph, problem);
  found.passes_predicted = passes.memory().peak(graph.workers());
  passes.step();
  graph.wait();
  for (int k = 0; k < 2; ++k) {
    passes.step();
    graph.wait();
  }
  found.passes_bytes = std::max(found.passes_bytes, passes.counts().most_live);
  time([&] { passes.step(); },
       [&] {
         for (int k = 0; k < steps; ++k) passes.step();
       },
       found.passes, found.passes_at_once);

  transport::Model frozen(graph, problem);
  found.frozen_predicted = frozen.memory().frozen;
  trellis::Plan const plan = graph.record("step", [&] { frozen.step(); });
  for (int k = 0; k < 3; ++k) graph.replay(plan);
  graph.wait();
  time([&] { graph.replay(plan); }, [&] { graph.replay(plan, static_cast<std::uint64_t>(steps)); },
       found.frozen, found.frozen_at_once);
  found.frozen_bytes = std::max(found.frozen_bytes, frozen.counts().most_held);
  found.agrees = found.agrees && agree(problem, passes, frozen);
}

}  // namespace fields

#endif
