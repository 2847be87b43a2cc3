// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_PROVE_HPP
#define TRELLIS_TEST_PROVE_HPP

#include "Models.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <vector>

namespace trellis::model {

/// What a search of a model has seen that has been to its end.
struct Seen {
  std::vector<Site> sites;  ///< that it has reached
  std::uint64_t executions = 0;
};
inline std::map<Model const*, Seen>& seen_by_models() {
  static std::map<Model const*, Seen> all;
  return all;
}

/// Fails with the trace of an execution that is wrong, or if the search has not seen what it is to
/// see. A model with a bound on preemptions has to need it; its search has to end within the bound.
inline Seen const& prove(Model const& model) {
  auto const begin = std::chrono::steady_clock::now();
  Report const report = explore(model.program, model.bounds);
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
  std::cout << model.name << ": " << report.threads << " threads, " << report.steps
            << " steps at most, " << report.executions << " executions";
  if (model.bounds.preemptions >= 0)
    std::cout << ", " << model.bounds.preemptions << " preemptions";
  if (report.gives_up) std::cout << ", gives up";
  std::cout << ", " << took.count() << " s\n";
  EXPECT_EQ(report.failure, "") << model.name;
  EXPECT_GT(report.executions, 1U) << model.name << ": the checker sees no steps of it";
  EXPECT_TRUE(report.has_ended) << model.name;
  EXPECT_EQ(report.is_complete, model.bounds.preemptions < 0) << model.name;
  return seen_by_models()[&model] = {reached_sites(), report.executions};
}

/// The same, if it has been proved before.
inline Seen const& seen_by(Model const& model) {
  auto const found = seen_by_models().find(&model);
  return found != seen_by_models().end() ? found->second : prove(model);
}

}  // namespace trellis::model

#endif
