// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Step 6 of the tutorial: a task that splits into children. See docs/tutorial/6_inside_tasks.md.
#include <Trellis.hpp>

#include <cstddef>
#include <cstdio>
#include <utility>

using HostNumbers = Kokkos::View<int*, Kokkos::HostSpace>;

static int count_multiples(trellis::TaskScope& self, int first, int last);  // the solution

/// Replaces each number by the sum of all numbers up to it.
static void running_sums(trellis::TaskScope& self, HostNumbers const& x) {
  std::size_t const n = x.extent(0), half = n / 2;
  if (n <= 16) {
    for (std::size_t i = 1; i < n; ++i) x(i) += x(i - 1);
    return;
  }
  HostNumbers const left = Kokkos::subview(x, std::pair(std::size_t(0), half));
  HostNumbers const right = Kokkos::subview(x, std::pair(half, n));
  trellis::host_task("left", trellis::ResourcePolicy(self, trellis::read_write(left)),
                     [left](trellis::TaskScope& child) { running_sums(child, left); });
  trellis::host_task("right", trellis::ResourcePolicy(self, trellis::read_write(right)),
                     [right](trellis::TaskScope& child) { running_sums(child, right); });
  self.wait();  // for both children
  for (std::size_t i = half; i < n; ++i) x(i) += x(half - 1);
}

int main() {
  Kokkos::ScopeGuard kokkos;
  int const n = 100;

  trellis::TaskGraph graph;
  HostNumbers x("x", n);
  for (int i = 0; i < n; ++i) x(i) = i + 1;
  trellis::host_task("running sums", trellis::ResourcePolicy(graph, trellis::read_write(x)),
                     [x](trellis::TaskScope& self) { running_sums(self, x); });
  graph.wait();
  std::printf("The first sums are %d, %d, %d and %d.\n", x(0), x(1), x(2), x(3));
  std::printf("The sum of all %d numbers is %d.\n", n, x(n - 1));

  auto const multiples =
      trellis::host_task("multiples", trellis::ResourcePolicy(graph),
                         [](trellis::TaskScope& self) { return count_multiples(self, 0, 700); });
  std::printf("Exercise: %d numbers are multiples of 7.\n", multiples.get());

  bool right = multiples.get() == 100;
  for (int i = 0; i < n; ++i) right = right && x(i) == (i + 1) * (i + 2) / 2;
  return right ? 0 : 1;
}

/// Counts the multiples of 7 from `first` to before `last`, by children that return their counts.
static int count_multiples(trellis::TaskScope& self, int first, int last) {
  if (last - first <= 50) {
    int count = 0;
    for (int k = first; k < last; ++k) count += k % 7 == 0 ? 1 : 0;
    return count;
  }
  int const middle = first + (last - first) / 2;
  auto const left = trellis::host_task(
      "left", trellis::ResourcePolicy(self),
      [=](trellis::TaskScope& child) { return count_multiples(child, first, middle); });
  auto const right = trellis::host_task(
      "right", trellis::ResourcePolicy(self),
      [=](trellis::TaskScope& child) { return count_multiples(child, middle, last); });
  return left.get() + right.get();
}
