// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers of Kokkos and types of the user's, whose memory is that of any space.
#include "DeviceTest.hpp"

#include <Kokkos_Bitset.hpp>
#include <Kokkos_DualView.hpp>
#include <Kokkos_DynRankView.hpp>
#include <Kokkos_UnorderedMap.hpp>

#include <tuple>
#include <vector>

namespace trellis {
namespace {

using Dual = Kokkos::DualView<double*, Space>;
using Map = Kokkos::UnorderedMap<int, double, Space>;
using ConstMap = Map::const_map_type;
using Bits = Kokkos::Bitset<Space>;
using ConstBits = Kokkos::ConstBitset<Space>;
using Dynamic = Kokkos::DynRankView<double, Memory>;
using ConstDynamic = Dynamic::const_type;

struct Pair {
  V first;
  V second;
};

}  // namespace

template <>
struct ResourceTraits<Pair> {
  static auto accesses(Pair const& pair, auto how) {
    return std::tuple(access(pair.first, how), read(pair.second));
  }
  static Pair argument(Pair const& pair, auto) { return pair; }
};

namespace {

SPACE_TEST(DeviceContainers, DualViewsAreCopiedWhereNeeded) {
  TaskGraph graph(with_workers(2));
  Dual x("x", 100);
  for (int step = 0; step < 20; ++step) {
    parallel_for(
        "device", ResourcePolicy(graph, Range(0, 100), read_write(x)),
        KOKKOS_LAMBDA(int i, Dual::t_dev const& all) { all(i) += i; });
    host_task("host", ResourcePolicy(graph, read_write(x)), [](Dual::t_host const& all) {
      for (int i = 0; i < 100; ++i) all(i) *= 0.5;
    });
  }
  graph.wait();
  x.sync_host();
  double expected = 0;
  for (int step = 0; step < 20; ++step) expected = 0.5 * (expected + 3);
  EXPECT_EQ(x.view_host()(3), expected);
}

SPACE_TEST(DeviceContainers, MapsAndBitsetsReachKernels) {
  TaskGraph graph(with_workers(2));
  Map const map(1000);
  Bits const bits(1000);
  for (int part = 0; part < 4; ++part)
    parallel_for(
        "insert",
        ResourcePolicy(graph, Range(100 * part, 100 * part + 100), atomic_add(map),
                       atomic_add(bits)),
        KOKKOS_LAMBDA(int i, Map const& to, Bits const& set) {
          (void)to.insert(i, 0.5 * i);
          if (i % 4 == 0) (void)set.set(i);
        });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Range(0, 1000), read(map), read(bits)),
      KOKKOS_LAMBDA(int i, ConstMap const& from, ConstBits const& set, double& to) {
        if (set.test(i)) to += from.value_at(from.find(i));
      });
  EXPECT_EQ(sum.get(), 9900);
}

SPACE_TEST(DeviceContainers, OwnTypesAndDynamicRanksReachKernels) {
  TaskGraph graph(with_workers(2));
  Pair const pair{V("first", 100), V("second", 100)};
  Dynamic const y("y", 100);
  trellis::deep_copy(graph, pair.second, 2.0);
  parallel_for(
      "own", ResourcePolicy(graph, Range(0, 100), write(pair)),
      KOKKOS_LAMBDA(int i, Pair const& p) { p.first(i) = i * p.second(i); });
  parallel_for(
      "dynamic", ResourcePolicy(graph, Range(0, 100), read(pair), write(y)),
      KOKKOS_LAMBDA(int i, Pair const& p, Dynamic const& to) { to(i) = p.first(i) + 1; });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Range(0, 100), read(y)),
      KOKKOS_LAMBDA(int i, ConstDynamic const& from, double& to) { to += from(i); });
  EXPECT_EQ(sum.get(), 10000);
}

}  // namespace
}  // namespace trellis
