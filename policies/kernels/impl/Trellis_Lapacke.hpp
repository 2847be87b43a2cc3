// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LAPACKE_HPP
#define TRELLIS_IMPL_LAPACKE_HPP

#include <complex>

/// Calls LAPACK's `potrf` for n columns that begin `stride` elements apart. Returns LAPACK's
/// `info`: the order of the leading minor that is not positive definite, or 0. It exists only if
/// the build has found LAPACKE (TRELLIS_HAS_LAPACKE).
namespace trellis::Impl {

int lapack_potrf(bool is_lower, int n, float* a, int stride);
int lapack_potrf(bool is_lower, int n, double* a, int stride);
int lapack_potrf(bool is_lower, int n, std::complex<float>* a, int stride);
int lapack_potrf(bool is_lower, int n, std::complex<double>* a, int stride);

}  // namespace trellis::Impl

#endif
