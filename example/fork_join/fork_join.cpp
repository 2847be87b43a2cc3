// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fork and join, in the three ways of the guide ("Coming from Kokkos"). Each sums the squares of 0,
// 1, ..., 399 in four pieces:
//   1. the pieces are subviews of what the join reads, so the accesses are enough
//   2. the pieces are children of a task, which joins them with self.wait()
//   3. the pieces share no data that Trellis knows: the join runs after(...) their futures
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

namespace fork_join {
namespace {

constexpr int pieces = 4, n = 100;  // of so many elements each

using Space = Kokkos::DefaultHostExecutionSpace;
using Range = Kokkos::RangePolicy<Space>;
using V = Kokkos::View<double*, Space::memory_space>;

double merge(V const& x) {
  return std::accumulate(x.data(), x.data() + x.extent(0), 0.0);
}

double by_accesses(trellis::TaskGraph& graph) {
  V const x("x", pieces * n);
  for (int k = 0; k < pieces; ++k) {
    auto const piece = Kokkos::subview(x, std::pair(k * n, (k + 1) * n));
    trellis::parallel_for("fork",
                          trellis::ResourcePolicy(graph, Range(0, n), trellis::write(piece)),
                          [=](int i) { piece(i) = double(k * n + i) * (k * n + i); });
  }
  return trellis::host_task("join", trellis::ResourcePolicy(graph, trellis::read(x)),
                            [=] { return merge(x); })
      .get();
}

double by_children(trellis::TaskGraph& graph) {
  V const x("x", pieces * n);
  return trellis::host_task(
             "parent", trellis::ResourcePolicy(graph, trellis::read_write(x)),
             [=](trellis::TaskScope& self) {
               for (int k = 0; k < pieces; ++k) {
                 auto const piece = Kokkos::subview(x, std::pair(k * n, (k + 1) * n));
                 trellis::parallel_for(
                     "fork", trellis::ResourcePolicy(self, Range(0, n), trellis::write(piece)),
                     [=](int i) { piece(i) = double(k * n + i) * (k * n + i); });
               }
               self.wait();  // the join
               return merge(x);
             })
      .get();
}

double by_futures(trellis::TaskGraph& graph) {
  std::array<double, pieces> sums{};  // until `join` is complete
  std::vector<trellis::Future<void>> forks;
  for (int k = 0; k < pieces; ++k)
    forks.push_back(trellis::host_task("fork", trellis::ResourcePolicy(graph), [&sums, k] {
      for (int i = k * n; i < (k + 1) * n; ++i) sums[static_cast<std::size_t>(k)] += double(i) * i;
    }));
  return trellis::host_task("join", trellis::ResourcePolicy(graph, trellis::after(forks)),
                            [&sums] { return std::accumulate(sums.begin(), sums.end(), 0.0); })
      .get();
}

}  // namespace
}  // namespace fork_join

int main() {
  Kokkos::ScopeGuard const kokkos;
  trellis::TaskGraphOptions options;
  options.record = true;
  trellis::TaskGraph graph(options);
  std::printf("by accesses %.0f\n", fork_join::by_accesses(graph));
  std::printf("by children %.0f\n", fork_join::by_children(graph));
  std::printf("by futures %.0f\n", fork_join::by_futures(graph));
  graph.wait();
  trellis::DependencyGraph const tasks = graph.dependency_graph();
  for (trellis::TaskId const join : tasks.find("join"))
    std::printf("a join after %zu forks\n", tasks.predecessors(join).size());
  for (trellis::TaskId const parent : tasks.find("parent"))
    std::printf("a parent of %zu children\n", tasks.children(parent).size());
}
