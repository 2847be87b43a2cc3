// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_ORACLE_HPP
#define TRELLIS_EXAMPLE_PARTICLES_ORACLE_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "Initial.hpp"
#include "Kernels.hpp"
#include "Plasma.hpp"

/// This header computes what the ranks should find: the whole box in one piece, by plain loops,
/// without tasks, tiles or messages. It uses no Trellis.
namespace particles {

class Oracle {
 public:
  Oracle(Setup const& setup, Problem const& problem)
      : fields(0, problem.cells[0], problem.cells[1]), m_problem(problem) {
    Kokkos::deep_copy(fields.b, setup.field);
    for (std::int64_t id = 0; id < problem.particles(); ++id)
      all.push_back(make_particle(setup, problem, id));
  }

  void step() {
    half_step_of_b();
    Ledger ledger;
    for (Particle& p : all)
      push(p, fields, m_problem, ledger, [](std::int64_t& j, std::int64_t amount) { j += amount; });
    ledgers.push_back(ledger);
    bring_currents_home();
    half_step_of_b();
    StepOfE const e{fields, m_problem.time_step / m_problem.spacing, m_problem.current_unit()};
    for (int row = 0; row < fields.rows; ++row) e(row);
    go_round(fields.e);
  }

  Fields fields;
  std::vector<Particle> all;    ///< by their numbers
  std::vector<Ledger> ledgers;  ///< of each step

 private:
  void half_step_of_b() const {
    HalfStepOfB const b{fields, m_problem.time_step / (2 * m_problem.spacing)};
    for (int row = 0; row < fields.rows; ++row) b(row);
    go_round(fields.b);
  }
  /// Rows of the halo are those of the other end.
  template <class V>
  static void copy_row(V const& view, int from, int to) {
    auto const row = [&](int r) {
      if constexpr (V::rank() == 2)
        return Kokkos::subview(view, r, Kokkos::ALL);
      else
        return Kokkos::subview(view, r, Kokkos::ALL, Kokkos::ALL);
    };
    Kokkos::deep_copy(row(to), row(from));
  }
  template <class V>
  void go_round(V const& view) const {
    copy_row(view, fields.rows, 0);
    copy_row(view, 1, fields.rows + 1);
  }
  void bring_currents_home() const {
    auto const& j = fields.j;
    for (std::pair<int, int> const& rows :
         {std::pair(0, fields.rows), std::pair(fields.rows + 1, 1), std::pair(fields.rows + 2, 2)})
      for (int k = 0; k < 2; ++k)
        for (int c = 0; c < fields.columns; ++c)
          j(rows.second, k, c) += std::exchange(j(rows.first, k, c), 0);
  }

  Problem m_problem;
};

}  // namespace particles

#endif
