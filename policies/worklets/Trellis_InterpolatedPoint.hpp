// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_INTERPOLATEDPOINT_HPP
#define TRELLIS_INTERPOLATEDPOINT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace trellis {

/// A point between two others. The value of a field there is `(1 - weight) * at first + weight * at
/// second`.
struct InterpolatedPoint {
  std::int64_t first = 0;
  std::int64_t second = 0;
  double weight = 0;

  /// Returns the same point with the smaller number first.
  [[nodiscard]] KOKKOS_FUNCTION InterpolatedPoint in_order() const {
    return first <= second ? *this : InterpolatedPoint{second, first, 1 - weight};
  }
};

}  // namespace trellis

#endif
