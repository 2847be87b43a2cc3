// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random plans whose tasks fail now and then, against the same tasks submitted round by round: as
// many runs of each task must be cancelled. And replays of very many rounds that come to nothing.
#include "Seeds.hpp"
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

struct Colour {
  int value = 0;
  bool operator==(Colour const&) const = default;
};

/// A sequence of tasks that access blocks and come after each other.
class FailingProgram {
 public:
  enum class How { plainly, by_plan, by_plan_of_plans };
  static constexpr std::size_t block_count = 4;
  static constexpr int never = -1, always = -2;

  /// `fails`: some runs throw. `separates`: there may be synchronizing tasks, and a rule, so that
  /// rounds do not overlap.
  FailingProgram(std::uint64_t seed, bool fails, bool separates) : m_random(seed) {
    int const count = 1 + pick(7);
    m_has_rule = separates && pick(3) == 0;
    bool const synchronizes = separates && pick(2) == 0;
    for (int k = 0; k != count; ++k) {
      Step step;
      for (std::size_t block = 0; block != block_count; ++block)
        if (pick(4) == 0) step.uses.push_back({block, modes[static_cast<std::size_t>(pick(5))]});
      for (int before = 0; before != k; ++before)
        if (pick(5) == 0) step.after.push_back(static_cast<std::size_t>(before));
      step.synchronizing = synchronizes && pick(4) == 0;
      step.colour = pick(4);
      step.splits = pick(5) == 0;
      if (fails && pick(3) == 0) step.fails_in_run = is_in_order(step) ? pick(4) : always;
      m_steps.push_back(step);
    }
    rounds = static_cast<std::uint64_t>(1 + pick(6));
  }

  using Runs = std::vector<std::atomic<int>>;

  [[nodiscard]] TaskGraphOptions options(int workers) const { return with_workers(workers); }
  void add_rules(TaskGraph& graph) const {
    if (m_has_rule)
      graph.add_rule<Colour>("colours", Constraint::ordered,
                             [](Colour a, Colour b) { return a.value == b.value && a.value != 0; });
  }

  [[nodiscard]] std::vector<int> run(How how, int workers) const {
    TaskGraph graph(options(workers));
    add_rules(graph);
    Runs runs(m_steps.size());
    auto const submit = [&] { submit_to(graph, runs); };
    if (how == How::plainly)
      for (std::uint64_t round = 0; round != rounds; ++round) submit();
    if (how == How::by_plan) graph.replay(graph.record(submit), rounds);
    if (how == How::by_plan_of_plans) {
      Plan const inner = graph.record(submit);
      graph.replay(graph.record([&] { graph.replay(inner, rounds); }));
    }
    try {
      graph.wait();
    } catch (Error const&) {  // some fail, that is what this is about
    }
    return {runs.begin(), runs.end()};
  }

  void submit_to(TaskGraph& graph, Runs& runs) const {
    std::vector<Future<void>> futures;
    for (std::size_t k = 0; k != m_steps.size(); ++k) {
      Step const& step = m_steps[k];
      std::vector<Touch> touches;
      for (auto const& [block, mode] : step.uses) touches.push_back({mode, m_blocks[block]});
      Properties properties;
      for (std::size_t const before : step.after)
        properties.after.push_back(Impl::FutureInternals::handle(futures[before]));
      properties.synchronizing = step.synchronizing;
      if (m_has_rule) properties.tags = tagged(Colour{step.colour}).tags;
      auto const body = [&step, &runs = runs[k]] {
        bool const fails = runs++ == step.fails_in_run || step.fails_in_run == always;
        if (!step.splits && fails) throw std::runtime_error("fails");
        if (step.splits)
          child("child", {}, [fails] {
            if (fails) throw std::runtime_error("fails");
          });
      };
      futures.push_back(task(graph, "step " + std::to_string(k), touches, body, properties));
    }
  }
  [[nodiscard]] std::size_t size() const { return m_steps.size(); }

  std::uint64_t rounds = 1;

 private:
  static constexpr std::array modes{Mode::read, Mode::read_write, Mode::write, Mode::atomic_add,
                                    Mode::exclusive};
  struct Use {
    std::size_t block;
    Mode mode;
  };
  struct Step {
    std::vector<Use> uses{};
    std::vector<std::size_t> after{};
    bool synchronizing = false;
    bool splits = false;
    int colour = 0;
    int fails_in_run = never;
  };
  /// Whether runs of different rounds come one after the other. Where they may overlap, the round
  /// of the k-th run is the scheduler's business, and with it how many runs a failure reaches.
  [[nodiscard]] bool is_in_order(Step const& step) const {
    return step.synchronizing || (m_has_rule && step.colour != 0) ||
           std::any_of(step.uses.begin(), step.uses.end(), [](Use const& use) {
             return use.mode == Mode::write || use.mode == Mode::read_write;
           });
  }
  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }

  std::mt19937_64 m_random;
  std::vector<Step> m_steps;
  bool m_has_rule = false;
  std::array<Block, block_count> m_blocks{Block("a"), Block("b"), Block("c"), Block("d")};
};

class RandomPlanFailures : public Timed {};

TEST_F(RandomPlanFailures, ReachTheTasksThatTheyReachWithoutAPlan) {
  using How = FailingProgram::How;
  for (std::uint64_t const seed : random_program::seeds(10)) {
    for (bool const separates : {false, true}) {
      FailingProgram const program(seed, true, separates);
      std::vector<int> const expected = program.run(How::plainly, 2);
      int const workers = 1 + static_cast<int>(seed % 3);
      std::string const which = "seed " + std::to_string(seed) + (separates ? ", separated" : "");
      ASSERT_EQ(program.run(How::by_plan, workers), expected) << which;
      ASSERT_EQ(program.run(How::by_plan_of_plans, workers), expected) << which;
    }
  }
}

TEST_F(RandomPlanFailures, CancellingAReplayTakesNoLongerTheMoreRoundsAreLeft) {
  constexpr std::uint64_t very_many = 1'000'000'000'000;
  for (std::uint64_t const seed : random_program::seeds(4)) {
    FailingProgram const program(seed, false, seed % 4 == 0);
    for (bool const nested : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      TaskGraph graph(program.options(1 + static_cast<int>(seed % 3)));
      program.add_rules(graph);
      FailingProgram::Runs runs(program.size());
      Plan const plan = graph.record([&] { program.submit_to(graph, runs); });
      std::optional<Plan> outer;
      if (nested) outer = graph.record([&] { graph.replay(plan, very_many); });
      Future<void> const whole = nested ? graph.replay(*outer) : graph.replay(plan, very_many);
      // (Which of them runs first, and how often before others, is the scheduler's business.)
      auto const is_under_way = [&] {
        return std::any_of(runs.begin(), runs.end(), [](auto const& each) { return each >= 3; });
      };
      while (!is_under_way()) std::this_thread::yield();
      graph.cancel(whole);
      graph.wait();
      for (std::atomic<int>& each : runs) each = 0;
      graph.replay(plan, 3);
      graph.wait();
      for (std::atomic<int> const& each : runs) ASSERT_EQ(each, 3);
    }
  }
}

TEST_F(RandomPlanFailures, AFailureThatReachesAllEndsAReplayOfVeryManyRounds) {
  Block x("x");
  for (int const count : {1, 2, 5}) {
    TaskGraph graph(with_workers(2));
    std::atomic<int> runs{0};
    bool fails = true;
    Plan const plan = graph.record([&] {
      for (int k = 0; k != count; ++k)
        task(graph, "step", {updates(x)}, [&] {
          if (++runs == 7 && fails) throw std::runtime_error("seventh");
        });
    });
    graph.replay(plan, 1'000'000'000'000);
    EXPECT_THAT(message_of([&] { graph.wait(); }), testing::HasSubstr("seventh"));
    EXPECT_EQ(runs, 7);
    fails = false;
    graph.replay(plan, 4).get();
    EXPECT_EQ(runs, 7 + 4 * count);
  }
}

}  // namespace
}  // namespace trellis
