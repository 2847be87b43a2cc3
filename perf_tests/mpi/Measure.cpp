// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Measure.hpp"

#include <algorithm>
#include <thread>

namespace mpi_perf {
namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t const middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <class F>
double median_of_pairs(Times const& with, Times const& without, F const& f) {
  std::vector<double> all;
  for (std::size_t k = 0; k < std::min(with.seconds.size(), without.seconds.size()); ++k)
    all.push_back(f(with.seconds[k] / static_cast<double>(with.steps),
                    without.seconds[k] / static_cast<double>(without.steps)));
  return median_of(std::move(all));
}

}  // namespace

double Times::median() const {
  return median_of(seconds);
}
double Times::fastest() const {
  return *std::min_element(seconds.begin(), seconds.end());
}
double Times::slowest() const {
  return *std::max_element(seconds.begin(), seconds.end());
}
double Times::spread() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  std::size_t const last = sorted.size() - 1;
  return (sorted[last - last / 4] - sorted[last / 4]) / median();
}

std::vector<Times> compare(World const& world, std::vector<Way> const& ways, std::int64_t steps,
                           int repetitions) {
  // Threads of the one before may still look for work.
  constexpr std::chrono::milliseconds pause{3};
  std::vector<Times> all;
  for (Way const& way : ways) {
    all.push_back({&way, std::min(steps, way.most_steps), {}});
    (void)world.longest(way.run(all.back().steps));
  }
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (Times& each : all) {
      std::this_thread::sleep_for(pause);
      each.seconds.push_back(world.longest(each.way->run(each.steps)));
    }
  return all;
}

double added_per_step(Times const& with, Times const& without) {
  return median_of_pairs(with, without, [](double a, double b) { return a - b; });
}
double ratio_per_step(Times const& with, Times const& without) {
  return median_of_pairs(with, without, [](double a, double b) { return a / b; });
}

std::int64_t steps_that_take(World const& world, Way const& way, double seconds,
                             std::int64_t most) {
  constexpr double long_enough = 1e-3;
  (void)way.run(2);
  std::int64_t steps = 2;
  double taken = world.longest(way.run(steps));
  while (taken < std::min(long_enough, seconds) && steps < most) {
    steps *= 4;
    taken = world.longest(way.run(steps));
  }
  double const wanted = static_cast<double>(steps) * seconds / taken;
  return std::max<std::int64_t>(
      4, 2 * static_cast<std::int64_t>(std::min(wanted, static_cast<double>(most)) / 2));
}

trellis::TaskGraphOptions graph_options(int workers) {
  trellis::TaskGraphOptions options;
  options.name = "mpi";
  options.workers = workers;
  options.threads_per_worker = 1;
  options.record = false;
  return options;
}
std::shared_ptr<trellis::TaskGraph> make_graph(int workers) {
  return std::make_shared<trellis::TaskGraph>(graph_options(workers));
}
std::shared_ptr<trellis::TaskGraph> make_graph(int workers, std::size_t in_flight) {
  trellis::TaskGraphOptions options = graph_options(workers);
  options.in_flight = in_flight;
  return std::make_shared<trellis::TaskGraph>(options);
}

}  // namespace mpi_perf
