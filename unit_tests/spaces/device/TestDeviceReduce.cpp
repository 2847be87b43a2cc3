// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions and scans on any space: results in Futures, in Views, several at once, among other
// tasks. On a device nobody waits for them but get().
#include "DeviceTest.hpp"

#include <common/Trellis_ResultSlot.hpp>
#include <annotations/impl/Trellis_SlotReduction.hpp>

#include <cstddef>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

namespace trellis {
namespace {

SPACE_TEST(DeviceReduce, SeesWhatTasksBeforeItHaveWritten) {
  TaskGraph graph(with_workers(2));
  std::vector<Future<double>> sums;
  V x("x", 100);
  for (int round = 1; round <= 20; ++round) {
    parallel_for("slow", ResourcePolicy(graph, Range(0, 100), write(x)), Slow{x, 1.0 * round});
    sums.push_back(parallel_reduce("sum", ResourcePolicy(graph, Range(0, 100), read(x)), SumOf{x}));
  }
  for (int round = 1; round <= 20; ++round)
    EXPECT_EQ(sums[static_cast<std::size_t>(round - 1)].get(), 100 * round);
}

SPACE_TEST(DeviceReduce, ManyAtATimeHaveResultsOfTheirOwn) {
  int const count = 60;
  TaskGraph graph(with_workers(3));
  std::vector<V> x;
  std::vector<Future<double>> sums;
  for (int k = 0; k < count; ++k) {
    x.emplace_back("x", 500);
    parallel_for("fill", ResourcePolicy(graph, Range(0, 500), write(x.back())),
                 Fill{x.back(), 1.0 * k});
    sums.push_back(parallel_reduce("sum", ResourcePolicy(graph, Range(0, 500), read(x.back())),
                                   SumOf{x.back()}));
  }
  for (int k = 0; k < count; ++k)
    EXPECT_EQ(sums[static_cast<std::size_t>(k)].get(), 500 * k + 500 * 499 / 2);
}

SPACE_TEST(DeviceReduce, IntoAViewThatTheNextTaskReads) {
  TaskGraph graph(with_workers(2));
  V x("x", 100), y("y", 100);
  View<double> sum("sum");
  parallel_for("fill", ResourcePolicy(graph, Range(0, 100), write(x)), Fill{x, 1});
  parallel_reduce("sum", ResourcePolicy(graph, Range(0, 100), read(x)), SumOf{x}, sum);
  parallel_for(
      "scale", ResourcePolicy(graph, Range(0, 100), read(x), read(sum), write(y)),
      KOKKOS_LAMBDA(int i) { y(i) = x(i) / sum(); });
  auto const one = parallel_reduce("one", ResourcePolicy(graph, Range(0, 100), read(y)), SumOf{y});
  EXPECT_NEAR(one.get(), 1, 1e-12);
}

struct HasValue {
  View<int*> x;
  int value;
  KOKKOS_FUNCTION void operator()(int i, bool& any) const { any = any || x(i) == value; }
};
/// The product of two of the values.
struct ProductOf {
  View<int*> x;
  int a, b;
  KOKKOS_FUNCTION void operator()(int i, int& product) const {
    if (x(i) == a || x(i) == b) product *= x(i);
  }
};

// No result is what a value of zeros would give that was never set to the reducer's neutral
// element, and with threads of their own, parts are joined as the reducer says.
SPACE_TEST(DeviceReduce, OfEveryKindOfReducer) {
  TaskGraphOptions options = with_workers(1);
  options.threads_per_worker = 2;
  TaskGraph graph(options);
  View<int*> x("x", 200), y("y", 200);
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 200), write(x), write(y)), KOKKOS_LAMBDA(int i) {
        x(i) = (i * 37) % 200 + 5;  // 5 to 204
        y(i) = -x(i);
      });
  auto const policy = [&] { return ResourcePolicy(graph, Range(0, 200), read(x), read(y)); };
  using MinMax = Kokkos::MinMax<int>;
  using MaxLoc = Kokkos::MaxLoc<int, int>;
  auto const least = parallel_reduce(
      "min", policy(), KOKKOS_LAMBDA(int i, int& v) { v = x(i) < v ? x(i) : v; },
      reduced<Kokkos::Min<int>>);
  auto const range = parallel_reduce(
      "minmax", policy(),
      KOKKOS_LAMBDA(int i, MinMax::value_type& v) {
        if (x(i) < v.min_val) v.min_val = x(i);
        if (x(i) > v.max_val) v.max_val = x(i);
      },
      reduced<MinMax>);
  auto const place = parallel_reduce(
      "maxloc", policy(),
      KOKKOS_LAMBDA(int i, MaxLoc::value_type& v) {
        if (y(i) > v.val) v.val = y(i), v.loc = i;
      },
      reduced<MaxLoc>);
  auto const range_of_y = parallel_reduce(
      "minmax of y", policy(),
      KOKKOS_LAMBDA(int i, MinMax::value_type& v) {
        if (y(i) < v.min_val) v.min_val = y(i);
        if (y(i) > v.max_val) v.max_val = y(i);
      },
      reduced<MinMax>);
  auto const any_with = [&](int value) {
    return parallel_reduce("any", policy(), HasValue{x, value}, reduced<Kokkos::LOr<bool>>).get();
  };
  auto const product =
      parallel_reduce("product", policy(), ProductOf{x, 17, 18}, reduced<Kokkos::Prod<int>>);
  auto const all = parallel_reduce(
      "all", policy(), KOKKOS_LAMBDA(int i, bool& v) { v = v && x(i) > 4; },
      reduced<Kokkos::LAnd<bool>>);
  EXPECT_EQ(least.get(), 5);
  EXPECT_EQ(range.get().min_val, 5);
  EXPECT_EQ(range.get().max_val, 204);
  EXPECT_EQ(range_of_y.get().min_val, -204);
  EXPECT_EQ(range_of_y.get().max_val, -5);
  EXPECT_EQ(place.get().val, -5);
  EXPECT_EQ(place.get().loc, 0);
  EXPECT_TRUE(any_with(17));
  EXPECT_FALSE(any_with(4));
  EXPECT_EQ(product.get(), 17 * 18);
  EXPECT_TRUE(all.get());
}

SPACE_TEST(DeviceReduce, SeveralResultsIntoViewsAndTheFuture) {
  TaskGraph graph(with_workers(2));
  V x("x", 100);
  View<double> sum("sum");
  View<int> last("last");
  using Max = Kokkos::Max<int, Memory>;
  for (int round = 1; round <= 3; ++round) {
    parallel_for("slow", ResourcePolicy(graph, Range(0, 100), write(x)), Slow{x, 1.0 * round});
    auto const both = parallel_reduce(
        "all", ResourcePolicy(graph, Range(0, 100), read(x)),
        KOKKOS_LAMBDA(int i, double& s, long& n, int& m, double& p) {
          s += x(i);
          n += 1;
          m = i > m ? i : m;
          p = x(i) < p ? x(i) : p;
        },
        sum, reduced<Kokkos::Sum<long>>, Max(last), reduced<Kokkos::Min<double>>);
    auto const look = parallel_reduce(
        "look", ResourcePolicy(graph, Range(0, 1), read(sum), read(last)),
        KOKKOS_LAMBDA(int, double& s) { s += sum() + last(); });
    EXPECT_EQ(look.get(), 100 * round + 99);
    EXPECT_EQ(std::get<0>(both.get()), 100);
    EXPECT_EQ(std::get<1>(both.get()), round);
  }
}

SPACE_TEST(DeviceReduce, OverPlanesAndTeams) {
  int const n = 30;
  TaskGraph graph(with_workers(2));
  View<double**> x("x", n, n);
  parallel_for(
      "fill", ResourcePolicy(graph, Square({0, 0}, {n, n}), write(x)),
      KOKKOS_LAMBDA(int i, int j) { x(i, j) = i * n + j; });
  auto const plane = parallel_reduce(
      "plane", ResourcePolicy(graph, Square({0, 0}, {n, n}), read(x)),
      KOKKOS_LAMBDA(int i, int j, double& s) { s += x(i, j); });
  auto const teams = parallel_reduce(
      "teams", ResourcePolicy(graph, Teams(n, Kokkos::AUTO), read(x)),
      KOKKOS_LAMBDA(Member const& team, double& s) {
        double row = 0;
        int const i = team.league_rank();
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, n), [&](int j, double& r) { r += x(i, j); }, row);
        Kokkos::single(Kokkos::PerTeam(team), [&] { s += row; });
      });
  double const expected = 0.5 * (n * n) * (n * n - 1);
  EXPECT_EQ(plane.get(), expected);
  EXPECT_EQ(teams.get(), expected);
}

SPACE_TEST(DeviceReduce, OverNothing) {
  TaskGraph graph(with_workers(1));
  View<double> sum("sum");
  Kokkos::deep_copy(sum, 5.0);
  auto const nothing = parallel_reduce(
      "nothing", ResourcePolicy(graph, 0, on<Space>), KOKKOS_LAMBDA(int, double& s) { s += 1; });
  auto const both = parallel_reduce(
      "both", ResourcePolicy(graph, 0, on<Space>),
      KOKKOS_LAMBDA(int, double& s, int& m) {
        s += 1;
        m = 1;
      },
      sum, reduced<Kokkos::Max<int>>);
  EXPECT_EQ(nothing.get(), 0);
  EXPECT_EQ(both.get(), std::numeric_limits<int>::lowest());
  graph.wait();
  EXPECT_EQ(value_of(sum), 0);
}

// ---- scans

struct Running {
  using value_type = double;
  V x;
  KOKKOS_FUNCTION void operator()(int i, double& sum, bool is_final) const {
    sum += x(i);
    if (is_final) x(i) = sum;
  }
};

SPACE_TEST(DeviceScan, PartialSumsAndTotalsAmongOtherTasks) {
  int const n = 3000;
  V x("x", n);
  TaskGraph graph(with_workers(2));
  std::vector<Future<double>> totals;
  for (int round = 1; round <= 5; ++round) {
    parallel_for("slow", ResourcePolicy(graph, Range(0, n), write(x)), Slow{x, 1.0 * round});
    totals.push_back(
        parallel_scan("scan", ResourcePolicy(graph, Range(0, n), read_write(x)), Running{x}));
  }
  for (int round = 1; round <= 5; ++round)
    EXPECT_EQ(totals[static_cast<std::size_t>(round - 1)].get(), n * round);
  std::vector<double> expected;
  for (int i = 1; i <= n; ++i) expected.push_back(5 * i);
  EXPECT_EQ(values_of(x), expected);
}

SPACE_TEST(DeviceScan, OverNothingGivesZero) {
  V x("x", 1);
  TaskGraph graph(with_workers(1));
  EXPECT_EQ(
      parallel_scan("scan", ResourcePolicy(graph, Range(0, 0), read_write(x)), Running{x}).get(),
      0);
}

// ---- what they stand on

struct FourValues {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, double& sum, int& least,
                                  Kokkos::MaxLoc<int, int>::value_type& most) const {
    sum += x(i);
    least = x(i) < least ? x(i) : least;
    if (x(i) > most.val) most.val = x(i), most.loc = i;
  }
};

SPACE_TEST(ResultSlots, SeveralReducersIntoOneSlotAndFromThereIntoViews) {
  using Pinned = Kokkos::SharedHostPinnedSpace;
  using Most = Kokkos::MaxLoc<int, int>;
  using All = Impl::Values<double, int, Most::value_type>;
  View<int*> x("x", 100);
  Kokkos::parallel_for(Range(0, 100), KOKKOS_LAMBDA(int i) { x(i) = (i * 7) % 100 - 20; });
  Impl::ResultSlot<All, Pinned> slot;
  All& place = slot.renew();
  Impl::SlotReducers<Pinned, Kokkos::Sum<double>, Kokkos::Min<int>, Most> const reducers(
      {Kokkos::Sum<double>(Impl::value_at<0>(place)), Kokkos::Min<int>(Impl::value_at<1>(place)),
       Most(Impl::value_at<2>(place))},
      &place);
  Kokkos::parallel_reduce(
      Range(0, 100), Impl::SpreadFunctor<FourValues, double, int, Most::value_type>{FourValues{x}},
      reducers);
  View<double> sum("sum");
  Kokkos::parallel_for(Range(0, 1), Impl::Distribute<All, View<double>, std::tuple<>, std::tuple<>>{
                                        &place, {sum, {}, {}}});
  Space().fence();
  EXPECT_EQ(Impl::value_at<0>(slot.value()), 4950 - 2000);
  EXPECT_EQ(Impl::value_at<1>(slot.value()), -20);
  EXPECT_EQ(Impl::value_at<2>(slot.value()).val, 79);
  EXPECT_EQ((Impl::value_at<2>(slot.value()).loc * 7) % 100, 99);
  EXPECT_EQ(value_of(sum), 4950 - 2000);
}

SPACE_TEST(ResultSlots, OneReducerOfAnotherMemorySpace) {
  using Pinned = Kokkos::SharedHostPinnedSpace;
  Impl::ResultSlot<int, Pinned> slot;
  int& place = slot.renew();
  Kokkos::parallel_reduce(
      Range(1, 6), KOKKOS_LAMBDA(int i, int& p) { p *= i; },
      Impl::SlotReducer<Kokkos::Prod<int>, Pinned>(Kokkos::Prod<int>(place), &place));
  Space().fence();
  EXPECT_EQ(slot.value(), 120);
}

SPACE_TEST(ResultSlots, ArePiecesOfTheirOwnAndAreUsedAgain) {
  struct Big {
    double values[40];
  };
  using Slot = Impl::ResultSlot<Big, Kokkos::SharedHostPinnedSpace>;
  std::set<void const*> places;
  for (int repetition = 0; repetition < 3; ++repetition) {
    std::vector<Slot> slots(300);
    std::set<void const*> now;
    for (Slot& slot : slots) {
      Big& big = slot.renew();
      EXPECT_EQ(big.values[39], 0);
      big.values[39] = 1;
      now.insert(&big);
      EXPECT_EQ(&slot.renew(), &big) << "a slot keeps its piece";
    }
    EXPECT_EQ(now.size(), slots.size());
    places.insert(now.begin(), now.end());
    Slot const copy(slots.front());
    Slot const moved(std::move(slots.back()));
    EXPECT_TRUE(now.contains(&moved.value()));
  }
  EXPECT_LT(places.size(), 600u);
}

}  // namespace
}  // namespace trellis
