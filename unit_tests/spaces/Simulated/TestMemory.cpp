// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of a simulated device.
#include "Devices.hpp"

#include <cstring>

#if __has_include(<sys/mman.h>)
#define TRELLIS_CAN_GUARD
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef TRELLIS_CAN_GUARD  // these see a fault first
#endif

namespace trellis::Test {
namespace {

using testing::HasSubstr;

class Memory : public EitherTime {
 protected:
  std::shared_ptr<SimulatedClock> clock = make_clock();
};
INSTANTIATE_TEST_SUITE_P(Time, Memory, testing::Bool(), name_of_time);

TEST_P(Memory, IsCountedAndBounded) {
  SimulatedDevice device({.number = 2, .clock = clock, .memory = 1 << 20});
  void* const a = device.allocate(1000, "a");
  void* const b = device.allocate(1 << 19, "b");
  EXPECT_EQ(device.live_bytes(), 1024u + (1 << 19));
  EXPECT_TRUE(device.owns(a));
  EXPECT_TRUE(device.owns(static_cast<char*>(b) + 5));
  EXPECT_FALSE(device.owns(&device));
  EXPECT_EQ(message_of([&] { device.allocate(1 << 19, "too much"); }),
            "Trellis: Simulated device 2 has no room for the 524288 bytes of \"too much\": of its "
            "1048576 bytes "
            "525312 are in use");
  device.deallocate(b);
  void* const again = device.allocate(1 << 19, "again");
  EXPECT_EQ(again, b);
  device.deallocate(a);
  device.deallocate(again);
  EXPECT_EQ(device.live_bytes(), 0u);
  EXPECT_EQ(device.most_live_bytes(), 1024u + (1 << 19));
  device.deallocate(device.allocate(1 << 20, "all"));
  EXPECT_EQ(texts(device, {Kind::allocate}).front(), "allocate \"a\" 1000 bytes");
}

TEST_P(Memory, IsTouchedByWorkAndCopies) {
  SimulatedDevice device({.clock = clock});
  SimulatedDevice other({.number = 1, .clock = clock});
  Stream const stream(device), its(other);
  auto* const values = static_cast<int*>(device.allocate(100 * sizeof(int), "values"));
  auto* const copy = static_cast<int*>(other.allocate(100 * sizeof(int), "copy"));
  std::vector<int> host(100, 1);
  SimulatedDevice::copy(stream, 400, SimulatedCopy::from_host,
                        [&] { std::memcpy(values, host.data(), 400); });
  stream.launch([=] {
    for (int k = 0; k < 100; ++k) values[k] += k;
  });
  join(its, stream);
  SimulatedDevice::copy(its, 400, SimulatedCopy::from_host,
                        [=] { std::memcpy(copy, values, 400); });
  SimulatedDevice::copy(its, 400, SimulatedCopy::to_host,
                        [&] { std::memcpy(host.data(), copy, 400); });
  other.synchronize();
  EXPECT_EQ(host[42], 43);
  {
    SimulatedDevice::OpenMemory const open(device);
    EXPECT_EQ(values[42], 43);
  }
  device.deallocate(values);
  other.deallocate(copy);
}

#ifdef TRELLIS_CAN_GUARD
TEST(MemoryDeathTest, HostCodeThatTouchesItGetsAFault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimulatedDevice device({.virtual_time = true});
  Stream const stream(device);
  auto* const value = static_cast<int volatile*>(device.allocate(sizeof(int), "value"));
  EXPECT_EXIT(*value = 1, testing::KilledBySignal(SIGSEGV), "") << "before work";
  stream.launch([=] { *value = 2; });
  EXPECT_EXIT((void)*value, testing::KilledBySignal(SIGSEGV), "") << "after work";
  device.deallocate(const_cast<int*>(value));
}
#endif

}  // namespace
}  // namespace trellis::Test
