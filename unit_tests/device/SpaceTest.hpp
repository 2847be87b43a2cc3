// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SPACETEST_HPP
#define TRELLIS_TEST_SPACETEST_HPP

#include "../features/SpaceTest.hpp"

#include <Trellis.hpp>

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <string_view>
#include <type_traits>
#include <vector>

/// For tests of TRELLIS_TEST_SPACE that must run on a device, too: no host code touches the memory of the
/// space but through `values_of`, and no lambda for the device stands in a private function or in a generic
/// lambda.
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
/// Where host and device both reach, and a copy to or from the device blocks nobody.
template <class T>
using PinnedView = Kokkos::View<T, Kokkos::SharedHostPinnedSpace>;
template <class T>
using HostView = Kokkos::View<T, Kokkos::HostSpace>;

inline constexpr bool on_device = !std::is_same_v<Memory, Kokkos::HostSpace>;

using Test::with_workers;

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

// ---- functors that several tests use

struct Fill {
  V x;
  double value;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = value + i; }
};
struct AddTo {
  V from;
  V to;
  KOKKOS_FUNCTION void operator()(int i) const { to(i) += from(i); }
};
struct SumOf {
  using value_type = double;
  V x;
  KOKKOS_FUNCTION void operator()(int i, double& sum) const { sum += x(i); }
};
/// Takes a while on any space: what overtakes it is seen.
struct Slow {
  V x;
  double value;
  KOKKOS_FUNCTION void operator()(int i) const {
    double y = 1;
    for (int k = 0; k < 20000; ++k) y = y * 0.5 + 0.5;  // stays 1
    x(i) = y * value;
  }
};

}  // namespace
}  // namespace trellis

#endif
