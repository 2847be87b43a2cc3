// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RANKCLOCK_HPP
#define TRELLIS_IMPL_RANKCLOCK_HPP

#include <mpi.h>

#include <chrono>
#include <cstdint>

namespace trellis::Impl {

/// The offset to add to this rank's steady clock so that it shows the time of rank 0's.
struct ClockOffset {
  std::int64_t offset_ns = 0;
  std::int64_t uncertainty_ns = 0;  ///< bound of the error of offset_ns
};

[[nodiscard]] inline std::int64_t nanoseconds(std::chrono::steady_clock::time_point when) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
}
[[nodiscard]] inline std::int64_t steady_now() {
  return nanoseconds(std::chrono::steady_clock::now());
}

/// Measures the offset. The call is collective, and nothing else uses `comm`.
///
/// A rank notes its time, asks rank 0 for its time, and notes when the answer came. Rank 0 has read
/// its clock in between. The answer is taken as the time at the middle, with an error of at most
/// half of the time between. Among several dozen answers the one that came soonest counts. One rank
/// at a time asks, and the others sleep meanwhile.
///
/// The drift of the clocks is not measured. That would take two such measurements far from each
/// other, and so another collective call when the graph is made. The steady clock follows the rate
/// of NTP or PTP if one of them runs. Then it drifts by a microsecond per second or less, otherwise
/// by some ten.
[[nodiscard]] ClockOffset measure_clock(MPI_Comm comm, std::int64_t (*now)());

}  // namespace trellis::Impl

#endif
