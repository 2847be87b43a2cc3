// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CHOLESKY_HPP
#define TRELLIS_IMPL_CHOLESKY_HPP

#include <Trellis_Error.hpp>
#include <kernels/impl/Trellis_RankUpdate.hpp>

#include <KokkosBlas3_trsm.hpp>
#include <Kokkos_Core.hpp>

#include <string>
#include <type_traits>
#include <utility>

/// The Cholesky factorisation of a dense matrix, as LAPACK's `potrf`. Kokkos Kernels has none, so
/// this is one by blocks: those on the diagonal in one kernel, the rest in `trsm` and updates that
/// consist of `gemm`.
namespace trellis::Impl {

template <class T>
KOKKOS_INLINE_FUNCTION T conjugate(T const& x) {
  return x;
}
template <class T>
KOKKOS_INLINE_FUNCTION Kokkos::complex<T> conjugate(Kokkos::complex<T> const& x) {
  return Kokkos::conj(x);
}
template <class T>
KOKKOS_INLINE_FUNCTION T real_part(T const& x) {
  return x;
}
template <class T>
KOKKOS_INLINE_FUNCTION T real_part(Kokkos::complex<T> const& x) {
  return x.real();
}

/// Factorises one block, without blocks. `info`: the order of the leading minor that is not
/// positive definite, or 0.
template <class A>
struct FactorBlock {
  using T = typename A::non_const_value_type;
  A a;
  bool is_lower;

  /// An element of the lower factor, or of the transpose of the upper one.
  KOKKOS_FUNCTION T& at(int i, int j) const { return is_lower ? a(i, j) : a(j, i); }
  KOKKOS_FUNCTION void operator()(int, int& info) const {
    int const n = static_cast<int>(a.extent(0));
    for (int j = 0; j < n; ++j) {
      auto pivot = real_part(at(j, j));
      for (int k = 0; k < j; ++k) pivot -= real_part(at(j, k) * conjugate(at(j, k)));
      if (!(pivot > 0)) {  // nor is it a number
        info = j + 1;
        return;
      }
      pivot = Kokkos::sqrt(pivot);
      at(j, j) = pivot;
      for (int i = j + 1; i < n; ++i) {
        T sum = at(i, j);
        for (int k = 0; k < j; ++k) sum -= at(i, k) * conjugate(at(j, k));
        at(i, j) = sum / pivot;
      }
    }
  }
};

/// `a = l lᴴ` or `a = uᴴ u`; the factor takes the place of one triangle, the other one is not
/// touched.
template <class Space, class A>
void potrf(Space const& space, char const* uplo, A const& a) {
  static_assert(A::rank() == 2, "Trellis: potrf takes a View of rank 2");
  using T = typename A::non_const_value_type;
  using Part = std::pair<int, int>;
  constexpr int largest = 32;
  bool const is_lower = letter_of("potrf", "uplo", uplo, "LU") == 'L';
  if (a.extent(0) != a.extent(1))
    throw Error(Error::Kind::bad_input, "Trellis: potrf takes a square matrix, not " +
                                            extents_text("A", a.extent(0), a.extent(1)));
  int const n = static_cast<int>(a.extent(0));
  for (int begin = 0; begin < n; begin += largest) {
    int const end = begin + largest < n ? begin + largest : n;
    Part const now(begin, end);
    Part const rest(end, n);
    auto const diagonal = Kokkos::subview(a, now, now);
    int info = 0;
    Kokkos::parallel_reduce(
        "potrf", Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>(space, 0, 1),
        FactorBlock<std::remove_const_t<decltype(diagonal)>>{diagonal, is_lower}, info);
    space.fence("potrf");
    if (info != 0)
      throw Error(
          Error::Kind::bad_input,
          "Trellis: potrf: the matrix is not positive definite, its leading minor of order " +
              std::to_string(begin + info) + " is not");
    if (end == n) return;
    auto const panel = is_lower ? Kokkos::subview(a, rest, now) : Kokkos::subview(a, now, rest);
    KokkosBlas::trsm(space, is_lower ? "R" : "L", is_lower ? "L" : "U", "C", "N", T(1), diagonal,
                     panel);
    rank_update(space, is_lower, is_lower, "C", T(-1), panel, T(1), Kokkos::subview(a, rest, rest));
  }
}

}  // namespace trellis::Impl

#endif
