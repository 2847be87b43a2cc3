// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LATERESULT_HPP
#define TRELLIS_IMPL_LATERESULT_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <annotations/impl/Trellis_KnownValue.hpp>
#include <annotations/impl/Trellis_SlotReduction.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

/// This header puts results of reductions and scans into resources that have no memory before the
/// task is launched. The body has a place for the View in its `results`. It is filled like the
/// places among its arguments, see Trellis_KnownValue.hpp.
namespace trellis::Impl {

template <class R>
using LatePlaceOf = std::remove_cvref_t<decltype(ResourceTraits<R>::argument(
    std::declval<R const&>(), ModeConstant<Mode::write>()))>;
/// A resource that stands for one View, which it gives late.
template <class R>
concept LateResult = requires {
  typename LatePlaceOf<R>;
  requires is_late_place_v<LatePlaceOf<R>>;
  requires Kokkos::is_view_v<typename LatePlaceOf<R>::seen_type>;
};

/// A resource that a reducer reduces into; see `reduced`.
template <class Reducer, LateResult R>
struct ReducedTo {
  R resource;
};
template <class R>
inline constexpr bool is_reduced_to_v = false;
template <class Reducer, class R>
inline constexpr bool is_reduced_to_v<ReducedTo<Reducer, R>> = true;
template <class R>
inline constexpr bool is_late_result_v = LateResult<R> || is_reduced_to_v<R>;

/// The place of such a resource in a body.
template <class Reducer, class Place>
struct ReducedPlace : Place {
  using reducer_type = Reducer;
};

/// Gives what a body keeps of a result. It keeps a View, a reducer, or what goes into the Future as
/// it is.
template <class R>
struct StoredResult {
  using type = R;
  static R const& of(R const& result) { return result; }
};
template <LateResult R>
struct StoredResult<R> {
  using type = LatePlaceOf<R>;
  static type of(R const&) { return {}; }
};
template <class Reducer, class R>
struct StoredResult<ReducedTo<Reducer, R>> {
  using type = ReducedPlace<Reducer, LatePlaceOf<R>>;
  static type of(ReducedTo<Reducer, R> const&) { return {}; }
};
template <class R>
using StoredResultOf = typename StoredResult<R>::type;

/// Returns what Kokkos gets for a stored result. If the View is in the memory of `Space`, its type
/// shows that, so that Kokkos does not wait for a result on a device.
template <class Space, class R>
decltype(auto) kokkos_result(R const& stored) {
  if constexpr (!is_late_place_v<R>) {
    return (stored);
  } else {
    using V = typename R::seen_type;
    using Memory = typename Space::memory_space;
    using Value = typename V::non_const_value_type;
    static_assert(V::rank() <= 1);
    V const& view = stored.get();
    if constexpr (requires { typename R::reducer_type; }) {
      using Reducer = typename R::reducer_type;
      return SlotReducer<Reducer, Memory>(reducer_into<Reducer>(*view.data()), view.data());
    } else if constexpr (V::rank() == 0) {
      return Kokkos::View<Value, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(view.data());
    } else {
      return Kokkos::View<Value*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(view.data(),
                                                                                   view.extent(0));
    }
  }
}

}  // namespace trellis::Impl

#endif
