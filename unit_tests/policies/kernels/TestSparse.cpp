// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// <kernels/Trellis_Sparse.hpp>: the calls against the plain ones, and matrices as resources.
#include "KernelsTest.hpp"

#include "Timing.hpp"

#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_gauss_seidel.hpp>
#include <gmock/gmock.h>

#include <array>
#include <string>

namespace trellis {
namespace {

using Test::all_of_it;
using Test::expect_same;
using Test::filled;
using Test::Part;
using Test::poisson;
using Test::Sparse;
using Test::Vector;
using Test::with_workers;
using testing::HasSubstr;
using Columns = Kokkos::View<double**, Kokkos::LayoutLeft, trellis::Test::Space>;
using Handle = KokkosKernels::Experimental::KokkosKernelsHandle<
    Sparse::non_const_size_type, int, double, trellis::Test::Space,
    trellis::Test::Space::memory_space, trellis::Test::Space::memory_space>;

TEST(KernelsSparse, SpmvIsThatOfKokkosKernels) {
  Sparse const a = poisson(7);
  auto const x = filled<Vector>("x", 1, 49);
  auto const y = filled<Vector>("y", 2, 49);
  auto const several = filled<Columns>("several", 3, 49, 3);
  auto const columns = [](Columns const& whole) {
    return Kokkos::subview(whole, Part(0, 49), Part(1, 3));
  };
  for (char const* mode : {"N", "T"}) {
    expect_same(y, all_of_it, kernels::spmv, PLAIN(KokkosSparse::spmv), mode, 2.0, a, x, 0.5);
    expect_same(y, all_of_it, kernels::spmv, PLAIN(KokkosSparse::spmv), mode, 2.0, a, x, 0.0);
  }
  expect_same(several, columns, kernels::spmv, PLAIN(KokkosSparse::spmv), "N", 1.5, a,
              columns(filled<Columns>("right", 4, 49, 3)), 1.0);
}

TEST(KernelsSparse, SpmvTakesAHandle) {
  Sparse const a = poisson(6);
  auto const x = filled<Vector>("x", 1, 36);
  auto const y = filled<Vector>("y", 2, 36);
  auto const z = trellis::Test::clone(y);
  auto const expected = trellis::Test::clone(y);
  KokkosSparse::SPMVHandle<trellis::Test::Space, Sparse, Vector, Vector> handle;
  TaskGraph graph(with_workers(2));
  kernels::spmv(graph, &handle, "N", 1.0, a, x, 2.0, y);
  kernels::spmv(graph, &handle, "N", 1.0, a, x, 2.0, z);  // nothing in common but the handle
  graph.wait();
  KokkosSparse::spmv(trellis::Test::Space(), "N", 1.0, a, x, 2.0, expected);
  EXPECT_LE(trellis::Test::difference(y, expected), trellis::Test::tolerance<double>());
  EXPECT_LE(trellis::Test::difference(z, expected), trellis::Test::tolerance<double>());
}

TEST(KernelsSparse, TasksWithOneHandleRunOneByOne) {
  Sparse const a = poisson(4);
  std::array<Vector, 2> const y{Vector("y", 16), Vector("z", 16)};
  auto const x = filled<Vector>("x", 1, 16);
  KokkosSparse::SPMVHandle<trellis::Test::Space, Sparse, Vector, Vector> handle;
  TaskGraph graph(with_workers(1));
  auto const plan = graph.record([&] {
    for (Vector const& to : y) kernels::spmv(graph, "N", 1.0, a, x, 0.0, to);
  });
  auto const plan_with_handle = graph.record([&] {
    for (Vector const& to : y) kernels::spmv(graph, &handle, "N", 1.0, a, x, 0.0, to);
  });
  EXPECT_EQ(plan.edges(), 0u);
  EXPECT_EQ(plan_with_handle.edges(), 1u);
}

/// Sweeps from zero, in place of the solution.
template <class Apply>
Vector plain_sweeps(Sparse const& a, Vector const& right, Apply const& apply, int sweeps) {
  namespace KS = KokkosSparse::Experimental;
  Vector const x("x", right.extent(0));
  int const n = a.numRows();
  auto const& rows = a.graph.row_map;
  auto const& entries = a.graph.entries;
  Handle handle;
  handle.create_gs_handle();
  KS::gauss_seidel_symbolic(&handle, n, n, rows, entries, true);
  KS::gauss_seidel_numeric(&handle, n, n, rows, entries, a.values, true);
  apply(&handle, n, n, rows, entries, a.values, x, right, true, true, 0.9, sweeps);
  Kokkos::fence();
  return x;
}

TEST(KernelsSparse, GaussSeidelRunsOnTheInstanceOfEachTask) {
  namespace KS = KokkosSparse::Experimental;
  Sparse const a = poisson(9);
  int const n = a.numRows();
  auto const& rows = a.graph.row_map;
  auto const& entries = a.graph.entries;
  auto const right = filled<Vector>("right", 1, n);
  auto const symmetric = plain_sweeps(a, right, PLAIN(KS::symmetric_gauss_seidel_apply), 3);
  auto const forward = plain_sweeps(a, right, PLAIN(KS::forward_sweep_gauss_seidel_apply), 3);
  auto const backward = plain_sweeps(a, right, PLAIN(KS::backward_sweep_gauss_seidel_apply), 3);
  EXPECT_GT(trellis::Test::difference(symmetric, forward), 1e-6);
  EXPECT_GT(trellis::Test::difference(backward, forward), 1e-6);

  Handle handle;
  handle.create_gs_handle();
  TaskGraph graph(with_workers(3));
  kernels::gauss_seidel_symbolic(graph, &handle, n, n, rows, entries);
  kernels::gauss_seidel_numeric(graph, &handle, n, n, rows, entries, a.values, true);
  std::array<Vector, 3> const x{Vector("s", n), Vector("f", n), Vector("b", n)};
  for (int round = 0; round < 4; ++round) {  // many, so that each worker has some
    kernels::symmetric_gauss_seidel_apply(graph, &handle, n, n, rows, entries, a.values, x[0],
                                          right, true, true, 0.9, 3);
    kernels::forward_sweep_gauss_seidel_apply(graph, &handle, n, n, rows, entries, a.values, x[1],
                                              right, true, true, 0.9, 3);
    kernels::backward_sweep_gauss_seidel_apply(graph, &handle, n, n, rows, entries, a.values, x[2],
                                               right, true, true, 0.9, 3);
  }
  graph.wait();
  EXPECT_LE(trellis::Test::difference(x[0], symmetric), trellis::Test::tolerance<double>());
  EXPECT_LE(trellis::Test::difference(x[1], forward), trellis::Test::tolerance<double>());
  EXPECT_LE(trellis::Test::difference(x[2], backward), trellis::Test::tolerance<double>());
}

TEST(KernelsSparse, HandlesAreIndependentOfEachOther) {
  namespace KS = KokkosSparse::Experimental;
  Sparse const a = poisson(9);
  int const n = a.numRows();
  auto const& rows = a.graph.row_map;
  auto const& entries = a.graph.entries;
  auto const right = filled<Vector>("right", 1, n);
  auto const expected = plain_sweeps(a, right, PLAIN(KS::symmetric_gauss_seidel_apply), 2);
  Sparse::values_type const inverse("inverse of the diagonal", n);
  Kokkos::deep_copy(inverse, 0.25);

  std::array<Handle, 3> handles;
  std::array<Vector, 3> const x{Vector("x", n), Vector("y", n), Vector("z", n)};
  for (Handle& each : handles) each.create_gs_handle();
  TaskGraph graph(with_workers(3));
  for (std::size_t k = 0; k < 3; ++k)
    kernels::gauss_seidel_symbolic(graph, &handles[k], n, n, rows, entries, true);
  // In each of its forms.
  kernels::gauss_seidel_numeric(graph, &handles[0], n, n, rows, entries, a.values);
  kernels::gauss_seidel_numeric(graph, &handles[1], n, n, rows, entries, a.values, inverse);
  kernels::gauss_seidel_numeric(graph, &handles[2], n, n, rows, entries, a.values, inverse, true);
  for (int round = 0; round < 20; ++round)
    for (std::size_t k = 0; k < 3; ++k)
      kernels::symmetric_gauss_seidel_apply(graph, &handles[k], n, n, rows, entries, a.values, x[k],
                                            right, true, true, 0.9, 2);
  graph.wait();
  for (Vector const& each : x)
    EXPECT_LE(trellis::Test::difference(each, expected), trellis::Test::tolerance<double>());
}

TEST(KernelsSparse, AHandleThatIsNotPreparedIsAnError) {
  Sparse const a = poisson(3);
  Handle handle;
  TaskGraph graph(with_workers(1));
  auto const task =
      kernels::gauss_seidel_symbolic(graph, &handle, 9, 9, a.graph.row_map, a.graph.entries);
  try {
    task.get();
    FAIL() << "it is no error";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), HasSubstr("gauss_seidel_symbolic"));
    EXPECT_THAT(error.what(), HasSubstr("create_gs_handle()"));
  }
}

TEST(KernelsSparse, AMatrixHasValuesAndAStructure) {
  Sparse const a = poisson(5);
  Vector const x("x", 25), y("y", 25);
  TaskGraph graph(with_workers(2));
  auto const plan = graph.record([&] {
    // Both read the structure; the first one writes the values, so the second depends on it.
    host_task("assemble",
              ResourcePolicy(graph, read(kernels::structure(a)), write(kernels::values(a))), [] {});
    host_task("count", ResourcePolicy(graph, read(kernels::structure(a)), write(x)), [] {});
    kernels::spmv(graph, "N", 1.0, a, x, 0.0, y);
    // As a whole it is read by spmv, and written here.
    host_task("scale", ResourcePolicy(graph, write(a)), [] {});
    host_task("look", ResourcePolicy(graph, read(kernels::structure(a))), [] {});
  });
  // assemble -> spmv, count -> spmv, spmv -> scale, and assemble -> scale, unless that follows.
  EXPECT_GE(plan.edges(), 3u);
  EXPECT_LE(plan.edges(), 4u);
}

TEST(KernelsSparse, StructureAndValuesRunAtTheSameTime) {
  Sparse const a = poisson(5);
  TaskGraph graph(with_workers(2));
  trellis::Test::Rendezvous both(2);
  auto const meet = [&both] { return both.meet(); };
  auto const writes = host_task("values", ResourcePolicy(graph, write(kernels::values(a))), meet);
  auto const reads =
      host_task("structure", ResourcePolicy(graph, read(kernels::structure(a))), meet);
  EXPECT_TRUE(writes.get());
  EXPECT_TRUE(reads.get());
}

TEST(KernelsSparse, AFunctorGetsTheMatrixAndItsParts) {
  Sparse const a = poisson(4);
  auto const sums = Vector("sums", 16);
  TaskGraph graph(with_workers(2));
  using Graph = Sparse::staticcrsgraph_type;
  parallel_for(
      "assemble",
      ResourcePolicy(graph, Kokkos::RangePolicy<trellis::Test::Space>(0, 16),
                     read(kernels::structure(a)), write(kernels::values(a))),
      KOKKOS_LAMBDA(int i, Graph const& structure, Sparse::values_type const& values) {
        for (auto k = structure.row_map(i); k < structure.row_map(i + 1); ++k)
          values(k) = structure.entries(k) + 1;
      });
  parallel_for(
      "sum",
      ResourcePolicy(graph, Kokkos::RangePolicy<trellis::Test::Space>(0, 16), read(a), write(sums)),
      KOKKOS_LAMBDA(int i, Sparse const& matrix, Vector const& to) {
        auto const row = matrix.rowConst(i);
        for (int k = 0; k < row.length; ++k) to(i) += row.value(k);
      });
  graph.wait();
  EXPECT_EQ(sums(0), 1 + 2 + 5);
  EXPECT_EQ(sums(5), 2 + 5 + 6 + 7 + 10);
}

}  // namespace
}  // namespace trellis
