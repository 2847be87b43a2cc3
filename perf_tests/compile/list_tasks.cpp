// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ten tasks with ten kinds of annotation lists.
#include <Trellis.hpp>

int main(int argc, char** argv) {
  using namespace trellis;
  Kokkos::ScopeGuard const kokkos(argc, argv);
  TaskGraph graph;
  Kokkos::View<double*> const x("x", 100), y("y", 100);
  Kokkos::View<double**> const a("a", 10, 10), b("b", 10, 10);
  auto const half = Kokkos::subview(y, Kokkos::pair<int, int>(0, 50));
#define TASK(n, ...)     \
  trellis::parallel_for( \
      "task", ResourcePolicy(graph, 100, __VA_ARGS__), KOKKOS_LAMBDA(int i) { x(i) += n * i; });
  TASK(1, read_write(x))
  TASK(2, read(y), read_write(x))
  TASK(3, read(a), read_write(x))
  TASK(4, read(a), read(b), read_write(x))
  TASK(5, read_write(x), priority(2))
  TASK(6, read(half), read_write(x))
  TASK(7, exclusive(x))
  TASK(8, read(y), read(a), write(b), read_write(x))
  TASK(9, read_write(x), read_write(a), read_write(b))
  TASK(10, write(x, y), read(a))
}
