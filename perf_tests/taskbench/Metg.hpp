// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_METG_HPP
#define TRELLIS_TASKBENCH_METG_HPP

#include "Measure.hpp"

#include <map>
#include <optional>

/// Minimum effective task granularity (Slaughter et al., SC20): the smallest task granularity,
/// wall-clock time x workers / tasks, at which a model still reaches a part of the peak rate: half
/// of it in the paper, METG(50%); and 90 %, which says more about tasks as programs have them.
namespace taskbench {

struct MetgOptions {
  double coarsest_us = 200;       ///< kernel time of the largest task
  double factor = 2;              ///< between the iterations of two points
  double seconds_per_run = 0.03;  ///< of kernels, divided among the workers
  double seconds_of_reference = 0.004;
  int repetitions = 3;
  int more_repetitions = 3;  ///< at most
};

struct Point {
  Result result;
  double efficiency;                       ///< rate / peak
  std::vector<double> seconds;             ///< of each repetition that counts
  std::vector<double> unsteady_seconds{};  ///< of the others, which count where there are too few
};

struct Curve {
  std::vector<Point> points;        ///< from coarse to fine
  std::optional<double> metg50_us;  ///< nothing where the curve never crosses 50 %
  std::optional<double> metg90_us;
};

struct Sweep {
  std::map<int, double> peaks;  ///< iterations per second, by the number of workers
  std::map<std::string, Curve> curves;
};

/// Measures with fewer and fewer iterations. The machine's own speed changes, so the rate of bare
/// threads that run nothing but the kernel is measured beside each run, and all times are what they
/// would be at the median of these rates. That is the peak, or what the best model reaches at its
/// coarsest points (the median of five), where that is more. A run counts if the bare threads were
/// as fast before as afterwards. Points with fewer such runs than half of `repetitions` are
/// measured again, up to `more_repetitions` times. Where that does not help all their runs count.
Sweep sweep_granularity(std::vector<Model*> const& models, Parameters parameters, int workers,
                        MetgOptions const& options, std::vector<LeftOut>& left_out);

/// The curve nearest to (granularity, efficiency), in least squares, that never rises on the way
/// from coarse to fine. One lucky or unlucky point hardly moves it.
std::vector<std::pair<double, double>> never_rising(
    std::vector<std::pair<double, double>> coarse_to_fine);

/// Where (granularity, efficiency) crosses a level for the last time on the way from coarse to
/// fine, interpolated linearly over the logarithm of the granularity.
std::optional<double> crossing(std::vector<std::pair<double, double>> const& coarse_to_fine,
                               double level);

/// Iterations per second of bare threads with a column each.
double bare_rate(Parameters const& parameters, int workers, double seconds);

}  // namespace taskbench

#endif
