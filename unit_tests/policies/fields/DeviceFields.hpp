// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_DEVICEFIELDS_HPP
#define TRELLIS_TEST_DEVICEFIELDS_HPP

#include "FieldsTest.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

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

inline std::vector<SimulatedRecord> copies_of(int number) {
  std::vector<SimulatedRecord> copies;
  for (SimulatedRecord const& record : Simulated::device(number).log())
    if (record.kind == SimulatedRecord::Kind::copy) copies.push_back(record);
  return copies;
}
/// Then all that may run on the host does, and one task at a time.
inline bool all_is_serial() {
  return *TaskGraph(with_workers(1)).options().serial;
}
inline TaskGraphOptions one_lane() {
  TaskGraphOptions options = with_workers(1);
  options.policy = make_fifo_policy();
  return options;
}

}  // namespace trellis::Test

#endif
