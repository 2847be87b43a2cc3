// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GenerateTest.hpp"
#include "MapTest.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>

/// Worklets on a device in software.
namespace trellis::Test {
namespace {

TEST(RandomWorklets, ThatMakeArraysOnASimulatedDeviceEqualTheOracle) {
  Simulated::configure({.launch_is_slow = true}, 1);
  run_array_programs<Simulated>(sanitized ? 12 : 40);
}

TEST(RandomWorklets, ThatMapOnASimulatedDeviceEqualPlainLoops) {
  Simulated::configure({.launch_is_slow = true}, 1);
  run_map_programs<Simulated>(sanitized ? 12 : 40);
}

}  // namespace
}  // namespace trellis::Test
