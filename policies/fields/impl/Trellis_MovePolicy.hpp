// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MOVEPOLICY_HPP
#define TRELLIS_IMPL_MOVEPOLICY_HPP

#include <common/Trellis_KokkosInternals.hpp>
#include <common/Trellis_RunOn.hpp>
#include <Trellis_Spaces.hpp>
#include <annotations/impl/Trellis_RebindPolicy.hpp>

#include <Kokkos_Core.hpp>

#include <type_traits>

/// This header makes the base policy of a task for another space.
namespace trellis::Impl {

/// The type `Policy<P...>` with this space: in place of the one among them, else before them.
template <template <class...> class Policy, class Space, class... P>
struct WithSpace {
  using type = Policy<Space, P...>;
};
template <template <class...> class Policy, class Space, class... P>
  requires(Kokkos::is_execution_space_v<P> || ...)
struct WithSpace<Policy, Space, P...> {
  using type = Policy<std::conditional_t<Kokkos::is_execution_space_v<P>, Space, P>...>;
};

/// Makes the policy for another space. `Space` is the one that `on<...>` names; the bodies of a
/// simulated device are for a host space.
template <class Base, class Space>
struct MovedPolicy;

template <class Space>
struct MovedPolicy<Count, Space> {
  static Count make(Count const& base) { return base; }
};

template <class Source, class Space>
struct MovedPolicy<LateCount<Source>, Space> {
  static LateCount<Source> make(LateCount<Source> const& base) { return base; }
};

template <class... P, class Space>
struct MovedPolicy<Kokkos::RangePolicy<P...>, Space> {
  using type =
      typename WithSpace<Kokkos::RangePolicy, typename RunOn<Space>::body_space, P...>::type;
  static type make(Kokkos::RangePolicy<P...> const& base) { return type(base.begin(), base.end()); }
};

template <class... P, class Space>
struct MovedPolicy<Kokkos::MDRangePolicy<P...>, Space> {
  using type =
      typename WithSpace<Kokkos::MDRangePolicy, typename RunOn<Space>::body_space, P...>::type;
  static type make(Kokkos::MDRangePolicy<P...> const& base) {
    typename type::point_type lower, upper;
    typename type::tile_type tile{};
    for (int k = 0; k < type::rank; ++k) {
      lower[k] = lower_bounds(base)[k];
      upper[k] = upper_bounds(base)[k];
      // A tile that Kokkos has chosen is for the old space.
      if (!has_chosen_tiles(base)) tile[k] = tile_sizes(base)[k];
    }
    return type(lower, upper, tile);
  }
};

template <class... P, class Space>
struct MovedPolicy<Kokkos::TeamPolicy<P...>, Space> {
  using From = Kokkos::TeamPolicy<P...>;
  using type =
      typename WithSpace<Kokkos::TeamPolicy, typename RunOn<Space>::body_space, P...>::type;
  static type make(From const& base) {
    auto const range = PolicyTraits<From, void>::keep(base);
    // Team size and vector length fit only one kind of device.
    constexpr bool has_sizes = DeviceSpace<typename type::execution_space>;
    int const size = has_sizes ? range.team_size : 0;
    int const length = has_sizes ? range.vector_length : 0;
    type policy = size != 0 && length != 0 ? type(range.league_size, size, length)
                  : size != 0              ? type(range.league_size, size, Kokkos::AUTO)
                  : length != 0            ? type(range.league_size, Kokkos::AUTO, length)
                                           : type(range.league_size, Kokkos::AUTO, Kokkos::AUTO);
    for (int const level : {0, 1})
      policy.set_scratch_size(level, Kokkos::PerTeam(range.scratch_per_team[level]),
                              Kokkos::PerThread(range.scratch_per_thread[level]));
    return policy;
  }
};

}  // namespace trellis::Impl

#endif
