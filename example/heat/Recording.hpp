// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RECORDING_HPP
#define TRELLIS_EXAMPLE_HEAT_RECORDING_HPP

#include <Trellis_Recorded.hpp>

/// This header measures in a recorded run how far steps overlapped.
namespace heat {

/// Returns the most steps (labels "step ...") that had begun and not ended at one moment.
[[nodiscard]] int steps_under_way(trellis::Graph const& graph);

}  // namespace heat

#endif
