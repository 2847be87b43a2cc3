// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_LAPACK_HPP
#define TRELLIS_LAPACK_HPP

#if !__has_include(<KokkosBlas3_trsm.hpp>)
#error "Trellis: <kernels/Trellis_Lapack.hpp> needs Kokkos Kernels: link Trellis::kernels"
#endif

#include <kernels/Trellis_Kernel.hpp>
#include <kernels/impl/Trellis_Cholesky.hpp>

/// With this header a tile is factorised by a task: what a tiled Cholesky needs beside
/// Trellis_Blas.hpp. It needs no LAPACK, and uses LAPACKE where the build has found it.
namespace trellis::kernels {

/// Whether `potrf` of a matrix in the host's memory is LAPACK's; else it is one by blocks.
inline constexpr bool has_lapacke = Impl::has_lapacke;

/// `potrf(graph, uplo, a)`: `a = l lᴴ` for "L", `a = uᴴ u` for "U", in place; the other triangle is
/// not touched. The task fails when a is not positive definite, and says which leading minor is
/// not.
TRELLIS_KERNEL(potrf, ::trellis::Impl::potrf, Takes<in, in_out>);

}  // namespace trellis::kernels

#endif
