// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WeakModel.hpp"

#include <algorithm>
#include <cmath>

namespace mpi_perf {

double predicted(Costs const& costs, WeakStep const& step, double ranks, int sharing) {
  int const neighbours = ranks < 2 ? 0 : ranks < 3 ? 1 : 2;
  double const column = step.kernel + costs.task;
  double const work =
      step.columns * column + 2 * neighbours * costs.message + (step.agrees ? costs.agreement : 0);
  double const hidden = std::max(0, step.columns - neighbours) * column;
  double const latency = neighbours > 0 ? costs.latency : 0;
  double const stages = step.agrees && ranks > 1 ? std::ceil(std::log2(ranks)) : 0;
  double const waits =
      step.agrees ? std::max(latency, costs.stage * stages) : std::max(0.0, latency - hidden);
  double const shares = sharing > 1 ? costs.handover * (1 + stages) : 0;
  return sharing * work + waits + shares;
}

Costs with_network(Costs costs, double measured, double network) {
  costs.latency = std::max(0.0, costs.latency + network - measured);
  costs.stage = std::max(0.0, costs.stage + network - measured);
  return costs;
}

}  // namespace mpi_perf
