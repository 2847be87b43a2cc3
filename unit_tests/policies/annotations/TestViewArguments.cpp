// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functors that take their annotated Views as arguments, typed by the access.
#include "SpaceTest.hpp"

#include <Trellis.hpp>
#include <Trellis_States.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <type_traits>

namespace trellis {
namespace {

template <class T>
typename T::non_const_value_type value_at(T const& view, int k) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view)(k);
}

static_assert(std::is_const_v<read_view<V>::value_type> && !std::is_const_v<V::value_type>);
static_assert(std::is_same_v<read_view<read_view<V>>, read_view<V>>);
static_assert(atomic_view<V>::traits::memory_traits::is_atomic &&
              !V::traits::memory_traits::is_atomic);

SPACE_TEST(ViewArguments, FollowTheIndicesInTheOrderOfTheAnnotations) {
  TaskGraph graph;
  V x("x", 4), y("y", 4), z("z", 4);
  parallel_for(
      "fill", ResourcePolicy(graph, 4, write(x), write(y), on<Space>),
      KOKKOS_LAMBDA(int i, V a, V b) {
        a(i) = i;
        b(i) = 10 * i;
      });
  parallel_for(
      "sum", ResourcePolicy(graph, 4, read(y), priority(1), write(z), read(x), on<Space>),
      KOKKOS_LAMBDA(int i, read_view<V> ten, V out, read_view<V> one) {
        out(i) = ten(i) - one(i);
      });
  graph.wait();
  EXPECT_EQ(value_at(z, 3), 27);
}

// One check for each mode: the type that arrives.
template <class Expected, Mode mode>
struct Expects {
  View<int> right;
  template <class Given>
  KOKKOS_FUNCTION void operator()(int, Given const&) const {
    right() = std::is_same_v<Given, Expected> ? 1 : -1;
  }
};

SPACE_TEST(ViewArguments, AreTypedByTheAccess) {
  TaskGraph graph;
  V x("x", 1);
  auto const check = [&]<class Expected>(auto access, std::type_identity<Expected>) {
    constexpr Mode mode = decltype(access)::mode;
    View<int> right("right");
    parallel_for("check", ResourcePolicy(graph, 1, access, on<Space>),
                 Expects<Expected, mode>{right});
    graph.wait();
    int host = 0;
    Kokkos::deep_copy(host, right);
    EXPECT_EQ(host, 1) << to_string(mode);
  };
  check(read(x), std::type_identity<read_view<V>>());
  check(write(x), std::type_identity<V>());
  check(read_write(x), std::type_identity<V>());
  check(exclusive(x), std::type_identity<V>());
  check(atomic_add(x), std::type_identity<atomic_view<V>>());
  check(atomic_mul(x), std::type_identity<atomic_view<V>>());
  check(none(x), std::type_identity<read_view<V>>());
}

SPACE_TEST(ViewArguments, OfAtomicAccessesAddAtomically) {
  TaskGraphOptions options;
  options.workers = 2;
  TaskGraph graph(options);
  V sum("sum", 1), product("product", 1);
  Kokkos::deep_copy(product, 1.0);
  for (int k = 0; k < 20; ++k) {
    parallel_for(
        "add", ResourcePolicy(graph, 1000, atomic_add(sum), on<Space>),
        KOKKOS_LAMBDA(int, atomic_view<V> s) { s(0) += 1; });
    parallel_for(
        "multiply", ResourcePolicy(graph, 1, atomic_mul(product), on<Space>),
        KOKKOS_LAMBDA(int, atomic_view<V> p) { p(0) *= 2; });
  }
  graph.wait();
  EXPECT_EQ(value_at(sum, 0), 20000);
  EXPECT_EQ(value_at(product, 0), 1 << 20);
}

SPACE_TEST(ViewArguments, SkipTokensAndProperties) {
  TaskGraph graph;
  Token const before("before"), between("between");
  V x("x", 3), y("y", 3);
  parallel_for(
      "fill",
      ResourcePolicy(graph, 3, write(before), write(x), read(between), synchronizing, write(y),
                     on<Space>),
      KOKKOS_LAMBDA(int i, V a, V b) {
        a(i) = 1;
        b(i) = 2;
      });
  graph.wait();
  EXPECT_EQ(value_at(x, 2), 1);
  EXPECT_EQ(value_at(y, 2), 2);
}

SPACE_TEST(ViewArguments, AreOptional) {
  TaskGraph graph;
  V x("x", 3);
  parallel_for(
      "captured", ResourcePolicy(graph, 3, write(x), on<Space>),
      KOKKOS_LAMBDA(int i) { x(i) = 4; });
  graph.wait();
  EXPECT_EQ(value_at(x, 2), 4);
}

SPACE_TEST(ViewArguments, MayBeSubviews) {
  TaskGraph graph;
  View<double**> x("x", 3, 4);
  auto const row = Kokkos::subview(x, 1, Kokkos::ALL);
  parallel_for(
      "row", ResourcePolicy(graph, 4, write(Kokkos::subview(x, 1, Kokkos::ALL)), on<Space>),
      KOKKOS_LAMBDA(int i, std::remove_const_t<decltype(row)> out) { out(i) = i; });
  graph.wait();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  EXPECT_EQ(host(1, 3), 3);
  EXPECT_EQ(host(0, 3), 0);
}

// A functor class that does not name the types of its Views.
struct Axpy {
  double a;
  template <class In, class Out>
  KOKKOS_FUNCTION void operator()(int i, In const& in, Out const& out) const {
    static_assert(std::is_const_v<typename In::value_type>);
    out(i) += a * in(i);
  }
};
struct Dot {
  using value_type = double;
  template <class In>
  KOKKOS_FUNCTION void operator()(int i, In const& a, In const& b, double& sum) const {
    sum += a(i) * b(i);
  }
};
struct RunningSum {
  using value_type = double;
  template <class In, class Out>
  KOKKOS_FUNCTION void operator()(int i, In const& in, Out const& out, double& sum,
                                  bool is_final) const {
    sum += in(i);
    if (is_final) out(i) = sum;
  }
};

SPACE_TEST(ViewArguments, GoToTemplatedCallOperatorsOfEveryPattern) {
  TaskGraph graph;
  V x("x", 4), y("y", 4);
  trellis::deep_copy(graph, x, 2.0);
  trellis::deep_copy(graph, y, 1.0);
  parallel_for("axpy", ResourcePolicy(graph, 4, read(x), read_write(y), on<Space>), Axpy{3});
  auto const dot =
      parallel_reduce("dot", ResourcePolicy(graph, 4, read(x), read(y), on<Space>), Dot{});
  auto const total = parallel_scan(
      "running", ResourcePolicy(graph, 4, read(x), write(y), on<Space>), RunningSum{});
  EXPECT_EQ(dot.get(), 4 * 2 * 7);
  EXPECT_EQ(total.get(), 8);
  EXPECT_EQ(value_at(y, 2), 6);
}

SPACE_TEST(ViewArguments, FollowSeveralIndices) {
  TaskGraph graph;
  View<int**> x("x", 3, 4);
  using Plane = Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>>;
  parallel_for(
      "fill", ResourcePolicy(graph, Plane({0, 0}, {3, 4}), write(x)),
      KOKKOS_LAMBDA(int i, int j, View<int**> out) { out(i, j) = i * j; });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Plane({0, 0}, {3, 4}), read(x)),
      KOKKOS_LAMBDA(int i, int j, read_view<View<int**>> in, long& s) { s += in(i, j); });
  EXPECT_EQ(sum.get(), 18);
}

struct Tag {};
struct TaggedFill {
  KOKKOS_FUNCTION void operator()(Tag, int i, V const& out) const { out(i) = i; }
};
struct TaggedSum {
  using value_type = double;
  KOKKOS_FUNCTION void operator()(Tag, int i, read_view<V> const& in, double& s) const {
    s += in(i);
  }
};

SPACE_TEST(ViewArguments, FollowTheWorkTagAndTheIndex) {
  TaskGraph graph;
  V x("x", 4);
  using TaggedRange = Kokkos::RangePolicy<Space, Tag>;
  parallel_for("fill", ResourcePolicy(graph, TaggedRange(0, 4), write(x)), TaggedFill{});
  auto const sum =
      parallel_reduce("sum", ResourcePolicy(graph, TaggedRange(0, 4), read(x)), TaggedSum{});
  EXPECT_EQ(sum.get(), 6);
}

struct TeamRows {
  using Scratch = Kokkos::View<int*, Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  KOKKOS_FUNCTION void operator()(Member const& team, View<int**> const& out) const {
    Scratch const row(team.team_shmem(), 8);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 8),
                         [&](int j) { row(j) = team.league_rank() + j; });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 8),
                         [&](int j) { out(team.league_rank(), j) = row(7 - j); });
  }
  std::size_t team_shmem_size(int) const { return Scratch::shmem_size(8); }
};

SPACE_TEST(ViewArguments, FollowTheTeamAndTheFunctorsOwnScratchSizeIsKept) {
  TaskGraph graph;
  View<int**> x("x", 5, 8);
  parallel_for("rows", ResourcePolicy(graph, Kokkos::TeamPolicy<Space>(5, Kokkos::AUTO), write(x)),
               TeamRows{});
  graph.wait();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  EXPECT_EQ(host(4, 0), 11);
  EXPECT_EQ(host(0, 7), 0);
}

SPACE_TEST(ViewArguments, AreKeptAliveByTheTask) {
  TaskGraphOptions options;
  options.workers = 1;
  TaskGraph graph(options);
  Token const order("order");
  View<int*> result("result", 1);
  {
    V x("x", 1000);
    host_task("wait", ResourcePolicy(graph, write(order)),
              [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    parallel_for(
        "fill", ResourcePolicy(graph, 1000, read(order), write(x), on<Space>),
        KOKKOS_LAMBDA(int i, V out) { out(i) = i; });
    parallel_for(
        "look", ResourcePolicy(graph, 1, read(x), write(result), on<Space>),
        KOKKOS_LAMBDA(int, read_view<V> in, View<int*> out) {
          out(0) = static_cast<int>(in(999));
        });
  }
  graph.wait();
  EXPECT_EQ(value_at(result, 0), 999);
}

}  // namespace
}  // namespace trellis
