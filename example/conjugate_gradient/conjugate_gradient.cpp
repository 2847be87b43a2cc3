// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves Poisson's equation on a square by preconditioned conjugate gradients, with Kokkos Kernels'
// spmv, dot, axpby and Gauss-Seidel as tasks. Prints how many steps it took and how far the
// solution is from the known one, and compares it with that of the same calls without tasks.
//
// Look at: the scalars. `dot` gives a Future, which is divided by another one and goes into `axpy`.
// No thread waits for any of them but the one that asks every few steps whether it is enough.
#include <Trellis.hpp>
#include <Trellis_Kernels.hpp>

#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_dot.hpp>
#include <KokkosBlas1_nrm2.hpp>
#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_gauss_seidel.hpp>
#include <KokkosSparse_spmv.hpp>
#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Memory = Space::memory_space;
using Vector = Kokkos::View<double*, Space>;
using Matrix = KokkosSparse::CrsMatrix<double, int, Kokkos::Device<Space, Memory>>;
using Handle = KokkosKernels::Experimental::KokkosKernelsHandle<Matrix::non_const_size_type, int,
                                                                double, Space, Memory, Memory>;

constexpr int side = 48;
constexpr int cells = side * side;
constexpr int check_every = 5;
constexpr int most_steps = 200;
constexpr double tolerance = 1e-10;

/// Returns each cell and its neighbours in the square; the values are left open.
Matrix five_points() {
  constexpr int count = 5 * cells - 4 * side;
  Matrix::row_map_type::non_const_type const rows("rows", cells + 1);
  Matrix::index_type const entries("entries", count);
  int at = 0;
  for (int i = 0; i < cells; ++i) {
    if (i >= side) entries(at++) = i - side;
    if (i % side > 0) entries(at++) = i - 1;
    entries(at++) = i;
    if (i % side < side - 1) entries(at++) = i + 1;
    if (i < cells - side) entries(at++) = i + side;
    rows(i + 1) = at;
  }
  return {"poisson", cells, cells, count, Matrix::values_type("values", count), rows, entries};
}

/// Solves the system by the same calls without tasks.
Vector solve_plainly(Matrix const& a, Vector const& b, int steps) {
  namespace KS = KokkosSparse::Experimental;
  Space const space;
  auto const& rows = a.graph.row_map;
  auto const& entries = a.graph.entries;
  Vector const x("plain x", cells), r("plain r", cells), z("plain z", cells);
  Vector const p("plain p", cells), q("plain q", cells);
  Handle handle;
  handle.create_gs_handle();
  KS::gauss_seidel_symbolic(&handle, cells, cells, rows, entries, true);
  KS::gauss_seidel_numeric(&handle, cells, cells, rows, entries, a.values, true);
  auto const precondition = [&] {
    KS::symmetric_gauss_seidel_apply(&handle, cells, cells, rows, entries, a.values, z, r, true,
                                     true, 1.0, 1);
  };
  Kokkos::deep_copy(space, r, b);
  precondition();
  Kokkos::deep_copy(space, p, z);
  double rz = KokkosBlas::dot(space, r, z);
  for (int step = 0; step < steps; ++step) {
    KokkosSparse::spmv(space, "N", 1.0, a, p, 0.0, q);
    double const alpha = rz / KokkosBlas::dot(space, p, q);
    KokkosBlas::axpy(space, alpha, p, x);
    KokkosBlas::axpy(space, -alpha, q, r);
    precondition();
    double const next = KokkosBlas::dot(space, r, z);
    KokkosBlas::axpby(space, 1.0, z, next / rz, p);
    rz = next;
  }
  space.fence();
  return x;
}

double distance(Vector const& x, Vector const& y) {
  double most = 0;
  for (int i = 0; i < cells; ++i) most = std::fmax(most, std::fabs(x(i) - y(i)));
  return most;
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  namespace kernels = trellis::kernels;
  using trellis::Future, trellis::ResourcePolicy, trellis::read, trellis::value, trellis::write;

  Matrix const a = five_points();
  auto const& rows = a.graph.row_map;
  auto const& entries = a.graph.entries;
  Vector const solution("solution", cells), b("b", cells), x("x", cells), r("r", cells);
  Vector const z("z", cells), p("p", cells), q("q", cells);
  Handle handle;
  handle.create_gs_handle();

  trellis::TaskGraph graph;
  // The structure is only read, so Gauss-Seidel's analysis of it runs at the same time.
  trellis::parallel_for(
      "assemble",
      ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, cells), read(kernels::structure(a)),
                     write(kernels::values(a))),
      KOKKOS_LAMBDA(int i, Matrix::StaticCrsGraphType const& structure,
                    Matrix::values_type const& values) {
        for (auto k = structure.row_map(i); k < structure.row_map(i + 1); ++k)
          values(k) = structure.entries(k) == i ? 4 : -1;
      });
  kernels::gauss_seidel_symbolic(graph, &handle, cells, cells, rows, entries, true);
  kernels::gauss_seidel_numeric(graph, &handle, cells, cells, rows, entries, a.values, true);
  trellis::parallel_for(
      "solution", ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, cells), write(solution)),
      KOKKOS_LAMBDA(int i, Vector const& to) { to(i) = Kokkos::sin(0.1 * i) + i % 7; });
  kernels::spmv("right-hand side", graph, "N", 1.0, a, solution, 0.0, b);

  auto const precondition = [&] {
    kernels::symmetric_gauss_seidel_apply("precondition", graph, &handle, cells, cells, rows,
                                          entries, a.values, z, r, true, true, 1.0, 1);
  };
  auto const divide = [&](Future<double> const& over, Future<double> const& under) {
    return trellis::host_task("divide", ResourcePolicy(graph, value(over), value(under)),
                              [](double u, double v) { return u / v; });
  };
  auto const negative = [&](Future<double> const& of) {
    return trellis::host_task("negative", ResourcePolicy(graph, value(of)),
                              [](double v) { return -v; });
  };

  trellis::deep_copy(graph, r, b);
  precondition();
  trellis::deep_copy(graph, p, z);
  Future<double> const norm_of_b = kernels::nrm2(graph, b);
  Future<double> rz = kernels::dot(graph, r, z);
  bool enough = false;
  int step = 0;
  while (!enough && step < most_steps) {
    kernels::spmv(graph, "N", 1.0, a, p, 0.0, q);
    Future<double> const alpha = divide(rz, kernels::dot(graph, p, q));
    kernels::axpy(graph, alpha, p, x);
    kernels::axpy(graph, negative(alpha), q, r);
    precondition();
    Future<double> const next = kernels::dot(graph, r, z);
    kernels::axpby(graph, 1.0, z, divide(next, rz), p);
    rz = next;
    if (++step % check_every == 0)
      enough = kernels::nrm2(graph, r).get() <= tolerance * norm_of_b.get();
  }
  graph.wait();

  Vector const plain = solve_plainly(a, b, step);
  double const error = distance(x, solution);
  double const difference = distance(x, plain);
  std::printf("%d x %d cells: %s in %d steps, error %.1e\n", side, side,
              enough ? "solved" : "NOT solved", step, error);
  std::printf("the solution is that of the plain calls: %s\n", difference < 1e-9 ? "yes" : "NO");
  return enough && error < 1e-6 && difference < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
