// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several parallel_for as one kernel, on each space: every index of every member, once.
#include "SpaceTest.hpp"
#include "FusionTest.hpp"

namespace trellis {
namespace {

using Test::Gated;
using Test::values_of;
using testing::Contains;

struct Fill {
  V x;
  double add;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = 2 * x(i) + i + add; }
};

// (nvcc takes no functors that are local to a function.)
struct Copy {
  KOKKOS_FUNCTION void operator()(int i, read_view<V> const& x, V const& y) const {
    y(i) = x(i) + 1;
  }
};
using Matrix = View<double**>;
struct Mark {
  Matrix a;
  double add;
  KOKKOS_FUNCTION void operator()(int i, int j) const { a(i, j) += 100 * i + j + add; }
};
struct Double {};
struct Tagged {
  V x;
  KOKKOS_FUNCTION void operator()(Double, int i) const { x(i) = 2 * i; }
};
struct Add {
  V x;
  KOKKOS_FUNCTION void operator()(int i, double const& value) const { x(i) = i + value; }
};

/// Members of these sizes, in a batch of all.
void expect_members_fill(std::vector<int> const& sizes, int offset) {
  Gated gated(make_fuse_immediately(sizes.size()));
  std::vector<V> views;
  for (int const size : sizes) {
    views.emplace_back("x", static_cast<std::size_t>(size + offset));
    parallel_for("fill",
                 ResourcePolicy(gated.graph, Range(offset, offset + size), gated.behind(), fusable,
                                read_write(views.back())),
                 Fill{views.back(), static_cast<double>(views.size())});
  }
  gated.form_and_wait();
  EXPECT_THAT(gated.observed->formed(), Contains(sizes.size()));
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    auto const values = values_of(views[k]);
    for (int i = 0; i < offset + sizes[k]; ++i)
      ASSERT_EQ(values[static_cast<std::size_t>(i)],
                i < offset ? 0 : i + static_cast<double>(k + 1))
          << "member " << k << " of " << sizes.size() << ", index " << i;
  }
}

SPACE_TEST(FusedKernels, OfOneSize) {
  expect_members_fill({7, 7, 7}, 0);
  expect_members_fill(std::vector<int>(16, 100), 3);
}
SPACE_TEST(FusedKernels, OfSeveralSizes) {
  expect_members_fill({5, 0, 1, 17, 0, 0, 3}, 0);
  expect_members_fill({0, 0, 4}, 2);
  expect_members_fill({1, 64, 1}, 5);
}
SPACE_TEST(FusedKernels, OfNoIndexAtAll) {
  expect_members_fill({0, 0}, 0);
}
SPACE_TEST(FusedKernels, MoreThanAnArgumentHolds) {
  std::vector<int> sizes;
  for (int k = 0; k < 300; ++k) sizes.push_back(1 + k % 7);
  expect_members_fill(sizes, 1);
  expect_members_fill(std::vector<int>(256, 9), 0);
}

SPACE_TEST(FusedKernels, TakeTheirViewsAsArguments) {
  Gated gated(make_fuse_immediately(4));
  std::vector<V> from, to;
  for (int k = 0; k < 4; ++k) {
    from.emplace_back("from", 10);
    to.emplace_back("to", 10);
    Kokkos::deep_copy(from.back(), k);
    parallel_for("copy",
                 ResourcePolicy(gated.graph, Range(0, 10), gated.behind(), fusable,
                                read(from.back()), write(to.back())),
                 Copy{});
  }
  gated.form_and_wait();
  EXPECT_THAT(gated.observed->formed(), Contains(4u));
  for (int k = 0; k < 4; ++k)
    for (double const value : values_of(to[static_cast<std::size_t>(k)])) ASSERT_EQ(value, k + 1);
}

SPACE_TEST(FusedKernels, OfSeveralDimensions) {
  Gated gated(make_fuse_immediately(3));
  std::vector<Matrix> all;
  for (int k = 0; k < 3; ++k) {
    all.emplace_back("a", 4 + k, 6);
    parallel_for("mark",
                 ResourcePolicy(gated.graph, Square({1, 2}, {4 + k, 6}), gated.behind(), fusable,
                                read_write(all.back())),
                 Mark{all.back(), k * 1000.0});
  }
  gated.form_and_wait();
  EXPECT_THAT(gated.observed->formed(), Contains(3u));
  for (int k = 0; k < 3; ++k) {
    auto const values = values_of(all[static_cast<std::size_t>(k)]);
    for (int i = 0; i < 4 + k; ++i)
      for (int j = 0; j < 6; ++j)
        ASSERT_EQ(values[static_cast<std::size_t>(i * 6 + j)],
                  i < 1 || j < 2 ? 0 : 100 * i + j + k * 1000.0);
  }
}

SPACE_TEST(FusedKernels, WithTags) {
  Gated gated(make_fuse_immediately(2));
  std::vector<V> views;
  for (int k = 0; k < 2; ++k) {
    views.emplace_back("x", 8);
    parallel_for("tagged",
                 ResourcePolicy(gated.graph, Kokkos::RangePolicy<Space, Double>(0, 8),
                                gated.behind(), fusable, write(views.back())),
                 Tagged{views.back()});
  }
  gated.form_and_wait();
  EXPECT_THAT(gated.observed->formed(), Contains(2u));
  for (V const& x : views) {
    auto const values = values_of(x);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], 2 * i);
  }
}

SPACE_TEST(FusedKernels, WithTheValuesOfFutures) {
  Gated gated(make_fuse_immediately(3));
  std::vector<V> views;
  for (int k = 0; k < 3; ++k) {
    views.emplace_back("x", 8);
    auto const later =
        host_task("value", ResourcePolicy(gated.graph, gated.behind()), [k] { return 10.0 + k; });
    parallel_for("add", ResourcePolicy(gated.graph, Range(0, 8), fusable, value(later)),
                 Add{views.back()});
  }
  gated.form_and_wait();
  EXPECT_THAT(gated.observed->formed(), Contains(3u));
  for (int k = 0; k < 3; ++k) {
    auto const values = values_of(views[static_cast<std::size_t>(k)]);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i + 10.0 + k);
  }
}

#ifdef KOKKOS_HAS_SHARED_SPACE
using Both = Kokkos::View<double*, Kokkos::SharedSpace>;
struct FillBoth {
  Both x;
  double add;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = 2 * x(i) + i + add; }
};

/// On a space of the host that is what `fusable` is.
SPACE_TEST(FusedKernels, OfTasksOfTheHostThatGoToThisSpace) {
  Gated gated(make_round_robin(2, 1));
  std::vector<Both> views;
  for (int k = 0; k < 4; ++k) {
    views.emplace_back("x", 8);
    parallel_for(
        "fill",
        ResourcePolicy(gated.graph, Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(1, 8),
                       gated.behind(), experimental::fusable_on<Space>, read_write(views.back())),
        FillBoth{views.back(), 1.0 + k});
  }
  gated.form_and_wait(2);
  for (int k = 0; k < 4; ++k)
    for (int i = 1; i < 8; ++i) ASSERT_EQ(views[static_cast<std::size_t>(k)](i), i + 1 + k);
}
#endif

SPACE_TEST(FusedKernels, InPlans) {
  auto const observed = std::make_shared<Test::Observed>(make_fuse_immediately(5));
  TaskGraphOptions options;
  options.workers = 2;
  options.orchestration = observed;
  TaskGraph graph(options);
  std::vector<V> views;
  for (int k = 0; k < 5; ++k) views.emplace_back("x", 4);
  Plan const plan = graph.record("plan", [&] {
    for (V const& x : views)
      parallel_for("fill", ResourcePolicy(graph, Range(0, 4), fusable, read_write(x)),
                   Fill{x, 1.0});
  });
  graph.replay(plan, 3);
  graph.replay(plan);
  graph.wait();
  for (V const& x : views) {
    auto const values = values_of(x);
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(values[static_cast<std::size_t>(i)], 15 * (i + 1)) << "1 + 2 + 4 + 8 rounds";
  }
}

}  // namespace
}  // namespace trellis
