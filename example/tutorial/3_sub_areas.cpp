// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Step 3 of the tutorial: tasks on parts of a View. See docs/tutorial/3_sub_areas.md.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

static int add_up_rows(trellis::TaskGraph& graph, int rows, int columns);  // the solution

int main() {
  Kokkos::ScopeGuard kokkos;
  int const blocks = 4, size = 25, n = blocks * size;

  trellis::TaskGraphOptions options;
  options.record = true;
  trellis::TaskGraph graph(options);
  Kokkos::View<int*> x("x", n), y("y", n);
  for (int first = 0; first < n; first += size) {
    auto const block = Kokkos::subview(x, std::pair(first, first + size));
    trellis::parallel_for(
        "fill", trellis::ResourcePolicy(graph, size, trellis::write(block)),
        KOKKOS_LAMBDA(int i) { block(i) = first + i; });
  }
  for (int first = 0; first < n; first += size) {
    int const last = first + size;
    auto const needed =
        Kokkos::subview(x, std::pair(std::max(first - 1, 0), std::min(last + 1, n)));
    auto const made = Kokkos::subview(y, std::pair(first, last));
    trellis::parallel_for(
        "neighbours",
        trellis::ResourcePolicy(graph, Kokkos::RangePolicy<>(first, last), trellis::read(needed),
                                trellis::write(made)),
        KOKKOS_LAMBDA(int i) { y(i) = (i > 0 ? x(i - 1) : 0) + (i + 1 < n ? x(i + 1) : 0); });
  }
  graph.wait();

  auto const edges = graph.dependency_graph().edges().size();
  int sum = 0;
  Kokkos::parallel_reduce("sum", n, KOKKOS_LAMBDA(int i, int& s) { s += y(i); }, sum);
  std::printf("%d tasks have %zu dependencies.\n", 2 * blocks, edges);
  std::printf("The sums of neighbours add up to %d.\n", sum);

  int const total = add_up_rows(graph, 3, 5);
  std::printf("Exercise: the rows add up to %d.\n", total);
  return edges == 10 && sum == 2 * 4950 - 99 && total == 30 ? 0 : 1;
}

/// A task for each column of a matrix fills it; a task for each row adds up its elements.
static int add_up_rows(trellis::TaskGraph& graph, int rows, int columns) {
  Kokkos::View<int**> matrix("matrix", rows, columns);
  Kokkos::View<int*> sums("sums", rows);
  for (int j = 0; j < columns; ++j) {
    auto const column = Kokkos::subview(matrix, Kokkos::ALL, j);
    trellis::parallel_for(
        "column", trellis::ResourcePolicy(graph, rows, trellis::write(column)),
        KOKKOS_LAMBDA(int i) { column(i) = j; });
  }
  for (int i = 0; i < rows; ++i) {
    auto const row = Kokkos::subview(matrix, i, Kokkos::ALL);
    auto const sum = Kokkos::subview(sums, i);
    trellis::parallel_reduce(
        "row", trellis::ResourcePolicy(graph, columns, trellis::read(row)),
        KOKKOS_LAMBDA(int j, int& s) { s += row(j); }, sum);
  }
  graph.wait();
  int total = 0;
  Kokkos::parallel_reduce("total", rows, KOKKOS_LAMBDA(int i, int& s) { s += sums(i); }, total);
  return total;
}
