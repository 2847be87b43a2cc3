// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_THREADS_HPP
#define TRELLIS_THREADS_HPP

/// With this header each thread that runs tasks has something of its own: a value, random numbers,
/// a part of a View, a number.
#include <Trellis_Processors.hpp>
#include <Trellis_ThisWorker.hpp>
#include <workers/Trellis_PerWorker.hpp>
#include <workers/Trellis_RandomPool.hpp>
#include <workers/Trellis_RandomStreams.hpp>
#include <workers/Trellis_ScatterView.hpp>
#include <workers/Trellis_UniqueToken.hpp>

#endif
