// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Step 1 of the tutorial: a graph, one task, and a wait. See docs/tutorial/1_first_task.md.
#include <Trellis.hpp>

#include <cstdio>

static int add_up_table(trellis::TaskGraph& graph, int n);  // the solution, at the end

int main() {
  Kokkos::ScopeGuard kokkos;
  int const n = 10;

  trellis::TaskGraph graph;
  Kokkos::View<int*> x("x", n);
  trellis::parallel_for(
      "squares", trellis::ResourcePolicy(graph, n, trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i * i; });
  graph.wait();

  int sum = 0;  // by plain Kokkos, as the task is complete
  Kokkos::parallel_reduce("sum", n, KOKKOS_LAMBDA(int i, int& s) { s += x(i); }, sum);
  std::printf("The squares of 0 to 9 add up to %d.\n", sum);

  int const table = add_up_table(graph, 10);
  std::printf("Exercise: the table adds up to %d.\n", table);
  return sum == 285 && table == 45 * 45 ? 0 : 1;
}

/// Fills a multiplication table by a task over two dimensions, and adds up its elements.
static int add_up_table(trellis::TaskGraph& graph, int n) {
  using Box = Kokkos::MDRangePolicy<Kokkos::Rank<2>>;
  Kokkos::View<int**> table("table", n, n);
  trellis::parallel_for(
      "table", trellis::ResourcePolicy(graph, Box({0, 0}, {n, n}), trellis::write(table)),
      KOKKOS_LAMBDA(int i, int j) { table(i, j) = i * j; });
  graph.wait();
  int sum = 0;
  Kokkos::parallel_reduce(
      "sum", Box({0, 0}, {n, n}), KOKKOS_LAMBDA(int i, int j, int& s) { s += table(i, j); }, sum);
  return sum;
}
