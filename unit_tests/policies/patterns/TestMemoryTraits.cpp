// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views that a functor takes with memory traits: RandomAccess, Restrict, Aligned. On a GPU they
// change how elements are loaded; everywhere they change the type.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Resources.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {
namespace {
namespace memory_traits {

using Test::in_every_way;
using Test::values_of;

using X = View<double*>;
using RandomX = random_access_view<X>;
using RestrictX = restrict_view<X>;

static_assert(RandomX::memory_traits::is_random_access);
static_assert(std::is_const_v<RandomX::value_type>);
static_assert(RestrictX::memory_traits::is_restrict && !RestrictX::memory_traits::is_random_access);
static_assert(!std::is_const_v<RestrictX::value_type>);
static_assert(RandomX::memory_traits::is_unmanaged == X::memory_traits::is_unmanaged);

/// What a functor gets for these annotations.
template <class... A>
using Given = decltype(Impl::arguments_of<Space>(std::declval<std::tuple<A...> const&>()));
using OfRead = decltype(read(std::declval<X&>()));
using OfWrite = decltype(write(std::declval<X&>()));
static_assert(
    std::is_same_v<Given<decltype(random_access(std::declval<OfRead>()))>, std::tuple<RandomX>>);
static_assert(
    std::is_same_v<Given<decltype(restricted(std::declval<OfWrite>()))>, std::tuple<RestrictX>>);
static_assert(
    std::is_same_v<Given<decltype(restricted(random_access(std::declval<OfRead>())))>,
                   std::tuple<view_with<read_view<X>, Kokkos::RandomAccess | Kokkos::Restrict>>>);
static_assert(std::is_same_v<Given<decltype(with_traits<Kokkos::Aligned>(std::declval<OfWrite>()))>,
                             std::tuple<view_with<X, Kokkos::Aligned>>>);

struct Gather {
  View<int const*> from;
  KOKKOS_FUNCTION void operator()(int i, RandomX const& x, RestrictX const& y) const {
    y(i) += 2 * x(from(i));
  }
};
/// Takes what it is given, so the type that it is given can be seen.
template <class... Expected>
struct TakesExactly {
  View<int*> count;
  template <class... Types>
  KOKKOS_FUNCTION void operator()(int i, Types const&...) const {
    if constexpr (std::is_same_v<std::tuple<Types...>, std::tuple<Expected...>>) ++count(i);
  }
};

SPACE_TEST(MemoryTraits, ArriveAtTheFunctor) {
  constexpr int n = 100;
  X const x("x", n), y("y", n);
  View<int*> const from("from", n), count("count", n);
  Kokkos::parallel_for(
      Range(0, n), KOKKOS_LAMBDA(int i) {
        x(i) = i;
        from(i) = (i * 37) % n;
      });
  Kokkos::fence();
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, y, 1);
        deep_copy("clear", target, count, 0);
        parallel_for("types",
                     ResourcePolicy(target, Range(0, n), random_access(read(x)),
                                    restricted(read_write(y)), read_write(count)),
                     TakesExactly<RandomX, RestrictX, View<int*>>{count});
        return parallel_for(
            "gather",
            ResourcePolicy(target, Range(0, n), random_access(read(x)), restricted(read_write(y))),
            Gather{from});
      },
      [&](auto const&) {
        std::vector<double> expected;
        for (int i = 0; i < n; ++i) expected.push_back(1 + 2 * ((i * 37) % n));
        EXPECT_EQ(values_of(y), expected);
        EXPECT_THAT(values_of(count), testing::Each(1));
      },
      x, y, count);
}

SPACE_TEST(MemoryTraits, ChangeNothingInWhatATaskDependsOn) {
  X const x("x", 10);
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  auto const nothing = KOKKOS_LAMBDA(int){};
  parallel_for("write", ResourcePolicy(graph, Range(0, 10), restricted(write(x))), nothing);
  for (int k = 0; k < 2; ++k)
    parallel_for("read", ResourcePolicy(graph, Range(0, 10), random_access(read(x))), nothing);
  auto const left = Kokkos::subview(x, std::pair(0, 5));
  auto const right = Kokkos::subview(x, std::pair(5, 10));
  parallel_for("left", ResourcePolicy(graph, Range(0, 5), restricted(write(left))), nothing);
  std::vector const rights{right};
  parallel_for("right", ResourcePolicy(graph, Range(0, 5), restricted(write(group(right, rights)))),
               nothing);
  graph.wait();
  auto const edges = graph.dependency_graph().edges();
  EXPECT_THAT(edges,
              testing::UnorderedElementsAre(
                  EdgeRecord{1, 2, EdgeReason::access}, EdgeRecord{1, 3, EdgeReason::access},
                  EdgeRecord{2, 4, EdgeReason::access}, EdgeRecord{3, 4, EdgeReason::access},
                  EdgeRecord{2, 5, EdgeReason::access}, EdgeRecord{3, 5, EdgeReason::access}));
  EXPECT_EQ(graph.dependency_graph().node(2).accesses.at(0).mode, "read");
}

struct SumOfLists {
  KOKKOS_FUNCTION void operator()(int i, view_list<RandomX> const& in, RandomX const& first,
                                  RestrictX const& out) const {
    out(i) = first(i);
    for (RandomX const& x : in) out(i) += x(i);
  }
};

SPACE_TEST(MemoryTraits, OfRangesAndGroups) {
  constexpr int n = 20;
  std::vector<X> all;
  for (int k = 0; k < 12; ++k) {
    all.emplace_back("x", n);
    Kokkos::deep_copy(all.back(), k);
  }
  X const first = all.front(), out("out", n);
  in_every_way(
      [&](auto& target) {
        return parallel_for(
            "sum",
            ResourcePolicy(target, Range(0, n), random_access(read(group(all, first))),
                           restricted(write(out))),
            SumOfLists{});
      },
      [&](auto const&) { EXPECT_THAT(values_of(out), testing::Each(66)); }, all, out);
}

/// A View that is taken with traits lives as long as the task, like any other.
SPACE_TEST(MemoryTraits, KeepTheViewAlive) {
  X alias;
  {
    TaskGraph graph(Test::with_workers(1));
    X const x("x", 5);
    alias = x;
    View<int*> const count("count", 5);
    Token const gate("gate");
    std::atomic<bool> go{false};
    host_task("gate", ResourcePolicy(graph, write(gate)), [&] {
      while (!go) std::this_thread::yield();
    });
    parallel_for("use",
                 ResourcePolicy(graph, Range(0, 5), read(gate), random_access(read(X(x))),
                                read_write(count)),
                 TakesExactly<RandomX, View<int*>>{count});
    EXPECT_EQ(alias.use_count(), 3);
    go = true;
    graph.wait();
    EXPECT_THAT(values_of(count), testing::Each(1));
  }
  EXPECT_EQ(alias.use_count(), 1);
}

}  // namespace memory_traits
}  // namespace
}  // namespace trellis
