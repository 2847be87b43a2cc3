// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs: what the search leaves out as being the same is the same. Each program is run
// with and without the reduction, and the outcomes have to be equal.
#include "ModelChecker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

namespace trellis::model {
namespace {

using std::memory_order;
using enum std::memory_order;

/// Calls `f` with the order as a constant: the compiler takes others for the strongest one.
template <memory_order... orders, class F>
int with(memory_order order, F const& f) {
  int result = 0;
  (void)((order == orders && (result = f(std::integral_constant<memory_order, orders>()), true)) ||
         ...);
  return result;
}

/// Two or three threads of a few steps, on three variables, a flag that is a lock, and a mutex.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, std::size_t threads, std::size_t least, std::size_t most)
      : m_threads(threads) {
    std::mt19937_64 random(seed);
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::size_t const variables = 1 + below(3);
    // In every other program there are only atomic operations.
    std::size_t const kinds = below(2) == 0 ? 6 : 13;
    for (std::vector<Step>& steps : m_threads) {
      for (std::size_t k = 0, n = least + below(most - least + 1); k < n; ++k) {
        Step step;
        step.what = static_cast<What>(below(kinds));
        step.variable = below(variables);
        step.order = static_cast<memory_order>(std::array{0, 2, 3, 4, 5, 5}[below(6)]);
        step.other_order = static_cast<memory_order>(std::array{0, 2, 5}[below(3)]);
        step.value = 1 + static_cast<int>(below(3));
        steps.push_back(step);
      }
    }
  }

  void operator()() const {
    State state;
    std::array<std::uint64_t, 3> seen{};
    auto const run_thread = [&](std::size_t k) {
      for (Step const& step : m_threads[k])
        seen[k] = 31 * seen[k] + static_cast<std::uint64_t>(run(step, state));
    };
    std::thread first(run_thread, 1);
    std::thread second;
    if (m_threads.size() > 2) second = std::thread(run_thread, 2);
    run_thread(0);
    first.join();
    if (second.joinable()) second.join();
    std::uint64_t all = 0;
    for (std::uint64_t const each : seen) all = all * 1'000'003 + each;
    for (auto const& variable : state.variables)
      all = all * 31 + static_cast<std::uint64_t>(variable.load(relaxed));
    outcome(all);
  }

 private:
  enum class What : std::uint8_t {
    load,
    store,
    add,
    exchange,
    compare_exchange,
    fence,
    lock,
    try_lock,
    flag,
    await,
    sleep,
    wake,
    give_up,
  };
  struct Step {
    What what;
    std::size_t variable;
    memory_order order;
    memory_order other_order;
    int value;
  };
  struct State {
    std::array<std::atomic<int>, 3> variables{};
    std::atomic<bool> flag{false};
    std::mutex mutex;
    std::condition_variable wakeup;
    bool is_awake = false;
  };

  static int run(Step const& step, State& state) {
    std::atomic<int>& variable = state.variables[step.variable];
    memory_order const order = step.order;
    int seen = 0;
    switch (step.what) {
      case What::load:
        return with<relaxed, acquire, seq_cst>(
            step.other_order, [&](auto o) { return variable.load(decltype(o)::value); });
      case What::store:
        return with<relaxed, release, seq_cst>(
            order == acquire || order == acq_rel ? relaxed : order, [&](auto o) {
              variable.store(step.value, decltype(o)::value);
              return 0;
            });
      case What::add:
        return with<relaxed, acquire, release, acq_rel, seq_cst>(
            order, [&](auto o) { return variable.fetch_add(step.value, decltype(o)::value); });
      case What::exchange:
        return with<relaxed, acquire, release, acq_rel, seq_cst>(
            order, [&](auto o) { return variable.exchange(step.value, decltype(o)::value); });
      case What::compare_exchange: {
        auto const exchange = [&](auto success, auto failure) {
          int before = step.value - 1;
          bool const succeeds = variable.compare_exchange_strong(
              before, 5, decltype(success)::value, decltype(failure)::value);
          return (succeeds ? 8 : 0) + before;
        };
        if (order == seq_cst)
          return with<relaxed, acquire, seq_cst>(step.other_order, [&](auto failure) {
            return exchange(std::integral_constant<memory_order, seq_cst>(), failure);
          });
        return with<relaxed, acquire, acq_rel>(order == release ? acq_rel : order, [&](auto o) {
          return exchange(o, std::integral_constant<memory_order, relaxed>());
        });
      }
      case What::fence:
        return with<acquire, release, acq_rel, seq_cst>(order, [&](auto o) {
          std::atomic_thread_fence(decltype(o)::value);
          return 0;
        });
      case What::lock: {
        std::lock_guard const lock(state.mutex);
        seen = variable.load(relaxed);
        variable.store(step.value, relaxed);
        return seen;
      }
      case What::try_lock: {
        std::unique_lock const lock(state.mutex, std::try_to_lock);
        return lock ? 8 + variable.load(relaxed) : 0;
      }
      case What::flag:
        (void)state.flag.exchange(true, order == seq_cst ? seq_cst : acquire);
        seen = variable.load(relaxed);
        variable.store(step.value, relaxed);
        state.flag.store(false, release);
        return seen;
      case What::await:
        while ((seen = variable.load(acquire)) == 0) std::this_thread::yield();
        return seen;
      case What::sleep: {
        std::unique_lock lock(state.mutex);
        while (!state.is_awake) state.wakeup.wait(lock);
        state.is_awake = false;
        return variable.load(relaxed);
      }
      case What::wake: {
        {
          std::lock_guard const lock(state.mutex);
          state.is_awake = true;
        }
        step.value == 1 ? state.wakeup.notify_all() : state.wakeup.notify_one();
        return 0;
      }
      case What::give_up:
        for (int k = 0; k < 9 && (seen = variable.load(acquire)) == 0; ++k)
          std::this_thread::yield();
        return seen;
    }
    return 0;
  }

  std::vector<std::vector<Step>> m_threads;
};

std::uint64_t number_from(char const* variable, std::uint64_t otherwise) {
  char const* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Programs {
  std::uint64_t count;
  std::size_t threads;
  std::size_t least;  ///< steps of a thread
  std::size_t most;
  std::uint64_t fewest_executions;  ///< without the reduction
  std::uint64_t most_executions;
};

/// Programs that have too many executions without the reduction are left out. For longer runs the
/// environment has a factor for the number of programs, the first seed, and what is too many.
void compare(Programs const& programs) {
  std::uint64_t const divisor = number_from("TRELLIS_TEST_DIVISOR", 1);
  std::uint64_t const count = std::max<std::uint64_t>(
      programs.count * number_from("TRELLIS_MODEL_PROGRAMS", 1) / divisor, 1);
  std::uint64_t const first = number_from("TRELLIS_MODEL_SEED", 1);
  std::uint64_t const executions =
      number_from("TRELLIS_MODEL_EXECUTIONS", programs.most_executions);
  std::uint64_t compared = 0;
  std::uint64_t deadlocks = 0;
  std::uint64_t left_out = 0;
  std::uint64_t few = 0;
  std::uint64_t many = 0;
  std::uint64_t most = 0;
  for (std::uint64_t seed = first; compared < count; ++seed) {
    RandomProgram const program(seed, programs.threads, programs.least, programs.most);
    Report const reduced = explore(program, {.executions = executions / 2});
    if (!reduced.has_ended && reduced.failure.empty()) {
      ++left_out;
      continue;
    }
    Report const all = explore(program, {.executions = executions, .reduces = false});
    if (!all.has_ended && all.failure.empty()) {
      ++left_out;
      continue;
    }
    ASSERT_EQ(reduced.failure.empty(), all.failure.empty()) << "seed " << seed;
    if (!all.failure.empty()) {
      ++deadlocks;
      continue;
    }
    ASSERT_TRUE(reduced.is_complete && all.is_complete) << "seed " << seed;
    ASSERT_EQ(reduced.outcomes, all.outcomes) << "seed " << seed;
    if (all.executions < programs.fewest_executions) continue;
    ++compared;
    few += reduced.executions;
    many += all.executions;
    most = std::max(most, all.executions);
  }
  std::cout << compared << " programs, " << few << " executions in place of " << many << ", "
            << most << " of one at most; " << deadlocks << " others have a deadlock, " << left_out
            << " too many executions\n";
}

/// A store that sleeps differs from a step that it does not need.
TEST(Reduction, SeesStepsThatSleepAndAreNoFirstOnes) {
  auto const program = [] {
    std::atomic<int> x{0}, y{0};
    int seen[2] = {};
    std::thread first([&] {
      y.store(1, std::memory_order_relaxed);
      seen[0] = x.load(std::memory_order_relaxed);
    });
    std::thread second([&] {
      (void)y.load(std::memory_order_relaxed);
      seen[1] = x.load(std::memory_order_seq_cst);
    });
    x.store(1, std::memory_order_seq_cst);
    first.join();
    second.join();
    outcome(static_cast<std::uint64_t>(10 * seen[0] + seen[1]));
  };
  EXPECT_EQ(explore(program).outcomes, (std::set<std::uint64_t>{0, 1, 10, 11}));
}

/// A thread that is blocked at a lock could have had it first.
TEST(Reduction, SeesWhichThreadHasALockFirst) {
  auto const program = [] {
    std::mutex mutex;
    int order = 0;
    std::thread other([&] {
      std::lock_guard const lock(mutex);
      order = 10 * order + 2;
    });
    {
      std::lock_guard const lock(mutex);
      order = 10 * order + 1;
      std::thread tries([&] {
        if (mutex.try_lock()) mutex.unlock();
      });
      tries.join();
    }
    other.join();
    outcome(static_cast<std::uint64_t>(order));
  };
  EXPECT_EQ(explore(program).outcomes, (std::set<std::uint64_t>{12, 21}));
}

TEST(Reduction, TwoThreadsHaveTheSameOutcomes) {
  compare({8'000, 2, 2, 4, 1, 300});
}

TEST(Reduction, ThreeThreadsHaveTheSameOutcomes) {
  compare({3'000, 3, 1, 2, 1, 300});
}

TEST(Reduction, TwoThreadsWithManyExecutionsHaveTheSameOutcomes) {
  compare({100, 2, 4, 6, 1'000, 20'000});
}

TEST(Reduction, ThreeThreadsWithManyExecutionsHaveTheSameOutcomes) {
  compare({100, 3, 1, 3, 1'000, 20'000});
}

}  // namespace
}  // namespace trellis::model
