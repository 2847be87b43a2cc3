// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_REACHABLE_HPP
#define TRELLIS_IMPL_REACHABLE_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <annotations/Trellis_Resource.hpp>
#include <common/Trellis_RunOn.hpp>
#include <Trellis_Spaces.hpp>
#include <annotations/impl/Trellis_KnownValue.hpp>

#include <Kokkos_Core.hpp>

#include <type_traits>

/// This header checks that each View that a task accesses is reachable from where the task runs.
namespace trellis::Impl {

/// A check has a function `holds()`, which returns true or reports an error by a static_assert. The
/// static_asserts are not in the class itself: once one has failed there, Clang does not evaluate
/// the class any more, and compiles both branches of the `if constexpr` that uses it.
template <class... Each>
struct AllHold {
  static constexpr bool holds() { return (Each::holds() && ...); }
};

template <class Space, class R>
struct IsReachable : std::true_type {};
template <class Space, class R>
  requires Kokkos::is_view_v<R>
struct IsReachable<Space, R>
    : std::bool_constant<CanTouch<Space, typename R::memory_space>::value> {};
template <class Space>
struct IsReachable<Space, HostMemory> : CanTouch<Space, Kokkos::HostSpace> {};
template <class Space, class... Held>
struct IsReachable<Space, Group<Held...>>
    : std::bool_constant<(IsReachable<Space, std::remove_cvref_t<Held>>::value && ...)> {};
/// This is for a resource that is no View but names a memory space.
template <class Space, OpenResource R>
  requires requires { typename ResourceTraits<R>::memory_space; }
struct IsReachable<Space, R> : CanTouch<Space, typename ResourceTraits<R>::memory_space> {};
template <class Space, ResourceRange R>
struct IsReachable<Space, R> : IsReachable<Space, typename LeafOf<R>::type> {};

/// True if the resources of an annotation are reachable. (Lists are checked when the task is
/// submitted. Open resources that name no memory space are checked when their pieces have replaced
/// them.)
template <class Space, class A>
inline constexpr bool reaches_open_v = true;
template <class Space, class How, class Held>
inline constexpr bool reaches_open_v<Space, OpenAccess<How, Held>> =
    std::is_same_v<How, ModeConstant<Mode::none>> ||
    IsReachable<Space, std::remove_cvref_t<Held>>::value;
template <class Space, class A>
consteval bool reaches_views() {
  if constexpr (is_open_access_v<A>)
    return reaches_open_v<Space, A>;
  else if constexpr (is_access_v<A> && !is_list_v<A>)
    return A::mode == Mode::none || IsReachable<Space, typename A::resource_type>::value;
  else
    return true;
}
template <class Space, class A>
consteval bool reaches_values() {
  if constexpr (is_value_v<A> && (DeviceSpace<Space> || is_foreign_v<Space>))
    return is_copied_value_v<typename A::value_type>;
  else
    return true;
}

/// Tasks of a simulated device run on a host space, which their policy must name.
template <class Space>
struct BaseNamesAHost {
  static constexpr bool holds() {
    static_assert(!is_foreign_v<Space>,
                  "Trellis: the base policy of a task on a simulated device is a whole number or a "
                  "policy of a "
                  "host space, beside on<trellis::Simulated>");
    return !is_foreign_v<Space>;
  }
};

/// (A class, so that the compiler's message has few lines.)
template <class Space, class... Annotations>
struct MustReach {
  static constexpr bool views = (reaches_views<Space, Annotations>() && ...);
  static constexpr bool values = (reaches_values<Space, Annotations>() && ...);
  static constexpr bool holds() {
    static_assert(views,
                  "Trellis: the task's execution space cannot access the memory space of an "
                  "annotated View");
    static_assert(values,
                  "Trellis: a kernel on a device takes values of futures that are trivially "
                  "copyable and have 1024 bytes at most");
    return views && values;
  }
};

template <class Space>
consteval bool is_asynchronous() {
  if constexpr (std::is_void_v<Space>)
    return false;
  else
    return DeviceSpace<Space> || is_foreign_v<Space>;
}
/// Gives the space of `fusable_on<...>`, if that has devices and the task has none; else void.
template <class RunsOn, class... Annotations>
struct OffloadsTo {
  using type = void;
};
template <class RunsOn, class Space, class... Rest>
struct OffloadsTo<RunsOn, FusableOn<Space>, Rest...> {
  using type =
      std::conditional_t<is_asynchronous<Space>() && !is_asynchronous<RunsOn>(), Space, void>;
};
template <class RunsOn, class First, class... Rest>
struct OffloadsTo<RunsOn, First, Rest...> : OffloadsTo<RunsOn, Rest...> {};

/// Checks the same for the space that batches may go to; void means none.
template <class Space, class... Annotations>
struct MustReachAsWell {
  static constexpr bool reaches =
      (reaches_views<Space, Annotations>() && ...) && (reaches_values<Space, Annotations>() && ...);
  static constexpr bool holds() {
    static_assert(
        reaches,
        "Trellis: fusable_on<Space>: Space cannot access the memory space of an annotated "
        "View, or takes no such value of a future");
    return reaches;
  }
};
template <class... Annotations>
struct MustReachAsWell<void, Annotations...> {
  static constexpr bool holds() { return true; }
};

}  // namespace trellis::Impl

#endif
