// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ALGORITHMS_HPP
#define TRELLIS_ALGORITHMS_HPP

/// With this header Kokkos' algorithms are tasks.
#include <patterns/Trellis_Sort.hpp>

#endif
