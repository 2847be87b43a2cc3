// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses, `after` and groups whose number is known at run time.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Resources.hpp>
#include <Trellis_States.hpp>

#include "SpaceTest.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <list>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using Test::with_workers;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Line = View<long*>;
using ColumnMajor = Kokkos::View<long**, Kokkos::LayoutLeft, Memory>;
using Unmanaged = Kokkos::View<long*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

static_assert(Impl::ResourceRange<std::vector<Line>>);
static_assert(Impl::ResourceRange<std::span<Line const> const>);
static_assert(Impl::ResourceRange<std::list<Token>>);
static_assert(Impl::ResourceRange<std::array<std::vector<Line>, 2>>);
static_assert(!Impl::ResourceRange<Line> && !Impl::ResourceRange<std::string>);
static_assert(!Impl::is_resource_v<std::filesystem::path> && !Impl::is_resource_v<std::list<int>> &&
              !Impl::is_resource_v<std::vector<bool>>);

std::vector<Line> lines(int count, int size = 4) {
  std::vector<Line> all;
  for (int k = 0; k < count; ++k) all.emplace_back("line " + std::to_string(k), size);
  return all;
}
TaskGraphOptions recorded(int workers = 2) {
  TaskGraphOptions options = with_workers(workers);
  options.record = true;
  return options;
}
auto edges_of(TaskGraph& graph) {
  graph.wait();
  return graph.dependency_graph().edges();
}
EdgeRecord edge(TaskId from, TaskId to) {
  return {from, to, EdgeReason::access};
}
template <class F>
std::string text_of_error(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "nothing was thrown";
}
auto const nothing = [] {};

// ---- ranges -------------------------------------------------------------------------------------

SPACE_TEST(Lists, OfAnyLengthAreOrderedAsTheirElements) {
  for (int const count : {0, 1, 5, 16, 17, 3000}) {
    TaskGraph graph(recorded());
    std::vector<Line> const all = lines(count, 1);
    for (Line const& each : all) host_task("one", ResourcePolicy(graph, write(each)), nothing);
    host_task("all", ResourcePolicy(graph, read(all)), nothing);
    for (Line const& each : all) host_task("again", ResourcePolicy(graph, write(each)), nothing);
    std::vector<std::pair<TaskId, TaskId>> expected, edges;
    TaskId const n = static_cast<TaskId>(count);
    for (TaskId k = 1; k <= n; ++k) expected.emplace_back(k, n + 1);
    for (TaskId k = 1; k <= n; ++k) expected.emplace_back(n + 1, n + 1 + k);
    for (EdgeRecord const& each : edges_of(graph)) edges.emplace_back(each.from, each.to);
    std::sort(edges.begin(), edges.end());
    EXPECT_EQ(edges, expected) << count;
  }
}

SPACE_TEST(Lists, StandBesideFixedAccesses) {
  TaskGraph graph(recorded());
  auto const few = lines(3);
  Line const x("x", 4), y("y", 4);
  Token const token("token");
  host_task("x", ResourcePolicy(graph, write(x)), nothing);          // 1
  host_task("last", ResourcePolicy(graph, write(few[2])), nothing);  // 2
  host_task("token", ResourcePolicy(graph, write(token)), nothing);  // 3
  host_task("all",
            ResourcePolicy(graph, write(y), read(few), priority(1), read(x), exclusive(token)),
            nothing);                                                        // 4
  host_task("y", ResourcePolicy(graph, read(y)), nothing);                   // 5
  host_task("readers", ResourcePolicy(graph, read(few), read(x)), nothing);  // 6
  host_task("first", ResourcePolicy(graph, write(few[0])), nothing);         // 7
  EXPECT_THAT(edges_of(graph),
              UnorderedElementsAre(edge(1, 4), edge(2, 4), edge(3, 4), edge(4, 5), edge(2, 6),
                                   edge(1, 6), edge(4, 7), edge(6, 7)));
}

SPACE_TEST(Lists, TakeAnyRange) {
  auto const all = lines(4);
  std::array<Line, 2> const pair{all[0], all[1]};
  std::list<Line> const linked(all.begin(), all.end());
  std::vector<std::vector<Line>> const nested{{all[0]}, {}, {all[2], all[3]}};
  Token const token("token", 3);
  std::vector<Token> const parts{token.part(0), token.part(2)};
  auto const edges_with = [&](auto const& annotate) {
    TaskGraph graph(recorded());
    for (Line const& each : all) host_task("one", ResourcePolicy(graph, write(each)), nothing);
    for (int k = 0; k < 3; ++k)
      host_task("part", ResourcePolicy(graph, write(token.part(k))), nothing);
    annotate(graph);
    std::vector<TaskId> from;
    for (EdgeRecord const& each : edges_of(graph)) from.push_back(each.from);
    std::sort(from.begin(), from.end());
    return from;
  };
  auto const with = [&](auto const& range) {
    return edges_with(
        [&](TaskGraph& graph) { host_task("all", ResourcePolicy(graph, read(range)), nothing); });
  };
  EXPECT_THAT(with(all), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(with(pair), ElementsAre(1, 2));
  EXPECT_THAT(with(linked), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(with(nested), ElementsAre(1, 3, 4));
  EXPECT_THAT(with(parts), ElementsAre(5, 7));
  EXPECT_THAT(with(std::span(all).subspan(1, 2)), ElementsAre(2, 3));
  EXPECT_THAT(with(all | std::views::reverse | std::views::take(1)), ElementsAre(4));
  EXPECT_THAT(with(std::views::iota(0, 2) |
                   std::views::transform([&](int k) -> Line const& { return all[2 * k]; })),
              ElementsAre(1, 3));
  // Temporaries, and a range that is none when it is const.
  EXPECT_THAT(edges_with([&](TaskGraph& graph) {
                host_task("all", ResourcePolicy(graph, write(std::vector<Line>{all[3], all[0]})),
                          nothing);
              }),
              ElementsAre(1, 4));
  EXPECT_THAT(edges_with([&](TaskGraph& graph) {
                auto chosen = all | std::views::filter([&](Line const& each) {
                                return each.data() != all[1].data();
                              });
                host_task("all", ResourcePolicy(graph, read(chosen)), nothing);
              }),
              ElementsAre(1, 3, 4));
  EXPECT_THAT(edges_with([&](TaskGraph& graph) {
                host_task("all", ResourcePolicy(graph, access(std::span(all).first(2), Mode::read)),
                          nothing);
              }),
              ElementsAre(1, 2));
}

SPACE_TEST(Lists, TakeSubviewsThatARangeMakes) {
  TaskGraph graph(recorded());
  ColumnMajor const plane("plane", 6, 8);
  auto const column = [&](int k) { return Kokkos::subview(plane, Kokkos::ALL, k); };
  for (int k = 0; k < 8; ++k) host_task("one", ResourcePolicy(graph, write(column(k))), nothing);
  auto const odd =
      std::views::iota(0, 4) | std::views::transform([&](int k) { return column(2 * k + 1); });
  auto const odd_columns = host_task("odd", ResourcePolicy(graph, read(odd)), [&] { return 1; });
  host_task("even",
            ResourcePolicy(graph, write(std::views::iota(0, 2) | std::views::transform([&](int k) {
                                          return column(4 * k);
                                        }))),
            nothing);
  EXPECT_THAT(edges_of(graph), UnorderedElementsAre(edge(2, 9), edge(4, 9), edge(6, 9), edge(8, 9),
                                                    edge(1, 10), edge(5, 10)));
  EXPECT_EQ(graph.dependency_graph().node(odd_columns.id()).accesses.at(0).resource, "plane");
}

SPACE_TEST(Lists, TakeRangesThatRangesMake) {
  TaskGraph graph(recorded());
  ColumnMajor const plane("plane", 6, 8);
  auto const column = [&](int k) { return Kokkos::subview(plane, Kokkos::ALL, k); };
  for (int k = 0; k < 8; ++k) host_task("one", ResourcePolicy(graph, write(column(k))), nothing);
  auto const pair_of = [&](int k) {
    return std::views::iota(2 * k, 2 * k + 2) | std::views::transform(column);
  };
  auto const odd_ones = [&](int k) {  // this one is no range when const
    return std::views::iota(2 * k, 2 * k + 2) |
           std::views::filter([](int n) { return n % 2 != 0; }) | std::views::transform(column);
  };
  host_task("made",
            ResourcePolicy(graph, write(std::views::iota(0, 2) | std::views::transform(pair_of))),
            nothing);
  std::vector<decltype(pair_of(0))> const kept{pair_of(2), pair_of(3)};
  host_task("kept", ResourcePolicy(graph, write(kept)), nothing);
  std::vector<decltype(odd_ones(0))> const filtered{odd_ones(0), odd_ones(3)};
  host_task("filtered", ResourcePolicy(graph, write(filtered)), nothing);
  EXPECT_THAT(edges_of(graph), UnorderedElementsAre(edge(1, 9), edge(2, 9), edge(3, 9), edge(4, 9),
                                                    edge(5, 10), edge(6, 10), edge(7, 10),
                                                    edge(8, 10), edge(9, 11), edge(10, 11)));
}

/// Kokkos' own range, whose `begin` stands beside the class in Kokkos 4.5.
SPACE_TEST(Lists, MayBeKokkosArrays) {
  TaskGraph graph(recorded());
  auto const all = lines(3);
  Kokkos::Array<Line, 2> const pair{all[0], all[2]};
  for (Line const& each : all) host_task("one", ResourcePolicy(graph, write(each)), nothing);
  host_task("array", ResourcePolicy(graph, read_write(pair)), [](view_list<Line> const& two) {
    ASSERT_EQ(two.size(), 2u);
    EXPECT_EQ(two[1].label(), "line 2");
  });
  host_task("temporary", ResourcePolicy(graph, read(Kokkos::Array<Line, 1>{all[1]})), nothing);
  AccessList list;
  list.read(pair);
  host_task("list", ResourcePolicy(graph, list), nothing);
  EXPECT_THAT(edges_of(graph),
              UnorderedElementsAre(edge(1, 4), edge(3, 4), edge(2, 5), edge(4, 6)));
}

SPACE_TEST(Lists, AreMembersOfGroups) {
  TaskGraph graph(recorded());
  auto const all = lines(4);
  Line const x("x", 1);
  host_task("one", ResourcePolicy(graph, write(all[1])), nothing);
  host_task("x", ResourcePolicy(graph, write(x)), nothing);
  host_task("last", ResourcePolicy(graph, write(all[3])), nothing);
  auto const some = std::span(all).first(3);
  host_task("group", ResourcePolicy(graph, write(group(some, x))), nothing);
  host_task("range in a group", ResourcePolicy(graph, read(group(all))), nothing);
  EXPECT_THAT(edges_of(graph),
              UnorderedElementsAre(edge(1, 4), edge(2, 4), edge(3, 5), edge(4, 5)));
  std::vector<decltype(group(x, all[0]))> groups;
  groups.push_back(group(x, all[0]));
  groups.push_back(group(x, all[3]));
  host_task("groups", ResourcePolicy(graph, write(groups)), nothing);
  EXPECT_THAT(edges_of(graph), testing::IsSupersetOf({edge(4, 6), edge(5, 6)}));
}

SPACE_TEST(Lists, OfUnmanagedViewsAreComparedByTheirAddresses) {
  TaskGraph graph(recorded());
  Line const x("x", 100);
  std::vector<Unmanaged> pieces;
  for (int k = 0; k < 10; ++k) pieces.emplace_back(x.data() + 10 * k, 10);
  host_task("piece", ResourcePolicy(graph, write(pieces[3])), nothing);
  host_task("half", ResourcePolicy(graph, read(Kokkos::subview(x, std::pair(0, 50)))), nothing);
  host_task("others", ResourcePolicy(graph, write(std::span(pieces).subspan(5))), nothing);
  host_task("all", ResourcePolicy(graph, write(pieces)), nothing);
  EXPECT_THAT(edges_of(graph),
              UnorderedElementsAre(edge(1, 2), edge(1, 4), edge(2, 4), edge(3, 4)));
}

SPACE_TEST(Lists, InStatesOfTheUsers) {
  using Box = AreaAccess<int, 1>;
  TaskGraph graph(recorded());
  Token const a("a"), b("b");
  std::vector<Token> const both{a, b};
  host_task("low", ResourcePolicy(graph, access(a, Box({{{0, 4}}}))), nothing);
  host_task("high", ResourcePolicy(graph, access(both, Box({{{5, 9}}}))), nothing);
  host_task("low", ResourcePolicy(graph, access(group(b, a), Box({{{0, 4}}}))), nothing);
  EXPECT_THAT(edges_of(graph), ElementsAre(edge(1, 3)));
}

// ---- lists that one fills -----------------------------------------------------------------------

SPACE_TEST(AccessLists, MixKindsAndModes) {
  TaskGraph graph(recorded());
  auto const all = lines(3);
  ColumnMajor const plane("plane", 4, 4);
  Token const token("token");
  host_task("line", ResourcePolicy(graph, read(all[0])), nothing);
  host_task("column", ResourcePolicy(graph, write(Kokkos::subview(plane, Kokkos::ALL, 2))),
            nothing);
  host_task("token", ResourcePolicy(graph, exclusive(token)), nothing);
  AccessList list;
  EXPECT_TRUE(list.empty());
  list.read(plane, all).write(token).add(read_write(group(all[0]))).access(all[1], Mode::write);
  EXPECT_EQ(list.size(), 1u + 3 + 1 + 1 + 1);
  host_task("list", ResourcePolicy(graph, list), nothing);
  host_task("beside", ResourcePolicy(graph, write(all[2]), list, priority(2)), nothing);
  EXPECT_THAT(edges_of(graph),
              UnorderedElementsAre(edge(1, 4), edge(2, 4), edge(3, 4), edge(2, 5), edge(4, 5)));
  list.clear();
  EXPECT_TRUE(list.empty());
  host_task("empty", ResourcePolicy(graph, list), nothing);
  list.read(token);
  host_task("used again", ResourcePolicy(graph, list), nothing);
  EXPECT_THAT(edges_of(graph), UnorderedElementsAre(edge(1, 4), edge(2, 4), edge(3, 4), edge(2, 5),
                                                    edge(4, 5), edge(5, 7)));
}

SPACE_TEST(AccessLists, KeepTheirViews) {
  TaskGraph graph(recorded());
  AccessList list;
  Line kept("kept", 3);
  long const* const place = kept.data();
  {
    Line const gone("gone", 3);
    list.write(gone);
    for (int k = 0; k < 500; ++k) list.read(Line("one of many", 1));
  }
  list.read(kept);
  EXPECT_EQ(kept.use_count(), 2);
  AccessList const moved = std::move(list);
  host_task("first", ResourcePolicy(graph, moved), nothing);
  host_task("second", ResourcePolicy(graph, moved), nothing);
  EXPECT_THAT(edges_of(graph), ElementsAre(edge(1, 2)));
  EXPECT_EQ(kept.use_count(), 2);
  EXPECT_EQ(kept.data(), place);
  list.write(kept);  // what it has been moved from is empty
  EXPECT_EQ(list.size(), 1u);
  AccessList temporary;
  temporary.write(kept);
  host_task("third", ResourcePolicy(graph, std::move(temporary)), nothing);
  EXPECT_THAT(edges_of(graph), UnorderedElementsAre(edge(1, 2), edge(1, 3), edge(2, 3)));
  list.clear();
  graph.wait();
  EXPECT_EQ(kept.use_count(), 2);
}

SPACE_TEST(AccessLists, InStatesOfTheUsers) {
  using Box = AreaAccess<int, 1>;
  TaskGraph graph(recorded());
  Token const a("a");
  AccessList low, high;
  low.access(a, Box({{{0, 4}}}));
  high.access(std::vector{a}, Box({{{5, 9}}}));
  host_task("low", ResourcePolicy(graph, low), nothing);
  host_task("high", ResourcePolicy(graph, high), nothing);
  host_task("low", ResourcePolicy(graph, low), nothing);
  EXPECT_THAT(edges_of(graph), ElementsAre(edge(1, 3)));
}

// ---- after, when_all ----------------------------------------------------------------------------

SPACE_TEST(Lists, OfFuturesInAfter) {
  TaskGraph graph(recorded());
  std::vector<Future<void>> some;
  std::vector<Future<int>> numbers;
  for (int k = 0; k < 20; ++k) {
    some.push_back(host_task("task", ResourcePolicy(graph), nothing));
    numbers.push_back(host_task("number", ResourcePolicy(graph), [k] { return k; }));
  }
  auto const fixed = host_task("fixed", ResourcePolicy(graph), nothing);
  int sum = 0;
  auto const last = host_task(
      "last",
      ResourcePolicy(graph, after(some), after(numbers | std::views::drop(10)), after(fixed)), [&] {
        for (auto const& each : numbers | std::views::drop(10)) sum += each.get();
      });
  host_task("one", ResourcePolicy(graph, after(std::span(numbers).first(1)), after(fixed)),
            nothing);
  auto const mixed = host_task(
      "mixed", ResourcePolicy(graph, after(fixed, some, std::span(numbers).first(3))), nothing);
  host_task("none", ResourcePolicy(graph, after(std::vector<Future<int>>())), nothing);
  last.wait();
  EXPECT_EQ(sum, 145);
  graph.wait();
  auto const edges_into = [&](TaskId id) {
    SchedulingGraph const recorded = graph.scheduling_graph();
    return std::count_if(recorded.edges().begin(), recorded.edges().end(),
                         [&](EdgeRecord const& each) { return each.to == id; });
  };
  EXPECT_EQ(edges_into(last.id()), 20 + 10 + 1);
  EXPECT_EQ(edges_into(mixed.id()), 1 + 20 + 3);
  std::vector<Future<int>> const unknown(2);
  EXPECT_THAT(
      text_of_error([&] { host_task("bad", ResourcePolicy(graph, after(unknown)), nothing); }),
      HasSubstr("that belongs to no task"));
}

SPACE_TEST(WhenAll, IsCompleteWhenAllAre) {
  TaskGraph graph(with_workers(2));
  std::atomic<int> done{0};
  std::vector<Future<int>> many;
  for (int k = 0; k < 100; ++k)
    many.push_back(host_task("task", ResourcePolicy(graph), [&] { return ++done; }));
  auto const other = host_task("other", ResourcePolicy(graph), [&] { ++done; });
  when_all(many).get();
  EXPECT_GE(done.load(), 100);
  Future<void> const both = when_all(many[3], other);
  both.get();
  EXPECT_EQ(done.load(), 101);
  when_all("named", std::span(many).first(2)).get();
  when_all("named", both, other).get();
  when_all("none", graph, std::vector<Future<int>>()).get();
  when_all("some", graph, both, many[1]).get();
}

SPACE_TEST(WhenAll, FailsWhenOneFails) {
  TaskGraph graph(with_workers(2));
  std::vector<Future<void>> tasks;
  for (int k = 0; k < 5; ++k)
    tasks.push_back(host_task("task " + std::to_string(k), ResourcePolicy(graph), [k] {
      if (k >= 3) throw std::runtime_error("broken");
    }));
  EXPECT_NO_THROW(when_all(std::span(tasks).first(3)).get());
  EXPECT_THAT(text_of_error([&] { when_all(tasks).get(); }), HasSubstr("task 3"));
  EXPECT_THAT(text_of_error([&] { when_all(tasks[0], tasks[4]).get(); }), HasSubstr("task 4"));
  EXPECT_THROW(graph.wait(), Error);
}

SPACE_TEST(WhenAll, NeedsOneGraph) {
  TaskGraph graph, other;
  auto const mine = host_task("mine", ResourcePolicy(graph), nothing);
  auto const foreign = host_task("foreign", ResourcePolicy(other), nothing);
  EXPECT_THAT(text_of_error([&] { when_all(mine, foreign); }), HasSubstr("another graph"));
  EXPECT_THAT(text_of_error([&] { when_all(Future<void>()); }), HasSubstr("belongs to no task"));
  EXPECT_THAT(text_of_error([&] { when_all(std::vector<Future<void>>()); }),
              HasSubstr("nobody knows its graph"));
  Future<void> late;
  {
    TaskGraph gone;
    late = host_task("late", ResourcePolicy(gone), nothing);
  }
  Future<void> const joined = when_all(late, late);
  EXPECT_TRUE(joined.is_done());
  joined.get();
}

// ---- children, plans, demotion ------------------------------------------------------------------

SPACE_TEST(Lists, InChildrenLieWithinTheAccessesOfTheParent) {
  TaskGraph graph(with_workers(2));
  auto const all = lines(40);
  auto const whole = host_task(
      "whole", ResourcePolicy(graph, read_write(all)),
      [](TaskScope& self, view_list<Line> const& mine) {
        EXPECT_EQ(mine.size(), 40u);
        for (std::size_t k = 0; k < mine.size(); k += 2)
          parallel_for(
              "two", ResourcePolicy(self, 4, write(std::span(mine.begin() + k, 2)), on<Space>),
              KOKKOS_LAMBDA(int i, view_list<Line> const& two) {
                for (std::size_t m = 0; m < two.size(); ++m)
                  two[m](i) = static_cast<long>(10 * (k + m)) + i;
              });
        AccessList rest;
        rest.read(mine);
        std::vector<Future<void>> before;
        for (int k = 0; k < 3; ++k)
          before.push_back(host_task("look", ResourcePolicy(self, rest),
                                     [mine] { EXPECT_EQ(mine[39](3), 393); }));
        when_all("all", self, before);
        // In any order, of which some are parts of the areas of the whole.
        auto const halves =
            mine | std::views::reverse | std::views::transform([](Line const& each) {
              return Kokkos::subview(each, std::pair(0, 2));
            });
        host_task("reversed", ResourcePolicy(self, read(mine | std::views::reverse), read(halves)),
                  nothing);
        // What lies outside is refused, by name.
        Line const foreign("foreign", 1);
        std::vector<Line> const both{mine[0], foreign};
        EXPECT_THAT(
            text_of_error([&] { host_task("bad", ResourcePolicy(self, read(both)), nothing); }),
            HasSubstr("\"foreign\""));
        self.local(both);
        host_task("good", ResourcePolicy(self, write(both)), nothing);
        // Of ranges that are none when they are const, and that make their elements.
        auto const own = lines(3);
        auto const is_odd = [](Line const& each) { return each.label() != "line 1"; };
        EXPECT_EQ(std::ranges::distance(self.local(own | std::views::filter(is_odd))), 2);
        self.local(std::views::iota(0, 2) | std::views::transform([&](int k) {
                     return Kokkos::subview(own[1], std::pair(2 * k, 2 * k + 1));
                   }));
        host_task("own", ResourcePolicy(self, write(own[0]), write(own[2])), nothing);
        host_task("its child",
                  ResourcePolicy(self, write(Kokkos::subview(own[1], std::pair(2, 3)))), nothing);
        EXPECT_THAT(
            text_of_error([&] { host_task("bad", ResourcePolicy(self, read(own[1])), nothing); }),
            HasSubstr("\"line 1\""));
      });
  whole.get();
  EXPECT_EQ(all[17](2), 172);
}

SPACE_TEST(Lists, AreDemotedAndReleased) {
  TaskGraph graph(with_workers(2));
  auto const all = lines(20);
  Line const x("x", 1);
  std::atomic<bool> reader{false}, writer{false};
  auto const wait_for = [](std::atomic<bool> const& flag) {
    while (!flag) std::this_thread::yield();
  };
  auto const first = host_task("first", ResourcePolicy(graph, read_write(all), write(x)),
                               [&, all](TaskScope& self) {
                                 self.demote(read(std::span(all).first(10)), write(x));
                                 wait_for(reader);
                                 self.release(std::span(all).subspan(10), x);
                                 wait_for(writer);
                                 AccessList rest;
                                 rest.read(all[0]);
                                 self.demote(rest);
                                 EXPECT_THROW(self.demote(write(all)), Error);
                               });
  host_task("reader", ResourcePolicy(graph, read(std::span(all).first(10))),
            [&] { reader = true; });
  host_task("writer", ResourcePolicy(graph, write(std::span(all).subspan(10))),
            [&] { writer = true; });
  first.get();
}

SPACE_TEST(Lists, ArePartsOfPlans) {
  TaskGraph graph(with_workers(2));
  int const count = 30;
  auto a = lines(count), b = lines(count);
  AccessList list;
  list.read(a);
  Plan step = graph.record("step", [&] {
    parallel_for(
        "there", ResourcePolicy(graph, 4, read(a), write(b), on<Space>),
        KOKKOS_LAMBDA(int i, read_view_list<Line> const& from, view_list<Line> const& to) {
          for (std::size_t k = 0; k < to.size(); ++k)
            to[k](i) = from[k](i) + from[(k + 1) % from.size()](i) + 1;
        });
    parallel_for(
        "back", ResourcePolicy(graph, 4, read(b), write(a), on<Space>),
        KOKKOS_LAMBDA(int i, read_view_list<Line> const& from, view_list<Line> const& to) {
          for (std::size_t k = 0; k < to.size(); ++k) to[k](i) = from[k](i);
        });
    host_task("list", ResourcePolicy(graph, list), nothing);
  });
  EXPECT_EQ(step.accesses(), 2u * count);
  graph.replay(step, 10);
  graph.wait();
  for (int k = 0; k < count; ++k) EXPECT_EQ(a[static_cast<std::size_t>(k)](3), 1023);
  // Which references are the plan's own it knows of lists, too.
  list.clear();
  b.clear();
  EXPECT_THAT(text_of_error([&] { graph.replay(step); }), HasSubstr("nobody but the plan holds"));
}

SPACE_TEST(Lists, AreComparedFromIterationToIteration) {
  TaskGraph graph(with_workers(2));
  auto const all = lines(25);
  auto const report = graph.iterate("loop", 50, [&](std::uint64_t iteration) {
    parallel_for(
        "add", ResourcePolicy(graph, 4, read_write(all), on<Space>),
        KOKKOS_LAMBDA(int i, view_list<Line> const& them) {
          for (auto const& each : them) each(i) += static_cast<long>(iteration);
        });
    host_task("next", ResourcePolicy(graph, read_write(std::span(all).first(1))),
              [all] { all[0](0) += 1; });
  });
  graph.wait();
  EXPECT_EQ(all[24](1), 49 * 50 / 2);
  EXPECT_EQ(all[0](0), 49 * 50 / 2 + 50);
  EXPECT_GT(report.replayed, 0u);
}

SPACE_TEST(Lists, RunOneByOneInSerialMode) {
  TaskGraphOptions options;
  options.serial = true;
  TaskGraph graph(options);
  auto const all = lines(20);
  std::vector<Future<void>> done;
  for (auto const& each : all)
    done.push_back(host_task("one", ResourcePolicy(graph, write(each)), [each] { each(0) = 2; }));
  auto const sum = host_task("sum", ResourcePolicy(graph, read(all), after(done)),
                             [](read_view_list<Line> const& them) {
                               long s = 0;
                               for (auto const& each : them) s += each(0);
                               return s;
                             });
  when_all(done).get();
  EXPECT_EQ(sum.get(), 40);
}

SPACE_TEST(Lists, OfThousandsAreNamedShortlyInMessages) {
  TaskGraph graph(with_workers(1));
  auto const all = lines(3000, 1);
  auto const failed = host_task("broken", ResourcePolicy(graph, write(all)),
                                [] { throw std::runtime_error("broken"); });
  std::string const text = text_of_error([&] { failed.get(); });
  EXPECT_THAT(text, HasSubstr("\"line 0\""));
  EXPECT_LT(text.size(), 2000u) << text.substr(0, 1000);
  EXPECT_THROW(graph.wait(), Error);
}

}  // namespace
}  // namespace trellis
