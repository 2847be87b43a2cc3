// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_ASYNCTEST_HPP
#define TRELLIS_TEST_ASYNCTEST_HPP

#include "BareTask.hpp"
#include "Timing.hpp"
#include "FakeDevice.hpp"

#include <functional>

namespace trellis::Test {

/// A test with a device in software.
class Async : public Timed {
 protected:
  /// A device task; `launched` is called in the launch, `work` later on the device.
  template <class Kernel>
  Future<void> kernel(
      TaskGraph& graph, Label label, std::vector<Bare::Touch> const& touches, Kernel work,
      std::function<void()> launched = [] {}, Bare::Properties properties = {}) {
    if (properties.space == nullptr) properties.space = &device;
    return Bare::task(
        graph, std::move(label), touches,
        [work, launched](void* instance) {
          launched();
          on_stream(work)(instance);
        },
        properties);
  }
  FakeDevice device;
};

}  // namespace trellis::Test

#endif
