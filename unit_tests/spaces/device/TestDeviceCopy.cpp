// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// deep_copy between every pair of memory spaces that this execution space has, alike and not alike.
#include "DeviceTest.hpp"

#include <cstddef>
#include <vector>

namespace trellis {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class T>
void fill_on_host(T const& view, double start) {
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace(), view);
  for (std::size_t i = 0; i < host.extent(0); ++i)
    for (std::size_t j = 0; j < host.extent(1); ++j)
      if constexpr (T::rank() == 1)
        host(i) = start + static_cast<double>(i);
      else
        host(i, j) = start + 100 * static_cast<double>(i) + static_cast<double>(j);
  Kokkos::deep_copy(view, host);
}

/// There, and back, behind a task that takes its time.
template <class A, class B>
void check_pair(A const& a, B const& b) {
  TaskGraph graph(with_workers(2));
  V slow("slow", 50);
  fill_on_host(a, 5);
  fill_on_host(b, 1000);
  auto const before = values_of(a);
  parallel_for("slow", ResourcePolicy(graph, Range(0, 50), write(slow)), Slow{slow, 1});
  trellis::deep_copy("there", graph, b, a);
  trellis::deep_copy("fill", graph, a, -1.0);
  graph.wait();
  EXPECT_EQ(values_of(b), before);
  EXPECT_EQ(values_of(a), std::vector<double>(a.size(), -1));
  trellis::deep_copy("back", graph, a, b);
  graph.wait();
  EXPECT_EQ(values_of(a), before);
}

SPACE_TEST(DeviceCopy, AllPairsOfMemorySpaces) {
  V const device("device", 70), device2("device 2", 70);
  HostView<double*> const host("host", 70), host2("host 2", 70);
  PinnedView<double*> const pinned("pinned", 70), pinned2("pinned 2", 70);
  Kokkos::View<double*, Kokkos::SharedSpace> const shared("shared", 70), shared2("shared 2", 70);
  check_pair(device, device2);
  check_pair(device, host);
  check_pair(device, pinned);
  check_pair(device, shared);
  check_pair(host, host2);
  check_pair(host, pinned);
  check_pair(host, shared);
  check_pair(pinned, pinned2);
  check_pair(pinned, shared);
  check_pair(shared, shared2);
}

SPACE_TEST(DeviceCopy, WhatIsNotAlikeGoesWhereOneSpaceReachesBoth) {
  View<double**> const device("device", 6, 8);
  Kokkos::View<double**, Kokkos::LayoutLeft, Memory> const left("left", 6, 8);
  Kokkos::View<double**, Kokkos::LayoutRight, Memory> const right("right", 6, 8);
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::SharedHostPinnedSpace> const pinned("pinned",
                                                                                          6, 8);
  Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::SharedSpace> const shared("shared", 6, 8);
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const host("host", 6, 8);
  check_pair(left, right);
  check_pair(left, pinned);
  check_pair(right, shared);
  check_pair(host, shared);
  View<double**> const wide("wide", 6, 20);
  check_pair(device, Kokkos::subview(wide, Kokkos::ALL, std::pair(3, 11)));
}

SPACE_TEST(DeviceCopy, WhatNoSpaceReachesIsAnErrorThatNamesBoth) {
  if constexpr (on_device) {
    Kokkos::View<double**, Kokkos::LayoutLeft, Memory> const device("device", 6, 8);
    Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const host("host", 6, 8);
    TaskGraph graph(with_workers(1));
    try {
      trellis::deep_copy("turn", graph, device, host);
      ADD_FAILURE() << "nothing was thrown";
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::bad_input);
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("\"turn\""), HasSubstr("\"host\""), HasSubstr("\"device\"")));
    }
    EXPECT_EQ(graph.submitted(), 0u);
  } else {
    GTEST_SKIP() << "the host reaches all of its memory";
  }
}

SPACE_TEST(DeviceCopy, OfNothingAndOfOneElement) {
  TaskGraph graph(with_workers(1));
  V const none("none", 0);
  HostView<double*> const no_more("no more", 0);
  View<double> const one("one");
  HostView<double> const here("here");
  trellis::deep_copy(graph, none, no_more);
  trellis::deep_copy(graph, none, 1.0);
  trellis::deep_copy(graph, one, 4.0);
  trellis::deep_copy(graph, here, one);
  graph.wait();
  EXPECT_EQ(here(), 4);
}

SPACE_TEST(DeviceCopy, APipelineInBothDirections) {
  int const chunks = 12, n = 400;
  PinnedView<double**> const in("in", chunks, n), out("out", chunks, n);
  for (int k = 0; k < chunks; ++k)
    for (int i = 0; i < n; ++i) in(k, i) = k * n + i;
  Kokkos::View<double**, Kokkos::LayoutRight, Memory> const buffer("buffer", 3, n);
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::SharedHostPinnedSpace> const from("from",
                                                                                        chunks, n),
      to("to", chunks, n);
  Kokkos::deep_copy(from, in);
  TaskGraph graph(with_workers(2));
  for (int k = 0; k < chunks; ++k) {
    auto const here = Kokkos::subview(buffer, k % 3, Kokkos::ALL);
    trellis::deep_copy("up", graph, here, Kokkos::subview(from, k, Kokkos::ALL));
    int const row = k % 3;
    parallel_for(
        "double", ResourcePolicy(graph, Range(0, n), read_write(here)),
        KOKKOS_LAMBDA(int i) { buffer(row, i) *= 2; });
    trellis::deep_copy("down", graph, Kokkos::subview(to, k, Kokkos::ALL), here);
  }
  graph.wait();
  for (int k = 0; k < chunks; ++k)
    for (int i = 0; i < n; ++i) ASSERT_EQ(to(k, i), 2 * (k * n + i));
}

}  // namespace
}  // namespace trellis
