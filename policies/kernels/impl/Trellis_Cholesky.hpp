// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CHOLESKY_HPP
#define TRELLIS_IMPL_CHOLESKY_HPP

#include <Trellis_Error.hpp>
#include <kernels/impl/Trellis_Lapacke.hpp>
#include <kernels/impl/Trellis_RankUpdate.hpp>

#include <KokkosBlas3_trsm.hpp>
#include <Kokkos_Core.hpp>

#include <complex>
#include <string>
#include <type_traits>
#include <utility>

/// This header has the Cholesky factorisation of a dense matrix. It is LAPACK's `potrf` if there is
/// LAPACKE and the matrix is in host memory. Kokkos Kernels has none, so elsewhere it works by
/// blocks. One kernel factorises a block on the diagonal; `trsm` and updates that consist of `gemm`
/// do the rest.
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

/// Factorises one block, without blocks. If a leading minor is not positive definite, the element
/// on the diagonal becomes NaN, and so do those after it. So the next kernels need no answer from
/// here, and the first NaN is found at the end.
template <class A>
struct FactorBlock {
  using T = typename A::non_const_value_type;
  A a;
  bool is_lower;

  /// Returns an element of the lower factor, or of the transpose of the upper one.
  KOKKOS_FUNCTION T& at(int i, int j) const { return is_lower ? a(i, j) : a(j, i); }
  KOKKOS_FUNCTION void operator()(int) const {
    int const n = static_cast<int>(a.extent(0));
    for (int j = 0; j < n; ++j) {
      auto pivot = real_part(at(j, j));
      for (int k = 0; k < j; ++k) pivot -= real_part(at(j, k) * conjugate(at(j, k)));
      using Real = decltype(pivot);
      pivot = pivot > 0 ? Kokkos::sqrt(pivot) : Kokkos::Experimental::quiet_NaN<Real>::value;
      at(j, j) = pivot;
      for (int i = j + 1; i < n; ++i) {
        T sum = at(i, j);
        for (int k = 0; k < j; ++k) sum -= at(i, k) * conjugate(at(j, k));
        at(i, j) = sum / pivot;
      }
    }
  }
};

/// Finds the first element on the diagonal that cannot be that of a factor.
template <class A>
struct FirstBadPivot {
  A a;
  KOKKOS_FUNCTION void operator()(int k, int& first) const {
    if (!(real_part(a(k, k)) > 0) && k < first) first = k;  // true for NaN, too
  }
};

[[noreturn]] inline void not_positive_definite(int order) {
  throw Error(Error::Kind::bad_input,
              "Trellis: potrf: the matrix is not positive definite, its leading minor of order " +
                  std::to_string(order) + " is not");
}

/// Factorises without LAPACK. All blocks are launched one after the other. The only wait is for
/// the answer whether there is a factor, as the task fails when there is none.
template <class Space, class A>
void potrf_by_blocks(Space const& space, bool is_lower, A const& a) {
  using T = typename A::non_const_value_type;
  using Part = std::pair<int, int>;
  using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>;
  constexpr int largest = 32;
  int const n = static_cast<int>(a.extent(0));
  for (int begin = 0; begin < n; begin += largest) {
    int const end = begin + largest < n ? begin + largest : n;
    Part const now(begin, end);
    Part const rest(end, n);
    auto const diagonal = Kokkos::subview(a, now, now);
    Kokkos::parallel_for("potrf", Range(space, 0, 1),
                         FactorBlock<std::remove_const_t<decltype(diagonal)>>{diagonal, is_lower});
    if (end == n) break;
    auto const panel = is_lower ? Kokkos::subview(a, rest, now) : Kokkos::subview(a, now, rest);
    KokkosBlas::trsm(space, is_lower ? "R" : "L", is_lower ? "L" : "U", "C", "N", T(1), diagonal,
                     panel);
    rank_update(space, is_lower, is_lower, "C", T(-1), panel, T(1), Kokkos::subview(a, rest, rest));
  }
  int first = n;
  Kokkos::parallel_reduce("potrf: check", Range(space, 0, n), FirstBadPivot<A>{a},
                          Kokkos::Min<int>(first));
  if (first < n) not_positive_definite(first + 1);
}

/// Gives LAPACK's type for such a number; void if it has none.
template <class T>
struct LapackNumber {
  using type = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, double>, T, void>;
};
template <class T>
struct LapackNumber<Kokkos::complex<T>> {
  using Real = typename LapackNumber<T>::type;
  using type = std::conditional_t<std::is_void_v<Real>, void, std::complex<T>>;
};
#ifdef TRELLIS_HAS_LAPACKE
inline constexpr bool has_lapacke = true;
#else
inline constexpr bool has_lapacke = false;
#endif
template <class A>
inline constexpr bool is_for_lapack =
    has_lapacke && std::is_same_v<typename A::memory_space, Kokkos::HostSpace> &&
    !std::is_void_v<typename LapackNumber<typename A::non_const_value_type>::type>;

/// Factorises in host memory, where a kernel that was started before is over.
template <class Space, class A>
void potrf_by_lapack(Space const&, bool is_lower, A const& a) {
  using Number = typename LapackNumber<typename A::non_const_value_type>::type;
  constexpr bool is_transposed = std::is_same_v<typename A::array_layout, Kokkos::LayoutRight>;
  int const n = static_cast<int>(a.extent(0));
  int const stride = static_cast<int>(a.stride(is_transposed ? 0 : 1));
  // Rows taken for columns give the transpose, whose upper factor is the transpose of the lower
  // one.
  int info = lapack_potrf(is_lower != is_transposed, n, reinterpret_cast<Number*>(a.data()),
                          stride < n ? n : stride);
  // Not every LAPACK notices a pivot that is NaN.
  for (int k = 0; info == 0 && k < n; ++k)
    if (!(real_part(a(k, k)) > 0)) info = k + 1;
  if (info != 0) not_positive_definite(info);
}

/// Factorises `a = l lᴴ` or `a = uᴴ u`. The factor takes the place of one triangle; the other one
/// is not touched.
template <class Space, class A>
void potrf(Space const& space, char const* uplo, A const& a) {
  static_assert(A::rank() == 2, "Trellis: potrf takes a View of rank 2");
  static_assert(!std::is_same_v<typename A::array_layout, Kokkos::LayoutStride>,
                "Trellis: syrk, herk and potrf take matrices of LayoutLeft or LayoutRight");
  bool const is_lower = letter_of("potrf", "uplo", uplo, "LU") == 'L';
  if (a.extent(0) != a.extent(1))
    throw Error(Error::Kind::bad_input, "Trellis: potrf takes a square matrix, not " +
                                            extents_text("A", a.extent(0), a.extent(1)));
  if (a.extent(0) == 0) return;
  if constexpr (is_for_lapack<A>)
    potrf_by_lapack(space, is_lower, a);
  else
    potrf_by_blocks(space, is_lower, a);
}

}  // namespace trellis::Impl

#endif
