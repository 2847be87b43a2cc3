// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_STRIDEDVIEWS_HPP
#define TRELLIS_TEST_STRIDEDVIEWS_HPP

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

/// Views of any rank and any strides in one piece of memory, and which elements of that they are.
namespace trellis::Test {

template <class T, std::size_t rank>
struct DataOf {
  using type = typename DataOf<T, rank - 1>::type*;
};
template <class T>
struct DataOf<T, 0> {
  using type = T;
};
template <class T, std::size_t rank>
using AnyView =
    Kokkos::View<typename DataOf<T, rank>::type,
                 std::conditional_t<rank == 0, Kokkos::LayoutRight, Kokkos::LayoutStride>,
                 Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <std::size_t rank>
using Numbers = std::array<std::size_t, rank>;

/// The elements from `first` on that these extents and strides make.
template <class T, std::size_t rank>
AnyView<T, rank> strided_view(T* first, Numbers<rank> const& extents,
                              Numbers<rank> const& strides) {
  if constexpr (rank == 0) {
    return AnyView<T, 0>(first);
  } else {
    Kokkos::LayoutStride layout;
    for (std::size_t k = 0; k < rank; ++k) {
      layout.dimension[k] = extents[k];
      layout.stride[k] = strides[k];
    }
    return AnyView<T, rank>(first, layout);
  }
}

template <std::size_t rank>
std::size_t count_of(Numbers<rank> const& extents) {
  std::size_t count = 1;
  for (std::size_t const extent : extents) count *= extent;
  return count;
}

/// For each index, in the order of LayoutRight, where its element is, counted from `base`: as the
/// View's own operator says.
template <class V, class T>
std::vector<std::ptrdiff_t> elements_of(V const& view, T const* base) {
  constexpr std::size_t rank = V::rank();
  Numbers<rank> extents;
  for (std::size_t k = 0; k < rank; ++k) extents[k] = view.extent(k);
  std::vector<std::ptrdiff_t> elements;
  std::size_t const count = count_of<rank>(extents);
  for (std::size_t number = 0; number < count; ++number) {
    Numbers<rank> index{};
    std::size_t rest = number;
    for (std::size_t k = rank; k-- > 0; rest /= extents[k]) index[k] = rest % extents[k];
    auto const* const at = [&]<std::size_t... k>(std::index_sequence<k...>) {
      return &view(index[k]...);
    }(std::make_index_sequence<rank>());
    elements.push_back(at - base);
  }
  return elements;
}

/// Interleaving, overlapping, repeating, gapless and padded ones, among them extents of 0 and 1.
template <std::size_t rank>
struct RandomShape {
  Numbers<rank> extents{};
  Numbers<rank> strides{};
  std::size_t first = 0;
  explicit RandomShape(std::mt19937_64& random, std::size_t room) {
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (;;) {
      for (auto& extent : extents) extent = below(20) == 0 ? 0 : 1 + below(rank < 4 ? 5 : 3);
      std::size_t next = 1;
      bool const is_nested = below(2) == 0;
      for (std::size_t k = 0; k < rank; ++k) {
        strides[k] = is_nested ? next : below(rank < 4 ? 8 : 24);
        next *= extents[k] == 0 ? 1 : extents[k];
        if (below(6) == 0) next += below(3);
      }
      if (is_nested && below(2) == 0)
        for (std::size_t k = 0; k + 1 < rank; ++k) {
          std::size_t const other = k + below(rank - k);
          std::swap(strides[k], strides[other]);
          std::swap(extents[k], extents[other]);
        }
      std::size_t reach = 1;
      for (std::size_t k = 0; k < rank; ++k)
        if (extents[k] > 0) reach += (extents[k] - 1) * strides[k];
      if (reach > room) continue;
      first = below(room - reach + 1);
      return;
    }
  }
};

/// Calls `f` with each rank of a View.
template <class F>
void for_each_rank(F&& f) {
  [&]<std::size_t... rank>(std::index_sequence<rank...>) {
    (f(std::integral_constant<std::size_t, rank>()), ...);
  }(std::make_index_sequence<9>());
}

}  // namespace trellis::Test

#endif
