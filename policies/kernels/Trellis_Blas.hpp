// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_BLAS_HPP
#define TRELLIS_BLAS_HPP

#if !__has_include(<KokkosBlas1_axpby.hpp>)
#error "Trellis: <kernels/Trellis_Blas.hpp> needs Kokkos Kernels: link Trellis::kernels"
#endif

#include <kernels/Trellis_Kernel.hpp>
#include <kernels/impl/Trellis_RankUpdate.hpp>

#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_dot.hpp>
#include <KokkosBlas1_nrm2.hpp>
#include <KokkosBlas1_scal.hpp>
#include <KokkosBlas2_gemv.hpp>
#include <KokkosBlas3_trsm.hpp>

/// With this header functions of Kokkos Kernels for dense linear algebra are tasks. Names and
/// arguments are those of `KokkosBlas`, with the graph, a TaskScope or a ResourcePolicy in place of
/// the execution space (see Trellis_Kernel.hpp for the arguments of all of them):
///
///     trellis::Future<double> rr = trellis::kernels::dot(graph, r, r);
///     trellis::kernels::gemv(graph, "N", 1.0, a, p, 0.0, q);
///     trellis::kernels::axpy(graph, rr, p, x);                      // x += r.r p
namespace trellis::kernels {

/// Computes `y := a x + b y`.
TRELLIS_KERNEL(axpby, ::KokkosBlas::axpby, Takes<in, in, in, accumulate>);
/// Computes `y := a x + y`.
TRELLIS_KERNEL(axpy, ::KokkosBlas::axpy, Takes<in, in, in_out>);
/// `dot(graph, x, y)` is a Future; `dot(graph, result, x, y)` writes a View of rank 0 (or of rank 1
/// for the columns of two matrices). Complex x is conjugated.
TRELLIS_KERNEL(dot, ::KokkosBlas::dot, Takes<in, in>, Takes<out, in, in>);
/// `nrm2(graph, x)` is a Future; `nrm2(graph, result, x)` writes a View of rank 0 (or of rank 1 for
/// the columns of a matrix).
TRELLIS_KERNEL(nrm2, ::KokkosBlas::nrm2, Takes<in>, Takes<out, in>);
/// `scal(graph, y, a, x)` computes `y := a x`; x and y may be the same.
TRELLIS_KERNEL(scal, ::KokkosBlas::scal, Takes<out, in, in>);
/// `gemv(graph, trans, alpha, a, x, beta, y)` computes `y := alpha op(a) x + beta y`.
TRELLIS_KERNEL(gemv, ::KokkosBlas::gemv, Takes<in, in, in, in, in, accumulate>);
/// `gemm(graph, transA, transB, alpha, a, b, beta, c)` computes `c := alpha op(a) op(b) + beta c`.
/// The task fails when the extents do not match.
TRELLIS_KERNEL(gemm, ::trellis::Impl::gemm, Takes<in, in, in, in, in, in, accumulate>);
/// `trsm(graph, side, uplo, trans, diag, alpha, a, b)` solves `op(a) x = alpha b`, or `x op(a) =
/// alpha b`; b becomes x.
TRELLIS_KERNEL(trsm, ::KokkosBlas::trsm, Takes<in, in, in, in, in, in, in_out>);
/// `syrk(graph, uplo, trans, alpha, a, beta, c)` computes `c := alpha a aᵀ + beta c`, or `alpha aᵀ
/// a + beta c` for "T". It touches only the lower ("L") or upper ("U") triangle of c. Kokkos
/// Kernels has no such function; this one consists of `gemm` on blocks.
TRELLIS_KERNEL(syrk, ::trellis::Impl::syrk, Takes<in, in, in, in, in, in_out>);
/// `herk` does so with the conjugate transpose: `c := alpha a aᴴ + beta c`, or `alpha aᴴ a + beta
/// c` for "C".
TRELLIS_KERNEL(herk, ::trellis::Impl::herk, Takes<in, in, in, in, in, in_out>);

}  // namespace trellis::kernels

#endif
