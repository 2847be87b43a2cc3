// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_OCCUPANCY_HPP
#define TRELLIS_TEST_OCCUPANCY_HPP

#include <atomic>

namespace trellis::Test {

/// Counts who is inside at the same time.
class Occupancy {
 public:
  struct Stay {
    explicit Stay(Occupancy& in) : occupancy(in) {
      int const now = ++occupancy.m_now;
      int most = occupancy.m_most;
      while (most < now && !occupancy.m_most.compare_exchange_weak(most, now)) {
      }
    }
    ~Stay() { --occupancy.m_now; }
    Occupancy& occupancy;
  };
  [[nodiscard]] int most() const { return m_most; }

 private:
  std::atomic<int> m_now{0};
  std::atomic<int> m_most{0};
};

}  // namespace trellis::Test

#endif
