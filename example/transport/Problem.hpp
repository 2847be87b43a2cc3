// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TRANSPORT_PROBLEM_HPP
#define TRELLIS_EXAMPLE_TRANSPORT_PROBLEM_HPP

#include <cstddef>

/// This header defines the problem.
///
/// On a periodic unit cube of n^3 cells, for each of the scalars phi_i:
///
///     d phi_i / dt = - div(-D grad phi_i) - div(u phi_i) + s_i
///
/// `Coupling::none`: s_i = exp(phi_i). `Coupling::all`: s_i is the product of exp(phi_j) over all
/// j, as in equations 4.1 and 4.2 of the source. Each equation has three diffusive and three
/// convective fluxes (upwind), a source, and a right-hand side. The steps are explicit.
namespace transport {

enum class Coupling { none, all };
enum class Source {
  own,    ///< a task for each equation
  shared  ///< one task, whose field all right-hand sides read; for coupled equations
};

struct Problem {
  int equations = 8;
  int cells = 32;  ///< along each direction
  Coupling coupling = Coupling::none;
  Source source = Source::own;

  static constexpr double diffusivity = 0.01;
  static constexpr double velocity[3] = {0.5, -0.25, 0.125};

  /// Returns the rows of cells in two directions; each task has an index for each row.
  [[nodiscard]] int rows() const { return cells * cells; }
  [[nodiscard]] double spacing() const { return 1.0 / cells; }
  /// Returns a fifth of the time step that is stable without sources.
  [[nodiscard]] double time_step() const {
    double const h = spacing();
    return 0.2 / (6 * diffusivity / (h * h) + 3 * velocity[0] / h);
  }
  [[nodiscard]] std::size_t field_bytes() const {
    auto const n = static_cast<std::size_t>(cells);
    return n * n * n * sizeof(double);
  }
  [[nodiscard]] int sources() const { return source == Source::shared ? 1 : equations; }
  /// Returns the tasks of a step, with the updates.
  [[nodiscard]] int tasks() const { return equations * (6 + 1 + 1) + sources(); }
};

/// The cost of tasks and copies in virtual time: a core of a host, and two devices. A kernel takes
/// the same time for each cell, whatever it does there.
struct Machine {
  static constexpr double fast = 10;  ///< cells in a nanosecond, on a device; on the host 1
  static constexpr double slow = 4;
  static constexpr double link_bytes = 16;  ///< in a nanosecond, each way
  static constexpr int link_latency = 10'000;
  static constexpr int launch_latency = 2'500;
  static constexpr int start_overhead = 1'500;
};

}  // namespace transport

#endif
