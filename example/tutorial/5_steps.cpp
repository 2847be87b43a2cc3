// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Step 5 of the tutorial: steps that are recorded once. See docs/tutorial/5_steps.md.
#include <Trellis.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

using Values = Kokkos::View<double*>;

static double sum_of_steps(trellis::TaskGraph& graph, int steps);  // the solution, at the end

/// Each inner point gets the mean of its neighbours; the two ends keep their values.
static void relax(trellis::TaskGraph& graph, Values const& in, Values const& out) {
  int const n = static_cast<int>(in.extent(0));
  trellis::parallel_for(
      "relax",
      trellis::ResourcePolicy(graph, Kokkos::RangePolicy<>(1, n - 1), trellis::read(in),
                              trellis::write(out)),
      KOKKOS_LAMBDA(int i) { out(i) = 0.5 * (in(i - 1) + in(i + 1)); });
}

static trellis::Future<double> value_at(trellis::TaskGraph& graph, Values const& x, int k) {
  return trellis::parallel_reduce(
      "value", trellis::ResourcePolicy(graph, 1, trellis::read(x)),
      KOKKOS_LAMBDA(int, double& s) { s += x(k); });
}

int main() {
  Kokkos::ScopeGuard kokkos;
  int const n = 11;
  trellis::TaskGraph graph;
  Values a("a", n), b("b", n);
  Kokkos::parallel_for("ends", 1, KOKKOS_LAMBDA(int) { a(n - 1) = b(n - 1) = 1; });
  Kokkos::fence();

  trellis::Future<double> middle;
  trellis::Plan const step = graph.record("two steps", [&] {
    relax(graph, a, b);
    relax(graph, b, a);
    middle = value_at(graph, a, n / 2);
  });
  double before = 0, now = 0;
  do {
    before = now;
    graph.replay(step, 10);
    now = middle.get();
  } while (now - before > 1e-9);
  std::printf("A round has %zu tasks.\n", step.tasks());
  std::printf("In the middle the value is %.6f.\n", now);

  double const sum = sum_of_steps(graph, 10);
  std::printf("Exercise: the sum is %g.\n", sum);
  return step.tasks() == 3 && std::abs(now - 0.5) < 1e-6 && sum == 45 ? 0 : 1;
}

/// Adds a number that differs from step to step.
static void add(trellis::TaskGraph& graph, Values const& in, Values const& out, double number) {
  trellis::parallel_for(
      "add", trellis::ResourcePolicy(graph, 1, trellis::read(in), trellis::write(out)),
      KOKKOS_LAMBDA(int) { out(0) = in(0) + number; });
}

/// Adds the numbers of all steps, in two buffers that swap their roles in each step.
static double sum_of_steps(trellis::TaskGraph& graph, int steps) {
  Values in("in", 1), out("out", 1);
  graph.iterate("loop", steps, [&](std::uint64_t step) {
    add(graph, in, out, static_cast<double>(step));
    std::swap(in, out);
  });
  return value_at(graph, in, 0).get();
}
