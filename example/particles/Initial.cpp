// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Initial.hpp"

#include <Trellis.hpp>
#include <Trellis_Threads.hpp>
#include <cmath>
#include <numbers>

namespace particles {
namespace {

using std::numbers::pi;
constexpr std::uint64_t seed = 20170213;

double gamma_of_speed(double speed) {
  return 1 / std::sqrt(1 - speed * speed);
}

/// Returns the growth rate of two cold streams of equal density, omega_p^2 = 1 / gamma^3 of both
/// together. It is the imaginary root of w^4 - (2 K^2 + 1) w^2 + K^4 - K^2 = 0, K = k v / omega_p
/// (O. Buneman, Phys. Rev. 115 (1959), 503, for streams of one kind).
double growth_of_streams(double k, double speed) {
  double const frequency = std::pow(gamma_of_speed(speed), -1.5);
  double const square = k * speed / frequency * (k * speed / frequency);
  double const root = square + 0.5 - 0.5 * std::sqrt(8 * square + 1);
  return root < 0 ? frequency * std::sqrt(-root) : 0;
}

}  // namespace

std::string to_string(Case what) {
  switch (what) {
    case Case::oscillation:
      return "oscillation";
    case Case::streams:
      return "streams";
    case Case::gyration:
      break;
  }
  return "gyration";
}

double Setup::wave_number() const {
  return 2 * pi / length;
}

double Setup::known_value() const {
  switch (what) {
    case Case::oscillation:
      return 1;
    case Case::streams:
      return growth_of_streams(wave_number(), speed);
    case Case::gyration:
      break;
  }
  return field / gamma_of_speed(speed);
}

Particle make_particle(Setup const& setup, Problem const& problem, std::int64_t id) {
  std::int64_t const cell = id / problem.per_cell;
  std::int64_t const row = cell / problem.cells[1], column = cell % problem.cells[1];
  // Two streams need a particle of each at one place.
  std::int64_t const together = setup.what == Case::streams ? 2 : 1;
  std::int64_t const places = problem.per_cell / together;
  std::int64_t const place = id % problem.per_cell / together;
  std::int64_t const along = (2 * place + 1) * cell_length / (2 * places);
  double const turn = 0.5 + 0.6180339887498949 * static_cast<double>(place);  // golden ratio
  auto const across =
      static_cast<std::int64_t>((turn - std::floor(turn)) * static_cast<double>(cell_length));

  Particle p{row * cell_length + along, column * cell_length + across, 0, 0, id};
  double const x = static_cast<double>(p.x) / cell_length * problem.spacing;
  // The wave is not zero where slabs of 1, 2 or 4 ranks meet.
  double const wave = std::sin(setup.wave_number() * x + pi / 4);
  double const momentum = setup.speed * gamma_of_speed(setup.speed);
  switch (setup.what) {
    case Case::oscillation:
      p.ux = momentum * wave;
      break;
    case Case::streams:
      p.ux = (id % 2 == 0 ? momentum : -momentum) + 1e-3 * momentum * wave;
      break;
    case Case::gyration:
      p.ux = momentum;
      break;
  }
  if (setup.temperature > 0) {
    auto random = trellis::RandomStreams(seed)(static_cast<std::uint64_t>(id));
    p.ux += setup.temperature * random.normal();
    p.uy += setup.temperature * random.normal();
  }
  return p;
}

}  // namespace particles
