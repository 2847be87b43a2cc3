// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// potrf, and a Cholesky factorisation by tiles: a graph of potrf, trsm, herk and gemm.
#include "KernelsTest.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace trellis {
namespace {

using Test::Part;
using Test::with_workers;
using testing::AllOf;
using testing::HasSubstr;

template <class C>
class KernelsCholesky : public testing::Test {};
using CholeskyCases =
    testing::Types<trellis::Test::Case<double, Kokkos::LayoutLeft>,
                   trellis::Test::Case<float, Kokkos::LayoutRight>,
                   trellis::Test::Case<Kokkos::complex<double>, Kokkos::LayoutRight>>;
TYPED_TEST_SUITE(KernelsCholesky, CholeskyCases);

/// Hermitian and positive definite: random elements and a strong diagonal.
template <class Matrix>
Matrix positive_definite(int n) {
  using T = typename Matrix::value_type;
  Matrix const a("a", n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      a(i, j) = trellis::Test::number<T>(i * n + j, 3);
      a(j, i) = Impl::conjugate(a(i, j));
    }
    a(i, i) = T(2.0 * n + i % 5);
  }
  return a;
}

/// How far the product of the factor in one triangle is from the matrix, relative to its size.
template <class Matrix>
double residual(Matrix const& factor, Matrix const& a, bool is_lower) {
  using T = typename Matrix::value_type;
  int const n = static_cast<int>(a.extent(0));
  auto const l = [&](int i, int k) {
    return is_lower ? factor(i, k) : Impl::conjugate(factor(k, i));
  };
  double most = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      T sum = a(i, j);
      for (int k = 0; k <= j; ++k) sum -= l(i, k) * Impl::conjugate(l(j, k));
      double const d = trellis::Test::distance(sum, T());
      most = d > most || d != d ? d : most;
    }
  return most / (2.0 * n);
}

TYPED_TEST(KernelsCholesky, PotrfGivesAFactorInOneTriangle) {
  using T = typename TypeParam::T;
  using Matrix = typename TypeParam::Matrix;
  for (int n : {1, 3, 32, 33, 100}) {
    auto const a = positive_definite<Matrix>(n);
    auto const lower = trellis::Test::clone(a);
    auto const upper = trellis::Test::clone(a);
    TaskGraph graph(with_workers(2));
    kernels::potrf(graph, "L", lower);
    kernels::potrf(graph, "u", upper);
    graph.wait();
    EXPECT_LE(residual(lower, a, true), trellis::Test::tolerance<T>()) << n;
    EXPECT_LE(residual(upper, a, false), trellis::Test::tolerance<T>()) << n;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) {
        ASSERT_EQ(lower(j, i), a(j, i)) << "the other triangle has changed";
        ASSERT_EQ(upper(i, j), a(i, j)) << "the other triangle has changed";
      }
  }
}

// In a build with LAPACKE `potrf` is LAPACK's; the one by blocks must hold there as well.
TYPED_TEST(KernelsCholesky, BlocksGiveWhatPotrfGives) {
  using T = typename TypeParam::T;
  using Matrix = typename TypeParam::Matrix;
  trellis::Test::Space const space;
  for (int n : {1, 31, 32, 33, 90})
    for (bool is_lower : {true, false}) {
      auto const a = positive_definite<Matrix>(n);
      auto const by_blocks = trellis::Test::clone(a);
      auto const by_potrf = trellis::Test::clone(a);
      Impl::potrf_by_blocks(space, is_lower, by_blocks);
      kernels::potrf.function(space, is_lower ? "L" : "U", by_potrf);
      EXPECT_LE(residual(by_blocks, a, is_lower), trellis::Test::tolerance<T>()) << n;
      EXPECT_LE(trellis::Test::difference(by_blocks, by_potrf), trellis::Test::tolerance<T>()) << n;
    }
}

/// What potrf says of a matrix, or "".
template <class Factorise, class Matrix>
std::string complaint(Factorise const& factorise, Matrix const& a) {
  auto const copy = trellis::Test::clone(a);
  try {
    factorise(copy);
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

TYPED_TEST(KernelsCholesky, TheFirstBadPivotIsNamedWhateverItIs) {
  using T = typename TypeParam::T;
  using Matrix = typename TypeParam::Matrix;
  using Real = decltype(Impl::real_part(T()));
  trellis::Test::Space const space;
  for (Real const bad : {Real(-1), Real(0), std::numeric_limits<Real>::quiet_NaN()})
    for (int row : {0, 20, 40}) {
      auto const a = positive_definite<Matrix>(50);
      a(row, row) = bad;
      std::string const right = "its leading minor of order " + std::to_string(row + 1) + " is not";
      for (char const* uplo : {"L", "U"}) {
        auto const by_potrf = [&](Matrix const& m) { kernels::potrf.function(space, uplo, m); };
        auto const by_blocks = [&](Matrix const& m) {
          Impl::potrf_by_blocks(space, *uplo == 'L', m);
        };
        EXPECT_THAT(complaint(by_potrf, a), HasSubstr(right)) << bad;
        EXPECT_THAT(complaint(by_blocks, a), HasSubstr(right)) << bad;
      }
    }
}

int reductions_of_potrf = 0;

/// A number that is reduced into a variable is waited for: that is done once, not for each block.
TEST(Cholesky, BlocksAreWaitedForOnce) {
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, trellis::Test::Space>;
  auto const a = positive_definite<Matrix>(100);
  reductions_of_potrf = 0;
  Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(
      [](char const* name, std::uint32_t, std::uint64_t*) {
        reductions_of_potrf += std::string_view(name).starts_with("potrf");
      });
  Impl::potrf_by_blocks(trellis::Test::Space(), true, a);
  Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
  EXPECT_EQ(reductions_of_potrf, 1);
}

/// By tiles of one large matrix. `kernel` is given what stands in place of the execution space.
template <class Matrix, class Where>
void factorise(Where& where, Matrix const& a, int tile) {
  using T = typename Matrix::value_type;
  int const tiles = static_cast<int>(a.extent(0)) / tile;
  auto const at = [&](int i, int j) {
    return Kokkos::subview(a, Part(i * tile, (i + 1) * tile), Part(j * tile, (j + 1) * tile));
  };
  for (int k = 0; k < tiles; ++k) {
    kernels::potrf(where, "L", at(k, k));
    for (int i = k + 1; i < tiles; ++i)
      kernels::trsm(where, "R", "L", "C", "N", T(1), at(k, k), at(i, k));
    for (int i = k + 1; i < tiles; ++i) {
      kernels::herk(where, "L", "N", T(-1), at(i, k), T(1), at(i, i));
      for (int j = k + 1; j < i; ++j)
        kernels::gemm(where, "N", "C", T(-1), at(i, k), at(j, k), T(1), at(i, j));
    }
  }
}

TYPED_TEST(KernelsCholesky, TilesGiveWhatOneCallGives) {
  using T = typename TypeParam::T;
  using Matrix = typename TypeParam::Matrix;
  constexpr int n = 120;
  auto const a = positive_definite<Matrix>(n);
  auto const at_once = trellis::Test::clone(a);
  Impl::potrf(trellis::Test::Space(), "L", at_once);
  for (int tile : {20, 40, 120}) {
    auto const tiled = trellis::Test::clone(a);
    TaskGraph graph(with_workers(3));
    factorise(graph, tiled, tile);
    graph.wait();
    EXPECT_LE(residual(tiled, a, true), trellis::Test::tolerance<T>()) << tile;
    EXPECT_LE(trellis::Test::difference(tiled, at_once), trellis::Test::tolerance<T>()) << tile;
  }
}

TEST(Cholesky, TilesInAPlanAndAsChildrenOfATask) {
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, trellis::Test::Space>;
  constexpr int n = 60;
  auto const a = positive_definite<Matrix>(n);
  auto const in_plan = trellis::Test::clone(a);
  auto const in_children = trellis::Test::clone(a);
  TaskGraph graph(with_workers(3));
  auto const plan = graph.record([&] { factorise(graph, in_plan, 20); });
  // Three tiles: potrf 3, trsm 3, herk 3, gemm 1.
  EXPECT_EQ(plan.tasks(), 10u);
  graph.replay(plan);
  host_task("all", ResourcePolicy(graph, read_write(in_children)),
            [in_children](TaskScope& self) { factorise(self, in_children, 20); });
  graph.wait();
  EXPECT_LE(residual(in_plan, a, true), trellis::Test::tolerance<double>());
  EXPECT_LE(residual(in_children, a, true), trellis::Test::tolerance<double>());
  EXPECT_EQ(trellis::Test::difference(in_plan, in_children), 0);
}

TEST(Cholesky, AMatrixThatIsNotPositiveDefiniteIsAnError) {
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, trellis::Test::Space>;
  auto const a = positive_definite<Matrix>(50);
  a(40, 40) = -1;  // in the second block
  TaskGraph graph(with_workers(2));
  auto const task = kernels::potrf("factorise", graph, "L", a);
  try {
    task.get();
    FAIL() << "it is no error";
  } catch (Error const& error) {
    EXPECT_EQ(error.kind(), Error::Kind::task_failed);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("factorise"), HasSubstr("TestCholesky.cpp"),
                                    HasSubstr("its leading minor of order 41 is not")));
  }
}

TEST(Cholesky, WrongArgumentsAreErrors) {
  using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, trellis::Test::Space>;
  Matrix const wide("wide", 3, 4), square("square", 4, 4);
  auto const text_of = [](auto const& submit) -> std::string {
    TaskGraph graph(with_workers(1));
    try {
      submit(graph).get();
    } catch (Error const& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(text_of([&](TaskGraph& graph) { return kernels::potrf(graph, "L", wide); }),
              HasSubstr("takes a square matrix, not A: 3 x 4"));
  EXPECT_THAT(text_of([&](TaskGraph& graph) { return kernels::potrf(graph, "X", square); }),
              HasSubstr("uplo is 'X', it must be one of 'L' 'U'"));
  EXPECT_THAT(text_of([&](TaskGraph& graph) {
                return kernels::syrk(graph, "L", "N", 1.0, wide, 0.0, square);
              }),
              HasSubstr("syrk: the extents do not match, trans: N, A: 3 x 4, C: 4 x 4"));
  EXPECT_THAT(text_of([&](TaskGraph& graph) {
                return kernels::gemm(graph, "N", "N", 1.0, wide, wide, 0.0, square);
              }),
              HasSubstr("gemm: the extents do not match, transA: N, transB: N, A: 3 x 4"));
}

}  // namespace
}  // namespace trellis
