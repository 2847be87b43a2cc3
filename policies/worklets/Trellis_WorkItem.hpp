// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_WORKITEM_HPP
#define TRELLIS_WORKITEM_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

/// This header identifies the item of a domain that a worklet is called for.
namespace trellis::worklets {

/// An item of a grid of `rank` dimensions. `flat` numbers the items; the first index is fastest.
template <int rank>
struct WorkItem {
  Kokkos::Array<std::int64_t, rank> at;
  std::int64_t flat;
};
/// An item of a list.
template <>
struct WorkItem<1> {
  std::int64_t flat;
};

/// Says how many items a domain has in each direction. Items of a list have one direction.
struct Extents {
  int rank = 1;
  std::int64_t along[3] = {0, 1, 1};

  static constexpr Extents of(std::int64_t n) { return {1, {n, 1, 1}}; }
  template <int D>
  static constexpr Extents of(Kokkos::Array<std::int64_t, D> const& n) {
    Extents extents{D, {1, 1, 1}};
    for (int d = 0; d < D; ++d) extents.along[d] = n[d];
    return extents;
  }
  [[nodiscard]] constexpr std::int64_t count() const { return along[0] * along[1] * along[2]; }
  /// True if both may be the number of the same items. A View of one dimension may hold the items
  /// of a grid.
  [[nodiscard]] constexpr bool agrees_with(Extents const& other) const {
    if (rank == 1 || other.rank == 1) return count() == other.count();
    return rank == other.rank && along[0] == other.along[0] && along[1] == other.along[1] &&
           along[2] == other.along[2];
  }
};

namespace Impl {

/// An item generated from an item of the domain, for kinds that generate.
template <int rank>
struct GeneratedItem {
  WorkItem<rank> source;  ///< the item of the domain, which is read
  WorkItem<1> target;     ///< the new item, which is written
  std::int64_t visit;     ///< its number among those of `source`, from 0 on
};

template <int rank, class... Index>
KOKKOS_INLINE_FUNCTION WorkItem<rank> make_item(Kokkos::Array<std::int64_t, rank> const& extents,
                                                Index... index) {
  if constexpr (rank == 1) {
    return {static_cast<std::int64_t>(index)...};
  } else {
    WorkItem<rank> item{{static_cast<std::int64_t>(index)...}, 0};
    for (int d = rank - 1; d >= 0; --d) item.flat = item.flat * extents[d] + item.at[d];
    return item;
  }
}

/// Returns the item with this number.
template <int rank>
KOKKOS_INLINE_FUNCTION WorkItem<rank> item_at(
    Kokkos::Array<std::int64_t, static_cast<std::size_t>(rank)> const& extents, std::int64_t flat) {
  if constexpr (rank == 1) {
    return {flat};
  } else {
    WorkItem<rank> item{{}, flat};
    for (int d = 0; d < rank; ++d) {
      auto const k = static_cast<std::size_t>(d);
      item.at[k] = flat % extents[k];
      flat /= extents[k];
    }
    return item;
  }
}

}  // namespace Impl
}  // namespace trellis::worklets

#endif
