// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_COMPILE_TEN_HPP
#define TRELLIS_COMPILE_TEN_HPP

/// Ten of them, each with a functor of its own, where TEN is defined.
#ifdef TEN
#define TEN_TIMES(one) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10)
#else
#define TEN_TIMES(one)
#endif

#endif
