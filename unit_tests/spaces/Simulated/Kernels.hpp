// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_KERNELS_HPP
#define TRELLIS_TEST_KERNELS_HPP

#include "BareTask.hpp"
#include "Devices.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Test {

/// The body of a task on a simulated device: launches one piece of work.
struct Kernel {
  static constexpr bool launches_only = true;
  std::function<void()> work;
  std::string name;
  double units = -1;
  void operator()(void* instance) const { SimulatedDevice::launch(instance, {work, name, units}); }
};

/// A task on the device that does `work`.
inline Future<void> kernel(
    TaskGraph& graph, SimulatedDevice& device, std::string const& name,
    std::vector<Bare::Touch> const& touches, std::function<void()> work = [] {}, double units = -1,
    Bare::Properties properties = {}) {
  properties.space = &device;
  return Bare::task(graph, Label(std::string(name), std::source_location::current()), touches,
                    Kernel{std::move(work), name, units}, properties);
}

inline std::size_t count(SimulatedDevice const& device, Kind kind) {
  return texts(device, {kind}).size();
}
/// The stream of the work with this name; -1: it has not been launched.
inline int stream_of(SimulatedDevice const& device, std::string const& name) {
  for (SimulatedRecord const& record : device.log())
    if (record.name == name) return record.stream;
  return -1;
}

}  // namespace trellis::Test

#endif
