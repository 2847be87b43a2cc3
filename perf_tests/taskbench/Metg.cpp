// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Metg.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>

namespace taskbench {

double bare_rate(Parameters const& parameters, int workers, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::atomic<int> waiting{workers};
  std::vector<double> rates(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int t = 0; t != workers; ++t)
    threads.emplace_back([&, t] {
      // As many columns as the models' tasks of this thread sweep over.
      int const columns = std::max(1, parameters.shape.width / workers);
      bool const memory = parameters.kernel == Kernel::memory_bound;
      std::vector<double> scratch(
          memory ? static_cast<std::size_t>(columns) * (parameters.scratch_bytes / sizeof(double))
                 : 0,
          1.0);
      double volatile sink = 0;
      --waiting;
      while (waiting != 0) std::this_thread::yield();
      auto const begin = Clock::now();
      std::int64_t done = 0;
      std::chrono::duration<double> elapsed{};
      do {
        sink = memory ? sweep(256, done, scratch) : compute(1024);
        done += memory ? 256 : 1024;
        elapsed = Clock::now() - begin;
      } while (elapsed.count() < seconds);
      (void)sink;
      rates[static_cast<std::size_t>(t)] = static_cast<double>(done) / elapsed.count();
    });
  for (std::thread& each : threads) each.join();
  double sum = 0;
  for (double const each : rates) sum += each;
  return sum;
}

std::vector<std::pair<double, double>> never_rising(
    std::vector<std::pair<double, double>> coarse_to_fine) {
  // Neighbours that rise are put together, as often as there are some.
  struct Level {
    double sum;
    std::size_t points;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(points); }
  };
  std::vector<Level> levels;
  for (auto const& [granularity, efficiency] : coarse_to_fine) {
    levels.push_back({efficiency, 1});
    while (levels.size() > 1 && levels[levels.size() - 2].mean() < levels.back().mean()) {
      Level const last = levels.back();
      levels.pop_back();
      levels.back().sum += last.sum;
      levels.back().points += last.points;
    }
  }
  auto point = coarse_to_fine.begin();
  for (Level const& level : levels)
    for (std::size_t k = 0; k != level.points; ++k) (point++)->second = level.mean();
  return coarse_to_fine;
}

std::optional<double> crossing(std::vector<std::pair<double, double>> const& coarse_to_fine,
                               double level) {
  std::optional<double> found;
  for (std::size_t i = 1; i < coarse_to_fine.size(); ++i) {
    auto const [coarse, above] = coarse_to_fine[i - 1];
    auto const [fine, below] = coarse_to_fine[i];
    if (above < level || below >= level) continue;
    double const part = (above - level) / (above - below);
    found = std::exp(std::log(coarse) + part * (std::log(fine) - std::log(coarse)));
  }
  return found;
}

Sweep sweep_granularity(std::vector<Model*> const& models, Parameters parameters, int workers,
                        MetgOptions const& options, std::vector<LeftOut>& left_out) {
  auto const enough_steady = static_cast<std::size_t>(options.repetitions + 1) / 2;
  Sweep sweep;
  std::set<int> numbers{workers};
  for (Model const* const model : models) numbers.insert(model->workers());
  std::map<int, std::vector<double>> bare;
  auto const rate_of = [&](int number) {
    bare[number].push_back(bare_rate(parameters, number, options.seconds_of_reference));
    return bare[number].back();
  };
  auto const note = [](Point& point, Result const& result) {
    (result.steady ? point.seconds : point.unsteady_seconds)
        .push_back(result.seconds * result.reference);
  };
  for (int const number : numbers) {
    for (int i = 0; i != 3; ++i) rate_of(number);
    sweep.peaks[number] = median(bare[number]);
  }
  double const per_thread = sweep.peaks[workers] / workers;
  std::vector<std::int64_t> iterations{std::max<std::int64_t>(
      2, static_cast<std::int64_t>(options.coarsest_us * 1e-6 * per_thread))};
  while (iterations.back() > 1)
    iterations.push_back(
        std::min(iterations.back() - 1,
                 std::max<std::int64_t>(
                     1, std::llround(static_cast<double>(iterations.back()) / options.factor))));
  struct Step {
    Parameters parameters;
    std::vector<Model*> models;
  };
  std::vector<Step> steps;
  std::vector<Model*> running = models;
  for (std::int64_t const n : iterations) {
    parameters.iterations = n;
    double const us_per_task = 0.5 + 1e6 * static_cast<double>(n) / per_thread;
    double const tasks = options.seconds_per_run * workers / (1e-6 * us_per_task);
    parameters.shape.steps =
        usable_steps(parameters, static_cast<std::int64_t>(tasks / parameters.shape.width));
    steps.push_back({parameters, running});
    for (Result const& result : measure_beside(running, parameters, rate_of, left_out))
      note(sweep.curves[result.model->name()].points.emplace_back(Point{result, 0, {}}), result);
    // What is that far down twice needs long runs and says nothing more. Once may be a disturbance.
    std::erase_if(running, [&](Model* model) {
      auto const curve = sweep.curves.find(model->name());
      if (curve == sweep.curves.end()) return true;
      auto const& points = curve->second.points;
      return points.size() >= 2 &&
             std::all_of(points.end() - 2, points.end(), [](Point const& each) {
               return each.result.iterations_per_second() < 0.1 * each.result.reference;
             });
    });
    if (running.empty()) break;
  }
  // Whole sweeps are repeated, not points: what disturbs the machine for seconds then spoils one of
  // a point's runs, not all of them.
  auto const point_of = [&](Model const* model, Step const& step) -> Point* {
    auto const curve = sweep.curves.find(model->name());
    if (curve == sweep.curves.end()) return nullptr;  // it has been left out
    for (Point& each : curve->second.points)
      if (each.result.parameters.iterations == step.parameters.iterations) return &each;
    return nullptr;
  };
  for (int pass = 1; pass < options.repetitions + options.more_repetitions; ++pass)
    for (Step& step : steps) {
      if (pass >= options.repetitions)
        std::erase_if(step.models, [&](Model const* model) {
          Point const* const point = point_of(model, step);
          return point == nullptr || point->seconds.size() >= enough_steady;
        });
      for (Result const& result : measure_beside(step.models, step.parameters, rate_of, left_out))
        if (Point* const point = point_of(result.model, step)) note(*point, result);
    }
  std::map<int, double> best;
  for (auto& [name, curve] : sweep.curves) {
    int const number = curve.points.front().result.model->workers();
    double const speed = median(bare[number]);
    std::vector<double> coarse;
    for (Point& each : curve.points) {
      if (each.seconds.size() < enough_steady)
        each.seconds.insert(each.seconds.end(), each.unsteady_seconds.begin(),
                            each.unsteady_seconds.end());
      for (double& seconds : each.seconds) seconds /= speed;
      each.result.seconds = median(each.seconds);
      each.result.fastest = *std::min_element(each.seconds.begin(), each.seconds.end());
      each.result.slowest = *std::max_element(each.seconds.begin(), each.seconds.end());
      each.result.repetitions = static_cast<int>(each.seconds.size());
      if (coarse.size() < 5) coarse.push_back(each.result.iterations_per_second() / speed);
    }
    best[number] = std::max({1.0, best[number], median(coarse)});
  }
  for (auto& [number, peak] : sweep.peaks)
    peak = median(bare[number]) * std::max(1.0, best[number]);
  for (auto& [name, curve] : sweep.curves) {
    std::vector<std::pair<double, double>> points;
    for (Point& each : curve.points) {
      each.efficiency =
          each.result.iterations_per_second() / sweep.peaks[each.result.model->workers()];
      points.emplace_back(each.result.granularity_us(), each.efficiency);
    }
    points = never_rising(std::move(points));
    curve.metg50_us = crossing(points, 0.5);
    curve.metg90_us = crossing(points, 0.9);
  }
  return sweep;
}

}  // namespace taskbench
