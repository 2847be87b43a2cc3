// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types of the user's as resources, index spaces, and memory of the host.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Resources.hpp>
#include <Trellis_States.hpp>

#include "SpaceTest.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>
#if __has_include(<mdspan/mdspan.hpp>)
#include <mdspan/mdspan.hpp>  // Kokkos' own, in place of the standard's
#define TRELLIS_TEST_HAS_MDSPAN
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis_user {

using V = Kokkos::View<double*, Kokkos::HostSpace>;

/// Two arrays: the values, which change, and the cells, which are only read.
struct Mesh {
  V values;
  V cells;
};

/// As many arrays as there are.
struct Forest {
  std::vector<Mesh> trees;
};

/// What an annotation means depends on what it says.
struct Ledger {
  trellis::Token book{"book"};
  trellis::Token index{"index"};
};

/// Tells when tasks use it.
struct Watched {
  V values;
  std::vector<std::string>* log;
};

}  // namespace trellis_user

template <>
struct trellis::ResourceTraits<trellis_user::Mesh> {
  static auto accesses(trellis_user::Mesh const& mesh, auto how) {
    return std::tuple(access(mesh.values, how), read(mesh.cells));
  }
};
template <>
struct trellis::ResourceTraits<trellis_user::Forest> {
  static AccessList accesses(trellis_user::Forest const& forest, auto how) {
    AccessList all;
    for (auto const& tree : forest.trees) all.add(access(tree, how));
    return all;
  }
  static std::size_t argument(trellis_user::Forest const& forest, auto) {
    return forest.trees.size();
  }
};
template <>
struct trellis::ResourceTraits<trellis_user::Ledger> {
  template <class How>
  static auto accesses(trellis_user::Ledger const& ledger, How how) {
    if constexpr (std::is_same_v<How, std::integral_constant<Mode, Mode::read>>) {
      static_assert(how == Mode::read);
      return read(ledger.book);
    } else {
      return access(group(ledger.book, ledger.index), how);
    }
  }
};
template <>
struct trellis::ResourceTraits<trellis_user::Watched> {
  static auto accesses(trellis_user::Watched const& watched, auto how) {
    return access(watched.values, how);
  }
  template <class Space>
  static void prepare(trellis_user::Watched const& watched, auto, On<Space>, auto target) {
    watched.log->push_back("prepare");
    host_task("prepared", ResourcePolicy(target, write(watched.values)),
              [v = watched.values] { v(0) += 1; });
  }
  template <class Space>
  static void submitted(trellis_user::Watched const& watched, auto, On<Space>) {
    watched.log->push_back("submitted");
  }
};

namespace trellis {
namespace {
struct WithMemory;
}
template <>
struct ResourceTraits<WithMemory> {
  template <class T>
  static auto accesses(T const& object, auto how) {
    return access(object.memory, how);
  }
};
namespace {

using namespace trellis_user;
using Test::with_workers;
using testing::ElementsAre;
using testing::HasSubstr;

TaskGraphOptions recording() {
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  return options;
}
/// "write values", "read cells", ... of a task.
std::vector<std::string> accesses_of(TaskGraph& graph, TaskId id) {
  graph.wait();
  DependencyGraph const tasks = graph.dependency_graph();
  std::vector<std::string> all;
  for (AccessRecord const& each : tasks.node(id).accesses)
    all.push_back(each.mode + ' ' + each.resource);
  return all;
}
Mesh mesh(std::string const& name = "") {
  return {V(name + "values", 4), V(name + "cells", 4)};
}

SPACE_TEST(Resources, StandForTheAccessesOfTheirPieces) {
  TaskGraph graph(recording());
  Mesh const m = mesh();
  Mesh const b = mesh("b ");
  Ledger const ledger;
  auto const nothing = [] {};
  host_task("1", ResourcePolicy(graph, read(m)), nothing);
  host_task("2", ResourcePolicy(graph, read_write(m)), nothing);
  host_task("3", ResourcePolicy(graph, access(m, Mode::exclusive)), nothing);
  host_task("4", ResourcePolicy(graph, read(ledger), priority(2)), nothing);
  host_task("5", ResourcePolicy(graph, write(ledger)), nothing);
  host_task("6", ResourcePolicy(graph, read(group(m, ledger))), nothing);
  host_task("7", ResourcePolicy(graph, write(Forest{{m, b}})), nothing);
  host_task("8", ResourcePolicy(graph, write(std::vector{b, m})), nothing);
  host_task("9", ResourcePolicy(graph, write(std::vector{Forest{{b}}, Forest{{m}}})), nothing);
  host_task("10", ResourcePolicy(graph, AccessList().write(m).add(read(ledger))), nothing);
  EXPECT_THAT(accesses_of(graph, 1), ElementsAre("read values", "read cells"));
  EXPECT_THAT(accesses_of(graph, 2), ElementsAre("read_write values", "read cells"));
  EXPECT_THAT(accesses_of(graph, 3), ElementsAre("exclusive values", "read cells"));
  EXPECT_THAT(accesses_of(graph, 4), ElementsAre("read book"));
  EXPECT_THAT(accesses_of(graph, 5), ElementsAre("write book", "write index"));
  EXPECT_THAT(accesses_of(graph, 6), ElementsAre("read values", "read cells", "read book"));
  EXPECT_THAT(accesses_of(graph, 7),
              ElementsAre("write values", "read cells", "write b values", "read b cells"));
  EXPECT_THAT(accesses_of(graph, 8),
              ElementsAre("write b values", "read b cells", "write values", "read cells"));
  EXPECT_THAT(accesses_of(graph, 9),
              ElementsAre("write b values", "read b cells", "write values", "read cells"));
  EXPECT_THAT(accesses_of(graph, 10), ElementsAre("write values", "read cells", "read book"));
  // Whatever the traits say, `none` is none of them.
  host_task("11", ResourcePolicy(graph, none(m), none(Forest{{m}}), none(std::vector{m})), nothing);
  EXPECT_THAT(accesses_of(graph, 11), ElementsAre());
}

SPACE_TEST(Resources, GiveFunctorsTheirViewsOrWhatTheTraitsSay) {
  TaskGraph graph(with_workers(2));
  Mesh const m = mesh();
  V const twice("twice", 4);
  parallel_for(
      "fill", ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, 4), write(m)),
      KOKKOS_LAMBDA(int i, V const& values, read_view<V> const&) { values(i) = i; });
  parallel_for(
      "copy", ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, 4), read(m), write(twice)),
      KOKKOS_LAMBDA(int i, read_view<V> const& values, read_view<V> const&, V const& out) {
        out(i) = 2 * values(i);
      });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, 4), read(group(twice, m))),
      KOKKOS_LAMBDA(int i, read_view<V> const& out, read_view<V> const& values, read_view<V> const&,
                    double& to) { to += out(i) + values(i); });
  EXPECT_EQ(sum.get(), 18);
  auto const count = host_task("count", ResourcePolicy(graph, read(Forest{{m, m, m}})),
                               [](std::size_t trees) { return trees; });
  EXPECT_EQ(count.get(), 3);
  // Those of ranges are as many as there are: a functor gets none.
  auto const none_of_them =
      host_task("ranges", ResourcePolicy(graph, read(std::vector{m}), read(twice)),
                [](read_view<V> const& view) { return view.data(); });
  EXPECT_EQ(none_of_them.get(), twice.data());
}

SPACE_TEST(Resources, KeepWhatTheyStandForInOrder) {
  for (bool const serial : {false, true}) {
    TaskGraphOptions options = with_workers(4);
    options.serial = serial;
    TaskGraph graph(options);
    std::vector<Mesh> meshes;
    for (int k = 0; k < 6; ++k) meshes.push_back(mesh());
    std::vector<double> expected(6, 0);
    for (int step = 0; step < 50; ++step) {
      int const a = step % 6;
      int const b = (5 * step + 1) % 6;
      host_task("one", ResourcePolicy(graph, read_write(meshes[a])),
                [v = meshes[a].values, step] { v(0) = 2 * v(0) + step; });
      expected[a] = 2 * expected[a] + step;
      expected[a] = static_cast<double>(static_cast<long>(expected[a]) % 1000);
      host_task("cut", ResourcePolicy(graph, write(meshes[a])),
                [v = meshes[a].values] { v(0) = static_cast<double>(long(v(0)) % 1000); });
      host_task("all", ResourcePolicy(graph, write(meshes)), [all = meshes] {
        for (Mesh const& each : all) each.values(0) += 1;
      });
      for (double& each : expected) each += 1;
      if (a == b) continue;
      host_task("two", ResourcePolicy(graph, read(meshes[a]), read_write(meshes[b])),
                [from = meshes[a].values, to = meshes[b].values] { to(0) += from(0); });
      expected[b] += expected[a];
    }
    graph.wait();
    for (int k = 0; k < 6; ++k) EXPECT_EQ(meshes[k].values(0), expected[k]) << k;
  }
}

SPACE_TEST(Resources, MayDoSomethingWhenTheyAreUsed) {
  std::vector<std::string> log;
  Watched const watched{V("watched", 1), &log};
  {
    TaskGraph graph(recording());
    host_task("look", ResourcePolicy(graph, read(watched)), [] {});
    EXPECT_THAT(log, ElementsAre("prepare", "submitted"));
    host_task("look at all", ResourcePolicy(graph, read(std::array{watched, watched})), [] {});
    EXPECT_EQ(log.size(), 6);
    EXPECT_THROW(
        host_task("wrong", ResourcePolicy(graph, read(watched), after(Future<void>())), [] {}),
        Error);
    EXPECT_THAT(log.back(), "prepare");
    graph.wait();
    EXPECT_EQ(graph.dependency_graph().find("prepared").size(), 4);
    EXPECT_EQ(watched.values(0), 4);
  }
  // Children of a task prepare among themselves.
  TaskGraph graph(with_workers(2));
  host_task("parent", ResourcePolicy(graph, write(watched.values)), [=](TaskScope& self) {
    host_task("child", ResourcePolicy(self, read(watched)), [] {});
  });
  graph.wait();
  EXPECT_EQ(watched.values(0), 5);
}

SPACE_TEST(Resources, CanBeGivenUpAndAreFreeToChildren) {
  TaskGraph graph(recording());
  Mesh const m = mesh();
  host_task("parent", ResourcePolicy(graph, read_write(m)), [=](TaskScope& self) {
    Mesh const own = self.local(mesh("own "));
    host_task("of own", ResourcePolicy(self, write(own)), [] {});
    host_task("child", ResourcePolicy(self, write(m)), [] {});
    self.wait();
    self.demote(read(m));
    self.release(m);
  });
  graph.wait();
  DependencyGraph const tasks = graph.dependency_graph();
  TaskRecord const& node = tasks.node(tasks.find("parent").at(0));
  ASSERT_EQ(node.demotions.size(), 2);
  for (int k = 0; k < 2; ++k) {
    ASSERT_EQ(node.demotions[k].accesses.size(), 2);
    for (AccessRecord const& each : node.demotions[k].accesses)
      EXPECT_EQ(each.mode, k == 0 ? "read" : "none") << each.resource;
  }
}

SPACE_TEST(Resources, AreRecordedAndReplayed) {
  TaskGraph graph(with_workers(2));
  Mesh const a = mesh();
  Mesh const b = mesh();
  std::vector<double> history(64);
  std::vector<std::size_t> used(1);
  Plan const plan = graph.record([&] {
    host_task("step", ResourcePolicy(graph, read_write(a)),
              [](V const& v, read_view<V> const&) { v(0) += 1; });
    host_task("exchange", ResourcePolicy(graph, read(a), write(b)),
              [](auto const& from, auto const&, V const& to, auto const&) { to(0) = from(0); });
    host_task("note", ResourcePolicy(graph, read(b), write(history), read_write(used)),
              [](auto const& from, auto const&, std::span<double> notes,
                 std::span<std::size_t> count) { notes[count[0]++] = from(0); });
  });
  graph.replay(plan, 60);
  graph.wait();
  EXPECT_EQ(used[0], 60);
  for (int k = 0; k < 60; ++k) EXPECT_EQ(history[k], k + 1);
}

SPACE_TEST(ResourceIds, TellEqualLabelsApart) {
  TaskGraph graph(recording());
  V const x("x", 4);
  V const same_label("x", 4);
  V const y("y", 4);
  host_task(
      "1", ResourcePolicy(graph, write(x), write(same_label), write(y)), [=](TaskScope& self) {
        host_task("child", ResourcePolicy(self, write(same_label)), [=] { same_label(0) = 1; });
      });
  host_task("2", ResourcePolicy(graph, read(Kokkos::subview(same_label, std::pair(0, 2)))),
            [=] { (void)x(0); });
  graph.wait();
  DependencyGraph const tasks = graph.dependency_graph();
  auto const accesses = [&](char const* label) {
    return tasks.node(tasks.find(label).at(0)).accesses;
  };
  EXPECT_EQ(accesses("1")[0].resource_id, 1);
  EXPECT_EQ(accesses("1")[1].resource_id, 2);
  EXPECT_EQ(accesses("1")[2].resource_id, 3);
  EXPECT_TRUE(accesses("1")[1].label_is_shared);
  EXPECT_FALSE(accesses("1")[2].label_is_shared);
  EXPECT_EQ(accesses("child")[0].resource_id, 2);
  EXPECT_EQ(accesses("2")[0].resource_id, 2);
  std::ostringstream dot;
  tasks.write_dot(dot);
  EXPECT_THAT(dot.str(), HasSubstr("write x #1 whole\\lwrite x #2 whole\\lwrite y whole"));
  EXPECT_THAT(dot.str(), HasSubstr("read x #2 [0, 2)"));
  std::ostringstream json;
  graph.trace().write_chrome_json(json);
  EXPECT_THAT(json.str(), HasSubstr("read x #2 [0, 2)"));
}

SPACE_TEST(ResourceIds, AreThoseOfWhatGrowsTogether) {
  TaskGraph graph(recording());
  std::vector<double> data(100);
  auto const part = [&](std::size_t first, std::size_t count) {
    return named("data", std::span(data).subspan(first, count));
  };
  auto const nothing = [] {};
  host_task("left", ResourcePolicy(graph, write(part(0, 10))), nothing);
  host_task("right", ResourcePolicy(graph, write(part(50, 10))), nothing);
  auto const ids = [&] {
    graph.wait();
    std::vector<std::uint64_t> all;
    for (TaskRecord const& each : graph.dependency_graph().nodes())
      all.push_back(each.accesses[0].resource_id);
    return all;
  };
  EXPECT_THAT(ids(), ElementsAre(1, 2));
  host_task("all", ResourcePolicy(graph, write(part(0, 100))), nothing);
  host_task("right", ResourcePolicy(graph, write(part(50, 10))), nothing);
  EXPECT_THAT(ids(), ElementsAre(1, 1, 1, 1));
}

/// Memory that is used again, first as seen by its owner alone.
SPACE_TEST(ResourceIds, AreThoseOfALabelAtItsAddresses) {
  TaskGraph graph(recording());
  std::vector<double> memory(100);
  auto const use = [&](std::string const& label, std::size_t count) {
    host_task("use", ResourcePolicy(graph, write(named(label, std::span(memory).first(count)))),
              [] {});
    graph.wait();
  };
  use("x", 100);
  use("x", 60);  // freed and made anew, and smaller, as far as anybody knows
  use("y", 100);
  use("y", 100);
  use("x", 100);
  auto const nodes = graph.dependency_graph().nodes();
  std::vector<std::uint64_t> ids;
  for (TaskRecord const& each : nodes) ids.push_back(each.accesses[0].resource_id);
  EXPECT_THAT(ids, ElementsAre(1, 1, 2, 2, 3));
  EXPECT_TRUE(nodes[0].accesses[0].label_is_shared);
  EXPECT_FALSE(nodes[2].accesses[0].label_is_shared);
}

/// A View that is dropped, and one of the same label that is made later: one resource exactly where
/// the second gets memory of the first.
SPACE_TEST(ResourceIds, OfADroppedViewGoToTheNextOneInItsMemory) {
  TaskGraph graph(recording());
  constexpr std::size_t size = 1000;
  std::vector<std::uintptr_t> addresses;
  for (int k = 0; k < 4; ++k) {
    V const x("x", size);
    addresses.push_back(reinterpret_cast<std::uintptr_t>(x.data()));
    host_task("use", ResourcePolicy(graph, write(x)), [](V const& to) { to(0) = 1; });
    graph.wait();
  }
  auto const nodes = graph.dependency_graph().nodes();
  auto const share = [&](std::size_t a, std::size_t b) {
    std::uintptr_t const bytes = size * sizeof(double);
    return addresses[a] < addresses[b] + bytes && addresses[b] < addresses[a] + bytes;
  };
  auto const id = [&](std::size_t k) { return nodes[k].accesses[0].resource_id; };
  for (std::size_t k = 1; k < 4; ++k) {
    bool is_new = true;
    for (std::size_t before = 0; before < k; ++before) is_new = is_new && !share(before, k);
    if (share(k - 1, k)) {
      EXPECT_EQ(id(k - 1), id(k));
    }
    if (is_new) {
      EXPECT_GT(id(k), id(k - 1));
    }
  }
}

SPACE_TEST(IndexSpaces, OrderTasksByBoxes) {
  TaskGraph graph(recording());
  std::int64_t const large = std::int64_t{1} << 20;
  experimental::IndexSpace<3> const cells("cells", {large, large, large});
  auto const nothing = [] {};
  host_task("1", ResourcePolicy(graph, write(cells.box({0, 0, 0}, {large / 2, large, large}))),
            nothing);
  host_task("2", ResourcePolicy(graph, write(cells.box({large / 2, 0, 0}, {large, large, 5}))),
            nothing);
  host_task("3", ResourcePolicy(graph, read(cells.box({7, 3, 4}, {large, 9, large}))), nothing);
  host_task("4", ResourcePolicy(graph, write(cells.box({large / 2, 0, 5}, {large, 3, 6}))),
            nothing);
  host_task("5", ResourcePolicy(graph, read(cells)), nothing);
  host_task("6", ResourcePolicy(graph, write(cells.box({1, 1, 1}, {1, 2, 2}))), nothing);
  host_task("7", ResourcePolicy(graph, write(experimental::IndexSpace<3>("other", {4, 4, 4}))),
            nothing);
  graph.wait();
  auto const edges = graph.dependency_graph().edges();
  auto const edge = [](TaskId from, TaskId to) { return EdgeRecord{from, to, EdgeReason::access}; };
  EXPECT_THAT(edges, testing::UnorderedElementsAre(edge(1, 3), edge(2, 3), edge(1, 5), edge(2, 5),
                                                   edge(4, 5)));
  EXPECT_EQ(graph.dependency_graph().node(3).accesses[0].area,
            "[7, 1048576) x [3, 9) x [4, 1048576)");
  EXPECT_EQ(graph.dependency_graph().node(5).accesses[0].area, "whole");
}

SPACE_TEST(IndexSpaces, RefuseWhatIsNotThere) {
  auto const says = [](auto const& call) {
    try {
      call();
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  experimental::IndexSpace<2> const grid("grid", {4, 5});
  EXPECT_THAT(says([&] { (void)grid.box({0, 0}, {4, 6}); }),
              HasSubstr("\"grid\" has the indices from 0 to before 5 in direction 1"));
  EXPECT_THAT(says([&] { (void)grid.box({-1, 0}, {4, 5}); }), HasSubstr("direction 0"));
  EXPECT_THAT(says([&] { (void)grid.box({3, 0}, {2, 5}); }), HasSubstr("direction 0"));
  EXPECT_THAT(says([] { experimental::IndexSpace<2>("flat", {4, 0}); }), HasSubstr("extent 1"));
  std::int64_t const huge = std::int64_t{1} << 31;
  EXPECT_THAT(says([=] { experimental::IndexSpace<2>("huge", {huge, huge}); }),
              HasSubstr("too many"));
  EXPECT_EQ(says([=] { experimental::IndexSpace<2>("large", {huge, huge / 4}); }), "nothing");
}

SPACE_TEST(IndexSpaces, MayBeMadeAndDestroyedForEver) {
  TaskGraph graph(with_workers(2));
  for (int k = 0; k < 3000; ++k) {
    experimental::IndexSpace<1> const pass("pass",
                                           {std::int64_t{1} << (59 - k % 3)});  // of several sizes
    host_task("use", ResourcePolicy(graph, write(pass)), [] {});
  }
  graph.wait();
  experimental::IndexSpace<1> const large("large", {std::int64_t{1} << 60});
}

SPACE_TEST(HostRanges, AreResources) {
  TaskGraph graph(with_workers(3));
  std::vector<double> x(100, 1);
  std::array<int, 3> counts{};
  double plain[2] = {3, 4};
  std::string text = "abc";
  for (int step = 0; step < 20; ++step) {
    std::span const left(x.data(), 50);
    std::span const right(x.data() + 50, 50);
    auto const grow = [](std::span<double> half) {
      for (double& each : half) each += 1;
    };
    host_task("left", ResourcePolicy(graph, read_write(left)), grow);
    host_task("right", ResourcePolicy(graph, read_write(right)), grow);
    host_task("count", ResourcePolicy(graph, read(x), write(counts), read(plain)),
              [](std::span<double const> all, std::span<int> count, std::span<double const> two) {
                count[0] = static_cast<int>(std::accumulate(all.begin(), all.end(), two[0]));
              });
  }
  host_task("text", ResourcePolicy(graph, write(text)),
            [](std::span<char> characters) { characters[0] = 'x'; });
  graph.wait();
  EXPECT_EQ(counts[0], 2103);
  EXPECT_EQ(text, "xbc");
}

SPACE_TEST(HostRanges, HaveALabelWhereNamedGivesThemOne) {
  TaskGraph graph(recording());
  std::vector<double> x(8);
  double dt = 0;
  auto const nothing = [] {};
  host_task("1", ResourcePolicy(graph, write(named("weights", x))), nothing);
  host_task("2", ResourcePolicy(graph, read(named("weights", std::span(x).subspan(2, 3)))),
            [](std::span<double const> part) { EXPECT_EQ(part.size(), 3); });
  host_task("3", ResourcePolicy(graph, write(HostMemory("time step", &dt))), nothing);
  std::vector<std::vector<double>> const rows(2, x);
  host_task("4", ResourcePolicy(graph, read(rows)), nothing);
  graph.wait();
  auto const& nodes = graph.dependency_graph();
  EXPECT_EQ(nodes.node(1).accesses[0].resource, "weights");
  EXPECT_EQ(nodes.node(2).accesses[0].area, "[2, 5)");
  EXPECT_EQ(nodes.node(3).accesses[0].resource, "time step");
  EXPECT_EQ(nodes.node(4).accesses.size(), 2);
  EXPECT_THAT(nodes.edges(), ElementsAre(EdgeRecord{1, 2, EdgeReason::access}));
}

struct WithMemory {
  std::vector<double> memory;
};

SPACE_TEST(HostRanges, MayBeMembersOfOthers) {
  TaskGraph graph(recording());
  std::vector<double> a(4);
  std::vector<double> b(4);
  std::vector<std::vector<double>> rows(3, a);
  WithMemory const own{a};
  host_task("1", ResourcePolicy(graph, write(group(a, b))),
            [](auto first, auto second) { first[0] = second[0] = 1; });
  host_task("2", ResourcePolicy(graph, write(rows)), [&] { rows[1][0] = a[0]; });
  host_task("3", ResourcePolicy(graph, read_write(own)),
            [](std::span<double> memory) { memory[0] += 1; });
  host_task("4", ResourcePolicy(graph, read(b), read(rows[1]), read(own)), [] {});
  graph.wait();
  DependencyGraph const tasks = graph.dependency_graph();
  EXPECT_THAT(tasks.predecessors(4), ElementsAre(1, 2, 3));
  EXPECT_EQ(tasks.node(2).accesses.size(), 3);
  EXPECT_EQ(own.memory[0], 1);
}

SPACE_TEST(HostRanges, MayHaveElementsThatHoldTheirOwn) {
  TaskGraph graph(recording());
  std::vector<std::array<double, 3>> positions(1000);
  std::vector<std::string> log(4);
  double matrix[4][4] = {};
  host_task("1", ResourcePolicy(graph, write(positions), write(matrix)),
            [](std::span<std::array<double, 3>> all, std::span<double[4]> rows) {
              all[999][2] = 1;
              rows[3][3] = 2;
            });
  host_task("2", ResourcePolicy(graph, write(log)),
            [](std::span<std::string> lines) { lines[3] = "x"; });
  auto const sum = host_task("3", ResourcePolicy(graph, read(positions), read(matrix), read(log)),
                             [](auto all, auto rows, auto lines) {
                               return all[999][2] + rows[3][3] + double(lines[3].size());
                             });
  EXPECT_EQ(sum.get(), 4);
  graph.wait();
  EXPECT_THAT(graph.dependency_graph().predecessors(3), ElementsAre(1, 2));
  EXPECT_EQ(graph.dependency_graph().node(1).accesses.size(), 2);
}

SPACE_TEST(HostRanges, MayBeTemporarySpansOfConstElements) {
  TaskGraph graph;
  std::vector<double> x(8, 2.0);
  std::array<int, 4> const y{1, 2, 3, 4};
  std::span<double const> const all(x);
  host_task("write", ResourcePolicy(graph, write(std::span(x).subspan(4))),
            [](std::span<double> part) { part[0] = 5; });
  auto const sum = host_task(
      "read", ResourcePolicy(graph, read(all.subspan(4, 2)), read(std::span(y).first<2>())),
      [](std::span<double const> part, std::span<int const> two) { return part[0] + two[1]; });
  EXPECT_EQ(sum.get(), 7);
  auto const inner = host_task("local", ResourcePolicy(graph, read(x)), [=](TaskScope& self) {
    auto const own = self.local(std::span(y));
    return host_task(
        "part", ResourcePolicy(self, read(own), read(all.first(4))),
        [](std::span<int const> of, std::span<double const> part) { return of[3] + part[0]; });
  });
  EXPECT_EQ(inner.get(), 6);
}

// What std::mdspan has of it, as far as a resource needs it.
template <class T>
struct Strided {
  using element_type = T;
  using accessor_type = void;
  struct mapping_type {
    std::array<std::size_t, 2> strides;
    [[nodiscard]] std::size_t stride(std::size_t k) const { return strides[k]; }
  };
  static constexpr std::size_t rank() { return 2; }
  [[nodiscard]] T* data_handle() const { return first; }
  [[nodiscard]] std::size_t extent(std::size_t k) const { return extents[k]; }
  [[nodiscard]] mapping_type const& mapping() const { return map; }
  T* first;
  std::array<std::size_t, 2> extents;
  mapping_type map;
};

SPACE_TEST(HostRanges, MayHaveStrides) {
  TaskGraph graph(recording());
  std::vector<float> data(100);
  auto const block = [&](std::size_t i, std::size_t j) {
    return Strided<float>{data.data() + 10 * i + j, {5, 5}, {{10, 1}}};
  };
  auto const nothing = [] {};
  host_task("all", ResourcePolicy(graph, write(named("a", data))), nothing);
  host_task("1", ResourcePolicy(graph, write(block(0, 0))), nothing);
  host_task("2", ResourcePolicy(graph, write(block(0, 5))),
            [](Strided<float> const& b) { EXPECT_EQ(b.extents[0], 5); });
  host_task("3", ResourcePolicy(graph, read(block(3, 3))), nothing);
  graph.wait();
  EXPECT_THAT(graph.dependency_graph().predecessors(2), ElementsAre(1));
  EXPECT_THAT(graph.dependency_graph().predecessors(3), ElementsAre(1));
  EXPECT_THAT(graph.dependency_graph().predecessors(4), ElementsAre(1, 2, 3));
}

#ifdef TRELLIS_TEST_HAS_MDSPAN
SPACE_TEST(HostRanges, MayBeMdspans) {
  TaskGraph graph(recording());
  using Rows = Kokkos::mdspan<double, Kokkos::extents<std::size_t, 6, Kokkos::dynamic_extent>>;
  using Extents = Kokkos::dextents<std::size_t, 2>;
  using Block = Kokkos::mdspan<double, Extents, Kokkos::layout_stride>;
  using Columns = Kokkos::mdspan<int, Extents, Kokkos::layout_left>;
  std::vector<double> data(60);
  std::vector<int> others(12);
  Rows const all(data.data(), 10);
  Columns const columns(others.data(), 3, 4);
  auto const block = [&](std::size_t row, std::size_t column, std::size_t rows, std::size_t count) {
    return Block(data.data() + 10 * row + column,
                 Block::mapping_type(Extents(rows, count), std::array<std::size_t, 2>{10, 1}));
  };
  using At = std::array<std::size_t, 2>;
  host_task("1", ResourcePolicy(graph, write(named("all", all)), write(columns)),
            [](Rows const& to, Columns const& also) {
              for (std::size_t i = 0; i < to.extent(0); ++i)
                for (std::size_t j = 0; j < to.extent(1); ++j) to[At{i, j}] = double(10 * i + j);
              also[At{2, 3}] = 7;
            });
  host_task("2", ResourcePolicy(graph, read_write(block(0, 0, 3, 5))),
            [](Block const& b) { b[At{2, 4}] += 100; });
  host_task("3", ResourcePolicy(graph, read_write(block(0, 5, 3, 5))),
            [](Block const& b) { b[At{2, 0}] += 1000; });
  auto const sum =
      host_task("4", ResourcePolicy(graph, read(block(2, 4, 2, 2))),
                [](Block const& b) { return b[At{0, 0}] + b[At{0, 1}] + b[At{1, 1}]; });
  EXPECT_EQ(sum.get(), 124 + 1025 + 35);
  graph.wait();
  EXPECT_EQ(others.back(), 7) << "columns first";
  DependencyGraph const tasks = graph.dependency_graph();
  EXPECT_THAT(tasks.predecessors(2), ElementsAre(1));
  EXPECT_THAT(tasks.predecessors(3), ElementsAre(1)) << "blocks side by side";
  EXPECT_THAT(tasks.predecessors(4), ElementsAre(1, 2, 3));
  EXPECT_EQ(tasks.node(3).accesses[0].area, "[0, 3) x [5, 10)");
}
#endif

}  // namespace
}  // namespace trellis
