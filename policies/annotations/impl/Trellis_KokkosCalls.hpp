// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KOKKOSCALLS_HPP
#define TRELLIS_IMPL_KOKKOSCALLS_HPP

#include <annotations/Trellis_ResourcePolicy.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <string>

/// This header handles calls of Kokkos' functions with Trellis types. An unqualified call of a
/// Trellis function also finds Kokkos' function of that name, as some arguments are Kokkos types;
/// then Trellis' function is chosen. A call qualified with Kokkos gives an error that names the
/// right function.
namespace trellis::Impl {

template <class...>
inline constexpr bool never = false;

/// A policy is converted to this, so that Trellis' own functions match better.
struct PolicyInKokkos {
  template <class Base, class... Annotations>
  PolicyInKokkos(ResourcePolicy<Base, Annotations...> const&) {}
};
/// A label is converted to this: a `std::string` is no better match for it than for a Label.
struct TextInKokkos {
  template <std::convertible_to<std::string> Text>
  TextInKokkos(Text const&) {}
};
/// The target of a copy, which stands before its Views, is converted to this.
struct TargetInKokkos : PolicyInKokkos {
  using PolicyInKokkos::PolicyInKokkos;
  template <AnyTarget T>
  TargetInKokkos(T&);
};

/// Kokkos asks which memory a graph can access before it finds that the graph is no space.
struct NoSpace {
  static constexpr bool accessible = false;
  static constexpr bool assignable = false;
  static constexpr bool deepcopy = false;
};

}  // namespace trellis::Impl

namespace Kokkos {

template <class MemorySpace>
struct SpaceAccessibility<trellis::TaskGraph, MemorySpace> : trellis::Impl::NoSpace {};
template <class MemorySpace>
struct SpaceAccessibility<trellis::TaskScope, MemorySpace> : trellis::Impl::NoSpace {};
template <class Base, class... Annotations, class MemorySpace>
struct SpaceAccessibility<trellis::ResourcePolicy<Base, Annotations...>, MemorySpace>
    : trellis::Impl::NoSpace {};

template <class... Rest>
void parallel_for(trellis::Impl::PolicyInKokkos, Rest const&...) {
  static_assert(trellis::Impl::never<Rest...>,
                "Trellis: a ResourcePolicy goes to trellis::parallel_for, not to "
                "Kokkos::parallel_for");
}
template <class... Rest>
void parallel_for(trellis::Impl::TextInKokkos, trellis::Impl::PolicyInKokkos, Rest const&...) {
  static_assert(trellis::Impl::never<Rest...>,
                "Trellis: a ResourcePolicy goes to trellis::parallel_for, not to "
                "Kokkos::parallel_for");
}
template <class... Rest>
void parallel_reduce(trellis::Impl::PolicyInKokkos, Rest const&...) {
  static_assert(trellis::Impl::never<Rest...>,
                "Trellis: a ResourcePolicy goes to trellis::parallel_reduce, not to "
                "Kokkos::parallel_reduce");
}
template <class... Rest>
void parallel_reduce(trellis::Impl::TextInKokkos, trellis::Impl::PolicyInKokkos, Rest const&...) {
  static_assert(trellis::Impl::never<Rest...>,
                "Trellis: a ResourcePolicy goes to trellis::parallel_reduce, not to "
                "Kokkos::parallel_reduce");
}
template <class... Rest>
void parallel_scan(trellis::Impl::PolicyInKokkos, Rest const&...) {
  static_assert(trellis::Impl::never<Rest...>,
                "Trellis: a ResourcePolicy goes to trellis::parallel_scan, not to "
                "Kokkos::parallel_scan");
}
template <class... Rest>
void parallel_scan(trellis::Impl::TextInKokkos, trellis::Impl::PolicyInKokkos, Rest const&...) {
  static_assert(trellis::Impl::never<Rest...>,
                "Trellis: a ResourcePolicy goes to trellis::parallel_scan, not to "
                "Kokkos::parallel_scan");
}
template <class... Rest>
void deep_copy(trellis::Impl::TargetInKokkos, Rest const&...) {
  static_assert(trellis::Impl::never<Rest...>,
                "Trellis: a graph goes to trellis::deep_copy(graph, destination, source), not to "
                "Kokkos::deep_copy");
}

}  // namespace Kokkos

#endif
