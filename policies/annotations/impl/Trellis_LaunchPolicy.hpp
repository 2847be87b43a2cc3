// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LAUNCHPOLICY_HPP
#define TRELLIS_IMPL_LAUNCHPOLICY_HPP

#include <Trellis_Spaces.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

/// This header decides how functors reach a device. Kokkos may copy them through one piece of
/// constant memory. Then the host waits until the last kernel that used the memory is done, and a
/// graph would find a later functor in it. Functors that are arguments of their kernels, as
/// `HintLightWeight` requests, avoid both.
namespace trellis::Impl {

/// The largest functor that is passed as an argument. Larger ones go through memory of another
/// kind, where a graph would not find them either. (Kokkos' limit is 4096 bytes or more, with its
/// own part and the policy.)
inline constexpr std::size_t largest_argument = 2048;

template <class Policy>
inline constexpr bool is_heavy = (typename Policy::work_item_property() &
                                  Kokkos::Experimental::WorkItemProperty::HintHeavyWeight) ==
                                 Kokkos::Experimental::WorkItemProperty::HintHeavyWeight;

/// True if a graph of the device may replace the launch.
template <class Policy, class Functor>
inline constexpr bool launches_the_same =
    !DeviceSpace<typename Policy::execution_space> ||
    (sizeof(Functor) <= largest_argument && !is_heavy<Policy>);

/// Returns the policy for the launch. A hint of the user about the functor stays in force. If
/// nothing changes, this returns the policy itself, as a copy would count references to its
/// instance.
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
