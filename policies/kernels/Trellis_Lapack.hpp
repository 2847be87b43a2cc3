// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_LAPACK_HPP
#define TRELLIS_LAPACK_HPP

#if !__has_include(<KokkosBlas3_trsm.hpp>)
#error "Trellis: <kernels/Trellis_Lapack.hpp> needs Kokkos Kernels: link Trellis::kernels"
#endif

#include <kernels/Trellis_Kernel.hpp>
#include <kernels/impl/Trellis_Cholesky.hpp>

/// With this header a task factorises a tile, as a tiled Cholesky needs it beside Trellis_Blas.hpp.
/// It needs no LAPACK, and uses LAPACKE if the build has found it.
namespace trellis::kernels {

/// True if `potrf` of a matrix in host memory is that of LAPACK; otherwise it works by blocks.
inline constexpr bool has_lapacke = Impl::has_lapacke;

/// `potrf(graph, uplo, a)` factorises `a = l lᴴ` for "L", `a = uᴴ u` for "U", in place; the other
/// triangle is not touched. The task fails when a is not positive definite, and the error names the
/// leading minor that is not.
TRELLIS_KERNEL(potrf, ::trellis::Impl::potrf, Takes<in, in_out>);

}  // namespace trellis::kernels

#endif
