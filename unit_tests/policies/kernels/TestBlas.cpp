// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each call of <kernels/Trellis_Blas.hpp> against the plain one, for value types, layouts,
// subviews.
#include "KernelsTest.hpp"

#include <KokkosBlas3_gemm.hpp>

namespace trellis {
namespace {

using Test::all_of_it;
using Test::expect_same;
using Test::filled;
using Test::number;
using Test::Part;

template <class C>
class KernelsBlas : public testing::Test {};
using BlasCases = testing::Types<trellis::Test::Case<double, Kokkos::LayoutLeft>,
                                 trellis::Test::Case<double, Kokkos::LayoutRight>,
                                 trellis::Test::Case<float, Kokkos::LayoutRight>,
                                 trellis::Test::Case<Kokkos::complex<double>, Kokkos::LayoutLeft>>;
TYPED_TEST_SUITE(KernelsBlas, BlasCases);

TYPED_TEST(KernelsBlas, VectorsAndColumnsOfMatrices) {
  using T = typename TypeParam::T;
  using Vector = typename TypeParam::Vector;
  using Matrix = typename TypeParam::Matrix;
  auto const x = filled<Vector>("x", 1, 40);
  auto const y = filled<Vector>("y", 2, 40);
  auto const m = filled<Matrix>("m", 3, 40, 5);
  auto const a = number<T>(3, 4);
  auto const b = number<T>(5, 6);
  auto const column = [](Matrix const& whole) { return Kokkos::subview(whole, Part(0, 40), 2); };
  expect_same(y, all_of_it, kernels::axpby, PLAIN(KokkosBlas::axpby), a, x, b);
  expect_same(y, all_of_it, kernels::axpby, PLAIN(KokkosBlas::axpby), a, x, T());
  expect_same(y, all_of_it, kernels::axpy, PLAIN(KokkosBlas::axpy), a, x);
  expect_same(m, column, kernels::axpby, PLAIN(KokkosBlas::axpby), a, x, b);
  expect_same(m, column, kernels::axpy, PLAIN(KokkosBlas::axpy), a, column(m));

  // scal has its result in front.
  auto const to = trellis::Test::clone(y);
  auto const in_place = trellis::Test::clone(x);
  auto const in_column = trellis::Test::clone(m);
  TaskGraph graph(trellis::Test::with_workers(2));
  kernels::scal(graph, to, a, x);
  kernels::scal(graph, in_place, a, in_place);
  kernels::scal(graph, column(in_column), b, column(m));
  graph.wait();
  auto const expected = trellis::Test::clone(y);
  KokkosBlas::scal(trellis::Test::Space(), expected, a, x);
  EXPECT_LE(trellis::Test::difference(to, expected), trellis::Test::tolerance<T>());
  EXPECT_LE(trellis::Test::difference(in_place, expected), trellis::Test::tolerance<T>());
  auto const expected_column = trellis::Test::clone(m);
  KokkosBlas::scal(trellis::Test::Space(), column(expected_column), b, column(m));
  EXPECT_LE(trellis::Test::difference(in_column, expected_column), trellis::Test::tolerance<T>());
}

TYPED_TEST(KernelsBlas, DotAndNormGiveFuturesOrWriteViews) {
  using T = typename TypeParam::T;
  using Vector = typename TypeParam::Vector;
  using Matrix = typename TypeParam::Matrix;
  using Norm = decltype(KokkosBlas::nrm2(trellis::Test::Space(), std::declval<Vector const&>()));
  auto const x = filled<Vector>("x", 1, 40);
  auto const m = filled<Matrix>("m", 3, 40, 5);
  auto const column = Kokkos::subview(m, Part(0, 40), 2);
  Kokkos::View<T, trellis::Test::Space> const xx("xx"), xc("xc");
  Kokkos::View<Norm, trellis::Test::Space> const norm("norm");

  TaskGraph graph(trellis::Test::with_workers(2));
  Future<T> const dot = kernels::dot(graph, x, column);
  Future<Norm> const nrm2 = kernels::nrm2(graph, column);
  kernels::dot(graph, xx, x, x);
  kernels::dot(graph, xc, x, column);
  kernels::nrm2(graph, norm, column);
  EXPECT_LE(trellis::Test::distance(dot.get(), KokkosBlas::dot(trellis::Test::Space(), x, column)),
            trellis::Test::tolerance<T>());
  EXPECT_LE(trellis::Test::distance(nrm2.get(), KokkosBlas::nrm2(trellis::Test::Space(), column)),
            trellis::Test::tolerance<Norm>());
  graph.wait();
  EXPECT_LE(trellis::Test::distance(xx(), KokkosBlas::dot(trellis::Test::Space(), x, x)),
            40 * trellis::Test::tolerance<T>());
  EXPECT_LE(trellis::Test::distance(xc(), dot.get()), trellis::Test::tolerance<T>());
  EXPECT_LE(trellis::Test::distance(norm(), nrm2.get()), trellis::Test::tolerance<Norm>());
  EXPECT_NE(norm(), Norm());
}

TYPED_TEST(KernelsBlas, MatricesAndTheirBlocks) {
  using T = typename TypeParam::T;
  using Vector = typename TypeParam::Vector;
  using Matrix = typename TypeParam::Matrix;
  auto const a = filled<Matrix>("a", 1, 12, 9);
  auto const b = filled<Matrix>("b", 2, 9, 11);
  auto const c = filled<Matrix>("c", 3, 12, 11);
  auto const x = filled<Vector>("x", 4, 9);
  auto const y = filled<Vector>("y", 5, 12);
  auto const alpha = number<T>(1, 7);
  auto const beta = number<T>(2, 8);
  auto const corner = [](Matrix const& whole) {
    return Kokkos::subview(whole, Part(2, 7), Part(3, 6));
  };
  expect_same(y, all_of_it, kernels::gemv, PLAIN(KokkosBlas::gemv), "N", alpha, a, x, beta);
  expect_same(x, all_of_it, kernels::gemv, PLAIN(KokkosBlas::gemv), "T", alpha, a, y, T());
  expect_same(c, all_of_it, kernels::gemm, PLAIN(KokkosBlas::gemm), "N", "N", alpha, a, b, beta);
  expect_same(c, corner, kernels::gemm, PLAIN(KokkosBlas::gemm), "C", "T", alpha,
              Kokkos::subview(a, Part(1, 5), Part(2, 7)),
              Kokkos::subview(b, Part(3, 6), Part(1, 5)), beta);

  // A triangle with a strong diagonal.
  Matrix const l("l", 12, 12);
  trellis::Test::fill(l, 9);
  for (int i = 0; i < 12; ++i) l(i, i) = T(8);
  expect_same(c, all_of_it, kernels::trsm, PLAIN(KokkosBlas::trsm), "L", "L", "N", "N", alpha, l);
  expect_same(
      trellis::Test::clone(a),
      [](Matrix const& whole) { return Kokkos::subview(whole, Part(0, 12), Part(1, 6)); },
      kernels::trsm, PLAIN(KokkosBlas::trsm), "R", "U", "C", "N", alpha,
      Kokkos::subview(l, Part(0, 5), Part(0, 5)));
}

/// One column of a larger matrix: Kokkos Kernels takes it for contiguous where it is not.
TYPED_TEST(KernelsBlas, GemmOfOneColumn) {
  using T = typename TypeParam::T;
  using Matrix = typename TypeParam::Matrix;
  auto const a = filled<Matrix>("a", 1, 6, 5);
  auto const b = filled<Matrix>("b", 2, 5, 4);
  auto const c = filled<Matrix>("c", 3, 6, 7);
  auto const result = trellis::Test::clone(c);
  auto const two = Part(2, 3);
  TaskGraph graph(trellis::Test::with_workers(2));
  kernels::gemm(graph, "N", "N", T(1), a, Kokkos::subview(b, Part(0, 5), two), T(1),
                Kokkos::subview(result, Part(0, 6), two));
  graph.wait();
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 7; ++j) {
      T expected = c(i, j);
      if (j == 2)
        for (int k = 0; k < 5; ++k) expected += a(i, k) * b(k, 2);
      EXPECT_LE(trellis::Test::distance(result(i, j), expected), trellis::Test::tolerance<T>())
          << i << ' ' << j;
    }
}

/// By `gemm`, and the triangle copied: what syrk and herk must give.
template <class Matrix>
struct PlainRankUpdate {
  using T = typename Matrix::value_type;
  char const* conjugated;
  template <class Space, class A, class C>
  void operator()(Space const& space, char const* uplo, char const* trans, T const& alpha,
                  A const& a, T const& beta, C const& c) const {
    Matrix const full("full", c.extent(0), c.extent(1));
    Kokkos::deep_copy(full, c);
    bool const is_plain = *trans == 'N';
    KokkosBlas::gemm(space, is_plain ? "N" : conjugated, is_plain ? conjugated : "N", alpha, a, a,
                     beta, full);
    int const n = static_cast<int>(c.extent(0));
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (*uplo == 'L' ? i >= j : i <= j) c(i, j) = full(i, j);
  }
};

TYPED_TEST(KernelsBlas, SymmetricUpdatesOfOneTriangle) {
  using T = typename TypeParam::T;
  using Matrix = typename TypeParam::Matrix;
  auto const alpha = number<T>(1, 7);
  auto const beta = number<T>(2, 8);
  PlainRankUpdate<Matrix> const syrk{"T"};
  PlainRankUpdate<Matrix> const herk{"C"};
  for (int n : {1, 5, 150}) {  // less than a block, and several
    auto const a = filled<Matrix>("a", 1, n, 7);
    auto const c = filled<Matrix>("c", 2, n, n);
    expect_same(c, all_of_it, kernels::syrk, syrk, "L", "N", alpha, a, beta);
    expect_same(c, all_of_it, kernels::herk, herk, "U", "N", alpha, a, beta);
  }
  auto const a = filled<Matrix>("a", 3, 7, 130);
  auto const c = filled<Matrix>("c", 4, 140, 140);
  auto const block = [](Matrix const& whole) {
    return Kokkos::subview(whole, Part(5, 135), Part(5, 135));
  };
  expect_same(c, block, kernels::syrk, syrk, "U", "T", alpha, a, T());
  expect_same(c, block, kernels::herk, herk, "L", "C", alpha, a, beta);
}

}  // namespace
}  // namespace trellis
