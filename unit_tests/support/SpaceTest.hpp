// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_FEATURES_SPACETEST_HPP
#define TRELLIS_TEST_FEATURES_SPACETEST_HPP

#include <Trellis.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "WithWorkers.hpp"

/// A test that is compiled for each space, and has the space's name in its own.
#define TRELLIS_JOIN(a, b) TRELLIS_JOIN_(a, b)
#define TRELLIS_JOIN_(a, b) a##b
#define SPACE_TEST(suite, name) \
  TEST(TRELLIS_JOIN(TRELLIS_JOIN(TRELLIS_TEST_SPACE_NAME, _), suite), name)

namespace trellis::Test {

/// Elements in the order of their indices.
template <class T>
auto values_of(T const& view) {
  std::vector<typename T::non_const_value_type> values;
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  if constexpr (T::rank() == 0)
    values.push_back(host());
  else if constexpr (T::rank() == 1)
    for (std::size_t i = 0; i < host.extent(0); ++i) values.push_back(host(i));
  else
    for (std::size_t i = 0; i < host.extent(0); ++i)
      for (std::size_t j = 0; j < host.extent(1); ++j) values.push_back(host(i, j));
  return values;
}

template <class T>
auto value_of(T const& view) {
  return values_of(view).at(0);
}

}  // namespace trellis::Test

namespace trellis {
namespace {

using Space = TRELLIS_TEST_SPACE;
using Memory = Space::memory_space;
using Range = Kokkos::RangePolicy<Space>;
using Square = Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>>;
using Teams = Kokkos::TeamPolicy<Space>;
using Member = Teams::member_type;
template <class T>
using View = Kokkos::View<T, Memory>;
using V = View<double*>;

}  // namespace
}  // namespace trellis

#endif
