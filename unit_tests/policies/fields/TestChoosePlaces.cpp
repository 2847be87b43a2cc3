// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which places are chosen when it is known what tasks and copies take, and what fits: against
// values worked out by hand, and against all ways there are.
#include <fields/impl/Trellis_ChoosePlaces.hpp>
#include <fields/impl/Trellis_MemoryOrder.hpp>
#include <fields/impl/Trellis_PathCoalescing.hpp>

#include <gmock/gmock.h>

#include "RandomNumbers.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace trellis {
namespace {
namespace choosing {

using namespace Test;
using Impl::choose_places;
using Impl::find_fitting;
using Impl::MemoryGraph;
using Impl::missing_bytes;
using Impl::place_steps;
using Impl::PlacedStep;
using Impl::PlacedSteps;
using Impl::PlacementCosts;
using Impl::PlacementValue;
using Impl::value_of;
using testing::ElementsAre;

template <class T>
std::size_t at(T number) {
  return static_cast<std::size_t>(number);
}

/// One host (target 0), and devices of one type each.
struct Problem {
  PlacementGraph graph;
  std::vector<std::vector<double>> times;  ///< by task and target
  double copy = 0;

  explicit Problem(int targets = 2) {
    for (int k = 0; k < targets; ++k) graph.targets.push_back({"", k, k == 0});
  }
  int field(int home = -1, std::size_t bytes = 8) {
    graph.fields.push_back({bytes, home});
    return static_cast<int>(graph.fields.size()) - 1;
  }
  /// Less than nothing: it cannot be there.
  void task(std::vector<int> reads, std::vector<int> makes, std::vector<double> time) {
    PlacementGraph::Task task;
    task.number = graph.tasks.size();
    task.unit = static_cast<int>(task.number);
    task.reads = reads;
    task.makes = makes;
    for (std::size_t k = 0; k < time.size(); ++k)
      if (time[k] >= 0) task.eligible.push_back(static_cast<int>(k));
    for (std::size_t k = 0; k < graph.tasks.size(); ++k)
      for (int const made : graph.tasks[k].makes)
        if (std::find(reads.begin(), reads.end(), made) != reads.end())
          task.before.push_back(static_cast<int>(k));
    graph.tasks.push_back(task);
    times.push_back(time);
  }
  [[nodiscard]] PlacementCosts costs() const {
    return {[this](int task, int target) { return times[at(task)][at(target)]; },
            [this](int, int, std::size_t) { return copy; }};
  }
  [[nodiscard]] PlacementValue value(std::vector<int> const& places) const {
    return value_of(graph, places, costs());
  }
  [[nodiscard]] double makespan(std::vector<int> const& places) const {
    return value(places).makespan;
  }
  [[nodiscard]] std::vector<int> choice() const {
    return choose_places(graph, costs(), Balance::least_loaded);
  }
  /// All assignments that units allow.
  void for_all_ways(std::function<void(std::vector<int> const&)> const& act) const {
    std::vector<int> now(graph.tasks.size(), 0);
    std::function<void(std::size_t)> const next = [&](std::size_t task) {
      if (task == now.size()) {
        act(now);
        return;
      }
      int const unit = graph.tasks[task].unit;
      for (int const target : graph.tasks[task].eligible) {
        now[task] = target;
        if (at(unit) != task && now[at(unit)] != target) continue;
        next(task + 1);
      }
    };
    next(0);
  }
};

TEST(ChoosePlaces, AChainGoesWhereOneTaskWouldNot) {
  Problem one;
  one.copy = 6;
  one.task({one.field(0)}, {one.field(0)}, {10, 1});
  EXPECT_EQ(one.makespan({0}), 10);
  EXPECT_EQ(one.makespan({1}), 13);
  EXPECT_THAT(one.choice(), ElementsAre(0));
  Problem two;
  two.copy = 6;
  int const between = two.field();
  two.task({two.field(0)}, {between}, {10, 1});
  two.task({between}, {two.field(0)}, {10, 1});
  EXPECT_EQ(two.makespan({0, 0}), 20);
  EXPECT_EQ(two.makespan({1, 1}), 14);
  EXPECT_EQ(two.makespan({0, 1}), 10 + 6 + 1 + 6);
  EXPECT_THAT(two.choice(), ElementsAre(1, 1));
}

/// The heat equation: three fluxes and their divergence.
struct Heat : Problem {
  Heat() {
    copy = 4.5;
    int const T = field(0), r = field(0);
    std::vector<int> flux;
    for (int k = 0; k < 3; ++k) flux.push_back(field());
    for (int const each : flux) task({T}, {each}, {10, 1});
    task(flux, {r}, {10, 1});
  }
};

TEST(ChoosePlaces, OfTheHeatEquation) {
  Heat const heat;
  EXPECT_EQ(heat.value({0, 0, 0, 0}).work, 40);
  EXPECT_EQ(heat.value({1, 0, 0, 0}).work, 40) << "the break-even of one flux: 1 + 2 * 4.5 = 10";
  EXPECT_EQ(heat.makespan({0, 0, 0, 0}), 40);
  EXPECT_EQ(heat.makespan({1, 1, 1, 0}), 29) << "one copy of T, and copies go out at once";
  EXPECT_EQ(heat.makespan({1, 1, 1, 1}), 13);
  EXPECT_THAT(heat.choice(), ElementsAre(1, 1, 1, 1));
  // Two workers of the host: two fluxes, the third one, the divergence.
  Heat wide;
  wide.graph.targets[0].lanes = 2;
  EXPECT_EQ(wide.makespan({0, 0, 0, 0}), 30);
  EXPECT_EQ(wide.value({0, 0, 0, 0}).work, 40);
  EXPECT_EQ(wide.makespan({1, 1, 1, 1}), 13);
}

/// Fig. 3.19: B on the device needs D, E, and C, which needs F.
TEST(ChoosePlaces, CopiesAreOnTheirWayWhileOthersRun) {
  Problem problem;
  problem.copy = 5;
  int const d = problem.field(), e = problem.field(), f = problem.field(), c = problem.field();
  for (int const each : {d, e, f}) problem.task({}, {each}, {10, -1});
  problem.task({f}, {c}, {10, -1});
  problem.task({d, e, c}, {problem.field(1)}, {-1, 10});
  EXPECT_EQ(problem.makespan({0, 0, 0, 0, 1}), 55);
}

/// Work is not the time of an iteration: two chains that nothing orders, 10 each on the host and 9
/// on the device.
TEST(ChoosePlaces, WhatCanRunSideBySideIsSplit) {
  Problem problem;
  for (int k = 0; k < 2; ++k) problem.task({problem.field(0)}, {problem.field(0)}, {10, 9});
  EXPECT_EQ(problem.value({1, 1}).work, 18) << "the least work";
  EXPECT_EQ(problem.makespan({1, 1}), 18);
  EXPECT_EQ(problem.value({0, 1}).work, 19);
  EXPECT_EQ(problem.makespan({0, 1}), 10);
  EXPECT_EQ(problem.makespan(problem.choice()), 10);
  // With two workers nothing is gained by the device but one unit of work.
  problem.graph.targets[0].lanes = 2;
  EXPECT_EQ(problem.makespan({0, 0}), 10);
  EXPECT_EQ(problem.value(problem.choice()).makespan, 10);
  EXPECT_EQ(problem.value(problem.choice()).work, 19);
}

TEST(ChoosePlaces, OfWhatIsAsSoonTheLeastWorkCounts) {
  Problem problem;
  problem.task({}, {problem.field(0)}, {100, -1});
  problem.task({}, {problem.field(1)}, {-1, 5});
  // Behind the first one nobody waits for it, wherever it is: 100 + 3, 5 + 2, 7.
  problem.task({problem.field(1)}, {problem.field(1)}, {3, 2, 7});
  problem.graph.targets.push_back({"", 2, false});
  for (auto& time : problem.times) time.resize(3, -1);
  EXPECT_EQ(problem.makespan({0, 1, 1}), 100);
  EXPECT_EQ(problem.makespan({0, 1, 2}), 100);
  EXPECT_THAT(problem.choice(), ElementsAre(0, 1, 1));
}

/// Two tasks of one field go together, and a task stays where it is eligible.
TEST(ChoosePlaces, KeepsToWhatIsPossible) {
  Problem problem(3);
  int const q = problem.field(), r = problem.field(0);
  problem.task({}, {q}, {10, 1, 2});
  problem.task({}, {q}, {10, 20, 2});
  problem.task({q}, {r}, {10, -1, -1});
  problem.graph.tasks[1].unit = 0;
  EXPECT_THAT(problem.choice(), ElementsAre(2, 2, 0));
}

/// Devices of one group copy to each other, others over the host.
TEST(ChoosePlaces, WhoCannotReachTheOtherGoesOverTheHost) {
  Problem problem(3);
  problem.copy = 10;
  int const q = problem.field();
  problem.task({}, {q}, {-1, 1, -1});
  problem.task({q}, {problem.field(2)}, {-1, -1, 1});
  EXPECT_EQ(problem.makespan({1, 2}), 12);
  problem.graph.targets[2].group = 1;
  EXPECT_EQ(problem.makespan({1, 2}), 22);
  problem.graph.targets[0].is_host = false;
  problem.graph.targets[0].group = 2;
  EXPECT_GE(place_steps(problem.graph, std::vector{1, 2}).stuck, 0) << "there is no host";
}

/// A graph in which tasks read some of what is there so far.
Problem random_problem(Random& random, int most_tasks) {
  int const targets = static_cast<int>(pick(random, 2, 3));
  Problem problem(targets);
  problem.copy = static_cast<double>(pick(random, 0, 12));
  problem.graph.targets[0].lanes = static_cast<int>(pick(random, 1, 2));
  std::vector<int> fields{problem.field(0, 8 * pick(random, 1, 3))};
  std::size_t const tasks = pick(random, 1, at(most_tasks));
  for (std::size_t k = 0; k < tasks; ++k) {
    std::vector<int> reads;
    for (int const field : fields)
      if (pick(random, 0, 1) == 0) reads.push_back(field);
    std::vector<double> time;
    for (int target = 0; target < targets; ++target)
      time.push_back(
          target > 0 && pick(random, 0, 3) == 0 ? -1 : static_cast<double>(pick(random, 1, 20)));
    int const made = problem.field(pick(random, 0, 2) == 0 ? 0 : -1, 8 * pick(random, 1, 3));
    problem.task(reads, {made}, time);
    fields.push_back(made);
  }
  return problem;
}

/// Of graphs in which each task is a chain no assignment is better; else none that keeps chains
/// together. A makespan is no shorter than the longest path, nor than what a lane has to do.
TEST(ChoosePlaces, IsTheBestOfAllWays) {
  int longer_than_bounds = 0;
  Random random(2);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Problem const problem = random_problem(random, 6);
    std::size_t const tasks = problem.graph.tasks.size();
    std::vector<std::set<int>> choices;
    for (auto const& task : problem.graph.tasks)
      choices.emplace_back(task.eligible.begin(), task.eligible.end());
    auto const chains = Impl::chains_of(problem.graph, choices);
    PlacementValue const chosen = problem.value(problem.choice());
    std::optional<PlacementValue> best;
    problem.for_all_ways([&](std::vector<int> const& places) {
      PlacementValue const value = problem.value(places);
      // What bounds it, from the places alone.
      double host = 0;
      std::vector<double> lanes(problem.graph.targets.size(), 0), path(tasks, 0);
      double longest = 0;
      for (std::size_t task = 0; task < tasks; ++task) {
        double const time = problem.times[task][at(places[task])];
        (places[task] == 0 ? host : lanes[at(places[task])]) += time;
        double before = 0;
        for (int const each : problem.graph.tasks[task].before)
          before = std::max(before,
                            path[at(each)] + (places[at(each)] != places[task] ? problem.copy : 0));
        path[task] = before + time;
        longest = std::max(longest, path[task]);
      }
      double const bound = std::max({longest, host / problem.graph.targets[0].lanes,
                                     *std::max_element(lanes.begin(), lanes.end())});
      ASSERT_GE(value.makespan, bound - 1e-9);
      ASSERT_LE(value.makespan, value.work + 1e-9);
      longer_than_bounds += value.makespan > bound + 1e-9 ? 1 : 0;
      bool const keeps_chains = std::all_of(chains.begin(), chains.end(), [&](auto const& chain) {
        return std::all_of(chain.begin(), chain.end(),
                           [&](int task) { return places[at(task)] == places[at(chain.front())]; });
      });
      if (keeps_chains && (!best.has_value() || value < *best)) best = value;
    });
    ASSERT_EQ(chosen.makespan, best->makespan);
    ASSERT_EQ(chosen.work, best->work);
  }
  EXPECT_GT(longer_than_bounds, 0) << "else the schedule would be tested by nothing";
}

/// Too many chains for all ways: no worse than all on one type, nor than any one chain or part
/// elsewhere.
TEST(ChoosePlaces, OfManyChainsIsBalanced) {
  Problem problem;
  for (int k = 0; k < 40; ++k) problem.task({problem.field(0)}, {problem.field(0)}, {3, 1});
  // 10 on the host and 30 on the device take 30 each.
  EXPECT_EQ(problem.makespan(std::vector<int>(40, 0)), 120);
  EXPECT_EQ(problem.makespan(std::vector<int>(40, 1)), 40);
  EXPECT_EQ(problem.makespan(problem.choice()), 30);
  // Equations of three tasks and what needs them: each is moved as a whole.
  Problem equations;
  equations.copy = 7;
  for (int k = 0; k < 6; ++k) {
    int const phi = equations.field(0), rate = equations.field(0);
    std::vector<int> flux{equations.field(), equations.field(), equations.field()};
    for (int const each : flux) equations.task({phi}, {each}, {10, 4});
    equations.task(flux, {rate}, {10, 4});
  }
  // Six copies of phi come every 7, and the device is busy from 7 on: three fluxes of the first, of
  // the second, what was ready meanwhile. Four right-hand sides are left at 87, and 4 by 4 each of
  // them is followed by a copy of 7: 91 + 4 * 7.
  EXPECT_EQ(equations.makespan(std::vector<int>(24, 1)), 119);
  // Two on the host take 80. Of four on the device the last two right-hand sides begin at 59 + 4,
  // and copies end at 63 + 3 * 7.
  std::vector<int> split(24, 1);
  std::fill(split.begin(), split.begin() + 8, 0);
  EXPECT_EQ(equations.makespan(split), 84);
  EXPECT_LE(equations.makespan(equations.choice()), 84);
}

// --- memory --------------------------------------------------------------------------------------

/// The least that is needed at each place, in the best of all orders, told apart from how the
/// subject counts: true if it fits.
bool fits_in_some_order(PlacementGraph const& graph, PlacedSteps const& placed,
                        std::set<int> const& over, std::set<std::set<int>>& seen) {
  if (over.size() == placed.steps.size()) return true;
  if (!seen.insert(over).second) return false;
  for (int step = 0; step < static_cast<int>(placed.steps.size()); ++step) {
    auto const& of = placed.steps[at(step)];
    bool const may_run =
        over.count(step) == 0 && std::all_of(of.before.begin(), of.before.end(),
                                             [&](int before) { return over.count(before) != 0; });
    if (!may_run) continue;
    std::vector<std::size_t> live(graph.targets.size(), 0);
    for (int slot = 0; slot < static_cast<int>(placed.slots.size()); ++slot) {
      if (placed.slots[at(slot)].is_kept) continue;
      bool is_made = false, is_needed = false;
      for (int other = 0; other < static_cast<int>(placed.steps.size()); ++other)
        for (PlacedStep::Use const& use : placed.steps[at(other)].uses) {
          if (use.slot != slot) continue;
          is_made = is_made || (use.makes && (other == step || over.count(other) != 0));
          is_needed = is_needed || over.count(other) == 0;
        }
      if (is_made && is_needed)
        live[at(placed.slots[at(slot)].place)] += placed.slots[at(slot)].bytes;
    }
    bool has_room = true;
    for (std::size_t place = 0; place < live.size(); ++place)
      has_room = has_room && live[place] <= graph.targets[place].room;
    if (!has_room) continue;
    std::set<int> then = over;
    then.insert(step);
    if (fits_in_some_order(graph, placed, then, seen)) return true;
  }
  return false;
}
bool fits(PlacementGraph const& graph, std::vector<int> const& places) {
  std::set<std::set<int>> seen;
  return fits_in_some_order(graph, place_steps(graph, places), {}, seen);
}

TEST(ChoosePlaces, WhatHasNoRoomIsNotChosen) {
  Heat heat;
  for (std::size_t room = 0; room <= 4; ++room) {
    heat.graph.targets[1].room = 8 * room;
    auto const places = heat.choice();
    EXPECT_EQ(missing_bytes(heat.graph, places), 0U);
    EXPECT_TRUE(fits(heat.graph, places));
    // All there: a copy of T and three fluxes, then these and r. With room for a copy and a flux,
    // two fluxes go there, one after the other, while the host computes the third: they are back
    // at 10 and 14.5. Without, there is nothing there.
    EXPECT_EQ(heat.makespan(places), room < 2 ? 40 : room < 4 ? 24.5 : 13) << room;
  }
  // Not even a flux fits on the host.
  Heat there;
  there.copy = 1000;
  there.graph.targets[0].room = 0;
  EXPECT_THAT(there.choice(), ElementsAre(1, 1, 1, 1));
  there.graph.targets[1].room = 16;
  EXPECT_TRUE(there.choice().empty()) << "nothing fits";
  EXPECT_GT(missing_bytes(there.graph, std::vector{1, 1, 1, 1}), 0U);
}

/// Where chains fit nowhere their tasks are taken one by one.
TEST(ChoosePlaces, AChainIsTornWhereItDoesNotFit) {
  // The first one needs a copy of x, which the host has no room for; the second one a and b at a
  // time, which the device has no room for.
  Problem problem;
  int const a = problem.field(-1, 32), b = problem.field(-1, 32);
  problem.task({problem.field(1, 64)}, {a}, {1, 10});
  problem.task({a}, {b}, {10, 1});
  problem.task({b}, {problem.field(0)}, {10, 1});
  problem.graph.targets[0].room = 64;
  problem.graph.targets[1].room = 40;
  EXPECT_THAT(problem.choice(), ElementsAre(1, 0, 0));
}

/// Whenever some assignment fits one is found, and what is said to fit does.
TEST(ChoosePlaces, NothingIsRefusedThatFitsSomewhere) {
  int tight = 0, hopeless = 0;
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Problem problem = random_problem(random, 4);
    for (auto& target : problem.graph.targets) target.room = 8 * pick(random, 0, 8);
    bool any = false, all = true;
    problem.for_all_ways([&](std::vector<int> const& places) {
      bool const does = fits(problem.graph, places);
      ASSERT_EQ(missing_bytes(problem.graph, places) == 0, does);
      any = any || does;
      all = all && does;
    });
    auto const places = problem.choice();
    ASSERT_EQ(!places.empty(), any);
    if (any) ASSERT_TRUE(fits(problem.graph, places));
    tight += any && !all ? 1 : 0;
    hopeless += any ? 0 : 1;
    // As near as may be to what is wanted.
    std::vector<int> wanted;
    for (auto const& task : problem.graph.tasks) wanted.push_back(task.eligible.back());
    auto const near = find_fitting(problem.graph, wanted);
    ASSERT_EQ(!near.empty(), any);
    if (fits(problem.graph, wanted)) ASSERT_EQ(near, wanted);
  }
  EXPECT_GT(tight, 5);
  EXPECT_GT(hopeless, 0);
}

/// More units than can be looked at one by one.
TEST(ChoosePlaces, OfManyUnitsSomethingIsFoundThatFits) {
  Problem problem(3);
  std::vector<int> made;
  for (int k = 0; k < 24; ++k) {
    made.push_back(problem.field());
    problem.task({problem.field(0)}, {made.back()}, {10, 1, 1});
  }
  for (int k = 0; k < 24; ++k) problem.task({made[at(k)]}, {problem.field(0)}, {10, 1, 1});
  problem.task(made, {problem.field(0)}, {10, -1, -1});
  // All 24 are needed on the host in the end; a device has room for a few at a time.
  problem.graph.targets[0].room = 24 * 8;
  problem.graph.targets[1].room = problem.graph.targets[2].room = 3 * 8;
  std::vector<int> wanted(49, 1);
  wanted[48] = 0;
  auto const near = find_fitting(problem.graph, wanted);
  ASSERT_FALSE(near.empty());
  EXPECT_EQ(missing_bytes(problem.graph, near), 0U);
}

}  // namespace choosing
}  // namespace
}  // namespace trellis
