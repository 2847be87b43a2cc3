// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What users write: children, demotion, refinement, states and groups with Views.
#include "Timing.hpp"

#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Scheduling.hpp>
#include <Trellis_States.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;

class Scopes : public Timed {};
class Resources : public Timed {};

using View = Kokkos::View<double*, Kokkos::HostSpace>;
using HostSpace = Kokkos::DefaultHostExecutionSpace;
using Range = Kokkos::RangePolicy<HostSpace>;

std::vector<std::pair<std::string, std::string>> pairs_of(Graph const& graph) {
  std::vector<std::pair<std::string, std::string>> names;
  for (EdgeRecord const& edge : graph.edges())
    names.emplace_back(graph.node(edge.from).label, graph.node(edge.to).label);
  return names;
}

TaskGraphOptions recording() {
  TaskGraphOptions options;
  options.workers = 2;
  options.record = true;
  return options;
}

TEST_F(Scopes, AreDemotedFromOutsideThroughTheirGraph) {
  TaskGraph graph(recording());
  View const x("x", 8), y("y", 8), hold("hold", 1);
  std::vector<View> const both = {y, y};  // naming it twice is no error
  Gate end;
  host_task("holder", ResourcePolicy(graph, read_write(hold)), [&] { EXPECT_TRUE(end.pass()); });
  Future<int> const task = host_task(
      "task", ResourcePolicy(graph, read(hold), read_write(x), read_write(y)), [] { return 7; });
  Future<void> const reader = host_task("reader", ResourcePolicy(graph, read(x)), [] {});
  Future<void> const writer = host_task("writer", ResourcePolicy(graph, read_write(y)), [] {});
  EXPECT_TRUE(graph.demote(task, read(x)));
  EXPECT_TRUE(graph.release(task, both));
  while (!reader.is_done() || !writer.is_done()) std::this_thread::yield();
  EXPECT_FALSE(task.is_done());
  EXPECT_EQ(error_of([&] { graph.demote(task, write(x)); }).kind(), Error::Kind::bad_access);
  end.open();
  EXPECT_EQ(task.get(), 7);
  EXPECT_FALSE(graph.release(task, x));
  graph.wait();
}

TEST_F(Scopes, ShrinkToTheirChildren) {
  TaskGraph graph(recording());
  View const x("x", 8);
  auto const half = [&](int k) { return Kokkos::subview(x, std::pair(4 * k, 4 * k + 4)); };
  auto const left = half(0), right = half(1);
  Gate end;
  host_task("parent", ResourcePolicy(graph, read_write(x)), [&](TaskScope& self) {
    host_task("child", ResourcePolicy(self, read_write(left)), [&] { EXPECT_TRUE(end.pass()); });
    self.shrink_to_children();
  });
  Future<void> const free = host_task("free", ResourcePolicy(graph, read_write(right)), [] {});
  Future<void> const bound = host_task("bound", ResourcePolicy(graph, read_write(left)), [] {});
  while (!free.is_done()) std::this_thread::yield();
  EXPECT_FALSE(bound.is_done());
  end.open();
  graph.wait();
}

/// Sorts by splitting into halves, to any depth, and merging.
void merge_sort(TaskScope& self, View const& values) {
  std::size_t const n = values.extent(0);
  if (n <= 16) {
    std::sort(values.data(), values.data() + n);
    return;
  }
  auto const left = Kokkos::subview(values, std::pair<std::size_t, std::size_t>(0, n / 2));
  auto const right = Kokkos::subview(values, std::pair<std::size_t, std::size_t>(n / 2, n));
  host_task("left", ResourcePolicy(self, read_write(left)),
            [left](TaskScope& child) { merge_sort(child, left); });
  host_task("right", ResourcePolicy(self, read_write(right)),
            [right](TaskScope& child) { merge_sort(child, right); });
  host_task("merge", ResourcePolicy(self, read_write(values)),
            [=] { std::inplace_merge(values.data(), values.data() + n / 2, values.data() + n); });
}

TEST_F(Scopes, SortByHalves) {
  std::size_t const n = 3000;
  View values("values", n);
  for (std::size_t i = 0; i < n; ++i) values(i) = static_cast<double>((i * 7919) % 3001);
  TaskGraph graph;
  host_task("sort", ResourcePolicy(graph, read_write(values)),
            [=](TaskScope& self) { merge_sort(self, values); });
  Future<bool> const sorted = host_task("check", ResourcePolicy(graph, read(values)), [=] {
    return std::is_sorted(values.data(), values.data() + n);
  });
  EXPECT_TRUE(sorted.get());
}

TEST_F(Scopes, AllPatternsAreChildrenAndTheViewsFollowTheScope) {
  int const n = 100;
  View x("x", n);
  TaskGraph graph(recording());
  Future<double> const result = host_task(
      "parent", ResourcePolicy(graph, read_write(x)), [=](TaskScope& self, View const& own) {
        EXPECT_EQ(own.data(), x.data());
        View const scratch = self.local(View("scratch", n));
        parallel_for(
            "fill", ResourcePolicy(self, Range(0, n), write(own)),
            KOKKOS_LAMBDA(int i) { own(i) = i; });
        trellis::deep_copy(self, scratch, own);
        parallel_scan(
            "scan", ResourcePolicy(self, Range(0, n), read(own), write(scratch)),
            KOKKOS_LAMBDA(int i, double& sum, bool last) {
              sum += own(i);
              if (last) scratch(i) = sum;
            });
        auto const sum = parallel_reduce(
            "sum", ResourcePolicy(self, Range(0, n), read(scratch)),
            KOKKOS_LAMBDA(int i, double& s) { s += scratch(i); });
        space_task("space", ResourcePolicy(self, read(own), on<HostSpace>),
                   [](HostSpace const&) {});
        return sum.get();
      });
  double expected = 0;
  for (int i = 0; i < n; ++i) expected += i * (i + 1) / 2.0;
  EXPECT_EQ(result.get(), expected);
  EXPECT_EQ(graph.dependency_graph().children(result.id()).size(), 5U);
}

TEST_F(Scopes, DemoteToSubviewsAndModes) {
  View x("x", 10);
  View y("y", 10);
  auto const left = Kokkos::subview(x, std::pair(0, 5));
  auto const right = Kokkos::subview(x, std::pair(5, 10));
  TaskGraph graph(recording());
  Gate early;
  host_task("demoter", ResourcePolicy(graph, read_write(x), write(y)),
            [=, &early](TaskScope& self) {
              self.demote(write(left), read(right));
              Error const error = error_of([&] { self.demote(write(right)); });
              EXPECT_EQ(error.kind(), Error::Kind::bad_access);
              EXPECT_THAT(error.what(), AllOf(HasSubstr("\"demoter\""), HasSubstr("promotion")));
              self.release(y);
              EXPECT_THAT(error_of([&] { self.release(y); }).what(), HasSubstr("twice"));
              EXPECT_TRUE(early.pass());
              self.demote(none(left));
            });
  host_task("late", ResourcePolicy(graph, write(left)), [] {});
  host_task("early", ResourcePolicy(graph, read(right), write(y)), [&] { early.open(); });
  graph.wait();
  int released = 0;
  for (EdgeRecord const& edge : graph.dependency_graph().edges()) released += edge.released;
  EXPECT_EQ(released, 2);
}

/// Also where what is asked for has fewer dimensions, and its own strides.
TEST_F(Scopes, ErrorsSayAreasInIndicesOfTheView) {
  using Plane = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  Plane const plane("plane", 10, 8);
  View const line("line", 10);
  auto const box = [&](int row, int column) {
    return Kokkos::subview(plane, std::pair(row, row + 4), std::pair(column, column + 3));
  };
  auto const mine = box(2, 1), beside = box(4, 2);
  auto const row = Kokkos::subview(plane, 3, Kokkos::ALL);
  auto const end = Kokkos::subview(line, std::pair(5, 10));
  TaskGraph graph(recording());
  std::string const has = "read_write \"plane\" [2, 6) x [1, 4), write \"line\" [5, 10)]";
  host_task("parent", ResourcePolicy(graph, read_write(mine), write(end)), [&](TaskScope& self) {
    auto const refused = [&](auto const& asks) {
      return std::string(error_of([&] {
                           host_task("child", ResourcePolicy(self, asks),
                                     [] { ADD_FAILURE() << "it ran"; });
                         }).what());
    };
    EXPECT_THAT(
        refused(read(beside)),
        AllOf(HasSubstr(has), HasSubstr("asks for read \"plane\" [4, 8) x [2, 5), an area")));
    EXPECT_THAT(refused(read(row)), HasSubstr("asks for read \"plane\" [3, 4) x [0, 8), an area"));
    EXPECT_THAT(refused(read(plane)), HasSubstr("asks for read \"plane\", an area"));
    EXPECT_THAT(refused(read(line)), HasSubstr("asks for read \"line\", an area"));
    EXPECT_THAT(
        error_of([&] { self.demote(read(row)); }).what(),
        AllOf(HasSubstr(has), HasSubstr("cannot go on with read \"plane\" [3, 4) x [0, 8): ")));
    EXPECT_THAT(error_of([&] { self.release(Kokkos::subview(line, std::pair(6, 8))); }).what(),
                HasSubstr("cannot release \"line\" [6, 8): that is a part"));
  });
  host_task("fails", ResourcePolicy(graph, read(beside)), [] { throw std::runtime_error("boom"); });
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(),
              AllOf(HasSubstr("[host_task; read \"plane\" [4, 8) x [2, 5)]"), HasSubstr("boom")));
}

TEST_F(Scopes, APendingParallelForIsRefined) {
  View x("x", 8);
  TaskGraph graph(recording());
  Gate gate;
  host_task("before", ResourcePolicy(graph, write(x)), [&] { gate.pass(); });
  Future<void> const fill = parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 8), write(x)),
      KOKKOS_LAMBDA(int) { Kokkos::abort("it ran"); });
  EXPECT_TRUE(refine(fill, [=](TaskScope& self) {
    for (int first : {0, 4}) {
      auto const half = Kokkos::subview(x, std::pair(first, first + 4));
      parallel_for(
          "half", ResourcePolicy(self, Range(0, 4), write(half)),
          KOKKOS_LAMBDA(int i) { half(i) = first + i; });
    }
  }));
  gate.open();
  graph.wait();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(x(i), i);
  EXPECT_FALSE(refine(fill, [](TaskScope&) {}));
}

TEST_F(Resources, PartsOfATokenAreIndependentAndConflictWithTheWhole) {
  Token const buffer("buffer", 2);
  EXPECT_EQ(buffer.parts(), 2U);
  TaskGraph graph(recording());
  auto const use = [&](char const* name, auto access) {
    host_task(name, ResourcePolicy(graph, access), [] {});
  };
  use("a", write(buffer.part(0)));
  use("b", write(buffer.part(1)));
  use("c", read(buffer));
  use("d", write(buffer.part(1)));
  use("e", read(buffer.part(0)));
  graph.wait();
  EXPECT_THAT(
      pairs_of(graph.dependency_graph()),
      testing::UnorderedElementsAre(std::pair("a", "c"), std::pair("b", "c"), std::pair("b", "d"),
                                    std::pair("c", "d"), std::pair("a", "e")));
  EXPECT_EQ(graph.dependency_graph().node(1).accesses.front().resource, "buffer");
  EXPECT_THAT(error_of([&] { (void)buffer.part(2); }).what(),
              AllOf(HasSubstr("\"buffer\""), HasSubstr("2 parts")));
  EXPECT_THROW(Token("nothing", 0), Error);
  EXPECT_EQ(buffer.part(1).part(0), buffer.part(1));
  EXPECT_EQ(Token("t", 5).part(1, 4).parts(), 3U);
}

TEST_F(Resources, AGroupIsOneResourceWhoseMembersAreItsParts) {
  View front("front", 4);
  View back("back", 4);
  Token const file("file");
  TaskGraph graph(recording());
  host_task("a", ResourcePolicy(graph, write(front)), [] {});
  host_task("b", ResourcePolicy(graph, write(back)), [] {});
  Future<double> const sum =
      host_task("both", ResourcePolicy(graph, read(group(front, group(back, file)))),
                [](View::const_type const& f, View::const_type const& b) {
                  return static_cast<double>(f.extent(0) + b.extent(0));
                });
  host_task("c", ResourcePolicy(graph, write(file)), [] {});
  EXPECT_EQ(sum.get(), 8);
  graph.wait();
  EXPECT_THAT(pairs_of(graph.dependency_graph()),
              testing::UnorderedElementsAre(std::pair("a", "both"), std::pair("b", "both"),
                                            std::pair("both", "c")));
}

TEST_F(Resources, StatesOfTheUsersOwnOnViewsAndTokens) {
  using Where = AreaAccess<int, 2>;
  using Field = CombinedAccess<MatrixAccess<IOMatrix>, Where>;
  Token const field("field");
  View x("x", 4);
  TaskGraph graph(recording());
  auto const box = [](int x0, int x1, int y0, int y1) { return Where({{{x0, x1}, {y0, y1}}}); };
  host_task("a", ResourcePolicy(graph, access(field, Field(Mode::write, box(0, 1, 0, 9)))), [] {});
  host_task("b",
            ResourcePolicy(graph, access(field, Field(Mode::write, box(2, 3, 0, 9))),
                           access(x, Mode::write)),
            [](View const& given) { given(0) = 3; });
  host_task("c", ResourcePolicy(graph, access(field, Field(Mode::read, box(1, 2, 4, 4)))), [] {});
  Future<double> const value =
      host_task("d", ResourcePolicy(graph, access(x, MatrixAccess<IOMatrix>(Mode::read))),
                [](View const& given) { return given(0); });
  EXPECT_EQ(value.get(), 3);
  graph.wait();
  EXPECT_THAT(
      pairs_of(graph.dependency_graph()),
      testing::UnorderedElementsAre(std::pair("a", "c"), std::pair("b", "c"), std::pair("b", "d")));
  EXPECT_THAT(graph.dependency_graph().node(1).accesses.front().mode, HasSubstr("write"));
}

TEST_F(Resources, TagsArePropertiesLikeAnyOther) {
  struct Disk {
    bool used = false;
    bool operator==(Disk const&) const = default;
  };
  View x("x", 4);
  TaskGraph graph(recording());
  graph.add_rule<Disk>("one at a time", Constraint::ordered,
                       [](Disk const& a, Disk const& b) { return a.used && b.used; });
  for (int k = 0; k < 3; ++k)
    parallel_for("t" + std::to_string(k),
                 ResourcePolicy(graph, Range(0, 4), tag(Disk{k != 1}), priority(k)),
                 KOKKOS_LAMBDA(int){});
  graph.wait();
  EXPECT_THAT(pairs_of(graph.scheduling_graph()), testing::ElementsAre(std::pair("t0", "t2")));
}

TEST_F(Resources, TheEnvironmentAsksForALog) {
  std::string const path = testing::TempDir() + "trellis_states.log";
  Environment const log("TRELLIS_LOG", path.c_str());
  try {
    for (char const* name : {"logged", "logged later"}) {
      TaskGraph graph;
      TaskGraph beside;
      host_task(name, ResourcePolicy(graph), [] {});
      host_task("beside", ResourcePolicy(beside), [] {});
    }
  } catch (Error const& error) {
    GTEST_SKIP() << error.what();  // built without spdlog
  }
  std::ifstream file(path);
  std::string const text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (char const* state : {"pending", "ready", "running", "done"})
    EXPECT_THAT(text, HasSubstr(state));
  for (char const* name : {"\"logged\"", "\"logged later\"", "\"beside\""})
    EXPECT_THAT(text, HasSubstr(name));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 * 2 * 4);
}

}  // namespace
}  // namespace trellis
