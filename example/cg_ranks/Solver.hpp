// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_SOLVER_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_SOLVER_HPP

#include <cstddef>
#include <vector>

#include "Scalars.hpp"

/// This header has the data of both versions of the solver, and their results.
namespace cg {

/// A x = b. The names of the other vectors are those of the two methods.
struct Vectors {
  Vector b, x, r, u, p, s;
  Vector n;           ///< also for A x, when the answer is checked
  Vector w, m, z, q;  ///< of the pipelined method alone
  Vectors(Matrix const& matrix, Vector const& right_hand_side, Method method)
      : b(right_hand_side),
        x(matrix.make_vector("x")),
        r(matrix.make_vector("r")),
        u(matrix.make_vector("u")),
        p(matrix.make_vector("p")),
        s(matrix.make_vector("s")),
        n(matrix.make_vector("n")) {
    if (method == Method::classic) return;
    w = matrix.make_vector("w");
    m = matrix.make_vector("m");
    z = matrix.make_vector("z");
    q = matrix.make_vector("q");
  }
};

/// The numbers of a solver, in memory of its own.
struct Scalars {
  Number gamma{"gamma"};
  LengthsView alpha{"alpha"};
  LengthsView beta{"beta"};
  Numbers sums_of_apply{"sum of each rank, p A p", 1};
  Numbers sums;  ///< of residuals
  Partials partials_of_apply;
  Partials partials;
  Judge judge;

  Scalars(Matrix const& matrix, Options const& options)
      : sums("sums of each rank", count(options)),
        partials_of_apply("p A p of each tile", matrix.tiles.size(), 1),
        partials("sums of each tile", matrix.tiles.size(), count(options)),
        judge{options.tolerance, options.most_steps, StateView("state"),
              Numbers("history", static_cast<std::size_t>(options.most_steps) + 1)} {}

 private:
  static std::size_t count(Options const& options) {
    return options.method == Method::classic ? 2 : 3;
  }
};

struct Outcome {
  State state;
  std::vector<double> residuals;  ///< squares of their norms, before the first step and after each

  explicit Outcome(Judge const& judge) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), judge.state);
    state = host();
    auto const all = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), judge.history);
    residuals.assign(all.data(), all.data() + state.steps + 1);
  }
};

}  // namespace cg

#endif
