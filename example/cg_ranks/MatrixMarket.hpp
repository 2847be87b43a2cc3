// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_MATRIXMARKET_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_MATRIXMARKET_HPP

#include <mpi.h>

#include <Trellis.hpp>
#include <filesystem>

#include "Rows.hpp"

/// This header reads a matrix from a Matrix Market file, by Kokkos Kernels' reader.
namespace cg {

/// True if this program was built with Kokkos Kernels.
[[nodiscard]] bool has_matrix_reader();

/// Reads a whole matrix; only rank 0 has one. Checks whether it can be symmetric positive definite:
/// square, symmetric, and positive on the diagonal. Throws `std::runtime_error`.
[[nodiscard]] Rows read_matrix(std::filesystem::path const& file);

/// Gives each rank a block of rows with about as many entries as others have. `whole` is that of
/// rank 0. Each rank must get a row, else this throws `example::Refusal` on all. Waits for the
/// graph. Collective.
[[nodiscard]] Rows scatter_rows(trellis::TaskGraph& graph, MPI_Comm comm, Rows const& whole);

}  // namespace cg

#endif
