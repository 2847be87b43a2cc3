// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_WITHWORKERS_HPP
#define TRELLIS_TEST_WITHWORKERS_HPP

#include <Trellis_TaskGraph.hpp>

namespace trellis::Test {

inline TaskGraphOptions with_workers(int workers) {
  TaskGraphOptions options;
  options.workers = workers;
  return options;
}

}  // namespace trellis::Test

#endif
