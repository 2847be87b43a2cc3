// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_WHOLE_HPP
#define TRELLIS_EXAMPLE_PARTICLES_WHOLE_HPP

#include <vector>

#include "../heat/Picture.hpp"
#include "Initial.hpp"
#include "Slab.hpp"
#include "TaskSolver.hpp"

/// This header collects the box as a whole on rank 0, and checks it.
namespace particles {

struct LooksAtWhole {
  bool same_as_one_rank = true;  ///< all bits of fields, currents and particles
  bool charge_flows = true;  ///< at each node, in whole numbers: what has changed has flown there
  double gauss = 0;          ///< the largest |div E - charge density|
};

/// Collects the box on rank 0, which computes it anew without tasks. The results of other ranks do
/// not count. Collective.
[[nodiscard]] LooksAtWhole look_at_whole(Slab const& slab, Setup const& setup,
                                         Problem const& problem);

/// Returns the sums of rows of all ranks, one check after the other. The result is on rank 0.
/// Collective.
[[nodiscard]] std::vector<RowSums> rows_of_all(Slab const& slab, Problem const& problem,
                                               Series const& series);

/// Returns how many electrons there are by x (to the right) and ux (upwards), as a logarithm. The
/// result is on rank 0. Collective.
[[nodiscard]] heat::Picture phase_space(Slab const& slab, Problem const& problem);

}  // namespace particles

#endif
