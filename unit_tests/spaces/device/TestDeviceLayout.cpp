// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What travels to a device with a functor has the size there that it has on the host. (Since CUDA
// 12.9 nvcc lays out structures with [[no_unique_address]] members differently.)
#include "DeviceTest.hpp"

#include <cstddef>
#include <tuple>

namespace trellis {
namespace {

struct Nothing {};
struct Square2 {
  V x;
  KOKKOS_FUNCTION void operator()(int i, int j) const { x(i) = j; }
};
using MDRange = Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>>;
template <class Policy, class Functor>
using MemberOf = Impl::Member<Impl::ForBody<Impl::PolicyTraits<Policy, Space>, Functor>>;

/// Each of these goes to kernels by itself or as part of something.
using Travellers =
    std::tuple<V, read_view<V>, atomic_view<V>, view_list<V>, read_view_list<V>,
               std::tuple<V, Nothing, double, Nothing>, std::tuple<Nothing, Nothing>,
               Impl::BoundFunctor<AddTo, void, 1, V, read_view_list<V>>,
               Impl::BoundFunctor<AddTo, double, 1, V, Nothing>, MemberOf<Range, Fill>,
               MemberOf<MDRange, Square2>,
               Impl::MembersInArgument<Impl::ForBody<Impl::PolicyTraits<Range, Space>, Fill>, 7>>;
inline constexpr std::size_t kinds = std::tuple_size_v<Travellers>;

template <std::size_t... k>
KOKKOS_FUNCTION std::size_t size_of(int which, std::index_sequence<k...>) {
  std::size_t const sizes[] = {sizeof(std::tuple_element_t<k, Travellers>)...};
  return sizes[which];
}
struct Sizes {
  View<std::size_t*> sizes;
  KOKKOS_FUNCTION void operator()(int i) const {
    sizes(i) = size_of(i, std::make_index_sequence<kinds>());
  }
};

SPACE_TEST(DeviceLayout, IsThatOfTheHost) {
  View<std::size_t*> const sizes("sizes", kinds);
  TaskGraph graph(with_workers(1));
  parallel_for("sizes", ResourcePolicy(graph, Range(0, static_cast<int>(kinds)), write(sizes)),
               Sizes{sizes});
  graph.wait();
  std::vector<std::size_t> const there = values_of(sizes);
  for (std::size_t k = 0; k < kinds; ++k)
    EXPECT_EQ(there[k], size_of(static_cast<int>(k), std::make_index_sequence<kinds>()))
        << "of kind " << k;
}

}  // namespace
}  // namespace trellis
