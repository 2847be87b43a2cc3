// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_VIEWAREA_HPP
#define TRELLIS_IMPL_VIEWAREA_HPP

#include <Trellis_Area.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// This header finds the memory that the elements of a View cover, and whether it is one piece.
///
/// Both follow from the extents and the strides alone. Kokkos' `span()` and `span_is_contiguous()`
/// answer other questions. For a LayoutStride View the span of Kokkos 4.5 is the largest extent *
/// stride, which is too small when strides interleave. In all versions of Kokkos a View whose span
/// equals its size is contiguous, even if it has stride 0 and so leaves holes.
namespace trellis::Impl {

/// True if Views of this type always have their elements next to each other.
template <class V>
inline constexpr bool is_always_dense_v =
    V::rank() == 0 ||
    (V::rank() == 1 && !std::is_same_v<typename V::array_layout, Kokkos::LayoutStride>);

/// True if each element is next to the one before it, in the order of the View's layout. For a
/// LayoutStride View that is the order of LayoutLeft, so some that are in one piece are not
/// recognised here.
template <class V>
bool is_dense(V const& view) {
  if constexpr (!is_always_dense_v<V>) {
    constexpr bool is_right = std::is_same_v<typename V::array_layout, Kokkos::LayoutRight>;
    std::size_t next = 1;
    for (std::size_t n = 0; n < V::rank(); ++n) {
      std::size_t const k = is_right ? V::rank() - 1 - n : n;
      std::size_t const extent = view.extent(k);
      if (extent != 1 && static_cast<std::size_t>(view.stride(k)) != next) return false;
      next *= extent;
    }
  }
  return true;
}

/// The extents and strides of a View, in elements.
template <std::size_t rank>
struct Strides {
  std::uint64_t extents[rank + 1]{};
  std::uint64_t strides[rank + 1]{};
  template <class V>
  explicit Strides(V const& view) {
    for (std::size_t k = 0; k < rank; ++k) {
      extents[k] = view.extent(k);
      strides[k] = view.stride(k);
    }
  }
};

/// Returns exactly the bytes of a View's elements.
template <class V>
Area area_of(V const& view)
  requires Kokkos::is_view_v<V>
{
  using Layout = typename V::array_layout;
  static_assert(V::rank() == 0 || std::is_same_v<Layout, Kokkos::LayoutLeft> ||
                    std::is_same_v<Layout, Kokkos::LayoutRight> ||
                    std::is_same_v<Layout, Kokkos::LayoutStride>,
                "Trellis: an access names a View of LayoutLeft, LayoutRight or LayoutStride, whose "
                "strides tell where its elements are");
  constexpr std::size_t bytes = sizeof(typename V::value_type);
  void const* const begin = const_cast<void const*>(static_cast<void const volatile*>(view.data()));
  if constexpr (V::rank() == 0) {
    return Area::contiguous(begin, begin == nullptr ? 0 : bytes);
  } else {
    if (is_dense(view)) return Area::contiguous(begin, view.size() * bytes);
    Strides<V::rank()> const of(view);
    return Area::strided(begin, bytes, static_cast<int>(V::rank()), of.extents, of.strides);
  }
}

/// True if the elements lie in one piece of memory, each index at a place of its own.
template <class V>
bool lies_in_one_piece(V const& view) {
  if (is_dense(view)) return true;
  // There are as many elements as indices, without a hole, so no two indices share one.
  Area const area = area_of(view);
  return area.rank() == 0 &&
         area.end() - area.begin() == view.size() * sizeof(typename V::value_type);
}

/// True if each index has an element of its own.
template <class V>
bool has_distinct_elements(V const& view) {
  if (is_dense(view)) return true;
  Strides<V::rank()> const of(view);
  return are_distinct(static_cast<int>(V::rank()), of.extents, of.strides);
}

/// True if Kokkos takes the View for one piece of memory. This matters when Kokkos copies it.
template <class V>
bool kokkos_sees_one_piece(V const& view) {
  return view.span_is_contiguous();
}

/// True if the strides are equal. Requires equal extents.
template <class A, class B>
bool have_equal_strides(A const& a, B const& b) {
  for (std::size_t k = 0; k < A::rank(); ++k)
    if (a.extent(k) > 1 && a.stride(k) != b.stride(k)) return false;
  return true;
}

/// True if each index is the same element in both Views. Requires equal extents.
template <class A, class B>
bool are_same_elements(A const& a, B const& b) {
  if (static_cast<void const volatile*>(a.data()) != static_cast<void const volatile*>(b.data()) ||
      !std::is_same_v<typename A::non_const_value_type, typename B::non_const_value_type>)
    return false;
  return have_equal_strides(a, b);
}

}  // namespace trellis::Impl

#endif
