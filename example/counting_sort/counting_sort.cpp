// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorts numbers of a small range by counting them, in four tasks:
//   - a reduction into an array (how many of each),
//   - a scan (where each begins) with its total in a View,
//   - a scatter,
//   - a comparison with trellis::sort.
// Prints how many numbers there are and that both agree.
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>
#include <Trellis_Algorithms.hpp>

#include <cstdio>

namespace {

constexpr unsigned range = 16;  // the numbers are 0 to 15
using Numbers = Kokkos::View<int*>;
using Counts = Kokkos::View<int*>;

struct Fill {
  KOKKOS_FUNCTION void operator()(int i, Numbers const& x) const {
    x(i) = static_cast<int>((static_cast<unsigned>(i) * 2654435761u >> 7) % range);
  }
};
struct CountEach {
  using value_type = int[];
  unsigned value_count = range;
  KOKKOS_FUNCTION void operator()(int i, trellis::read_view<Numbers> const& x, int* counts) const {
    ++counts[x(i)];
  }
};
/// Computes from the counts where each number begins.
struct Begins {
  KOKKOS_FUNCTION void operator()(int i, Counts const& counts, int& sum, bool is_final) const {
    int const count = counts(i);
    if (is_final) counts(i) = sum;
    sum += count;
  }
};
/// One index for each number.
struct Scatter {
  KOKKOS_FUNCTION void operator()(int number, trellis::random_access_view<Counts> const& begins,
                                  trellis::read_view<Kokkos::View<int>> const& total,
                                  trellis::restrict_view<Numbers> const& sorted) const {
    int const end = number + 1 < static_cast<int>(range) ? begins(number + 1) : total();
    for (int i = begins(number); i < end; ++i) sorted(i) = number;
  }
};
struct Differences {
  KOKKOS_FUNCTION void operator()(int i, trellis::read_view<Numbers> const& a,
                                  trellis::read_view<Numbers> const& b, int& count) const {
    if (a(i) != b(i)) ++count;
  }
};

}  // namespace

int main() {
  Kokkos::ScopeGuard const kokkos;
  using trellis::ResourcePolicy, trellis::read, trellis::write, trellis::read_write;
  int const n = 100'000;

  trellis::TaskGraph graph;
  Numbers const x("x", n), sorted("sorted", n);
  Counts const counts("counts", range);
  Kokkos::View<int> const total("total");

  trellis::parallel_for("fill", ResourcePolicy(graph, n, write(x)), Fill{});
  trellis::parallel_reduce("count", ResourcePolicy(graph, n, read(x)), CountEach{}, counts);
  trellis::parallel_scan("begins", ResourcePolicy(graph, range, read_write(counts)), Begins{},
                         total);
  trellis::parallel_for("scatter",
                        ResourcePolicy(graph, range, trellis::random_access(read(counts)),
                                       read(total), trellis::restricted(write(sorted))),
                        Scatter{});
  trellis::sort("sort", ResourcePolicy(graph), x);
  auto const differences = trellis::parallel_reduce(
      "compare", ResourcePolicy(graph, n, read(x), read(sorted)), Differences{});

  auto const count = Kokkos::create_mirror_view(total);
  trellis::deep_copy(graph, count, total);
  graph.wait();
  std::printf("%d numbers, %d differences\n", count(), differences.get());
  return differences.get() == 0 ? 0 : 1;
}
