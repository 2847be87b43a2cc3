// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_VIEWSHAPE_HPP
#define TRELLIS_IMPL_VIEWSHAPE_HPP

#include <Trellis_Area.hpp>

#include <cstdint>
#include <string>

namespace trellis::Impl {

/// The shape that converts addresses into indices for texts: for each dimension of a View, in
/// order, the bytes from one index to the next.
struct ViewShape {
  std::uint64_t element_bytes = 0;  ///< 0: not known
  int rank = 0;
  std::uint64_t strides[Area::max_rank] = {};
  friend bool operator==(ViewShape const&, ViewShape const&) = default;
};

/// Returns the area as ranges of indices, "[2, 5) x [0, 8)", if it is a box of them. Otherwise it
/// is in elements from `base`, "[3, 4) x 8 every 16". It is in bytes if it has no whole elements or
/// the shape is not known.
[[nodiscard]] std::string area_text(Area const& area, std::uintptr_t base, ViewShape const& shape);

}  // namespace trellis::Impl

#endif
