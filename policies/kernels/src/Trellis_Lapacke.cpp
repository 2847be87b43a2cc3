// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Only this file includes <lapacke.h>, as that defines macros.
#include <kernels/impl/Trellis_Lapacke.hpp>

#include <lapacke.h>

namespace trellis::Impl {
namespace {

/// `Number` is LAPACKE's type. Its type for complex numbers depends on its version and on macros;
/// all of them have the same layout. The functions `_work` do not search the whole matrix for NaN
/// before they begin.
template <class Number, class T>
int info_of(lapack_int (*potrf)(int, char, lapack_int, Number*, lapack_int), bool is_lower, int n,
            T* a, int stride) {
  static_assert(sizeof(Number) == sizeof(T));
  return static_cast<int>(
      potrf(LAPACK_COL_MAJOR, is_lower ? 'L' : 'U', n, reinterpret_cast<Number*>(a), stride));
}

}  // namespace

int lapack_potrf(bool is_lower, int n, float* a, int stride) {
  return info_of(LAPACKE_spotrf_work, is_lower, n, a, stride);
}
int lapack_potrf(bool is_lower, int n, double* a, int stride) {
  return info_of(LAPACKE_dpotrf_work, is_lower, n, a, stride);
}
int lapack_potrf(bool is_lower, int n, std::complex<float>* a, int stride) {
  return info_of(LAPACKE_cpotrf_work, is_lower, n, a, stride);
}
int lapack_potrf(bool is_lower, int n, std::complex<double>* a, int stride) {
  return info_of(LAPACKE_zpotrf_work, is_lower, n, a, stride);
}

}  // namespace trellis::Impl
