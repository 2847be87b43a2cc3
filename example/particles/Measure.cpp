// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace particles {
namespace {

using std::numbers::pi;

std::optional<double> frequency(std::vector<Moment> const& moments) {
  std::vector<double> zeros;
  for (std::size_t k = 1; k + 1 < moments.size(); ++k) {  // the first one is zero anyway
    Moment const &a = moments[k], &b = moments[k + 1];
    if ((a.sine < 0) != (b.sine < 0))
      zeros.push_back(a.time + (b.time - a.time) * a.sine / (a.sine - b.sine));
  }
  if (zeros.size() < 3) return {};
  return pi * static_cast<double>(zeros.size() - 1) / (zeros.back() - zeros.front());
}

std::optional<double> growth(std::vector<Moment> const& moments) {
  double peak = 0;
  for (Moment const& m : moments) peak = std::max(peak, m.wave());
  // The interval ends when the wave is large for the first time. It begins when the wave was small
  // for the last time before that.
  std::size_t end = 0;
  while (end < moments.size() && moments[end].wave() < peak / 5) ++end;
  std::size_t begin = end;
  while (begin > 0 && moments[begin - 1].wave() > peak / 100) --begin;
  if (begin < 2 || end - begin < 5 || moments[1].wave() > peak / 1000) return {};
  double n = 0, t = 0, y = 0, tt = 0, ty = 0;
  for (std::size_t k = begin; k < end; ++k) {
    double const time = moments[k].time, log = std::log(moments[k].wave());
    n += 1;
    t += time;
    y += log;
    tt += time * time;
    ty += time * log;
  }
  return (n * ty - t * y) / (n * tt - t * t);
}

std::optional<double> turning(std::vector<Moment> const& moments) {
  if (moments.size() < 3) return {};
  double angle = 0;
  for (std::size_t k = 0; k + 1 < moments.size(); ++k) {
    Moment const &a = moments[k], &b = moments[k + 1];
    angle += std::atan2(a.ux * b.uy - a.uy * b.ux, a.ux * b.ux + a.uy * b.uy);
  }
  return std::abs(angle) / (moments.back().time - moments.front().time);
}

}  // namespace

std::vector<Moment> moments_of(Setup const& setup, Problem const& problem,
                               std::vector<Ledger> const& totals,
                               std::vector<RowSums> const& rows) {
  std::vector<Moment> all;
  auto const row_count = static_cast<std::size_t>(problem.cells[0]);
  for (std::size_t k = 0; k < totals.size(); ++k) {
    Moment m;
    m.time = static_cast<double>(k) * problem.check_every * problem.time_step;
    // Test particles have an energy as well, of the same mass.
    double const mass = problem.spacing * problem.spacing / problem.per_cell;
    m.kinetic = mass * ledger_unit * static_cast<double>(totals[k].kinetic);
    m.ux = ledger_unit * static_cast<double>(totals[k].ux);
    m.uy = ledger_unit * static_cast<double>(totals[k].uy);
    for (std::size_t r = 0; r < row_count; ++r) {
      RowSums const& row = rows[k * row_count + r];
      double const phase = setup.wave_number() * (static_cast<double>(r) + 0.5) * problem.spacing;
      m.electric += row.electric;
      m.magnetic += row.magnetic;
      m.sine += row.ex * std::sin(phase);
      m.cosine += row.ex * std::cos(phase);
    }
    all.push_back(m);
  }
  return all;
}

double energy_drift(std::vector<Moment> const& moments) {
  double drift = 0;
  for (Moment const& m : moments) {
    double const here = std::abs(m.energy() - moments.front().energy()) / moments.front().energy();
    if (!(here <= drift)) drift = here;  // also when it is NaN
  }
  return drift;
}

std::optional<double> measured_value(Setup const& setup, std::vector<Moment> const& moments) {
  switch (setup.what) {
    case Case::oscillation:
      return frequency(moments);
    case Case::streams:
      return growth(moments);
    case Case::gyration:
      break;
  }
  return turning(moments);
}

}  // namespace particles
