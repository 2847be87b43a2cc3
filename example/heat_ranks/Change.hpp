// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_CHANGE_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_CHANGE_HPP

#include "../heat/Stencil.hpp"

/// This header has the residual: the largest change of a cell in a step. Unlike a sum, a maximum
/// has the same bits for any order, tiles and ranks.
namespace heat::ranks {

/// Computes the largest change of a step that has been taken.
struct LargestChange {
  Field<2> before;
  Field<2> after;
  Box<2> box;

  KOKKOS_FUNCTION void operator()(int row, double& largest) const {
    int const i = box.begin[0] + row;
    for (int j = box.begin[1]; j < box.end[1]; ++j) (*this)(i, j, largest);
  }
  KOKKOS_FUNCTION void operator()(int i, int j, double& largest) const {
    largest = Kokkos::max(largest, Kokkos::abs(after(i, j) - before(i, j)));
  }
};

/// Takes the step, too.
template <class OneStep>
struct StepAndChange {
  OneStep step;
  LargestChange change;
  explicit StepAndChange(OneStep const& one) : step(one), change{one.before, one.after, one.box} {}

  KOKKOS_FUNCTION void operator()(int row, double& largest) const {
    step(row);
    change(row, largest);
  }
  KOKKOS_FUNCTION void operator()(int i, int j, double& largest) const {
    step(i, j);
    change(i, j, largest);
  }
};

}  // namespace heat::ranks

#endif
