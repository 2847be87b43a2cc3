// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_DEVICETEST_HPP
#define TRELLIS_TEST_DEVICETEST_HPP

#include "SpaceTest.hpp"

#include <Trellis.hpp>

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <string_view>
#include <type_traits>
#include <vector>

/// For tests of TRELLIS_TEST_SPACE that must run on a device, too: no host code touches the memory
/// of the space but through `values_of`, and no lambda for the device stands in a private function
/// or in a generic lambda.
namespace trellis {
namespace {

/// Where host and device both reach, and a copy to or from the device blocks nobody.
template <class T>
using PinnedView = Kokkos::View<T, Kokkos::SharedHostPinnedSpace>;
template <class T>
using HostView = Kokkos::View<T, Kokkos::HostSpace>;

inline constexpr bool on_device = !std::is_same_v<Memory, Kokkos::HostSpace>;

using Test::with_workers;

using Test::value_of;
using Test::values_of;

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
