// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs in which everything meets that a serial graph has to end: Completions, exclusive
// areas that are given up in every way, fork-joins, replays, small caps, several submitting
// threads.
#include "Seeds.hpp"
#include "LateTest.hpp"
#include "OrderTest.hpp"
#include "Timing.hpp"

#include <Trellis_Progress.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

constexpr std::size_t shared_cells = 3;

/// A fork-join, as `fork_join` makes it.
template <class F>
void fork_join(TaskGraph& graph, std::vector<Touch> const& touches, F body) {
  Impl::GraphInternals::require_may_join(graph);
  auto call = [body] { Impl::GraphInternals::run_fork_join(self(), self(), 0, body); };
  using B = Body<decltype(call), void>;
  static constexpr Impl::TaskOps ops = [] {
    Impl::TaskOps made = B::make_ops();
    made.fork_join_depth = [](void const*) { return 0; };
    return made;
  }();
  std::vector<Impl::AccessRequest> const accesses = requests_of(touches);
  auto const construct = [&](void* storage) { ::new (storage) B{call, {}}; };
  Impl::TaskSpec spec("fork-join", ops, sizeof(B), alignof(B), construct);
  spec.accesses = accesses;
  Impl::GraphInternals::join_fork_join(Impl::GraphInternals::submit(graph, std::move(spec)));
}

/// A program of several threads on one graph. What it counts is a sum, so that it does not depend
/// on the order of the threads; beside that each thread has a cell of its own, whose value does
/// depend on the order of the thread's tasks.
class Program {
 public:
  Program(std::uint64_t seed, TaskGraph& graph, int threads)
      : m_graph(graph), m_values("values", shared_cells + static_cast<std::size_t>(threads)) {
    for (int k = 0; k < threads; ++k) m_randoms.emplace_back(seed * 977 + 31U * unsigned(k));
    m_expected.resize(static_cast<std::size_t>(threads), 0);
    m_progress.emplace(graph.add_progress([this] {
      std::function<void()> say;
      {
        std::lock_guard const lock(m_mutex);
        if (m_polled.empty()) return false;
        say = std::move(m_polled.front());
        m_polled.pop_front();
      }
      say();
      return true;
    }));
  }

  void run(int tasks) {
    std::vector<std::thread> others;
    for (std::size_t k = 1; k < m_randoms.size(); ++k)
      others.emplace_back([this, k, tasks] { submit_all(k, tasks); });
    submit_all(0, tasks);
    for (std::thread& each : others) each.join();
    m_graph.wait();
    std::array<long, shared_cells> sums{};
    for (std::size_t k = 0; k < shared_cells; ++k) sums[k] = m_values[k];
    for (std::size_t k = 0; k < shared_cells; ++k) EXPECT_EQ(sums[k], m_sums[k]) << k;
    for (std::size_t k = 0; k < m_expected.size(); ++k)
      EXPECT_EQ(m_values[shared_cells + k], m_expected[k]) << "of thread " << k;
    EXPECT_FALSE(m_met) << "two bodies ran at a time that exclude each other";
    EXPECT_EQ(m_graph.in_flight(), 0u);
  }

 private:
  using Random = std::mt19937_64;
  static std::size_t below(Random& random, std::size_t n) { return random() % n; }

  Place shared(std::size_t k) const { return m_values(k, 1); }
  Place own(std::size_t thread) const { return m_values(shared_cells + thread, 1); }

  /// By a body that excludes others.
  void begin_to_count(std::size_t k) {
    if (m_inside[k].exchange(true)) m_met = true;
    m_values[k] += 1;
  }
  void count(std::size_t k) {
    begin_to_count(k);
    m_inside[k] = false;
  }
  /// The same; the task excludes others until its Completion says that it is over.
  void count_late(std::size_t k, std::uint64_t how) {
    begin_to_count(k);
    end_late(how, [this, k] { m_inside[k] = false; });
  }
  /// The value of a thread's cell after one more task.
  static long next(long value) { return (31 * value + 7) % 1'000'003; }

  template <class Before>
  void end_late(std::uint64_t how, Before before) {
    auto held = std::make_shared<Completion<>>(Impl::CompletionInternals::open(self()));
    auto const say = [held, before] {
      before();
      held->done();
    };
    switch (how % 3) {
      case 0:
        return say();
      case 1:
        return m_elsewhere.give(say);
      default: {
        std::lock_guard const lock(m_mutex);
        m_polled.emplace_back(say);
      }
    }
    m_progress->ask();
  }

  void submit_all(std::size_t thread, int tasks) {
    Random& random = m_randoms[thread];
    for (int n = 0; n < tasks; ++n) submit_one(thread, random);
  }

  void submit_one(std::size_t thread, Random& random) {
    std::size_t const k = below(random, shared_cells);
    std::uint64_t const how = random();
    switch (below(random, 12)) {
      case 0: {  // counts, gives it up, and goes on
        m_sums[k] += 1;
        expect(thread);
        std::vector<Touch> const touches{excludes(shared(k)), updates(own(thread))};
        auto const first = task(m_graph, "releases", touches, [this, thread, k] {
          count(k);
          release(shared(k));
          advance(thread);
        });
        if (how % 2 == 0) first.wait();
        break;
      }
      case 1: {  // shrinks to a child that is over late
        m_sums[k] += 1;
        std::vector<Touch> const touches{excludes(shared(k)), reads(own(thread))};
        (void)task(m_graph, "shrinks", touches, [this, k, how] {
          child("late", {excludes(shared(k))}, [this, k, how] { count_late(k, how); });
          shrink_to_children();
        });
        break;
      }
      case 2: {  // is demoted by whoever submitted it
        m_sums[k] += 1;
        expect(thread);
        std::vector<Touch> const touches{excludes(shared(k)), updates(own(thread)),
                                         excludes(shared((k + 1) % shared_cells))};
        Future<void> const future = task(m_graph, "demoted", touches, [this, thread, k] {
          count(k);
          advance(thread);
        });
        (void)release_other(m_graph, future, {shared((k + 1) % shared_cells)});
        break;
      }
      case 3: {  // only late
        expect(thread);
        (void)task(m_graph, "late", {updates(own(thread))}, [this, thread, how] {
          end_late(how, [this, thread] { advance(thread); });
          if (how % 2 == 0) end_late(how / 2, [] {});
        });
        break;
      }
      case 4: {  // excludes and is late
        m_sums[k] += 1;
        (void)task(m_graph, "excludes late", {excludes(shared(k))},
                   [this, k, how] { count_late(k, how); });
        break;
      }
      case 5: {
        m_sums[k] += 3;
        fork_join(m_graph, {excludes(shared(k))}, [this, k, how] {
          for (int n = 0; n < 3; ++n)
            child("of a fork-join", {excludes(shared(k))},
                  [this, k, how] { how % 4 == 0 ? count_late(k, how / 4) : count(k); });
        });
        break;
      }
      case 6: {
        std::uint64_t const rounds = 1 + how % 4;
        m_sums[k] += 2 * static_cast<long>(rounds);
        Plan const plan = m_graph.record("plan", [&] {
          for (int n = 0; n < 2; ++n)
            (void)task(m_graph, "of a plan", {excludes(shared(k))},
                       [this, k, how] { how % 4 < 2 ? count_late(k, how / 4) : count(k); });
        });
        Future<void> const replay = m_graph.replay(plan, rounds);
        if (how % 8 == 0) replay.wait();
        break;
      }
      case 7: {  // waits for a task of its own
        m_sums[k] += 1;
        std::size_t const other = (k + 1) % shared_cells;
        m_sums[other] += 1;
        (void)task(m_graph, "waits", {excludes(shared(k))}, [this, k, other, how] {
          count(k);
          auto const inner = task(m_graph, "inner", {excludes(shared(other))}, [this, other, how] {
            how % 2 == 0 ? count_late(other, how / 2) : count(other);
          });
          if (other > k) inner.wait();  // the other way round two of these could close a circle
        });
        break;
      }
      case 8:
        if (how % 4 == 0) return m_graph.wait();
        [[fallthrough]];
      case 9: {
        std::size_t const other = (k + 1) % shared_cells;
        m_sums[k] += 1;
        m_sums[other] += 1;
        (void)task(m_graph, "two", {excludes(shared(k)), excludes(shared(other))},
                   [this, k, other] {
                     count(k);
                     release(shared(k));
                     count(other);
                   });
        break;
      }
      default:
        m_sums[k] += 1;
        expect(thread);
        (void)task(m_graph, "plain", {excludes(shared(k)), updates(own(thread))},
                   [this, thread, k] {
                     count(k);
                     advance(thread);
                   });
    }
  }
  void expect(std::size_t thread) { m_expected[thread] = next(m_expected[thread]); }
  void advance(std::size_t thread) {
    long& value = m_values[shared_cells + thread];
    value = next(value);
  }

  TaskGraph& m_graph;
  Block m_values;
  std::vector<Random> m_randoms;
  std::array<std::atomic<long>, shared_cells> m_sums{};
  std::array<std::atomic<bool>, shared_cells> m_inside{};
  std::atomic<bool> m_met{false};
  std::vector<long> m_expected;  ///< of each thread's cell, for that thread alone
  std::mutex m_mutex;
  std::deque<std::function<void()>> m_polled;  ///< guarded by the mutex
  Elsewhere m_elsewhere;
  std::optional<Progress> m_progress;
};

class RandomSerial : public Timed {};

void run_programs(int threads) {
  for (std::uint64_t const seed : random_program::seeds(1, sanitized ? 60 : 400)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    constexpr std::array<std::size_t, 8> caps{1, 2, 3, 4, 8, 16, 64, 1024};
    TaskGraphOptions options;
    options.serial = seed % 4 != 0;
    options.workers = 2;
    options.in_flight = caps[seed % caps.size()];
    options.record = seed % 5 == 0;
    TaskGraph graph(options);
    Program(seed, graph, threads).run(40);
    if (testing::Test::HasFailure()) return;
  }
}

TEST_F(RandomSerial, ProgramsOfOneThreadEnd) {
  run_programs(1);
}
TEST_F(RandomSerial, ProgramsOfThreeThreadsEnd) {
  run_programs(3);
}

}  // namespace
}  // namespace trellis
