// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_CONTAINERS_HPP
#define TRELLIS_CONTAINERS_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <common/Trellis_KokkosInternals.hpp>
#include <annotations/Trellis_Resource.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>

/// With this header Kokkos' containers are resources. (It does not include them.)
///
/// | container | what an annotation means | what a functor gets |
/// |---|---|---|
/// | `DynRankView`, `OffsetView` | the elements that it spans, as for a View | for `read` its `const_type`, else as it is |
/// | `UnorderedMap` | the map as a whole. Insertions are atomic: `atomic_add` lets several tasks insert at the same time | for `read` its `const_map_type`, else as it is |
/// | `Bitset` | the set as a whole. Setting bits is atomic: `atomic_add` lets several tasks do so at the same time | for `read` a `ConstBitset`, else as it is |
/// | `StaticCrsGraph`, `Crs`, and `CrsMatrix` of Kokkos Kernels | row map and entries; of a matrix the annotation means the values, and its graph is read | as it is |
///
/// A container must not be rehashed or resized while tasks use it, as that allocates new memory.
namespace Kokkos {
template <typename Key, typename Value, typename Device, typename Hasher, typename EqualTo>
class UnorderedMap;
template <typename Device>
class Bitset;
template <typename Device>
class ConstBitset;
}  // namespace Kokkos

namespace trellis {

namespace Impl {

/// A DynRankView, which gives a View of all its elements.
template <class T>
concept DynRankViewLike = !Kokkos::is_view_v<T> && requires(T const& view) {
  { view.ConstDownCast() };
  typename T::const_type;
  requires Kokkos::is_view_v<std::remove_cvref_t<decltype(view.ConstDownCast())>>;
};
template <class T>
concept OffsetViewLike = !Kokkos::is_view_v<T> && requires(T const& view) {
  { view.begins() };
  { view.view() };
  requires Kokkos::is_view_v<std::remove_cvref_t<decltype(view.view())>>;
};
template <class T>
concept CrsGraphLike = requires(T const& graph) {
  requires Kokkos::is_view_v<std::remove_cvref_t<decltype(graph.row_map)>>;
  requires Kokkos::is_view_v<std::remove_cvref_t<decltype(graph.entries)>>;
};
template <class T>
concept CrsMatrixLike = requires(T const& matrix) {
  requires CrsGraphLike<std::remove_cvref_t<decltype(matrix.graph)>>;
  requires Kokkos::is_view_v<std::remove_cvref_t<decltype(matrix.values)>>;
};

/// Returns the access of a View of a graph: a const one is only read, even if the graph is written.
template <class V, class How>
auto access_if_mutable(V const& view, How how) {
  if constexpr (std::is_const_v<typename V::value_type> &&
                !std::is_same_v<How, ModeConstant<Mode::none>>)
    return access(view, ModeConstant<Mode::read>());
  else
    return access(view, how);
}

/// Returns the access of a container's memory. Updates of the container are atomic by themselves,
/// so for an atomic access its memory is named as an atomic View.
template <class V, class How>
auto access_by_container(V const& view, How how) {
  if constexpr (std::is_same_v<How, ModeConstant<Mode::atomic_add>> ||
                std::is_same_v<How, ModeConstant<Mode::atomic_mul>>)
    return access(Kokkos::View<typename V::data_type, typename V::array_layout,
                               typename V::device_type, Kokkos::MemoryTraits<Kokkos::Atomic>>(view),
                  how);
  else
    return access(view, how);
}

}  // namespace Impl

template <Impl::DynRankViewLike T>
struct ResourceTraits<T> {
  static auto accesses(T const& view, auto how) { return access(view.ConstDownCast(), how); }
  template <class How>
  static auto argument(T const& view, How) {
    if constexpr (Impl::only_reads<How>)
      return typename T::const_type(view);
    else
      return view;
  }
};

template <Impl::OffsetViewLike T>
struct ResourceTraits<T> {
  static auto accesses(T const& view, auto how) { return access(view.view(), how); }
  template <class How>
  static auto argument(T const& view, How) {
    if constexpr (Impl::only_reads<How>)
      return typename T::const_type(view);
    else
      return view;
  }
};

template <class Key, class Value, class Device, class Hasher, class EqualTo>
struct ResourceTraits<Kokkos::UnorderedMap<Key, Value, Device, Hasher, EqualTo>> {
  using Map = Kokkos::UnorderedMap<Key, Value, Device, Hasher, EqualTo>;
  static auto accesses(Map const& map, auto how) {
    return Impl::access_by_container(Impl::memory_of_map(map), how);
  }
  template <class How>
  static auto argument(Map const& map, How) {
    if constexpr (Impl::only_reads<How>)
      return typename Map::const_map_type(map);
    else
      return map;
  }
};

template <class Device>
struct ResourceTraits<Kokkos::Bitset<Device>> {
  static auto accesses(Kokkos::Bitset<Device> const& set, auto how) {
    return Impl::access_by_container(Impl::memory_of_bitset(set), how);
  }
  template <class How>
  static auto argument(Kokkos::Bitset<Device> const& set, How) {
    if constexpr (Impl::only_reads<How>)
      return Kokkos::ConstBitset<Device>(set);
    else
      return set;
  }
};
template <class Device>
struct ResourceTraits<Kokkos::ConstBitset<Device>> {
  static auto accesses(Kokkos::ConstBitset<Device> const& set, auto how) {
    return access(Impl::memory_of_bitset(set), how);
  }
  static auto argument(Kokkos::ConstBitset<Device> const& set, auto) { return set; }
};

template <Impl::CrsGraphLike T>
struct ResourceTraits<T> {
  static auto accesses(T const& graph, auto how) {
    return std::tuple(Impl::access_if_mutable(graph.row_map, how),
                      Impl::access_if_mutable(graph.entries, how));
  }
  static T argument(T const& graph, auto) { return graph; }
};

template <Impl::CrsMatrixLike T>
struct ResourceTraits<T> {
  static auto accesses(T const& matrix, auto how) {
    using Of = std::conditional_t<std::is_same_v<decltype(how), Impl::ModeConstant<Mode::none>>,
                                  Impl::ModeConstant<Mode::none>, Impl::ModeConstant<Mode::read>>;
    return std::tuple(access(matrix.graph, Of()), access(matrix.values, how));
  }
  static T argument(T const& matrix, auto) { return matrix; }
};

}  // namespace trellis

#endif
