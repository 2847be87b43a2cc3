// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All forms of the patterns on a simulated device: by themselves, in plans and in children.
#include "Devices.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>
#include <patterns/Trellis_Sort.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis::Test {
namespace {
namespace device_patterns {

using Host = Simulated::kernel_space;
template <class T>
using On = Kokkos::View<T, SimulatedSpace>;

constexpr int n = 400;
constexpr unsigned bins = 5;

enum class Way { direct, as_child, in_plan };

class DevicePatterns : public testing::TestWithParam<std::tuple<bool, Way>> {
 protected:
  void SetUp() override {
    Simulated::configure({.virtual_time = std::get<0>(GetParam()), .launch_is_slow = true});
  }
  void TearDown() override { Simulated::configure({}); }

  /// `submit(target)` returns the future of the last task; `check(graph, future)` looks at it.
  template <class Submit, class Check, class... V>
  static void run(Submit const& submit, Check const& check, V const&... views) {
    TaskGraphOptions options;
    options.workers = 2;
    TaskGraph graph(options);
    decltype(submit(graph)) future;
    Plan plan;
    switch (std::get<1>(GetParam())) {
      case Way::direct:
        future = submit(graph);
        break;
      case Way::as_child:
        host_task("parent", ResourcePolicy(graph), [&](TaskScope& self) {
          (static_cast<void>(self.local(views)), ...);
          future = submit(self);
        });
        break;
      case Way::in_plan:
        plan = graph.record("plan", [&] { future = submit(graph); });
        graph.replay(plan, 3);
        break;
    }
    graph.wait();
    check(graph, future);
  }
  template <class V>
  static auto host_copy(TaskGraph& graph, V const& view) {
    auto const mirror = Kokkos::create_mirror_view(view);
    deep_copy("read back", graph, mirror, view).get();
    return mirror;
  }
};
std::string name_of(testing::TestParamInfo<std::tuple<bool, Way>> const& info) {
  constexpr char const* ways[] = {"Direct", "AsChild", "InPlan"};
  return std::string(std::get<0>(info.param) ? "Virtual" : "Real") +
         ways[static_cast<int>(std::get<1>(info.param))];
}
INSTANTIATE_TEST_SUITE_P(
    Ways, DevicePatterns,
    testing::Combine(testing::Bool(), testing::Values(Way::direct, Way::as_child, Way::in_plan)),
    name_of);

int value_at(int i) {
  return (i * 37 + 11) % n;
}
struct Fill {
  On<int*> x;
  void operator()(int i) const { x(i) = value_at(i); }
};
struct Histogram {
  using value_type = long[];
  unsigned value_count = bins;
  void operator()(int i, On<int const*> const& x, long* sums) const { sums[x(i) % bins] += x(i); }
};

TEST_P(DevicePatterns, ArrayReductions) {
  On<int*> const x("x", n);
  On<long*> const sums("sums", bins);
  std::vector<long> expected(bins);
  for (int i = 0; i < n; ++i) expected[static_cast<std::size_t>(value_at(i)) % bins] += value_at(i);
  run(
      [&](auto& target) {
        parallel_for("fill", ResourcePolicy(target, n, write(x), on<Simulated>), Fill{x});
        parallel_reduce("sums", ResourcePolicy(target, n, read(x), on<Simulated>), Histogram{},
                        sums);
        return parallel_reduce("sums", ResourcePolicy(target, n, read(x), on<Simulated>),
                               Histogram{});
      },
      [&](TaskGraph& graph, Future<std::vector<long>> const& future) {
        EXPECT_EQ(future.get(), expected);
        auto const host = host_copy(graph, sums);
        for (unsigned k = 0; k < bins; ++k) EXPECT_EQ(host(k), expected[k]);
      },
      x, sums);
}

struct PartialSums {
  On<long*> sums;
  void operator()(int i, On<int const*> const& x, On<long*> const&, long& sum,
                  bool is_final) const {
    sum += x(i);
    if (is_final) sums(i) = sum;
  }
};

TEST_P(DevicePatterns, TotalsOfScans) {
  On<int*> const x("x", n);
  On<long*> const sums("sums", n);
  On<long> const total("total"), nothing("nothing");
  run(
      [&](auto& target) {
        parallel_for("fill", ResourcePolicy(target, n, write(x), on<Simulated>), Fill{x});
        deep_copy("clear", target, nothing, 7);
        parallel_scan("nothing", ResourcePolicy(target, 0, read(x), write(sums), on<Simulated>),
                      PartialSums{sums}, nothing);
        return parallel_scan(ResourcePolicy(target, n, read(x), write(sums), on<Simulated>),
                             PartialSums{sums}, total);
      },
      [&](TaskGraph& graph, Future<void> const&) {
        EXPECT_EQ(host_copy(graph, total)(), n * (n - 1) / 2);
        EXPECT_EQ(host_copy(graph, sums)(n - 1), n * (n - 1) / 2);
        EXPECT_EQ(host_copy(graph, nothing)(), 0);
      },
      x, sums, total, nothing);
}

/// The least multiple of 7 and where it is, as Kokkos asks and no more.
template <class Space>
struct LeastMultiple {
  using reducer = LeastMultiple;
  struct value_type {
    int value = 1 << 20, place = -1;
  };
  using result_view_type = Kokkos::View<value_type, Space>;
  explicit LeastMultiple(result_view_type const& view_) : m_view(view_) {}
  void join(value_type& into, value_type const& from) const {
    if (from.value < into.value) into = from;
  }
  value_type& reference() const { return *m_view.data(); }
  result_view_type view() const { return m_view; }

 private:
  result_view_type m_view;
};

TEST_P(DevicePatterns, Reducers) {
  using OnDevice = LeastMultiple<SimulatedSpace>;
  using Value = OnDevice::value_type;
  using Ends = Kokkos::MinMaxLoc<int, int>;
  On<int*> const x("x", n);
  On<Value> const least("least");
  On<unsigned> const bits("bits");
  struct Least {
    void operator()(int i, On<int const*> const& x, Value& v) const {
      if (x(i) % 7 == 0 && x(i) > 0 && x(i) < v.value) v = {x(i), i};
    }
  };
  struct All {
    void operator()(int i, On<int const*> const& x, Ends::value_type& ends, unsigned& b) const {
      if (x(i) < ends.min_val) ends.min_val = x(i), ends.min_loc = i;
      if (x(i) > ends.max_val) ends.max_val = x(i), ends.max_loc = i;
      b |= 1u << (x(i) % 9);
    }
  };
  run(
      [&](auto& target) {
        parallel_for("fill", ResourcePolicy(target, n, write(x), on<Simulated>), Fill{x});
        parallel_reduce("least", ResourcePolicy(target, n, read(x), on<Simulated>), Least{},
                        OnDevice(least));
        return parallel_reduce("all", ResourcePolicy(target, n, read(x), on<Simulated>), All{},
                               reduced<Ends>, Kokkos::BOr<unsigned, SimulatedSpace>(bits));
      },
      [&](TaskGraph& graph, Future<Ends::value_type> const& future) {
        Ends::value_type const ends = future.get();
        EXPECT_EQ(ends.min_val, 0);
        EXPECT_EQ(ends.max_val, n - 1);
        EXPECT_EQ(value_at(ends.min_loc), 0);
        EXPECT_EQ(value_at(ends.max_loc), n - 1);
        EXPECT_EQ(host_copy(graph, bits)(), 511u);
        Value const found = host_copy(graph, least)();
        EXPECT_EQ(found.value, 7);
        EXPECT_EQ(value_at(found.place), 7);
      },
      x, least, bits);
}

struct Gather {
  void operator()(int i, random_access_view<On<int*>> const& x,
                  restrict_view<On<int*>> const& y) const {
    y(i) = x(n - 1 - i);
  }
};

TEST_P(DevicePatterns, MemoryTraitsAndSorting) {
  On<int*> const x("x", n), y("y", n);
  run(
      [&](auto& target) {
        parallel_for("fill", ResourcePolicy(target, n, write(x), on<Simulated>), Fill{x});
        trellis::sort("sort", ResourcePolicy(target), x);
        return parallel_for(
            ResourcePolicy(target, n, random_access(read(x)), restricted(write(y)), on<Simulated>),
            Gather{});
      },
      [&](TaskGraph& graph, Future<void> const&) {
        auto const host = host_copy(graph, y);
        for (int i = 0; i < n; ++i) ASSERT_EQ(host(i), n - 1 - i);
      },
      x, y);
  std::size_t sorts = 0;
  for (SimulatedRecord const& record : Simulated::device().log())
    sorts += record.kind == Kind::launch && record.name == "sort";
  EXPECT_GE(sorts, 1u) << "on the device, where the View is";
}

TEST_P(DevicePatterns, PoliciesWithHintsAndOfRankSix) {
  using Box = Kokkos::MDRangePolicy<Host, Kokkos::Rank<6>>;
  On<int*> const x("x", 4 * 32);
  auto const box = Kokkos::Experimental::prefer(Box({0, 0, 0, 0, 0, 1}, {4, 2, 2, 2, 2, 2}),
                                                Kokkos::Experimental::DesiredOccupancy(50));
  struct Mark {
    On<int*> x;
    void operator()(int a, int b, int c, int d, int e, int f) const {
      x(a * 32 + b * 16 + c * 8 + d * 4 + e * 2 + f) += 1;
    }
  };
  run(
      [&](auto& target) {
        deep_copy("clear", target, x, 0);
        return parallel_for("mark", ResourcePolicy(target, box, read_write(x), on<Simulated>),
                            Mark{x});
      },
      [&](TaskGraph& graph, Future<void> const&) {
        auto const host = host_copy(graph, x);
        for (int i = 0; i < 4 * 32; ++i) ASSERT_EQ(host(i), i % 2);
      },
      x);
}

}  // namespace device_patterns
}  // namespace
}  // namespace trellis::Test
