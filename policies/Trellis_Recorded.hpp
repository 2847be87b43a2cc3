// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RECORDED_HPP
#define TRELLIS_RECORDED_HPP

/// With this header you analyse a recorded graph: its nodes and edges, its times, and its times
/// under other conditions.
#include <Trellis_Analysis.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_ThreadRatio.hpp>
#include <Trellis_WhatIf.hpp>

#endif
