// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks without a label are called by the file and line where their policy was made.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {
namespace no_label {

using Test::value_of;
using testing::HasSubstr;

std::string here(std::source_location site = std::source_location::current()) {
  return "TestNoLabel.cpp:" + std::to_string(site.line());
}

struct Add {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += i; }
};
struct Sum {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, int& sum) const { sum += x(i); }
};
struct Scan {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, int& sum, bool) const { sum += x(i); }
};

SPACE_TEST(NoLabel, TheCallSiteIsTheLabel) {
  View<int*> const x("x", 10);
  View<int> const a("a"), b("b");
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  std::vector<std::string> sites;
  auto const note = [&](std::source_location site = std::source_location::current()) {
    sites.push_back(here(site));
  };
  Range const all(0, 10);
  auto const by_sum = reduced<Kokkos::Sum<int>>;
  auto const seventh = [](Space const&) { return 7; };
  // One line each.
  // clang-format off
  note(); parallel_for(ResourcePolicy(graph, Range(0, 10), read_write(x)), Add{x});
  note(); auto const sum = parallel_reduce(ResourcePolicy(graph, all, read(x)), Sum{x});
  note(); auto const most = parallel_reduce(ResourcePolicy(graph, all, read(x)), Sum{x}, by_sum);
  note(); parallel_reduce(ResourcePolicy(graph, Range(0, 10), read(x)), Sum{x}, a);
  note(); auto const total = parallel_scan(ResourcePolicy(graph, all, read(x)), Scan{x});
  note(); parallel_scan(ResourcePolicy(graph, Range(0, 10), read(x)), Scan{x}, b);
  note(); auto const answer = host_task(ResourcePolicy(graph), [] { return 42; });
  note(); auto const seven = space_task(ResourcePolicy(graph, on<Space>), seventh);
  // clang-format on
  graph.wait();
  EXPECT_EQ(sum.get(), 45);
  EXPECT_EQ(most.get(), 45);
  EXPECT_EQ(total.get(), 45);
  EXPECT_EQ(value_of(a), 45);
  EXPECT_EQ(value_of(b), 45);
  EXPECT_EQ(answer.get(), 42);
  EXPECT_EQ(seven.get(), 7);
  DependencyGraph const nodes = graph.dependency_graph();
  for (TaskId id = 1; id <= sites.size(); ++id)
    EXPECT_EQ(nodes.node(id).label, sites[static_cast<std::size_t>(id - 1)]);
}

SPACE_TEST(NoLabel, AFailureNamesThePlace) {
  TaskGraph graph;
  auto const fails = [] { throw std::runtime_error("no"); };
  // clang-format off
  std::string const site = here(); host_task(ResourcePolicy(graph), fails);
  // clang-format on
  Error const error = Test::error_of([&] { graph.wait(); });
  EXPECT_THAT(error.what(), HasSubstr("\"" + site + "\""));
  std::string const of_range = here();
  Error const negative = Test::error_of(
      [&] { parallel_for(ResourcePolicy(graph, -1, on<Space>), Add{View<int*>()}); });
  EXPECT_THAT(negative.what(), HasSubstr("TestNoLabel.cpp:"));
  EXPECT_THAT(negative.what(), HasSubstr("negative range -1"));
}

SPACE_TEST(NoLabel, InEveryWay) {
  View<int*> const x("x", 10);
  Test::in_every_way(
      [&](auto& target) {
        trellis::deep_copy(target, x, 1);
        parallel_for(ResourcePolicy(target, Range(0, 10), read_write(x)), Add{x});
        return parallel_reduce(ResourcePolicy(target, Range(0, 10), read(x)), Sum{x});
      },
      [&](Future<int> const& sum) { EXPECT_EQ(sum.get(), 55); }, x);
}

/// A loop whose tasks have no labels is alike from iteration to iteration.
SPACE_TEST(NoLabel, IterationsOfALoopAreAlike) {
  View<int*> const x("x", 10), y("y", 10);
  TaskGraph graph;
  IterateReport const report = graph.iterate("loop", 6, [&](std::uint64_t) {
    parallel_for(ResourcePolicy(graph, Range(0, 10), read_write(x)), Add{x});
    parallel_for(ResourcePolicy(graph, Range(0, 10), read_write(y)), Add{y});
  });
  graph.wait();
  EXPECT_EQ(report.recorded, 1u);
  EXPECT_EQ(report.replayed, 5u);
}

/// The text of a place is made once and kept, whichever thread asks.
SPACE_TEST(NoLabel, TheTextOfAPlaceIsKept) {
  std::source_location const site = std::source_location::current();
  Label const label = Label::of(site);
  EXPECT_EQ(label.view(), "TestNoLabel.cpp:" + std::to_string(site.line()));
  EXPECT_EQ(label.site().line(), site.line());
  EXPECT_EQ(Label(label).view().data(), label.view().data()) << "a copy copies no text";
  std::vector<std::thread> threads;
  std::vector<char const*> texts(8);
  for (char const*& text : texts)
    threads.emplace_back([&text, site] { text = Label::of(site).view().data(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(texts, testing::Each(label.view().data()));
}

/// A thread remembers the texts of some places. These two would be in one slot.
SPACE_TEST(NoLabel, PlacesAreNotMistakenForOthers) {
  auto const places = [] {
    std::source_location sites[2];
#line 1000
    sites[0] = std::source_location::current();
#line 1032
    sites[1] = std::source_location::current();
    return std::pair(sites[0], sites[1]);
  }();
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(Label::of(places.first).view(), "TestNoLabel.cpp:1000");
    EXPECT_EQ(Label::of(places.second).view(), "TestNoLabel.cpp:1032");
  }
}

}  // namespace no_label
}  // namespace
}  // namespace trellis
