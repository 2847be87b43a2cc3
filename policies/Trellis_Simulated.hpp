// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SIMULATED_HPP
#define TRELLIS_SIMULATED_HPP

/// With this header you have simulated devices: asynchronous devices in software, to test programs
/// without a GPU.
#include <Simulated/Trellis_SimulatedClock.hpp>
#include <Simulated/Trellis_SimulatedDevice.hpp>
#include <Simulated/Trellis_SimulatedLog.hpp>
#include <Simulated/Trellis_SpaceSimulated.hpp>

#endif
