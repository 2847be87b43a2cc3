// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_OBSERVATION_HPP
#define TRELLIS_OBSERVATION_HPP

/// With this header you observe a graph while it runs: changes of states, counters, warnings, and
/// functions that it calls.
#include <Trellis_Observer.hpp>
#include <Trellis_Progress.hpp>
#include <Trellis_Statistics.hpp>
#include <Trellis_Warning.hpp>

#endif
