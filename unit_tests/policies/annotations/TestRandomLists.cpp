// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs of tasks with accesses whose number is known at run time, mixed with fixed ones,
// against the same steps one by one.
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>

#include "RandomNumbers.hpp"
#include "Seeds.hpp"
#include "SpaceTest.hpp"

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using Test::pick;
using Test::Random;
using Values = Kokkos::View<long*, Memory>;
using Table = Kokkos::View<long**, Kokkos::LayoutLeft, Memory>;
using Column = decltype(Kokkos::subview(Table(), Kokkos::ALL, 0));
using Piece = Kokkos::View<long*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Tiles of several kinds, which overlap where two of them are of one allocation.
struct Memories {
  static constexpr int cells = 6;
  static constexpr int columns = 12;

  explicit Memories(std::size_t count) : table("table", cells, columns), long_one("long", 60) {
    for (std::size_t k = 0; k < count; ++k)
      values.emplace_back("value " + std::to_string(k), cells);
    for (int k = 0; k < 10; ++k) pieces.emplace_back(long_one.data() + 5 * k, cells);
  }
  [[nodiscard]] Column column(std::size_t k) const {
    return Kokkos::subview(table, Kokkos::ALL, static_cast<int>(k));
  }
  std::vector<Values> values;
  Table table;
  Values long_one;
  std::vector<Piece> pieces;  ///< neighbours share a cell
};

struct Step {
  int kind;
  std::vector<std::size_t> reads;    ///< of `values`
  std::vector<std::size_t> writes;   ///< of `values`
  std::vector<std::size_t> columns;  ///< that are updated
  std::vector<std::size_t> pieces;   ///< that are updated
  long number;
};

std::vector<std::size_t> some_of(Random& random, std::size_t of, std::size_t most) {
  std::vector<std::size_t> chosen(pick(random, 0, most));
  for (std::size_t& each : chosen) each = pick(random, 0, of - 1);
  return chosen;
}

/// What a step does to what it has been given.
struct Work {
  long number;
  template <class Reads, class Writes, class Columns, class Pieces>
  void operator()(Reads const& reads, Writes const& writes, Columns const& columns,
                  Pieces const& pieces) const {
    long sum = number;
    for (auto const& each : reads)
      for (std::size_t i = 0; i < each.extent(0); ++i) sum = (sum * 3 + each(i)) % 1000003;
    auto const update = [&](auto const& all) {
      for (auto const& each : all)
        for (std::size_t i = 0; i < each.extent(0); ++i)
          each(i) = (7 * each(i) + sum + static_cast<long>(i)) % 1000003;
    };
    update(writes);
    update(columns);
    update(pieces);
  }
};

template <class T>
std::vector<T> chosen(std::vector<T> const& all, std::vector<std::size_t> const& which) {
  std::vector<T> views;
  for (std::size_t const k : which) views.push_back(all[k]);
  return views;
}
std::vector<Column> chosen_columns(Memories const& in, std::vector<std::size_t> const& which) {
  std::vector<Column> views;
  for (std::size_t const k : which) views.push_back(in.column(k));
  return views;
}

constexpr int kinds = 6;

template <class Target>
void submit(Target& target, Memories const& in, Step const& step) {
  Work const work{step.number};
  auto const reads = chosen(in.values, step.reads);
  auto const writes = chosen(in.values, step.writes);
  auto const columns = chosen_columns(in, step.columns);
  auto const pieces = chosen(in.pieces, step.pieces);
  auto const lazily =
      step.columns | std::views::transform([&](std::size_t k) { return in.column(k); });
  switch (step.kind) {
    case 0:  // all as arguments
      host_task(
          "arguments",
          ResourcePolicy(target, read(reads), read_write(writes), read_write(lazily),
                         read_write(std::span(pieces))),
          [work](auto const& r, auto const& w, auto const& c, auto const& p) { work(r, w, c, p); });
      break;
    case 1: {  // one list
      AccessList list;
      list.read(reads).read_write(writes, pieces).read_write(lazily);
      host_task("list", ResourcePolicy(target, list),
                [=] { work(reads, writes, columns, pieces); });
      break;
    }
    case 2: {  // a list, a range and a fixed access
      AccessList list;
      list.read_write(pieces).add(read(group(reads)));
      if (writes.empty())
        host_task("mixed", ResourcePolicy(target, list, read_write(columns)),
                  [=] { work(reads, writes, columns, pieces); });
      else
        host_task("mixed",
                  ResourcePolicy(target, read_write(columns), list, read_write(writes[0]),
                                 read_write(std::span(writes).subspan(1))),
                  [=] { work(reads, writes, columns, pieces); });
      break;
    }
    case 3: {  // groups, and a range of groups
      using Pair = decltype(group(writes, pieces));
      std::vector<Pair> const pairs(1, group(writes, pieces));
      host_task("groups",
                ResourcePolicy(target, read(group(reads)), read_write(pairs),
                               read_write(group(std::vector<Column>(columns)))),
                [=] { work(reads, writes, columns, pieces); });
      break;
    }
    case 4:  // children
      host_task("whole",
                ResourcePolicy(target, read(reads), read_write(writes), read_write(columns),
                               read_write(pieces)),
                [=](TaskScope& self) {
                  std::vector<Future<void>> first{
                      host_task("child", ResourcePolicy(self, read(reads)), [] {})};
                  first.push_back(when_all("join", self, first));
                  host_task("child",
                            ResourcePolicy(self, read(reads), read_write(writes), after(first),
                                           read_write(columns), read_write(pieces)),
                            [=] { work(reads, writes, columns, pieces); });
                });
      break;
    default:  // after as well
      auto const before = host_task("before", ResourcePolicy(target, read(columns)), [] {});
      host_task("after",
                ResourcePolicy(target, after(std::vector{before}), read(reads), read_write(writes),
                               read_write(columns), after(before), read_write(pieces)),
                [=] { work(reads, writes, columns, pieces); });
  }
}

void run_now(Memories const& in, Step const& step) {
  Work{step.number}(chosen(in.values, step.reads), chosen(in.values, step.writes),
                    chosen_columns(in, step.columns), chosen(in.pieces, step.pieces));
}

void expect_same(Memories const& a, Memories const& b) {
  for (std::size_t k = 0; k < a.values.size(); ++k)
    for (std::size_t i = 0; i < Memories::cells; ++i)
      ASSERT_EQ(a.values[k](i), b.values[k](i)) << k;
  for (std::size_t k = 0; k < Memories::columns; ++k)
    for (std::size_t i = 0; i < Memories::cells; ++i) ASSERT_EQ(a.table(i, k), b.table(i, k)) << k;
  for (std::size_t i = 0; i < 60; ++i) ASSERT_EQ(a.long_one(i), b.long_one(i)) << i;
}

std::vector<Step> program(Random& random, std::size_t views) {
  std::vector<Step> steps;
  for (std::uint64_t k = pick(random, 5, 40); k > 0; --k) {
    std::size_t const most = pick(random, 0, 9) == 0 ? 40 : 4;
    steps.push_back({static_cast<int>(pick(random, 0, kinds - 1)), some_of(random, views, most),
                     some_of(random, views, most / 2), some_of(random, Memories::columns, 3),
                     some_of(random, 10, 3), static_cast<long>(pick(random, 0, 99))});
  }
  return steps;
}

SPACE_TEST(RandomLists, GiveWhatTheStepsGiveOneByOne) {
  for (std::uint64_t const seed : random_program::seeds(4)) {
    Random random(seed);
    std::size_t const views = pick(random, 3, 30);
    Memories const parallel(views), expected(views);
    std::vector<Step> const steps = program(random, views);
    for (Step const& step : steps) run_now(expected, step);
    {
      TaskGraphOptions options = Test::with_workers(static_cast<int>(pick(random, 1, 4)));
      if (pick(random, 0, 7) == 0) options.serial = true;
      options.record = pick(random, 0, 4) == 0;
      TaskGraph graph(options);
      for (Step const& step : steps) submit(graph, parallel, step);
      graph.wait();
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(parallel, expected));
  }
}

SPACE_TEST(RandomLists, GiveTheSameInPlansAndLoops) {
  for (std::uint64_t const seed : random_program::seeds(2)) {
    Random random(seed + 1000);
    std::size_t const views = pick(random, 3, 20);
    Memories const planned(views), looped(views), expected(views);
    std::vector<Step> const steps = program(random, views);
    std::uint64_t const rounds = pick(random, 1, 5);
    for (std::uint64_t round = 0; round < rounds; ++round)
      for (Step const& step : steps) run_now(expected, step);
    TaskGraph graph(Test::with_workers(static_cast<int>(pick(random, 1, 3))));
    Plan const plan = graph.record("plan", [&] {
      for (Step const& step : steps) submit(graph, planned, step);
    });
    graph.replay(plan, rounds);
    graph.iterate("loop", rounds, [&](std::uint64_t) {
      for (Step const& step : steps) submit(graph, looped, step);
    });
    graph.wait();
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(planned, expected));
    ASSERT_NO_FATAL_FAILURE(expect_same(looped, expected));
  }
}

}  // namespace
}  // namespace trellis
