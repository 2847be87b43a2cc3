// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs some of whose tasks are over later than their bodies, against the values that a
// plain loop gives.
#include "Seeds.hpp"
#include "LateTest.hpp"
#include "Timing.hpp"

#include <Trellis_Progress.hpp>
#include <Trellis_SchedulingPolicy.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

constexpr std::size_t cells = 6;

/// Who ends a task: its body when it returns; its body by `done`; another thread; a progress
/// function.
enum class End { returns, within, elsewhere, polled };

struct Step {
  std::vector<std::size_t> reads;
  std::vector<std::size_t> updates;
  End end = End::returns;
  bool fails = false;
  std::vector<Step> children;  ///< on what it updates, in this order
  long id = 0;
};

/// What becomes of a value.
long changed(long value, long sum) {
  return (31 * value + sum) % 1'000'003;
}

/// What a step does to the values, all of it at its end.
void apply(Step const& step, std::array<long, cells>& values) {
  long sum = step.id;
  for (std::size_t k : step.reads) sum += values[k];
  for (Step const& each : step.children) apply(each, values);
  for (std::size_t k : step.updates) values[k] = changed(values[k], sum);
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : m_random(seed) {}

  std::size_t below(std::size_t n) { return m_random() % n; }
  std::vector<Step> steps(std::size_t count, bool may_fail) {
    std::vector<Step> made;
    for (std::size_t k = 0; k < count; ++k) made.push_back(step(all(), may_fail, 2));
    return made;
  }

 private:
  static std::vector<std::size_t> all() {
    std::vector<std::size_t> every(cells);
    for (std::size_t k = 0; k < cells; ++k) every[k] = k;
    return every;
  }
  Step step(std::vector<std::size_t> within, bool may_fail, int depth) {
    Step made;
    made.id = ++m_last;
    std::shuffle(within.begin(), within.end(), m_random);
    std::size_t const updates = 1 + below(std::min<std::size_t>(2, within.size()));
    made.updates.assign(within.begin(), within.begin() + static_cast<std::ptrdiff_t>(updates));
    std::size_t const reads = std::min(below(3), within.size() - updates);
    made.reads.assign(within.begin() + static_cast<std::ptrdiff_t>(updates),
                      within.begin() + static_cast<std::ptrdiff_t>(updates + reads));
    made.end = static_cast<End>(below(4));
    made.fails = may_fail && below(40) == 0;
    if (depth > 0 && below(5) == 0)
      for (std::size_t k = below(4); k > 0; --k)
        made.children.push_back(step(made.updates, may_fail, depth - 1));
    return made;
  }

  std::mt19937_64 m_random;
  long m_last = 0;
};

/// Runs steps on a graph.
class Runner {
 public:
  Runner(TaskGraph& graph, Block& values)
      : m_values(values), m_progress(graph.add_progress([this] {
          if (Completion<> completion = m_slots.try_take(); completion.valid())
            end(std::move(completion));
          return !m_slots.empty();
        })) {}

  void submit(TaskGraph& graph, Step const& step) {
    m_futures.push_back(task(graph, "step", touches(step), [this, &step] { body(step); }));
  }
  [[nodiscard]] std::vector<Future<void>> const& futures() const { return m_futures; }

 private:
  std::vector<Touch> touches(Step const& step) {
    std::vector<Touch> made;
    for (std::size_t k : step.reads) made.push_back(Bare::reads(m_values(k, 1)));
    for (std::size_t k : step.updates) made.push_back(Bare::updates(m_values(k, 1)));
    return made;
  }

  void body(Step const& step) {
    if (step.fails && step.end == End::returns) throw std::runtime_error("it fails");
    long sum = step.id;
    for (std::size_t k : step.reads) sum += m_values[k];
    for (Step const& each : step.children)
      child("child", touches(each), [this, &each] { body(each); });
    // What this step does itself comes behind its children, as its last child.
    if (!step.children.empty()) {
      child("rest", touches(step), [this, &step, sum] { rest(step, sum); });
      return;
    }
    rest(step, sum);
  }
  void rest(Step const& step, long sum) {
    auto const act = [this, &step, sum] {
      for (std::size_t k : step.updates) m_values[k] = changed(m_values[k], sum);
    };
    if (step.end == End::returns) return act();
    Completion<> completion = Impl::CompletionInternals::open(self());
    auto say = [act, fails = step.fails](Completion<> what) {
      if (fails) return what.fail(std::runtime_error("it fails"));
      act();
      what.done();
    };
    switch (step.end) {
      case End::within:
        return say(std::move(completion));
      case End::elsewhere:
        return m_elsewhere[static_cast<std::size_t>(step.id) % 2].give(
            [say, c = std::move(completion)]() mutable { say(std::move(c)); });
      default: {
        std::lock_guard const lock(m_mutex);
        m_says.emplace_back(completion.id(), say);
      }
    }
    m_slots.put(std::move(completion));
    m_progress.ask();
  }
  void end(Completion<> completion) {
    std::function<void(Completion<>)> say;
    {
      std::lock_guard const lock(m_mutex);
      auto const found = std::find_if(m_says.begin(), m_says.end(), [&](auto const& each) {
        return each.first == completion.id();
      });
      say = std::move(found->second);
      m_says.erase(found);
    }
    say(std::move(completion));
  }

  Block& m_values;
  Slots m_slots;
  std::mutex m_mutex;
  std::vector<std::pair<TaskId, std::function<void(Completion<>)>>> m_says;
  std::array<Elsewhere, 2> m_elsewhere;
  Progress m_progress;
  std::vector<Future<void>> m_futures;
};

class RandomCompletions : public Timed {};

TaskGraphOptions any_options(Maker& maker) {
  TaskGraphOptions options;
  options.serial = maker.below(5) == 0;
  options.workers = static_cast<int>(1 + maker.below(4));
  switch (maker.below(4)) {
    case 0:
      options.policy = make_shake_policy(maker.below(1000));
      break;
    case 1:
      options.policy = make_fifo_policy();
      break;
    default:
      break;
  }
  if (maker.below(3) == 0) options.in_flight = 1 + maker.below(8);
  options.record = maker.below(4) == 0;
  return options;
}

std::array<long, cells> values_of(Block& block) {
  std::array<long, cells> values{};
  for (std::size_t k = 0; k < cells; ++k) values[k] = block[k];
  return values;
}

TEST_F(RandomCompletions, GiveWhatAPlainLoopGives) {
  for (std::uint64_t const seed : random_program::seeds(1, sanitized ? 40 : 150)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Maker maker(seed);
    Block values("values", cells);
    std::array<long, cells> expected{};
    std::vector<Step> const program = maker.steps(60, false);
    TaskGraph graph(any_options(maker));
    {
      Runner run(graph, values);
      for (Step const& step : program) {
        run.submit(graph, step);
        apply(step, expected);
        if (maker.below(30) == 0) graph.wait();
      }
      graph.wait();
    }
    ASSERT_EQ(values_of(values), expected);
  }
}

TEST_F(RandomCompletions, GiveWhatALoopOverAPlanGives) {
  for (std::uint64_t const seed : random_program::seeds(1, sanitized ? 20 : 80)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Maker maker(seed);
    Block values("values", cells);
    std::array<long, cells> expected{};
    std::vector<Step> const program = maker.steps(12, false);
    std::size_t const rounds = 1 + maker.below(12);
    bool const iterates = maker.below(3) == 0;
    TaskGraph graph(any_options(maker));
    {
      Runner run(graph, values);
      auto const submit_all = [&] {
        for (Step const& step : program) run.submit(graph, step);
      };
      for (std::size_t k = 0; k < rounds; ++k)
        for (Step const& step : program) apply(step, expected);
      if (iterates) {
        graph.iterate("loop", rounds, submit_all);
      } else {
        Plan const plan = graph.record("plan", submit_all);
        std::size_t const first = maker.below(rounds);
        graph.replay(plan, first);
        graph.replay(plan, rounds - first);
      }
      graph.wait();
    }
    ASSERT_EQ(values_of(values), expected);
  }
}

/// Nobody runs whose predecessor has failed, and the others do.
TEST_F(RandomCompletions, FailAsThoseDoThatReturn) {
  for (std::uint64_t const seed : random_program::seeds(1, sanitized ? 20 : 80)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Maker maker(seed);
    std::vector<Step> const program = maker.steps(50, true);
    // By the same program in which every task ends with its body. What a child of a failed task has
    // done before that nobody knows, so only those cells are compared that no such task touches.
    std::set<std::size_t> spoilt, read_in_vain;
    std::vector<bool> is_good;
    std::array<long, cells> expected{};
    auto const fails = [](auto const& self, Step const& step) -> bool {
      return step.fails || std::any_of(step.children.begin(), step.children.end(),
                                       [&](Step const& each) { return self(self, each); });
    };
    for (Step const& step : program) {
      auto const is_spoilt = [&](std::size_t k) { return spoilt.contains(k); };
      bool const bad = fails(fails, step) ||
                       std::any_of(step.reads.begin(), step.reads.end(), is_spoilt) ||
                       std::any_of(step.updates.begin(), step.updates.end(), is_spoilt) ||
                       std::any_of(step.updates.begin(), step.updates.end(),
                                   [&](std::size_t k) { return read_in_vain.contains(k); });
      is_good.push_back(!bad);
      if (!bad) {
        apply(step, expected);
        continue;
      }
      spoilt.insert(step.updates.begin(), step.updates.end());
      read_in_vain.insert(step.reads.begin(), step.reads.end());
    }
    Block values("values", cells);
    TaskGraph graph(any_options(maker));
    {
      Runner run(graph, values);
      for (Step const& step : program) run.submit(graph, step);
      bool const any_bad = std::find(is_good.begin(), is_good.end(), false) != is_good.end();
      EXPECT_EQ(message_of([&] { graph.wait(); }) != "no error", any_bad);
      for (std::size_t k = 0; k < program.size(); ++k)
        EXPECT_EQ(message_of([&] { run.futures()[k].get(); }) == "no error", is_good[k]) << k;
    }
    for (std::size_t k = 0; k < cells; ++k)
      if (!spoilt.contains(k)) {
        EXPECT_EQ(values[k], expected[k]) << k;
      }
  }
}

}  // namespace
}  // namespace trellis
