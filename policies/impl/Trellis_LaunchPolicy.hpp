// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LAUNCHPOLICY_HPP
#define TRELLIS_IMPL_LAUNCHPOLICY_HPP

#include <Trellis_Spaces.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

/// How functors reach a device. Kokkos may take them there through one piece of constant memory,
/// and then the host waits until the kernel that has used it last is done; and a graph would find
/// in it whatever went through it since. As arguments of their kernels, which `HintLightWeight`
/// asks for, they do neither.
namespace trellis::Impl {

/// Larger ones go through memory of another kind, where a graph would not find them either.
/// (Kokkos' limit is 4096 bytes or more, with its own part and the policy.)
inline constexpr std::size_t largest_argument = 2048;

template <class Policy>
inline constexpr bool is_heavy = (typename Policy::work_item_property() &
                                  Kokkos::Experimental::WorkItemProperty::HintHeavyWeight) ==
                                 Kokkos::Experimental::WorkItemProperty::HintHeavyWeight;

/// May a graph of the device stand for the launch?
template <class Policy, class Functor>
inline constexpr bool launches_the_same =
    !DeviceSpace<typename Policy::execution_space> ||
    (sizeof(Functor) <= largest_argument && !is_heavy<Policy>);

/// The policy as it is launched. What the user has said of the functor stands. Elsewhere the policy
/// itself: copying one counts references to its instance.
template <class Policy>
decltype(auto) launched(Policy const& policy) {
  if constexpr (DeviceSpace<typename Policy::execution_space> && !is_heavy<Policy>)
    return Kokkos::Experimental::require(
        policy, typename Policy::work_item_property() |
                    Kokkos::Experimental::WorkItemProperty::HintLightWeight);
  else
    return (policy);
}

}  // namespace trellis::Impl

#endif
