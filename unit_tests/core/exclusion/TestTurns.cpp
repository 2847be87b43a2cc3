// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Those that wait for their turn, against a sorted set.
#include <exclusion/Trellis_TurnQueue.hpp>
#include <exclusion/Trellis_Turns.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace trellis::Impl {
namespace {

struct Waiter {
  Turn turn;
  Turns<Waiter>::List::iterator self;
};

/// Ranks from 0 to `ranks - 1`; often nobody waits.
void compare_with_set(std::uint64_t seed, std::int64_t ranks) {
  std::mt19937_64 random(seed);
  auto const below = [&](std::uint64_t count) { return random() % count; };
  Turns<Waiter> turns;
  Turns<Waiter>::List others;
  std::set<Turn> expected;
  std::vector<Waiter*> waiting;
  std::uint64_t arrivals = 0;
  std::uint64_t likely = 1;  // of 4: that one arrives
  for (int step = 0; step < 2000; ++step) {
    if (below(50) == 0) likely = 1 + below(3);
    if (waiting.empty() || below(4) < likely) {
      if (others.empty()) {
        others.emplace_back();
        others.front().self = others.begin();
      }
      Waiter& next = others.front();
      auto const rank = static_cast<std::int64_t>(below(static_cast<std::uint64_t>(ranks)));
      // Now and then one that has waited before comes back with its old place.
      std::uint64_t number = 2 * ++arrivals;
      if (below(8) == 0 && number > 20) number -= 1 + 2 * below(10);
      next.turn = {-rank, number};
      if (!expected.insert(next.turn).second) continue;
      turns.insert(others, next.self);
      waiting.push_back(&next);
    } else {
      std::size_t const k = below(2) == 0 ? 0 : below(waiting.size());
      Waiter* const leaving = k == 0 ? turns.front() : waiting[k];
      expected.erase(leaving->turn);
      turns.take_out(leaving->self, others);
      std::erase(waiting, leaving);
    }
    ASSERT_EQ(turns.empty(), expected.empty());
    if (expected.empty()) {
      ASSERT_EQ(turns.front(), nullptr);
      continue;
    }
    ASSERT_EQ(turns.front()->turn, *expected.begin());
    Waiter* const any = waiting[below(waiting.size())];
    ASSERT_EQ(turns.find_if([&](Waiter const& each) { return each.turn == any->turn; }), any);
  }
}

TEST(Turns, ComeInTheOrderOfRankAndArrival) {
  for (std::int64_t const ranks : {1, 2, 5, 1000})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE("ranks " + std::to_string(ranks) + ", seed " + std::to_string(seed));
      compare_with_set(seed, ranks);
      if (testing::Test::HasFatalFailure()) return;
    }
}

/// `late`: of 100, those that do not come behind all that are there.
void compare_queue_with_set(std::uint64_t seed, std::uint64_t late) {
  std::mt19937_64 random(seed);
  auto const below = [&](std::uint64_t count) { return random() % count; };
  TurnQueue<Waiter> queue;
  Turns<Waiter>::List all;
  std::map<Turn, Waiter*> expected;
  std::uint64_t arrivals = 1000;
  std::uint64_t likely = 1;  // of 4: that one is put in
  for (int step = 0; step < 3000; ++step) {
    if (below(100) == 0) likely = 1 + below(3);
    if (below(4) < likely) {
      Waiter& next = all.emplace_back();
      next.turn = {0, 2 * ++arrivals};
      if (below(100) < late) next.turn = {static_cast<std::int64_t>(below(3)) - 1, below(2000)};
      if (!expected.try_emplace(next.turn, &next).second) continue;
      queue.push(next);
    } else if (!expected.empty() && below(10) == 0) {
      auto const any =
          std::next(expected.begin(), static_cast<std::ptrdiff_t>(below(expected.size())));
      queue.erase(*any->second);
      expected.erase(any);
    } else if (!expected.empty()) {
      queue.pop();
      expected.erase(expected.begin());
    }
    ASSERT_EQ(queue.empty(), expected.empty());
    if (expected.empty()) continue;
    ASSERT_EQ(queue.front(), expected.begin()->second);
  }
}

TEST(TurnQueue, GivesTheFirstTurn) {
  for (std::uint64_t const late : {0, 1, 30, 100})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE("late " + std::to_string(late) + ", seed " + std::to_string(seed));
      compare_queue_with_set(seed, late);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Turns, StandInTheirListsWhereTheyAre) {
  Turns<Waiter> turns;
  Turns<Waiter>::List others(3);
  std::vector<Waiter*> where;
  for (auto each = others.begin(); each != others.end(); ++each) {
    each->turn = {-static_cast<std::int64_t>(where.size()), 1};
    each->self = each;
    where.push_back(&*each);
  }
  for (Waiter* each : where) turns.insert(others, each->self);
  EXPECT_TRUE(others.empty());
  EXPECT_EQ(turns.front(), where[2]);
  turns.take_out(where[2]->self, others);
  turns.take_out(where[0]->self, others);
  EXPECT_EQ(turns.front(), where[1]);
  EXPECT_EQ(&others.front(), where[2]);
  EXPECT_EQ(&others.back(), where[0]);
}

}  // namespace
}  // namespace trellis::Impl
