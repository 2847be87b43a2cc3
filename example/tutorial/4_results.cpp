// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Step 4 of the tutorial: results of tasks. See docs/tutorial/4_results.md.
#include <Trellis.hpp>

#include <cmath>
#include <cstdio>

using Values = Kokkos::View<double*>;

static double divide_by_largest(trellis::TaskGraph& graph, int n);  // the solution, at the end

static trellis::Future<double> sum_of(trellis::TaskGraph& graph, Values const& x) {
  return trellis::parallel_reduce(
      "sum", trellis::ResourcePolicy(graph, x.extent(0), trellis::read(x)),
      KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
}

int main() {
  Kokkos::ScopeGuard kokkos;
  int const n = 5;

  trellis::TaskGraph graph;
  Values x("x", n);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, n, trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  trellis::Future<double> const before = sum_of(graph, x);
  trellis::parallel_for(
      "normalise",
      trellis::ResourcePolicy(graph, n, trellis::value(before), trellis::read_write(x)),
      KOKKOS_LAMBDA(int i, double const& sum, Values const& v) { v(i) /= sum; });
  trellis::Future<double> const after = sum_of(graph, x);
  std::printf("The sum was %g and is %g.\n", before.get(), after.get());

  double const sum = divide_by_largest(graph, n);
  std::printf("Exercise: the sum is %g.\n", sum);
  bool const right = before.get() == 10 && std::abs(after.get() - 1) < 1e-12;
  return right && sum == 2.5 ? 0 : 1;
}

/// Divides numbers by the largest one, which a task finds, and returns their sum.
static double divide_by_largest(trellis::TaskGraph& graph, int n) {
  Values x("x", n);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, n, trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  trellis::Future<double> const largest = trellis::parallel_reduce(
      "largest", trellis::ResourcePolicy(graph, n, trellis::read(x)),
      KOKKOS_LAMBDA(int i, double& most) { most = x(i) > most ? x(i) : most; },
      trellis::reduced<Kokkos::Max<double>>);
  trellis::parallel_for(
      "divide", trellis::ResourcePolicy(graph, n, trellis::value(largest), trellis::read_write(x)),
      KOKKOS_LAMBDA(int i, double const& most, Values const& v) { v(i) /= most; });
  return sum_of(graph, x).get();
}
