// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that continue with the results of others, while no thread waits for them:
//   1. a kernel takes the value of a reduction: `value(future)`, `future.then(f)`
//   2. an iteration whose length is not known: a task runs again, `self.respawn()`
//   3. adaptive quadrature: each task ends with the future of its last child
//   4. a search in blocks: what is not needed any more is cancelled, `graph.cancel(future)`
#include <Trellis.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <tuple>
#include <vector>

namespace {

using Memory = Kokkos::DefaultHostExecutionSpace::memory_space;
using V = Kokkos::View<double*, Memory>;
using Range = Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>;

void normalise(trellis::TaskGraph& graph, int n) {
  V const x("x", n);
  trellis::parallel_for("fill", trellis::ResourcePolicy(graph, Range(0, n), trellis::write(x)),
                        [=](int i) { x(i) = i; });
  auto const norm = trellis::parallel_reduce(
                        "squares", trellis::ResourcePolicy(graph, Range(0, n), trellis::read(x)),
                        [=](int i, double& sum) { sum += x(i) * x(i); })
                        .then("root", [](double sum) { return std::sqrt(sum); });
  trellis::parallel_for(
      "scale",
      trellis::ResourcePolicy(graph, Range(0, n), trellis::value(norm), trellis::read_write(x)),
      [=](int i, double length, V const& v) { v(i) /= length; });
  auto const again = trellis::parallel_reduce(
      "squares", trellis::ResourcePolicy(graph, Range(0, n), trellis::read(x)),
      [=](int i, double& sum) { sum += x(i) * x(i); });
  std::printf("norm %.3f, then %.3f\n", norm.get(), std::sqrt(again.get()));
}

/// Returns the largest eigenvalue of the matrix with 2 in the diagonal and -1 beside it. Each run
/// of the body reads the results of its children, and submits the next step.
trellis::Future<double> eigenvalue(trellis::TaskGraph& graph, V const& x, V const& y) {
  int const n = static_cast<int>(x.extent(0));
  return trellis::host_task(
      "power iteration", trellis::ResourcePolicy(graph, trellis::read_write(trellis::group(x, y))),
      [=, step = trellis::Future<double>(), last = 0.0](trellis::TaskScope& self) mutable {
        double const value = step.valid() ? step.get() : 0;  // there: a child is complete
        if (step.valid() && std::abs(value - last) < 1e-9) return value;
        last = value;
        auto const length = trellis::parallel_reduce(
            "length", trellis::ResourcePolicy(self, Range(0, n), trellis::read(x)),
            [=](int i, double& sum) { sum += x(i) * x(i); });
        trellis::parallel_for(
            "multiply",
            trellis::ResourcePolicy(self, Range(0, n), trellis::value(length), trellis::read(x),
                                    trellis::write(y)),
            [=](int i, double squares, trellis::read_view<V> const& from, V const& to) {
              double const left = i > 0 ? from(i - 1) : 0;
              double const right = i + 1 < n ? from(i + 1) : 0;
              to(i) = (2 * from(i) - left - right) / std::sqrt(squares);
            });
        step = trellis::parallel_reduce(
                   "quotient", trellis::ResourcePolicy(self, Range(0, n), trellis::read(y)),
                   [=](int i, double& sum) { sum += y(i) * y(i); })
                   .then("root", self, [](double squares) { return std::sqrt(squares); });
        trellis::deep_copy(self, x, y);
        self.respawn();
        return 0.0;
      });
}

double f(double x) {
  return 1 / (0.01 + x * x);
}
double simpson(double a, double b) {
  return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b));
}
/// The value of a task is that of its last child; no thread waits for it.
trellis::Future<double> integrate(trellis::TaskScope& self, double a, double b) {
  double const middle = (a + b) / 2;
  double const fine = simpson(a, middle) + simpson(middle, b);
  if (std::abs(fine - simpson(a, b)) < 1e-9)
    return trellis::host_task("leaf", trellis::ResourcePolicy(self), [fine] { return fine; });
  auto const half = [&](double from, double to) {
    return trellis::host_task(
        "half", trellis::ResourcePolicy(self),
        [from, to](trellis::TaskScope& child) { return integrate(child, from, to); });
  };
  return trellis::when_all_values("halves", self, half(a, middle), half(middle, b))
      .then("sum", self, [](std::tuple<double, double> const& halves) {
        return std::get<0>(halves) + std::get<1>(halves);
      });
}

/// Returns the smallest number whose square has this remainder. Blocks behind the one with it need
/// not be searched.
long search(trellis::TaskGraph& graph, long modulus, long remainder) {
  constexpr long size = 1000;
  std::vector<trellis::Future<long>> blocks;
  for (long block = 0; block < 200; ++block)
    blocks.push_back(trellis::host_task(
        "search", trellis::ResourcePolicy(graph), [=](trellis::TaskScope& self) -> long {
          for (long k = block * size; k < (block + 1) * size && !self.stop_requested(); ++k)
            if (k * k % modulus == remainder) return k;
          return -1;
        }));
  long found = -1;
  std::size_t block = 0;
  for (; block < blocks.size() && found < 0; ++block) found = blocks[block].get();
  for (; block < blocks.size(); ++block) graph.cancel(blocks[block]);
  graph.wait();  // does not throw for what has been cancelled
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::TaskGraph graph;
  normalise(graph, 1000);

  V const x("x", 20), y("y", 20);
  Kokkos::deep_copy(x, 1.0);
  x(0) = 2;  // not symmetric, or the largest one would never be seen
  std::printf("largest eigenvalue %.4f\n", eigenvalue(graph, x, y).get());

  auto const integral =
      trellis::host_task("integral", trellis::ResourcePolicy(graph),
                         [](trellis::TaskScope& self) { return integrate(self, -1, 1); });
  std::printf("integral %.6f, exactly %.6f\n", integral.get(), 20 * std::atan(10.0));

  std::printf("%ld is the smallest root\n", search(graph, 1000003, 54321L * 54321 % 1000003));
}
