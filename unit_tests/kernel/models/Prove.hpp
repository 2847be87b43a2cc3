// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_PROVE_HPP
#define TRELLIS_TEST_PROVE_HPP

#include "Models.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace trellis::model {

/// Fails with the trace of an execution that is wrong, or if the bounds of the search are reached.
inline void prove(Model const& model) {
  auto const begin = std::chrono::steady_clock::now();
  Report const report = explore(model.program, model.bounds);
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
  std::cout << model.name << ": " << report.threads << " threads, " << report.steps
            << " steps at most, " << report.executions << " executions";
  if (model.bounds.preemptions >= 0)
    std::cout << ", " << model.bounds.preemptions << " preemptions";
  std::cout << ", " << took.count() << " s\n";
  EXPECT_EQ(report.failure, "") << model.name;
  EXPECT_GT(report.executions, 1U) << model.name << ": the checker sees no steps of it";
  EXPECT_TRUE(report.is_complete || model.bounds.preemptions >= 0) << model.name;
}

}  // namespace trellis::model

#endif
