// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RANKUPDATE_HPP
#define TRELLIS_IMPL_RANKUPDATE_HPP

#include <Trellis_Error.hpp>

#include <KokkosBlas1_scal.hpp>
#include <KokkosBlas2_gemv.hpp>
#include <KokkosBlas3_gemm.hpp>
#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

/// This header has what Kokkos Kernels leaves to its callers: a `gemm` that checks the extents, and
/// symmetric updates.
namespace trellis::Impl {

/// Returns the given letter in upper case. Throws an Error that lists the valid letters if it is
/// none of them.
inline char letter_of(char const* kernel, char const* argument, char const* given,
                      char const* letters) {
  char const letter =
      static_cast<char>(*given >= 'a' && *given <= 'z' ? *given - 'a' + 'A' : *given);
  for (char const* each = letters; *each != 0; ++each)
    if (*each == letter) return letter;
  std::string text = std::string("Trellis: ") + kernel + ": " + argument + " is '" + *given +
                     "', it must be one of";
  for (char const* each = letters; *each != 0; ++each) text += std::string(" '") + *each + "'";
  throw Error(Error::Kind::bad_input, text);
}

inline std::string extents_text(char const* name, std::size_t rows, std::size_t columns) {
  return std::string(name) + ": " + std::to_string(rows) + " x " + std::to_string(columns);
}

/// Calls `KokkosBlas::gemm`, and checks the extents, as that does so in debug builds only.
template <class Space, class Alpha, class A, class B, class Beta, class C>
void gemm(Space const& space, char const* trans_a, char const* trans_b, Alpha const& alpha,
          A const& a, B const& b, Beta const& beta, C const& c) {
  static_assert(A::rank() == 2 && B::rank() == 2 && C::rank() == 2,
                "Trellis: gemm takes Views of rank 2");
  bool const plain_a = letter_of("gemm", "transA", trans_a, "NTC") == 'N';
  bool const plain_b = letter_of("gemm", "transB", trans_b, "NTC") == 'N';
  std::size_t const inner = a.extent(plain_a ? 1 : 0);
  if (a.extent(plain_a ? 0 : 1) != c.extent(0) || b.extent(plain_b ? 1 : 0) != c.extent(1) ||
      b.extent(plain_b ? 0 : 1) != inner)
    throw Error(Error::Kind::bad_input,
                std::string("Trellis: gemm: the extents do not match, transA: ") + *trans_a +
                    ", transB: " + *trans_b + ", " + extents_text("A", a.extent(0), a.extent(1)) +
                    ", " + extents_text("B", b.extent(0), b.extent(1)) + ", " +
                    extents_text("C", c.extent(0), c.extent(1)));
  if (c.extent(0) == 0 || c.extent(1) == 0) return;
  using T = typename C::non_const_value_type;
  if (inner == 0) {  // runs on this instance, not on the default one
    KokkosBlas::scal(space, c, static_cast<T>(beta), c);
    return;
  }
  if constexpr (std::is_same_v<typename B::array_layout, Kokkos::LayoutRight> ||
                std::is_same_v<typename C::array_layout, Kokkos::LayoutRight>) {
    // For a single column Kokkos Kernels (4.5) assumes contiguous elements.
    if (plain_a && plain_b && c.extent(1) == 1) {
      KokkosBlas::gemv(space, "N", alpha, a, Kokkos::subview(b, Kokkos::ALL, 0), beta,
                       Kokkos::subview(c, Kokkos::ALL, 0));
      return;
    }
  }
  KokkosBlas::gemm(space, trans_a, trans_b, alpha, a, b, beta, c);
}

/// Adds a square block to a triangle: `c := beta c + block`.
template <class C, class Block>
struct AddTriangle {
  using T = typename C::non_const_value_type;
  C c;
  Block block;
  T beta;
  bool is_lower;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    if (is_lower ? i < j : i > j) return;
    // As in BLAS, the old value does not matter for a beta of zero.
    c(i, j) = beta == T() ? block(i, j) : beta * c(i, j) + block(i, j);
  }
};

/// Computes `c := alpha a op(a) + beta c`, or `alpha op(a) a + beta c`, in one triangle of c. It
/// works by columns of blocks. The blocks off the diagonal are one `gemm`; a block on the diagonal
/// is computed separately, and its triangle added.
template <class Space, class A, class C>
void rank_update(Space const& space, bool is_lower, bool a_comes_first, char const* op,
                 typename C::non_const_value_type const& alpha, A const& a,
                 typename C::non_const_value_type const& beta, C const& c) {
  using T = typename C::non_const_value_type;
  using Part = std::pair<int, int>;
  constexpr int largest = 64;
  int const n = static_cast<int>(c.extent(0));
  int const block = n < largest ? n : largest;
  auto const strip = [&](int begin, int end) {
    return a_comes_first
               ? Kokkos::subview(a, Part(begin, end), Part(0, static_cast<int>(a.extent(1))))
               : Kokkos::subview(a, Part(0, static_cast<int>(a.extent(0))), Part(begin, end));
  };
  auto const multiply = [&](auto const& left, auto const& right, T const& b, auto const& to) {
    if (a_comes_first)
      gemm(space, "N", op, alpha, left, right, b, to);
    else
      gemm(space, op, "N", alpha, left, right, b, to);
  };
  using Scratch = Kokkos::View<T**, typename C::array_layout, typename C::device_type>;
  static_assert(!std::is_same_v<typename C::array_layout, Kokkos::LayoutStride>,
                "Trellis: syrk, herk and potrf take matrices of LayoutLeft or LayoutRight");
  Scratch const scratch(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, "rank update"),
                        block, block);
  for (int begin = 0; begin < n; begin += block) {
    int const end = begin + block < n ? begin + block : n;
    auto const own = strip(begin, end);
    int const width = end - begin;
    auto const triangle = Kokkos::subview(scratch, Part(0, width), Part(0, width));
    auto const target = Kokkos::subview(c, Part(begin, end), Part(begin, end));
    multiply(own, own, T(), triangle);
    Kokkos::parallel_for(
        "rank update",
        Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>, Kokkos::IndexType<int>>(space, {0, 0},
                                                                              {width, width}),
        AddTriangle<std::remove_const_t<decltype(target)>, std::remove_const_t<decltype(triangle)>>{
            target, triangle, beta, is_lower});
    Part const rest = is_lower ? Part(end, n) : Part(0, begin);
    if (rest.first < rest.second)
      multiply(strip(rest.first, rest.second), own, beta,
               Kokkos::subview(c, rest, Part(begin, end)));
  }
}

template <class Space, class Alpha, class A, class Beta, class C>
void checked_rank_update(char const* kernel, char const* op, Space const& space, char const* uplo,
                         char const* trans, Alpha const& alpha, A const& a, Beta const& beta,
                         C const& c) {
  static_assert(A::rank() == 2 && C::rank() == 2, "Trellis: syrk and herk take Views of rank 2");
  using T = typename C::non_const_value_type;
  char const own_letters[] = {'N', *op, 0};
  char const* const letters = std::is_arithmetic_v<T> ? "NTC" : own_letters;
  bool const is_lower = letter_of(kernel, "uplo", uplo, "LU") == 'L';
  bool const is_plain = letter_of(kernel, "trans", trans, letters) == 'N';
  if (c.extent(0) != c.extent(1) || a.extent(is_plain ? 0 : 1) != c.extent(0))
    throw Error(Error::Kind::bad_input, std::string("Trellis: ") + kernel +
                                            ": the extents do not match, trans: " + *trans + ", " +
                                            extents_text("A", a.extent(0), a.extent(1)) + ", " +
                                            extents_text("C", c.extent(0), c.extent(1)));
  rank_update(space, is_lower, is_plain, op, static_cast<T>(alpha), a, static_cast<T>(beta), c);
}

template <class Space, class Alpha, class A, class Beta, class C>
void syrk(Space const& space, char const* uplo, char const* trans, Alpha const& alpha, A const& a,
          Beta const& beta, C const& c) {
  checked_rank_update("syrk", "T", space, uplo, trans, alpha, a, beta, c);
}
template <class Space, class Alpha, class A, class Beta, class C>
void herk(Space const& space, char const* uplo, char const* trans, Alpha const& alpha, A const& a,
          Beta const& beta, C const& c) {
  checked_rank_update("herk", "C", space, uplo, trans, alpha, a, beta, c);
}

}  // namespace trellis::Impl

#endif
