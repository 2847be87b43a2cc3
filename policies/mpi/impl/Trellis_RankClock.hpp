// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RANKCLOCK_HPP
#define TRELLIS_IMPL_RANKCLOCK_HPP

#include <mpi.h>

#include <chrono>
#include <cstdint>

namespace trellis::Impl {

/// What the steady clock of this rank must be added to show what that of rank 0 shows.
struct ClockOffset {
  std::int64_t offset_ns = 0;
  std::int64_t uncertainty_ns = 0;  ///< it is not farther off than that
};

[[nodiscard]] inline std::int64_t nanoseconds(std::chrono::steady_clock::time_point when) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
}
[[nodiscard]] inline std::int64_t steady_now() {
  return nanoseconds(std::chrono::steady_clock::now());
}

/// Collective. Nobody else uses `comm`.
///
/// A rank notes its time, asks rank 0 for its own, and notes when the answer came. Rank 0 has read
/// its clock somewhere between, so in the middle it was as late as the answer says, and half of the
/// time between is how much that may be wrong. Of several dozen answers the one that came soonest
/// counts. One rank at a time asks, and the others sleep meanwhile.
///
/// How clocks drift apart is not looked for: that takes two such measurements far from each other,
/// so a collective call when the graph is made as well. The steady clock follows the rate that NTP
/// or PTP has found, where one of them runs: then it drifts by a microsecond in a second or less,
/// else by some ten.
[[nodiscard]] ClockOffset measure_clock(MPI_Comm comm, std::int64_t (*now)());

}  // namespace trellis::Impl

#endif
