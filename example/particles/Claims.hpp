// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_CLAIMS_HPP
#define TRELLIS_EXAMPLE_PARTICLES_CLAIMS_HPP

#include <Trellis_Recorded.hpp>

/// This header checks what the program claims about its tasks against the record of the graph. Each
/// function throws `std::runtime_error`, which names the tasks, when a claim does not hold.
namespace particles {

/// The findings, for the report.
struct ClaimsOfGraph {
  long pairs = 0;     ///< of a push of the core and a message of its step, without a path
  long released = 0;  ///< edges from a push to what did not have to wait for its end
  long inserted = 0;  ///< edges from an exchange to an insertion that could begin before its end
};

/// Checks claims about the dependency graph of a run of `steps` steps, all of which were submitted
/// before anything ran.
///
/// - No path leads from a push of the core to a message of the same step, or the other way. The
///   messages are those of B, J and E, and the exchange of particles.
/// - The messages of the currents, and the exchange of particles, depend on the pushes of the
///   border. Each of these edges was released before the push was complete.
[[nodiscard]] ClaimsOfGraph look_at_graph(trellis::Graph const& graph, int steps);

struct ClaimsOfTime {
  long early = 0;       ///< messages that began before the push that they depend on had ended
  long overlapped = 0;  ///< messages that began and ended while the core was pushed
};

/// Checks claims about when tasks ran, in a run with a Gate.
[[nodiscard]] ClaimsOfTime look_at_times(trellis::Graph const& graph, int steps);

}  // namespace particles

#endif
