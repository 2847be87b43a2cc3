// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_DEVICEFIELDS_HPP
#define TRELLIS_TEST_DEVICEFIELDS_HPP

#include "FieldsTest.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace trellis::Test {

using DeviceValues = Kokkos::View<double*, Kokkos::LayoutRight, SimulatedSpace>;

constexpr int n = 8;  ///< elements of a field
constexpr std::size_t block = n * sizeof(double);

inline F make_field(FieldGraph& model, std::string name) {
  return model.field<double*, Kokkos::LayoutRight>(Label(std::move(name)), n);
}
inline FieldTarget gpu(int number = 0) {
  return target<Simulated>(number);
}

}  // namespace trellis::Test

#endif
