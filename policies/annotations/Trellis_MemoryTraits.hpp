// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MEMORYTRAITS_HPP
#define TRELLIS_MEMORYTRAITS_HPP

/// With this header a functor takes its Views with further memory traits.
#include <annotations/Trellis_Annotations.hpp>
#include <annotations/Trellis_ViewList.hpp>

#include <Kokkos_Core.hpp>

#include <utility>

namespace trellis {

/// A View with further memory traits, as a functor takes one annotated with `with_traits`,
/// `random_access` or `restricted`. (`restrict_view<read_view<V>>` is one that is read.)
template <class V, unsigned traits>
using view_with = Impl::WithTrait<V, traits>;
/// The type in which a functor takes a View annotated with `random_access(read(x))`.
template <class V>
using random_access_view = view_with<read_view<V>, Kokkos::RandomAccess>;
/// The type in which a functor takes a View annotated with `restricted(write(x))`.
template <class V>
using restrict_view = view_with<V, Kokkos::Restrict>;

/// The functor takes the Views of this access with further memory traits, in the type `view_with<V,
/// traits>`: `with_traits<Kokkos::Aligned>(write(x))`. The task's dependencies do not change.
template <unsigned traits, class A>
constexpr auto with_traits(A access) {
  static_assert(Impl::names_views_v<A>,
                "Trellis: memory traits belong to an access of Views: with_traits<...>(read(x))");
  if constexpr (Impl::names_views_v<A>)
    return Impl::TraitsAccess<A, traits>{std::move(access)};
  else
    return Impl::Property();
}
/// The task reads elements in random order: a GPU loads through its read-only cache. The functor
/// takes a `random_access_view<V>`.
template <class A>
constexpr auto random_access(A access) {
  constexpr bool reads = [] {
    if constexpr (Impl::names_views_v<A>)
      return A::mode == Mode::read;
    else
      return false;
  }();
  static_assert(reads, "Trellis: random access is a way to read: random_access(read(x))");
  if constexpr (reads)
    return with_traits<Kokkos::RandomAccess>(std::move(access));
  else
    return Impl::Property();
}
/// The functor reaches these elements through no other pointer, so the compiler need not load them
/// again after a store elsewhere. It is a promise, like `__restrict__`. The functor takes a
/// `restrict_view<V>`.
template <class A>
constexpr auto restricted(A access) {
  return with_traits<Kokkos::Restrict>(std::move(access));
}

}  // namespace trellis

#endif
