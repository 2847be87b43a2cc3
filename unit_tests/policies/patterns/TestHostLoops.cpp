// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops on spaces of the host, which the library launches in pieces: each index is visited once, as
// a number of its type, whatever threads, bounds, schedule and chunks there are.
#include <Trellis.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace trellis {
namespace {
namespace host_loops {

struct Visit {};

/// Counts what is visited, from `begin` on, and whatever lies beyond.
template <class Index>
struct CountVisits {
  Kokkos::View<int*, Memory> visits;
  Kokkos::View<int, Memory> others;
  Index begin;
  void operator()(Visit, Index i) const {
    auto const k = static_cast<std::uint64_t>(i) - static_cast<std::uint64_t>(begin);
    Kokkos::atomic_inc(k < visits.extent(0) ? &visits(k) : &others());
  }
};

template <class Index, class Schedule>
void expect_each_once(TaskGraph& graph, int threads_asked, Index begin, int count, int chunk) {
  using Policy = Kokkos::RangePolicy<Space, Visit, Schedule, Kokkos::IndexType<Index>>;
  Kokkos::View<int*, Memory> const visits("visits", static_cast<std::size_t>(count));
  Kokkos::View<int, Memory> const others("others");
  Policy const policy(Space(), begin, static_cast<Index>(begin + static_cast<Index>(count)),
                      Kokkos::ChunkSize(chunk));
  parallel_for(
      "visit",
      ResourcePolicy(graph, policy, write(visits, others), threads(at_most(threads_asked))),
      CountVisits<Index>{visits, others, begin});
  graph.wait();
  std::string const what = std::to_string(begin) + " + " + std::to_string(count) + " in " +
                           std::to_string(chunk) + " on " + std::to_string(threads_asked);
  EXPECT_EQ(others(), 0) << what;
  for (int k = 0; k < count; ++k) ASSERT_EQ(visits(k), 1) << what << ", index " << k;
}

template <class Index>
void expect_all_once() {
  using Limits = std::numeric_limits<Index>;
  TaskGraphOptions options;
  options.workers = 3;
  TaskGraph graph(options);
  for (int const count : {0, 1, 2, 3, 4, 5, 7, 100, 101})
    for (int const threads_asked : {1, 2, 3})
      for (Index const begin : {Limits::min(), Index{0}, Index{5},
                                static_cast<Index>(Limits::max() - static_cast<Index>(count))}) {
        for (int const chunk : {1, 3, 64, 1000})
          expect_each_once<Index, Kokkos::Schedule<Kokkos::Dynamic>>(graph, threads_asked, begin,
                                                                     count, chunk);
        expect_each_once<Index, Kokkos::Schedule<Kokkos::Static>>(graph, threads_asked, begin,
                                                                  count, 1);
      }
}

SPACE_TEST(HostLoops, VisitEachSignedIndexOnce) {
  expect_all_once<int>();
  expect_all_once<std::int64_t>();
}
SPACE_TEST(HostLoops, VisitEachUnsignedIndexOnce) {
  expect_all_once<unsigned>();
  expect_all_once<std::uint64_t>();
}

}  // namespace host_loops
}  // namespace
}  // namespace trellis
