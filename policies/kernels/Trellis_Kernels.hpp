// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_KERNELS_HPP
#define TRELLIS_KERNELS_HPP

/// This header makes Kokkos Kernels tasks, see docs/kernels.md. It is not a part of <Trellis.hpp>:
/// link Trellis::kernels.
#include <kernels/Trellis_Blas.hpp>
#include <kernels/Trellis_Kernel.hpp>
#include <kernels/Trellis_Lapack.hpp>
#include <kernels/Trellis_Sparse.hpp>

#endif
