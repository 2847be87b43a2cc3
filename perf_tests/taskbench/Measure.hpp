// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_MEASURE_HPP
#define TRELLIS_TASKBENCH_MEASURE_HPP

#include "Model.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace taskbench {

/// What one model took for one Work.
struct Result {
  Model const* model;
  Parameters parameters;  ///< steps as they were run: fewer where the model is slow
  std::int64_t tasks;
  double seconds;  ///< median of the repetitions
  double fastest;
  double slowest;
  int repetitions;
  double reference = 0;  ///< the rate of bare threads at that time, if it was asked for
  bool steady = true;    ///< they were as fast before as afterwards, as far as that is known
  [[nodiscard]] double us_per_task() const { return 1e6 * seconds / static_cast<double>(tasks); }
  /// Time that a worker has for a task, scheduling and idling included.
  [[nodiscard]] double granularity_us() const { return us_per_task() * model->workers(); }
  [[nodiscard]] double iterations_per_second() const {
    return static_cast<double>(parameters.iterations) * static_cast<double>(tasks) / seconds;
  }
};

/// A model that could not run something, and why.
struct LeftOut {
  std::string model;
  std::string pattern;
  std::string why;
};

/// Steps that are at least `steps`, a multiple of the copies, and what the pattern needs.
std::int64_t usable_steps(Parameters const& parameters, std::int64_t steps);

/// Each model runs the same work, one after the other, `repetitions` times over, after a warm-up
/// each. Throws std::runtime_error for a wrong result.
std::vector<Result> measure(std::vector<Model*> const& models, Parameters const& parameters,
                            int repetitions, std::vector<LeftOut>& left_out);

/// The same once, with the rate of as many bare threads, `rate_of(workers)`, beside each result:
/// what was measured right before the run and right before the next one, when the threads of the
/// model before have come to rest. A result is not steady where the two differ by more than 5 %.
std::vector<Result> measure_beside(std::vector<Model*> const& models, Parameters const& parameters,
                                   std::function<double(int)> const& rate_of,
                                   std::vector<LeftOut>& left_out);

double median(std::vector<double> values);

}  // namespace taskbench

#endif
