// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_WHOLE_HPP
#define TRELLIS_EXAMPLE_PARTICLES_WHOLE_HPP

#include <vector>

#include "../heat/Picture.hpp"
#include "Initial.hpp"
#include "Slab.hpp"
#include "TaskSolver.hpp"

/// With this header rank 0 has the box as a whole, and looks at it.
namespace particles {

struct LooksAtWhole {
  bool same_as_one_rank = true;  ///< all bits of fields, currents and particles
  bool charge_flows = true;  ///< at each node, in whole numbers: what has changed has flown there
  double gauss = 0;          ///< the largest |div E - charge density|
};

/// Collects the box on rank 0, which computes it anew without tasks. What other ranks return does
/// not count. Collective.
[[nodiscard]] LooksAtWhole look_at_whole(Slab const& slab, Setup const& setup,
                                         Problem const& problem);

/// The sums of rows of all ranks, one check behind the other. Of rank 0. Collective.
[[nodiscard]] std::vector<RowSums> rows_of_all(Slab const& slab, Problem const& problem,
                                               Series const& series);

/// How many electrons there are by x (to the right) and ux (upwards), as a logarithm. Of rank 0.
/// Collective.
[[nodiscard]] heat::Picture phase_space(Slab const& slab, Problem const& problem);

}  // namespace particles

#endif
