// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of indices that are known when a task is launched, and arrays that tasks allocate.
#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>
#include <Trellis_Late.hpp>
#include <Trellis_Resources.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using Test::value_of;
using Test::values_of;
using Test::with_workers;
using testing::HasSubstr;

using Array = LateView<double*, Memory>;
using Plane = LateView<double**, Memory>;
using Number = LateView<double, Memory>;
using Doubles = std::vector<double>;

std::string error_of(Future<void> const& future) {
  try {
    future.get();
  } catch (Error const& error) {
    return error.what();
  }
  return "nothing is thrown";
}
void forget_failures(TaskGraph& graph) {
  try {
    graph.wait();
  } catch (Error const&) {
  }
}

template <class T>
Future<T> known(TaskGraph& graph, T n) {
  return host_task("known", ResourcePolicy(graph), [n] { return n; });
}

struct NumberThem {
  V x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = i + 1; }
};
struct CountThem {
  KOKKOS_FUNCTION void operator()(int, int& s) const { s += 1; }
};
/// Of what it is called with.
struct Fill {
  double value;
  KOKKOS_FUNCTION void operator()(int i, Array::view const& to) const { to(i) = value + i; }
};
struct Sum {
  KOKKOS_FUNCTION void operator()(int i, Array::read_view const& from, double& s) const {
    s += from(i);
  }
};

// ---- ranges

SPACE_TEST(LateSizes, ARangeIsTheValueOfAFuture) {
  TaskGraph graph(with_workers(2));
  V const x("x", 8), y("y", 8);
  auto const five = known(graph, 5);
  parallel_for("fill", ResourcePolicy(graph, five, on<Space>, write(x)), NumberThem{x});
  parallel_for(
      "take", ResourcePolicy(graph, five, on<Space>, read(x), value(five), write(y)),
      KOKKOS_LAMBDA(int i, read_view<V> const& from, int n, V const& to) { to(i) = n * from(i); });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, five, on<Space>, read(y)),
      KOKKOS_LAMBDA(int i, read_view<V> const& from, double& s) { s += from(i); });
  EXPECT_EQ(sum.get(), 5 * 15);
  graph.wait();
  EXPECT_EQ(values_of(x), (Doubles{1, 2, 3, 4, 5, 0, 0, 0}));
}

SPACE_TEST(LateSizes, ARangeHasAnyLength) {
  for (std::int64_t const n : {0L, 1L, 2L, 100000L}) {
    TaskGraph graph(with_workers(2));
    V const x("x", 100000);
    parallel_for("fill", ResourcePolicy(graph, known(graph, n), on<Space>, write(x)),
                 NumberThem{x});
    auto const all = static_cast<double>(n);
    auto const sum = parallel_reduce(
        "sum", ResourcePolicy(graph, known(graph, 100000), on<Space>, read(x)),
        KOKKOS_LAMBDA(int i, read_view<V> const& from, double& s) { s += from(i); });
    EXPECT_EQ(sum.get(), all * (all + 1) / 2);
  }
}

SPACE_TEST(LateSizes, ARangeIsOfAnyIntegralType) {
  TaskGraph graph(with_workers(2));
  auto const count = [&](auto const& base) {
    return parallel_reduce("count", ResourcePolicy(graph, base, on<Space>), CountThem());
  };
  EXPECT_EQ(count(known<unsigned char>(graph, 200)).get(), 200);
  EXPECT_EQ(count(known<short>(graph, 300)).get(), 300);
  EXPECT_EQ(count(known<std::size_t>(graph, 7)).get(), 7);
  EXPECT_EQ(count(known<long long>(graph, 8)).get(), 8);
}

/// All forms of results.
struct CountInto {
  using value_type = long[];
  unsigned value_count = 2;
  KOKKOS_FUNCTION void operator()(int i, long* counts) const { counts[i % 2] += 1; }
};

SPACE_TEST(LateSizes, ReductionsAndScansHaveThem) {
  for (int const n : {0, 1, 9}) {
    TaskGraph graph(with_workers(2));
    auto const count = known(graph, n);
    View<double> const sum("sum"), most("most"), total("total");
    V const x("x", 9);
    auto const arrays =
        parallel_reduce("array", ResourcePolicy(graph, count, on<Space>), CountInto());
    auto const both = parallel_reduce(
        "both", ResourcePolicy(graph, count, on<Space>),
        KOKKOS_LAMBDA(int i, double& s, double& m) {
          s += i;
          if (i > m) m = i;
        },
        reduced<Kokkos::Sum<double>>, reduced<Kokkos::Max<double>>);
    parallel_reduce(
        "into a view", ResourcePolicy(graph, count, on<Space>),
        KOKKOS_LAMBDA(int i, double& s) { s += 2 * i; }, sum);
    parallel_reduce(
        "by a reducer", ResourcePolicy(graph, count, on<Space>),
        KOKKOS_LAMBDA(int i, double& m) {
          if (i > m) m = i;
        },
        Kokkos::Max<double, Memory>(most));
    auto const scanned = parallel_scan(
        "scan", ResourcePolicy(graph, count, on<Space>, write(x)),
        KOKKOS_LAMBDA(int i, V const& to, double& s, bool is_final) {
          s += i + 1;
          if (is_final) to(i) = s;
        });
    parallel_scan(
        "scan into a view", ResourcePolicy(graph, count, on<Space>),
        KOKKOS_LAMBDA(int i, double& s, bool) { s += i; }, total);
    double const all = n * (n - 1) / 2.0;
    EXPECT_EQ(arrays.get(), (std::vector<long>{(n + 1) / 2, n / 2}));
    EXPECT_EQ(std::get<0>(both.get()), all);
    if (n > 0) {
      EXPECT_EQ(std::get<1>(both.get()), n - 1);
    }
    EXPECT_EQ(scanned.get(), all + n);
    graph.wait();
    EXPECT_EQ(value_of(sum), 2 * all);
    if (n > 0) {
      EXPECT_EQ(value_of(most), n - 1);
    }
    EXPECT_EQ(value_of(total), all);
    if (n > 0) {
      EXPECT_EQ(values_of(x).at(static_cast<std::size_t>(n) - 1), all + n);
    }
  }
}

SPACE_TEST(LateSizes, WhatIsNoRangeIsTheFailureOfTheTask) {
  TaskGraph graph(with_workers(2));
  V const x("x", 3);
  auto const error = error_of(parallel_for(
      "fill", ResourcePolicy(graph, known(graph, -3), on<Space>, write(x)), NumberThem{x}));
  EXPECT_THAT(error, HasSubstr("task \"fill\""));
  EXPECT_THAT(error, HasSubstr("TestLateSizes.cpp"));
  EXPECT_THAT(error, HasSubstr("has the negative range -3"));
  EXPECT_THROW(graph.wait(), Error);
  // As it is when the task is submitted.
  auto const at_once = [&](auto n) {
    try {
      parallel_for("fill", ResourcePolicy(graph, n, on<Space>, write(x)), NumberThem{x});
    } catch (Error const& thrown) {
      return std::string(thrown.what());
    }
    return std::string();
  };
  EXPECT_THAT(at_once(-3), HasSubstr("has the negative range -3"));
  std::uint64_t const largest = ~std::uint64_t{0};
  std::uint64_t const half = std::uint64_t{1} << 63;
  for (std::uint64_t const n : {largest, half, half - 1}) {
    EXPECT_THAT(at_once(n), HasSubstr("has the too large range 9223372036854775807 or more"));
    EXPECT_THAT(error_of(parallel_for("fill", ResourcePolicy(graph, known(graph, n), on<Space>),
                                      NumberThem{x})),
                HasSubstr("has the too large range"));
  }
  auto const least = std::numeric_limits<std::int64_t>::min();
  auto const reduced_over = parallel_reduce(
      "sum", ResourcePolicy(graph, known(graph, least), on<Space>),
      KOKKOS_LAMBDA(int, double& s) { s += 1; });
  EXPECT_THROW(reduced_over.get(), Error);
  forget_failures(graph);
  // The graph is well.
  parallel_for("fill", ResourcePolicy(graph, known(graph, 2), on<Space>, write(x)), NumberThem{x});
  graph.wait();
  EXPECT_EQ(values_of(x), (Doubles{1, 2, 0}));
}

SPACE_TEST(LateSizes, WithoutItsNumberATaskDoesNotRun) {
  TaskGraph graph(with_workers(2));
  V const x("x", 3);
  auto const bad =
      host_task("bad", ResourcePolicy(graph), []() -> int { throw std::runtime_error("boom"); });
  auto const submit = [&] {
    return parallel_for("fill", ResourcePolicy(graph, bad, on<Space>, write(x)), NumberThem{x});
  };
  EXPECT_THAT(error_of(submit()), HasSubstr("boom"));
  EXPECT_THROW(graph.wait(), Error);
  // Reported, so it cancels no more; but there is no number.
  EXPECT_THAT(error_of(submit()), HasSubstr("boom"));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(values_of(x), (Doubles{0, 0, 0}));
  EXPECT_THROW(parallel_for("fill", ResourcePolicy(graph, Future<int>(), on<Space>, write(x)),
                            NumberThem{x}),
               Error);
}

SPACE_TEST(LateSizes, ACancelledNumberCancels) {
  TaskGraph graph(with_workers(2));
  if (*graph.options().serial) GTEST_SKIP() << "one by one, all is over when it is submitted";
  V const x("x", 3);
  std::atomic<bool> goes{false};
  auto const before = host_task("before", ResourcePolicy(graph), [&] {
    while (!goes) std::this_thread::yield();
    return 1;
  });
  auto const number = host_task("number", ResourcePolicy(graph, after(before)), [] { return 3; });
  auto const fill =
      parallel_for("fill", ResourcePolicy(graph, number, on<Space>, write(x)), NumberThem{x});
  graph.cancel(number);
  goes = true;
  try {
    fill.get();
    ADD_FAILURE();
  } catch (Error const& error) {
    EXPECT_EQ(error.kind(), Error::Kind::cancelled);
  }
  forget_failures(graph);
  EXPECT_EQ(values_of(x), (Doubles{0, 0, 0}));
}

// (nvcc takes no lambdas for the device in generic ones.)
struct NextLength {
  KOKKOS_FUNCTION void operator()(int, View<int> const& length, int& s) const {
    length() = (7 * length() + 3) % 61;
    s += length();
  }
};
struct AddIndex {
  KOKKOS_FUNCTION void operator()(int i, V const& to) const { to(i) += i; }
};
struct AllTwice {
  KOKKOS_FUNCTION void operator()(int i, V const& to) const { to(i) *= 2; }
};
struct AddSum {
  KOKKOS_FUNCTION void operator()(int i, double s, V const& to) const {
    to(i) = to(i) > 1e9 ? 1 : to(i) + s + i;
  }
};

/// What an iteration leaves depends on how many indices there were in the iterations before.
SPACE_TEST(LateSizes, ARangeIsThatOfEachRound) {
  auto const run = [](int workers, auto const& repeat) {
    TaskGraph graph(with_workers(workers));
    V const x("x", 64);
    Array const grown("grown");
    View<int> const length("length");
    auto const step = [&] {
      auto const n = parallel_reduce(
          "count", ResourcePolicy(graph, 1, on<Space>, read_write(length)), NextLength());
      parallel_for("first", ResourcePolicy(graph, n, on<Space>, read_write(x)), AddIndex());
      parallel_for("second", ResourcePolicy(graph, n, on<Space>, read_write(x)), AllTwice());
      allocate("grow", ResourcePolicy(graph), grown, n);
      parallel_for("fill", ResourcePolicy(graph, extent(grown), on<Space>, write(grown)), Fill{3});
      auto const sum =
          parallel_reduce("sum", ResourcePolicy(graph, n, on<Space>, read(grown)), Sum());
      parallel_for("add", ResourcePolicy(graph, 64, on<Space>, value(sum), read_write(x)),
                   AddSum());
    };
    repeat(graph, step);
    graph.wait();
    return values_of(x);
  };
  auto const one_by_one = run(1, [](TaskGraph&, auto const& step) {
    for (int round = 0; round < 12; ++round) step();
  });
  for (int const workers : {1, 3}) {
    EXPECT_EQ(run(workers, [](TaskGraph& graph,
                              auto const& step) { graph.replay(graph.record("plan", step), 12); }),
              one_by_one);
    EXPECT_EQ(
        run(workers, [](TaskGraph& graph, auto const& step) { graph.iterate("loop", 12, step); }),
        one_by_one);
  }
}

SPACE_TEST(LateSizes, FusableTasksHaveTheirOwn) {
  for (int const threads : {1, 2}) {
    TaskGraphOptions options = with_workers(2);
    if (Space().concurrency() >= threads) options.threads_per_worker = threads;
    TaskGraph graph(options);
    std::vector<V> all;
    for (int k = 0; k < 24; ++k) all.emplace_back("x", 24);
    std::vector<Future<void>> done;
    for (int k = 0; k < 24; ++k) {
      int const n = k == 13 ? -1 : k;
      V const& x = all[static_cast<std::size_t>(k)];
      done.push_back(parallel_for(
          "fill " + std::to_string(k),
          ResourcePolicy(graph, known(graph, n), on<Space>, write(x), fusable), NumberThem{x}));
    }
    for (int k = 0; k < 24; ++k) {
      auto const& future = done[static_cast<std::size_t>(k)];
      if (k == 13)
        EXPECT_THAT(error_of(future), HasSubstr("\"fill 13\""));
      else
        future.get();
    }
    forget_failures(graph);
    for (int k = 0; k < 24; ++k) {
      Doubles expected(24, 0.0);
      for (int i = 0; i < k && k != 13; ++i) expected[static_cast<std::size_t>(i)] = i + 1;
      EXPECT_EQ(values_of(all[static_cast<std::size_t>(k)]), expected) << k;
    }
  }
}

// ---- arrays

SPACE_TEST(LateSizes, AnArrayIsAllocatedByATask) {
  TaskGraph graph(with_workers(2));
  Array const x("x");
  EXPECT_FALSE(x.is_allocated());
  EXPECT_EQ(x.label(), "x");
  EXPECT_THROW(static_cast<void>(x.managed()), Error);
  EXPECT_THROW(static_cast<void>(x.extent(0)), Error);
  auto const count = parallel_scan(
      "scan", ResourcePolicy(graph, 8, on<Space>),
      KOKKOS_LAMBDA(int i, long& s, bool) { s += i % 2; });
  allocate("make room", ResourcePolicy(graph), x, count);
  parallel_for("fill", ResourcePolicy(graph, extent(x), on<Space>, write(x)), Fill{0});
  auto const sum =
      parallel_reduce("sum", ResourcePolicy(graph, extent(x), on<Space>, read(x)), Sum());
  EXPECT_EQ(sum.get(), 6);
  graph.wait();
  EXPECT_TRUE(x.is_allocated());
  EXPECT_EQ(x.extent(0), 4);
  EXPECT_EQ(x.managed().label(), "x");
  EXPECT_EQ(values_of(x.managed()), (Doubles{0, 1, 2, 3}));
}

SPACE_TEST(LateSizes, AnArrayHasItsTypesExtentsBesides) {
  TaskGraph graph(with_workers(2));
  LateView<double* [3], Memory> const x("x");
  Plane const y("y");
  Number const z("z");
  allocate("x", ResourcePolicy(graph), x, 5);
  allocate("y", ResourcePolicy(graph), y, extent(x, 1), extent(x));
  allocate("z", ResourcePolicy(graph), z);
  allocate(ResourcePolicy(graph), y, extent(y, 1), extent(y));  // of its own
  graph.wait();
  EXPECT_EQ(x.extent(0), 5);
  EXPECT_EQ(x.extent(1), 3);
  EXPECT_EQ(y.extent(0), 5);
  EXPECT_EQ(y.extent(1), 3);
  EXPECT_TRUE(z.is_allocated());
  EXPECT_THROW(static_cast<void>(extent(x, 2)), Error);
  EXPECT_THROW(static_cast<void>(extent(z)), Error);
}

SPACE_TEST(LateSizes, MemoryIsKeptWhereItFits) {
  TaskGraph graph(with_workers(2));
  Array const x("x");
  auto const size_and_place = [&](auto const& n) {
    allocate("room", ResourcePolicy(graph), x, n);
    graph.wait();
    return std::pair(x.extent(0), x.managed().data());
  };
  auto const first = size_and_place(1000);
  deep_copy(graph, x, 7.0);
  EXPECT_EQ(size_and_place(known(graph, 1000)), first);
  EXPECT_EQ(values_of(x.managed()).at(999), 7);  // with its contents
  EXPECT_EQ(size_and_place(2000).first, 2000);
  EXPECT_EQ(size_and_place(0).first, 0);
  EXPECT_TRUE(x.is_allocated());
  // The program keeps what it has got.
  EXPECT_EQ(size_and_place(1000).first, 1000);
  deep_copy(graph, x, 5.0);
  graph.wait();
  auto const kept = x.managed();
  EXPECT_NE(size_and_place(1000).second, kept.data());
  deep_copy(graph, x, 6.0);
  graph.wait();
  EXPECT_EQ(values_of(kept), Doubles(1000, 5.0));
  EXPECT_EQ(values_of(x.managed()), Doubles(1000, 6.0));
}

/// Nobody is in the memory that goes.
SPACE_TEST(LateSizes, AnAllocationComesAfterTheUsersOfTheOldMemory) {
  TaskGraph graph(with_workers(3));
  Array const x("x");
  View<double> const sums("sums");
  double expected = 0;
  for (int round = 0; round < 60; ++round) {
    int const n = 1 + (37 * round) % 501;
    allocate("room", ResourcePolicy(graph), x, known(graph, n));
    parallel_for("fill", ResourcePolicy(graph, n, on<Space>, write(x)),
                 Fill{static_cast<double>(round)});
    for (int reader = 0; reader < 2; ++reader) {
      auto const sum =
          parallel_reduce("sum", ResourcePolicy(graph, extent(x), on<Space>, read(x)), Sum());
      parallel_for(
          "add", ResourcePolicy(graph, 1, on<Space>, value(sum), read_write(sums)),
          KOKKOS_LAMBDA(int, double s, View<double> const& to) { to() += s; });
      expected += static_cast<double>(round) * n + n * (n - 1) / 2.0;
    }
  }
  graph.wait();
  EXPECT_EQ(value_of(sums), expected);
}

SPACE_TEST(LateSizes, WhatIsNotAllocatedFailsItsTask) {
  TaskGraph graph(with_workers(2));
  Array const x("x"), y("y");
  auto const fill = parallel_for("fill", ResourcePolicy(graph, 3, on<Space>, write(x)), Fill{1});
  EXPECT_THAT(error_of(fill), HasSubstr("task \"fill\""));
  EXPECT_THAT(error_of(fill), HasSubstr("the LateView \"x\" has no memory"));
  forget_failures(graph);
  auto const over =
      parallel_for("over", ResourcePolicy(graph, extent(x), on<Space>), KOKKOS_LAMBDA(int){});
  EXPECT_THAT(error_of(over), HasSubstr("task \"over\""));
  EXPECT_THAT(error_of(over), HasSubstr("\"x\" has no memory"));
  forget_failures(graph);
  EXPECT_THAT(error_of(allocate("like x", ResourcePolicy(graph), y, extent(x))),
              HasSubstr("\"x\" has no memory"));
  forget_failures(graph);
  EXPECT_THAT(error_of(deep_copy("copy", ResourcePolicy(graph), x, y)), HasSubstr("has no memory"));
  forget_failures(graph);
  // A functor that takes no Views fails just as well.
  EXPECT_THAT(error_of(parallel_for("short", ResourcePolicy(graph, 3, on<Space>, write(x)),
                                    KOKKOS_LAMBDA(int){})),
              HasSubstr("\"x\" has no memory"));
  forget_failures(graph);
}

SPACE_TEST(LateSizes, WhatIsNoExtentIsAnError) {
  TaskGraph graph(with_workers(2));
  Plane const x("x");
  try {
    allocate("room", ResourcePolicy(graph), x, 3, -2);
    ADD_FAILURE();
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), HasSubstr("extent 1 of the LateView \"x\" cannot be -2"));
  }
  auto const late = allocate("room", ResourcePolicy(graph), x, known(graph, -5L), 2);
  EXPECT_THAT(error_of(late), HasSubstr("task \"room\""));
  EXPECT_THAT(error_of(late), HasSubstr("extent 0 of the LateView \"x\" cannot be -5"));
  forget_failures(graph);
  auto const most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(error_of(allocate("room", ResourcePolicy(graph), x, known(graph, most), 2)),
              HasSubstr("extent 0 of the LateView \"x\" cannot be 9223372036854775807"));
  forget_failures(graph);
  EXPECT_THAT(error_of(allocate("room", ResourcePolicy(graph), x, known(graph, most / 8), 9)),
              HasSubstr("extent 1 of the LateView \"x\" cannot be 9"));
  forget_failures(graph);
  EXPECT_FALSE(x.is_allocated());
  allocate("room", ResourcePolicy(graph), x, 3, 2);
  graph.wait();
  if (!Test::sanitized) {  // these end the program
    // More than there is: the task fails, and the array has let go of what it had.
    EXPECT_NE(error_of(allocate("room", ResourcePolicy(graph), x, most / 16, 1)),
              "nothing is thrown");
    forget_failures(graph);
    EXPECT_FALSE(x.is_allocated());
  }
  allocate("room", ResourcePolicy(graph), x, 1, 1);
  graph.wait();
  EXPECT_EQ(x.extent(0), 1);
}

SPACE_TEST(LateSizes, AnnotationsSayHowAFunctorGetsThem) {
  TaskGraph graph(with_workers(3));
  Array const x("x"), y("y");
  std::vector<Array> const both{x, y};
  for (Array const& each : both) {
    allocate("room", ResourcePolicy(graph), each, 10);
    deep_copy(graph, each, 1.0);
  }
  for (int k = 0; k < 4; ++k)
    parallel_for(
        "add", ResourcePolicy(graph, 100, on<Space>, atomic_add(x)),
        KOKKOS_LAMBDA(int i, atomic_view<Array::view> const& to) { to(i % 10) += 1; });
  parallel_for(
      "alone", ResourcePolicy(graph, 10, on<Space>, exclusive(y)),
      KOKKOS_LAMBDA(int i, Array::view const& to) { to(i) = to(i) + i; });
  auto const sum = parallel_reduce(
      "all", ResourcePolicy(graph, extent(y), on<Space>, read(both)),
      KOKKOS_LAMBDA(int i, read_view_list<Array::view> const& all, double& s) {
        for (std::size_t k = 0; k < all.size(); ++k) s += all[k](i);
      });
  EXPECT_EQ(sum.get(), 10 * 41 + 10 + 45);
  auto const in_group = parallel_reduce(
      "group", ResourcePolicy(graph, 10, on<Space>, read(group(x, y))),
      KOKKOS_LAMBDA(int i, Array::read_view const& a, Array::read_view const& b, double& s) {
        s += a(i) - b(i);
      });
  EXPECT_EQ(in_group.get(), 10 * 41 - 10 - 45);
  AccessList list;
  list.add(read(x)).add(write(y));
  parallel_for("after the list", ResourcePolicy(graph, 1, on<Space>, list), KOKKOS_LAMBDA(int){});
  graph.wait();
}

SPACE_TEST(LateSizes, ResultsGoIntoThem) {
  TaskGraph graph(with_workers(2));
  Number const sum("sum"), most("most"), total("total");
  for (Number const& each : {sum, most, total}) allocate("room", ResourcePolicy(graph), each);
  auto const n = known(graph, 5);
  parallel_reduce(
      "sum", ResourcePolicy(graph, n, on<Space>), KOKKOS_LAMBDA(int i, double& s) { s += i; }, sum);
  parallel_reduce(
      "most", ResourcePolicy(graph, n, on<Space>),
      KOKKOS_LAMBDA(int i, double& m) {
        if (i > m) m = i;
      },
      reduced<Kokkos::Max<double>>(most));
  parallel_scan(
      "scan", ResourcePolicy(graph, n, on<Space>), KOKKOS_LAMBDA(int, double& s, bool) { s += 1; },
      total);
  graph.wait();
  EXPECT_EQ(value_of(sum.managed()), 10);
  EXPECT_EQ(value_of(most.managed()), 4);
  EXPECT_EQ(value_of(total.managed()), 5);
}

SPACE_TEST(LateSizes, CopiesTakeThem) {
  TaskGraph graph(with_workers(2));
  Array const x("x"), y("y");
  LateView<double*, Kokkos::HostSpace> const z("z");
  V const fixed("fixed", 4);
  auto const n = known(graph, 4);
  allocate("x", ResourcePolicy(graph), x, n);
  allocate("y", ResourcePolicy(graph), y, n);
  allocate("z", ResourcePolicy(graph), z, extent(y));
  parallel_for("fill", ResourcePolicy(graph, n, on<Space>, write(x)), Fill{1});
  deep_copy("late to late", graph, y, x);
  trellis::deep_copy(graph, fixed, y);
  deep_copy("to the host", ResourcePolicy(graph), z, fixed);
  deep_copy(graph, x, 3);
  deep_copy(graph, y, n);
  graph.wait();
  EXPECT_EQ(values_of(x.managed()), Doubles(4, 3.0));
  EXPECT_EQ(values_of(y.managed()), Doubles(4, 4.0));
  EXPECT_EQ(values_of(z.managed()), (Doubles{1, 2, 3, 4}));
  EXPECT_EQ(values_of(fixed), (Doubles{1, 2, 3, 4}));
  allocate("y", ResourcePolicy(graph), y, 5);
  auto const wrong = deep_copy("wrong", graph, y, x);
  EXPECT_THAT(error_of(wrong), HasSubstr("task \"wrong\""));
  EXPECT_THAT(error_of(wrong), HasSubstr("whose extents 0 are 4 and 5"));
  forget_failures(graph);
}

/// The handles may go before their tasks are done.
SPACE_TEST(LateSizes, AnArrayLivesAsLongAsItsTasks) {
  TaskGraph graph(with_workers(2));
  Future<double> sum;
  {
    Array const x("x");
    auto const n = known(graph, 1000);
    allocate("room", ResourcePolicy(graph), x, n);
    parallel_for("fill", ResourcePolicy(graph, n, on<Space>, write(x)), Fill{0});
    sum = parallel_reduce("sum", ResourcePolicy(graph, n, on<Space>, read(x)), Sum());
  }
  EXPECT_EQ(sum.get(), 999 * 1000 / 2);
}

}  // namespace
}  // namespace trellis
