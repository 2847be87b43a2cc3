// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Step 2 of the tutorial: annotations order the tasks. See docs/tutorial/2_two_tasks.md.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include <cstdio>

using Numbers = Kokkos::View<int*>;

static int add_both(trellis::TaskGraph& graph, int n);  // the solution, at the end

static int add_up(Numbers const& x) {
  int sum = 0;
  Kokkos::parallel_reduce("sum", x.extent(0), KOKKOS_LAMBDA(int i, int& s) { s += x(i); }, sum);
  return sum;
}

int main() {
  Kokkos::ScopeGuard kokkos;
  int const n = 10;

  trellis::TaskGraphOptions options;
  options.record = true;  // keeps what the graph has derived
  trellis::TaskGraph graph(options);
  Numbers x("x", n), y("y", n);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, n, trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  trellis::parallel_for(
      "scale", trellis::ResourcePolicy(graph, n, trellis::read(x), trellis::write(y)),
      KOKKOS_LAMBDA(int i) { y(i) = 2 * x(i); });
  graph.wait();

  auto const derived = graph.dependency_graph();
  int const sum = add_up(y);
  std::printf("Trellis has derived %zu dependency.\n", derived.edges().size());
  std::printf("The doubled numbers add up to %d.\n", sum);

  int const both = add_both(graph, n);
  std::printf("Exercise: the sum is %d.\n", both);
  return derived.edges().size() == 1 && sum == 90 && both == 225 ? 0 : 1;
}

/// Two tasks that may run at the same time, and a third one that needs what both have written.
static int add_both(trellis::TaskGraph& graph, int n) {
  Numbers a("a", n), b("b", n);
  trellis::parallel_for(
      "fill a", trellis::ResourcePolicy(graph, n, trellis::write(a)),
      KOKKOS_LAMBDA(int i) { a(i) = i; });
  trellis::parallel_for(
      "fill b", trellis::ResourcePolicy(graph, n, trellis::write(b)),
      KOKKOS_LAMBDA(int i) { b(i) = 4 * i; });
  trellis::parallel_for(
      "add", trellis::ResourcePolicy(graph, n, trellis::read(b), trellis::read_write(a)),
      KOKKOS_LAMBDA(int i) { a(i) += b(i); });
  graph.wait();
  return add_up(a);
}
