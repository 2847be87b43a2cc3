// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_LATE_HPP
#define TRELLIS_LATE_HPP

/// With this header tasks may determine the extents of Views.
#include <annotations/Trellis_LateView.hpp>
#include <patterns/Trellis_LateCopy.hpp>

#endif
