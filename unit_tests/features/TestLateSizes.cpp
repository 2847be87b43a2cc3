// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of indices that are known when a task is launched, and arrays that tasks allocate.
#include <Trellis.hpp>
#include <Trellis_LateView.hpp>

#include "SpaceTest.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace trellis {
namespace {

using Test::value_of;
using Test::values_of;
using Test::with_workers;
using testing::HasSubstr;

using Array = LateView<double*, Memory>;

std::string error_of(Future<void> const& future) {
  try {
    future.get();
  } catch (Error const& error) {
    return error.what();
  }
  return "nothing is thrown";
}

struct Count {
  V x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = i + 1; }
};

SPACE_TEST(LateSizes, ARangeIsTheValueOfAFuture) {
  TaskGraph graph(with_workers(2));
  V const x("x", 8), y("y", 8);
  auto const five = host_task("five", ResourcePolicy(graph), [] { return 5; });
  parallel_for("fill", ResourcePolicy(graph, five, on<Space>, write(x)), Count{x});
  parallel_for(
      "take", ResourcePolicy(graph, five, on<Space>, read(x), value(five), write(y)),
      KOKKOS_LAMBDA(int i, read_view<V> const& from, int n, V const& to) { to(i) = n * from(i); });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, five, on<Space>, read(y)),
      KOKKOS_LAMBDA(int i, read_view<V> const& from, double& s) { s += from(i); });
  EXPECT_EQ(sum.get(), 5 * 15);
  graph.wait();
  EXPECT_EQ(values_of(x), (std::vector<double>{1, 2, 3, 4, 5, 0, 0, 0}));
}

SPACE_TEST(LateSizes, AnArrayIsAllocatedByATask) {
  TaskGraph graph(with_workers(2));
  Array const x("x");
  EXPECT_FALSE(x.is_allocated());
  auto const count = host_task("count", ResourcePolicy(graph), [] { return 4L; });
  allocate("make room", ResourcePolicy(graph), x, count);
  parallel_for(
      "fill", ResourcePolicy(graph, extent(x), on<Space>, write(x)),
      KOKKOS_LAMBDA(int i, Array::view const& to) { to(i) = i; });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, extent(x), on<Space>, read(x)),
      KOKKOS_LAMBDA(int i, Array::read_view const& from, double& s) { s += from(i); });
  EXPECT_EQ(sum.get(), 6);
  graph.wait();
  EXPECT_EQ(values_of(x.managed()), (std::vector<double>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace trellis
