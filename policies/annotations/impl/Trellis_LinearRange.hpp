// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LINEARRANGE_HPP
#define TRELLIS_IMPL_LINEARRANGE_HPP

#include <annotations/impl/Trellis_RebindPolicy.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace trellis::Impl {

/// Numbers the indices of a policy in the order of a loop over them. `Place` says where they are,
/// which is all that a kernel needs of the policy.
template <class Traits, class Policy = typename Traits::policy_type>
struct LinearRange {
  static constexpr bool exists = false;
};

template <class WorkTag, class Functor, class... Index>
KOKKOS_FUNCTION void call_in_kernel(Functor const& functor, Index... index) {
  if constexpr (std::is_void_v<WorkTag>)
    functor(index...);
  else
    functor(WorkTag(), index...);
}

template <class Traits, class... P>
struct LinearRange<Traits, Kokkos::RangePolicy<P...>> {
  static constexpr bool exists = true;
  using Range = typename Traits::Range;
  using Index = typename Traits::index_type;
  static constexpr bool is_count = std::is_base_of_v<Count, Range>;

  static std::int64_t count(Range const& range) {
    if constexpr (is_count)
      return range.n;
    else
      return range.end > range.begin ? static_cast<std::int64_t>(range.end - range.begin) : 0;
  }
  struct Place {
    Index begin;
  };
  static Place place(Range const& range) {
    if constexpr (is_count)
      return {0};
    else
      return {range.begin};
  }
  template <class Functor>
  KOKKOS_FUNCTION static void call(Functor const& functor, Place const& place, int k) {
    call_in_kernel<typename Traits::work_tag>(functor, static_cast<Index>(place.begin + Index(k)));
  }
};

template <class Traits, class... P>
struct LinearRange<Traits, Kokkos::MDRangePolicy<P...>> {
  static constexpr bool exists = true;
  using Policy = Kokkos::MDRangePolicy<P...>;
  using Range = typename Traits::Range;
  using Index = typename Policy::index_type;
  static constexpr int rank = static_cast<int>(Policy::rank);
  static constexpr bool leftmost_is_fastest = Policy::inner_direction == Kokkos::Iterate::Left;

  static std::int64_t count(Range const& range) {
    std::int64_t all = 1;
    for (int d = 0; d < rank; ++d) {
      auto const extent =
          static_cast<std::int64_t>(range.upper[d]) - static_cast<std::int64_t>(range.lower[d]);
      if (extent <= 0) return 0;
      // A number that is too large for one launch need not be exact.
      if (all > std::numeric_limits<int>::max() / extent) return std::numeric_limits<int>::max();
      all *= extent;
    }
    return all;
  }
  struct Place {
    Index lower[rank];
    int extent[rank];
  };
  static Place place(Range const& range) {
    Place place;
    for (int d = 0; d < rank; ++d) {
      place.lower[d] = static_cast<Index>(range.lower[d]);
      place.extent[d] = static_cast<int>(range.upper[d] - range.lower[d]);
    }
    return place;
  }
  template <class Functor>
  KOKKOS_FUNCTION static void call(Functor const& functor, Place const& place, int k) {
    Index index[rank];
    for (int step = 0; step < rank; ++step) {
      int const d = leftmost_is_fastest ? step : rank - 1 - step;
      index[d] = place.lower[d] + static_cast<Index>(k % place.extent[d]);
      k /= place.extent[d];
    }
    call_at(functor, index, std::make_integer_sequence<int, rank>());
  }

 private:
  template <class Functor, int... D>
  KOKKOS_FUNCTION static void call_at(Functor const& functor, Index const* index,
                                      std::integer_sequence<int, D...>) {
    call_in_kernel<typename Traits::work_tag>(functor, index[D]...);
  }
};

}  // namespace trellis::Impl

#endif
