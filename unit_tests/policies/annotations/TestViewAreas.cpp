// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the elements of a View cover, and whether they are one piece, against sets of elements.
#include "StridedViews.hpp"

#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace trellis {
namespace {

template <class V>
std::string text_of(V const& view) {
  std::string text = "extents and strides";
  for (std::size_t k = 0; k < V::rank(); ++k)
    text += " (" + std::to_string(view.extent(k)) + ", " + std::to_string(view.stride(k)) + ")";
  return text;
}

/// The bytes that an area has, from `base` on.
std::set<std::uint64_t> bytes_of(Impl::Area const& area, std::uintptr_t base) {
  std::set<std::uint64_t> bytes;
  if (area.empty()) return bytes;
  for (std::uint64_t k = 0; k < area.run(); ++k) bytes.insert(area.begin() - base + k);
  for (int k = 0; k < area.rank(); ++k) {
    auto const [stride, extent] = area.dimension(k);
    std::set<std::uint64_t> const before = std::exchange(bytes, {});
    for (std::uint64_t x = 0; x < extent; ++x)
      for (std::uint64_t const byte : before) bytes.insert(byte + x * stride);
  }
  return bytes;
}

template <class V, class T>
void check(V const& view, T const* base) {
  auto const elements = trellis::Test::elements_of(view, base);
  std::set<std::ptrdiff_t> const distinct(elements.begin(), elements.end());
  std::set<std::uint64_t> bytes;
  for (std::ptrdiff_t const element : distinct)
    for (std::size_t k = 0; k < sizeof(T); ++k)
      bytes.insert(static_cast<std::uint64_t>(element) * sizeof(T) + k);
  ASSERT_EQ(bytes_of(Impl::area_of(view), reinterpret_cast<std::uintptr_t>(base)), bytes)
      << text_of(view);
  bool const are_distinct = distinct.size() == elements.size();
  bool const have_holes =
      !distinct.empty() &&
      static_cast<std::size_t>(*distinct.rbegin() - *distinct.begin()) + 1 != distinct.size();
  ASSERT_EQ(Impl::lies_in_one_piece(view), are_distinct && !have_holes) << text_of(view);
  ASSERT_EQ(Impl::has_distinct_elements(view), are_distinct) << text_of(view);
}

TEST(ViewAreas, OfAllSmallPlanesWithAnyStrides) {
  std::vector<long> memory(64);
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < 5; ++b)
      for (std::size_t s = 0; s < 7; ++s)
        for (std::size_t t = 0; t < 7; ++t)
          check(trellis::Test::strided_view<long, 2>(memory.data() + 3, {a, b}, {s, t}),
                memory.data());
}

template <class T>
void check_random_shapes(int programs) {
  constexpr std::size_t room = 200;
  std::vector<T> memory(room);
  trellis::Test::for_each_rank([&](auto rank) {
    std::mt19937_64 random(20261128 + rank);
    for (int k = 0; k < programs; ++k) {
      trellis::Test::RandomShape<rank> const shape(random, room);
      check(trellis::Test::strided_view<T, rank>(memory.data() + shape.first, shape.extents,
                                                 shape.strides),
            memory.data());
    }
  });
}
struct Triple {
  float x, y, z;
};
TEST(ViewAreas, OfRandomStridesOfEachRank) {
  check_random_shapes<double>(150);
  check_random_shapes<Triple>(25);
  check_random_shapes<char>(25);
}

/// All the usual ones, and subviews of them.
template <class Layout>
void check_layout(std::mt19937_64& random) {
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int k = 0; k < 100; ++k) {
    std::size_t const n[3] = {1 + below(5), 1 + below(5), 1 + below(5)};
    auto const padding = Kokkos::view_alloc("padded", Kokkos::AllowPadding);
    Kokkos::View<short***, Layout, Kokkos::HostSpace> const x("x", n[0], n[1], n[2]);
    Kokkos::View<short**, Layout, Kokkos::HostSpace> const plane("plane", n[0], n[1]);
    Kokkos::View<short**, Layout, Kokkos::HostSpace> const padded(padding, 60 + n[0], 60 + n[1]);
    Kokkos::View<short*, Layout, Kokkos::HostSpace> const line("line", below(4));
    Kokkos::View<short[2][3], Layout, Kokkos::HostSpace> const fixed("fixed");
    check(x, x.data());
    check(plane, plane.data());
    check(line, line.data());
    check(fixed, fixed.data());
    if (k < 3) check(padded, padded.data());
    auto const part = [&](std::size_t d) {
      std::size_t const first = below(n[d]);
      return std::pair(first, first + below(n[d] - first + 1));
    };
    auto const p0 = part(0), p1 = part(1), p2 = part(2);
    using Kokkos::ALL;
    using Kokkos::subview;
    check(subview(x, p0, p1, p2), x.data());
    check(subview(x, ALL, ALL, p2), x.data());
    check(subview(x, p0, ALL, ALL), x.data());
    check(subview(x, p0, below(n[1]), p2), x.data());
    check(subview(x, below(n[0]), ALL, p2), x.data());
    check(subview(x, p0, ALL, below(n[2])), x.data());
    check(subview(x, below(n[0]), p1, below(n[2])), x.data());
    check(subview(x, below(n[0]), below(n[1]), below(n[2])), x.data());
    check(subview(plane, p0, ALL), plane.data());
    check(subview(plane, ALL, p1), plane.data());
  }
}
TEST(ViewAreas, OfLayoutsAndTheirSubviews) {
  std::mt19937_64 random(4711);
  check_layout<Kokkos::LayoutLeft>(random);
  check_layout<Kokkos::LayoutRight>(random);
}

/// Tasks on pairs of such Views have an edge exactly where these share an element.
TEST(ViewAreas, TasksDependOnEachOtherWhereTheirElementsMeet) {
  constexpr std::size_t room = 60;
  std::vector<double> memory(room);
  int met = 0, apart = 0;
  auto const check_pair = [&](auto const& a, auto const& b) {
    auto x = trellis::Test::elements_of(a, memory.data()),
         y = trellis::Test::elements_of(b, memory.data());
    std::sort(x.begin(), x.end());
    std::sort(y.begin(), y.end());
    std::vector<std::ptrdiff_t> shared;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(shared));
    TaskGraphOptions options;
    options.record = true;
    options.workers = 1;
    TaskGraph graph(options);
    host_task("write", ResourcePolicy(graph, write(a)), [] {});
    host_task("read", ResourcePolicy(graph, read(b)), [] {});
    graph.wait();
    ASSERT_EQ(graph.dependency_graph().edges().size(), shared.empty() ? 0u : 1u)
        << text_of(a) << " from " << (a.data() - memory.data()) << " and " << text_of(b) << " from "
        << (b.data() - memory.data());
    ++(shared.empty() ? apart : met);
  };
  // The last one of the first View is behind all that Kokkos 4.5 takes for its span.
  check_pair(trellis::Test::strided_view<double, 2>(memory.data(), {4, 3}, {3, 2}),
             trellis::Test::strided_view<double, 1>(memory.data() + 13, {1}, {1}));
  // Any Kokkos takes this one for six elements in one piece.
  check_pair(trellis::Test::strided_view<double, 2>(memory.data(), {2, 3}, {5, 0}),
             trellis::Test::strided_view<double, 1>(memory.data() + 1, {4}, {1}));
  std::mt19937_64 random(99);
  for (int k = 0; k < 300; ++k) {
    trellis::Test::RandomShape<2> const a(random, room);
    trellis::Test::RandomShape<3> const b(random, room);
    check_pair(
        trellis::Test::strided_view<double, 2>(memory.data() + a.first, a.extents, a.strides),
        trellis::Test::strided_view<double, 3>(memory.data() + b.first, b.extents, b.strides));
  }
  EXPECT_GT(met, 50);
  EXPECT_GT(apart, 50);
}

}  // namespace
}  // namespace trellis
