// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPARSE_HPP
#define TRELLIS_SPARSE_HPP

#if !__has_include(<KokkosSparse_spmv.hpp>)
#error "Trellis: <kernels/Trellis_Sparse.hpp> needs Kokkos Kernels: link Trellis::kernels"
#endif

#include <kernels/Trellis_Kernel.hpp>
#include <kernels/impl/Trellis_GaussSeidel.hpp>
#include <resources/Trellis_Containers.hpp>

#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>

/// With this header functions of Kokkos Kernels for sparse linear algebra are tasks. Names and
/// arguments are those of `KokkosSparse`, with the graph, a TaskScope or a ResourcePolicy in place
/// of the execution space (see Trellis_Kernel.hpp for the arguments of all of them). A `CrsMatrix`
/// is a resource: `read(a)` reads it, and `write(a)` writes its values and reads its structure.
/// `values(a)` and `structure(a)` are its parts.
///
///     trellis::kernels::spmv(graph, "N", 1.0, a, p, 0.0, q);      // q := a p
///     trellis::parallel_for("assemble", trellis::ResourcePolicy(graph, n,
///         trellis::read(trellis::kernels::structure(a)),
///         trellis::write(trellis::kernels::values(a))), ...);
namespace trellis::kernels {

/// Returns the values of a sparse matrix, a View. (The matrix must live until the call that submits
/// the task returns.)
template <Impl::CrsMatrixLike Matrix>
auto const& values(Matrix const& matrix) {
  return matrix.values;
}
/// Returns row map and entries of a sparse matrix, as one resource. In `Kokkos::StaticCrsGraph` the
/// row map is const, so a task always only reads it.
template <Impl::CrsMatrixLike Matrix>
auto const& structure(Matrix const& matrix) {
  return matrix.graph;
}

/// `spmv(graph, mode, alpha, a, x, beta, y)` computes `y := alpha op(a) x + beta y`. Tasks of
/// `spmv(graph, &handle, mode, alpha, a, x, beta, y)` with one SPMVHandle run one by one.
TRELLIS_KERNEL(spmv, ::KokkosSparse::spmv, Takes<in, in, in, in, in, accumulate>,
               Takes<in, in, in, in, in, in, accumulate>);

/// These do Gauss-Seidel sweeps. `symbolic` and `numeric` prepare the handle, a
/// `KokkosKernelsHandle` with `create_gs_handle(...)`, and `apply` sweeps:
///
///     auto const& rows = a.graph.row_map;
///     auto const& entries = a.graph.entries;
///     gauss_seidel_symbolic(graph, &handle, n, n, rows, entries, true);
///     gauss_seidel_numeric(graph, &handle, n, n, rows, entries, a.values, true);
///     symmetric_gauss_seidel_apply(graph, &handle, n, n, rows, entries, a.values, x, y,
///                                  /* x is to start from zero */ true, /* y is new */ true,
///                                  omega, sweeps);
///
/// Each changes the handle, so tasks with one handle run one by one, in their order. They run on
/// the task's instance, which Kokkos Kernels (4.5) would otherwise refuse for a handle that another
/// one has used.
TRELLIS_KERNEL(gauss_seidel_symbolic, ::trellis::Impl::GaussSeidel::symbolic,
               Takes<in, in, in, in, in>, Takes<in, in, in, in, in, in>);
TRELLIS_KERNEL(gauss_seidel_numeric, ::trellis::Impl::GaussSeidel::numeric,
               Takes<in, in, in, in, in, in>, Takes<in, in, in, in, in, in, in>,
               Takes<in, in, in, in, in, in, in, in>);
TRELLIS_KERNEL(symmetric_gauss_seidel_apply, ::trellis::Impl::GaussSeidel::symmetric_apply,
               Takes<in, in, in, in, in, in, in_out, in, in, in, in, in>);
TRELLIS_KERNEL(forward_sweep_gauss_seidel_apply, ::trellis::Impl::GaussSeidel::forward_apply,
               Takes<in, in, in, in, in, in, in_out, in, in, in, in, in>);
TRELLIS_KERNEL(backward_sweep_gauss_seidel_apply, ::trellis::Impl::GaussSeidel::backward_apply,
               Takes<in, in, in, in, in, in, in_out, in, in, in, in, in>);

}  // namespace trellis::kernels

#endif
