// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_IMPLIED_HPP
#define TRELLIS_IMPL_IMPLIED_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trellis::Impl {

/// An edge of a small graph whose nodes are numbers.
struct Arrow {
  /// An arrow is implied only by paths of arrows that say as much.
  enum class Kind : std::uint8_t {
    dependency,  ///< only paths of dependencies imply it
    scheduling,  ///< so do paths of these two kinds
    released,    ///< it is implied likewise, and implies nothing
  };
  std::size_t from = 0;
  std::size_t to = 0;
  Kind kind = Kind::dependency;
};

/// Returns for each node the number of its circle; a node on no circle has a number of its own. An
/// arrow leads to an equal or a smaller number.
[[nodiscard]] std::vector<std::size_t> circles(std::size_t size, std::vector<Arrow> const& arrows);

/// Finds the arrows that the others imply. Without them the same nodes are reached. Where there is
/// no circle, no further one can be left out. Two arrows between the same two circles both stay,
/// and so do the arrows of a circle. Requires that no two arrows join the same nodes. Takes memory
/// in the square of `size`.
[[nodiscard]] std::vector<bool> implied(std::size_t size, std::vector<Arrow> const& arrows);

}  // namespace trellis::Impl

#endif
