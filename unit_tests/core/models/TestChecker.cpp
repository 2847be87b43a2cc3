// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker itself, by programs whose outcomes are known: all that C++ allows are seen, but for
// load buffering, and none that it forbids.
#include "ModelChecker.hpp"

#include <base/Trellis_SpinLock.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace trellis::model {

/// Other source files might use it, so the compiler does not leave it out.
extern int static_value;
int static_value = 0;

namespace {

using Outcomes = std::set<std::uint64_t>;
using std::memory_order;
using enum std::memory_order;

/// All outcomes.
Outcomes all_outcomes(std::function<void()> const& program) {
  Report const report = explore(program);
  EXPECT_EQ(report.failure, "");
  EXPECT_TRUE(report.has_ended && report.is_complete);
  return report.outcomes;
}

/// The outcomes with and without reduction, which have to be the same.
Outcomes outcomes(std::function<void()> const& program) {
  Report const reduced = explore(program);
  Report const all = explore(program, {.reduces = false});
  EXPECT_EQ(reduced.failure, "");
  EXPECT_EQ(all.failure, "");
  EXPECT_TRUE(reduced.is_complete && all.is_complete);
  EXPECT_EQ(reduced.outcomes, all.outcomes);
  return reduced.outcomes;
}

/// Decimal digits.
void tell(std::initializer_list<int> digits) {
  std::uint64_t value = 0;
  for (int const digit : digits) value = 10 * value + static_cast<std::uint64_t>(digit);
  outcome(value);
}

struct Variables {
  std::atomic<int> x{0};
  std::atomic<int> y{0};
};

template <memory_order write, memory_order read>
void store_buffering() {
  Variables v;
  int a = 0;
  std::thread other([&] {
    v.x.store(1, write);
    a = v.y.load(read);
  });
  v.y.store(1, write);
  int const b = v.x.load(read);
  other.join();
  tell({a, b});
}

TEST(ModelChecker, StoreBuffering) {
  EXPECT_EQ(outcomes(store_buffering<relaxed, relaxed>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(outcomes(store_buffering<release, acquire>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(outcomes(store_buffering<seq_cst, acquire>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(outcomes(store_buffering<seq_cst, seq_cst>), (Outcomes{1, 10, 11}));
}

template <memory_order order>
void store_buffering_with_fences() {
  Variables v;
  int a = 0;
  std::thread other([&] {
    v.x.store(1, relaxed);
    std::atomic_thread_fence(order);
    a = v.y.load(relaxed);
  });
  v.y.store(1, relaxed);
  std::atomic_thread_fence(order);
  int const b = v.x.load(relaxed);
  other.join();
  tell({a, b});
}

TEST(ModelChecker, StoreBufferingWithFences) {
  EXPECT_EQ(outcomes(store_buffering_with_fences<acq_rel>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(outcomes(store_buffering_with_fences<seq_cst>), (Outcomes{1, 10, 11}));
}

template <memory_order write, memory_order read>
void message_passing() {
  Variables v;
  std::thread other([&] {
    v.x.store(1, relaxed);
    v.y.store(1, write);
  });
  int const a = v.y.load(read);
  int const b = v.x.load(relaxed);
  other.join();
  tell({a, b});
}

template <memory_order before, memory_order behind>
void message_passing_with_fences() {
  Variables v;
  std::thread other([&] {
    v.x.store(1, relaxed);
    std::atomic_thread_fence(before);
    v.y.store(1, relaxed);
  });
  int const a = v.y.load(relaxed);
  std::atomic_thread_fence(behind);
  int const b = v.x.load(relaxed);
  other.join();
  tell({a, b});
}

TEST(ModelChecker, MessagePassing) {
  EXPECT_EQ(outcomes(message_passing<relaxed, relaxed>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(outcomes(message_passing<release, relaxed>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(outcomes(message_passing<relaxed, acquire>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(outcomes(message_passing<release, acquire>), (Outcomes{0, 1, 11}));
  EXPECT_EQ(outcomes(message_passing<seq_cst, seq_cst>), (Outcomes{0, 1, 11}));
  EXPECT_EQ(outcomes(message_passing_with_fences<release, acquire>), (Outcomes{0, 1, 11}));
  EXPECT_EQ(outcomes(message_passing_with_fences<seq_cst, seq_cst>), (Outcomes{0, 1, 11}));
  EXPECT_EQ(outcomes(message_passing_with_fences<acquire, acquire>), (Outcomes{0, 1, 10, 11}));
}

/// A read-modify-write of a third thread goes on with the release sequence; its store does not.
template <bool modifies>
void release_sequence() {
  Variables v;
  std::thread first([&] {
    v.x.store(1, relaxed);
    v.y.store(1, release);
  });
  std::thread second([&] {
    if (modifies) {
      v.y.fetch_add(1, relaxed);
    } else {
      v.y.store(2, relaxed);
    }
  });
  int const a = v.y.load(acquire);
  int const b = v.x.load(relaxed);
  first.join();
  second.join();
  if (a == 2) tell({v.y.load(relaxed), b});
}

TEST(ModelChecker, ReleaseSequence) {
  EXPECT_EQ(outcomes(release_sequence<true>), (Outcomes{21}));
  EXPECT_EQ(outcomes(release_sequence<false>), (Outcomes{10, 11, 20, 21}));
}

template <memory_order order>
void load_buffering() {
  Variables v;
  int a = 0;
  std::thread other([&] {
    a = v.y.load(order);
    v.x.store(1, relaxed);
  });
  int const b = v.x.load(order);
  v.y.store(1, relaxed);
  other.join();
  tell({a, b});
}

TEST(ModelChecker, LoadBufferingIsNotSeen) {
  EXPECT_EQ(outcomes(load_buffering<relaxed>), (Outcomes{0, 1, 10}));  // C++ allows 11
  EXPECT_EQ(outcomes(load_buffering<acquire>), (Outcomes{0, 1, 10}));
}

template <memory_order write, memory_order read>
void independent_reads() {
  Variables v;
  int a = 0;
  int b = 0;
  std::thread first([&] { v.x.store(1, write); });
  std::thread second([&] { v.y.store(1, write); });
  std::thread third([&] {
    a = v.x.load(read);
    b = v.y.load(read);
  });
  int const c = v.y.load(read);
  int const d = v.x.load(read);
  first.join();
  second.join();
  third.join();
  if (a == 1 && c == 1) tell({b, d});
}

TEST(ModelChecker, IndependentReadsOfIndependentWrites) {
  EXPECT_EQ(all_outcomes(independent_reads<relaxed, relaxed>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(all_outcomes(independent_reads<release, acquire>), (Outcomes{0, 1, 10, 11}));
  EXPECT_EQ(all_outcomes(independent_reads<seq_cst, seq_cst>), (Outcomes{1, 10, 11}));
}

void coherent_reads() {
  Variables v;
  std::thread other([&] {
    v.x.store(1, relaxed);
    v.x.store(2, relaxed);
  });
  int const a = v.x.load(relaxed);
  int const b = v.x.load(relaxed);
  other.join();
  tell({a, b});
}

void coherent_reads_of_two() {
  Variables v;
  int a = 0;
  int b = 0;
  std::thread first([&] { v.x.store(1, relaxed); });
  std::thread second([&] { v.x.store(2, relaxed); });
  std::thread third([&] {
    a = v.x.load(relaxed);
    b = v.x.load(relaxed);
  });
  int const c = v.x.load(relaxed);
  int const d = v.x.load(relaxed);
  first.join();
  second.join();
  third.join();
  require(!(a == 1 && b == 2 && c == 2 && d == 1), "two threads see two orders of the stores");
}

TEST(ModelChecker, Coherence) {
  EXPECT_EQ(outcomes(coherent_reads), (Outcomes{0, 1, 2, 11, 12, 22}));
  EXPECT_EQ(all_outcomes(coherent_reads_of_two), Outcomes());
}

template <memory_order order>
void two_and_two_writes() {
  Variables v;
  std::thread other([&] {
    v.x.store(1, order);
    v.y.store(2, order);
  });
  v.y.store(1, order);
  v.x.store(2, order);
  other.join();
  tell({v.x.load(relaxed), v.y.load(relaxed)});
}

TEST(ModelChecker, TwoAndTwoWrites) {
  EXPECT_EQ(outcomes(two_and_two_writes<relaxed>), (Outcomes{11, 12, 21, 22}));
  EXPECT_EQ(outcomes(two_and_two_writes<release>), (Outcomes{11, 12, 21, 22}));
  EXPECT_EQ(outcomes(two_and_two_writes<seq_cst>), (Outcomes{12, 21, 22}));
}

void count_up() {
  Variables v;
  auto const count = [&] { v.x.fetch_add(1, relaxed); };
  std::thread first(count);
  std::thread second(count);
  count();
  first.join();
  second.join();
  tell({v.x.load(relaxed)});
}

TEST(ModelChecker, NoReadModifyWriteIsLost) {
  EXPECT_EQ(outcomes(count_up), (Outcomes{3}));
}

// --- known verdicts ------------------------------------------------------------------------------

/// What the threads of a litmus test share, and what they have read.
struct Shared {
  std::atomic<int> x{0};
  std::atomic<int> y{0};
  std::atomic<int> z{0};
  int a = 0;
  int b = 0;
  int c = 0;
  int d = 0;
};

/// The outcomes of these threads. `digits` says what an outcome is.
template <class Digits, class... Threads>
Outcomes seen(Digits const& digits, Threads const&... threads) {
  return all_outcomes([&] {
    Shared s;
    std::array all{std::thread([&s, &threads] { threads(s); })...};
    for (std::thread& thread : all) thread.join();
    digits(s);
  });
}

constexpr auto a_b = [](Shared& s) { tell({s.a, s.b}); };
constexpr auto a_b_c = [](Shared& s) { tell({s.a, s.b, s.c}); };
constexpr auto a_b_c_d = [](Shared& s) { tell({s.a, s.b, s.c, s.d}); };
constexpr auto x_y = [](Shared& s) { tell({s.x.load(relaxed), s.y.load(relaxed)}); };
constexpr auto a_x = [](Shared& s) { tell({s.a, s.x.load(relaxed)}); };
constexpr auto a_y = [](Shared& s) { tell({s.a, s.y.load(relaxed)}); };

bool allows(Outcomes const& outcomes, std::uint64_t outcome) {
  return outcomes.contains(outcome);
}

TEST(Litmus, StoreBufferingByOtherMeans) {
  auto const fence = [](auto first, auto second) {
    return seen(
        a_b,
        [=](Shared& s) {
          s.x.store(1, relaxed);
          std::atomic_thread_fence(decltype(first)::value);
          s.a = s.y.load(relaxed);
        },
        [=](Shared& s) {
          s.y.store(1, decltype(second)::value);
          s.b = s.x.load(decltype(second)::value == seq_cst ? seq_cst : relaxed);
        });
  };
  constexpr std::integral_constant<memory_order, relaxed> weak;
  constexpr std::integral_constant<memory_order, acq_rel> both;
  constexpr std::integral_constant<memory_order, seq_cst> strong;
  EXPECT_FALSE(allows(fence(strong, strong), 0));
  EXPECT_TRUE(allows(fence(both, strong), 0));
  EXPECT_TRUE(allows(fence(strong, weak), 0));
  // Read-modify-writes of two variables are not in one order unless they are seq_cst.
  auto const exchange = [](auto order) {
    return seen(
        a_b,
        [=](Shared& s) {
          s.x.exchange(1, decltype(order)::value);
          s.a = s.y.load(decltype(order)::value == seq_cst ? seq_cst : acquire);
        },
        [=](Shared& s) {
          s.y.exchange(1, decltype(order)::value);
          s.b = s.x.load(decltype(order)::value == seq_cst ? seq_cst : acquire);
        });
  };
  EXPECT_TRUE(allows(exchange(both), 0));
  EXPECT_FALSE(allows(exchange(strong), 0));
  // One load of four operations is relaxed.
  EXPECT_TRUE(allows(seen(
                         a_b,
                         [](Shared& s) {
                           s.x.store(1, seq_cst);
                           s.a = s.y.load(seq_cst);
                         },
                         [](Shared& s) {
                           s.y.store(1, seq_cst);
                           s.b = s.x.load(relaxed);
                         }),
                     0));
}

/// What a store or a load of the middle thread passes on.
template <memory_order write, memory_order read>
Outcomes write_to_read_causality() {
  return seen(
      a_b_c, [](Shared& s) { s.x.store(1, relaxed); },
      [](Shared& s) {
        s.a = s.x.load(relaxed);
        s.y.store(1, write);
      },
      [](Shared& s) {
        s.b = s.y.load(read);
        s.c = s.x.load(relaxed);
      });
}

TEST(Litmus, WriteToReadCausality) {
  EXPECT_TRUE(allows(write_to_read_causality<relaxed, relaxed>(), 110));
  EXPECT_TRUE(allows(write_to_read_causality<release, relaxed>(), 110));
  EXPECT_TRUE(allows(write_to_read_causality<relaxed, acquire>(), 110));
  EXPECT_FALSE(allows(write_to_read_causality<release, acquire>(), 110));
}

/// A message by two hops.
template <memory_order second>
Outcomes two_hops() {
  return seen(
      a_b_c,
      [](Shared& s) {
        s.x.store(1, relaxed);
        s.y.store(1, release);
      },
      [](Shared& s) {
        s.a = s.y.load(acquire);
        s.z.store(1, second);
      },
      [](Shared& s) {
        s.b = s.z.load(acquire);
        s.c = s.x.load(relaxed);
      });
}

TEST(Litmus, HappensBeforeIsTransitive) {
  EXPECT_FALSE(allows(two_hops<release>(), 110));
  EXPECT_TRUE(allows(two_hops<relaxed>(), 110));
}

template <memory_order write, memory_order read>
Outcomes read_to_write_causality() {
  return seen(
      a_b_c, [](Shared& s) { s.x.store(1, write); },
      [](Shared& s) {
        s.a = s.x.load(read);
        s.b = s.y.load(read);
      },
      [](Shared& s) {
        s.y.store(1, write);
        s.c = s.x.load(read);
      });
}

TEST(Litmus, ReadToWriteCausality) {
  EXPECT_TRUE(allows(read_to_write_causality<release, acquire>(), 100));
  EXPECT_FALSE(allows(read_to_write_causality<seq_cst, seq_cst>(), 100));
}

template <memory_order order>
Outcomes independent_reads_with_fences() {
  return seen(
      a_b_c_d, [](Shared& s) { s.x.store(1, relaxed); }, [](Shared& s) { s.y.store(1, relaxed); },
      [](Shared& s) {
        s.a = s.x.load(relaxed);
        std::atomic_thread_fence(order);
        s.b = s.y.load(relaxed);
      },
      [](Shared& s) {
        s.c = s.y.load(relaxed);
        std::atomic_thread_fence(order);
        s.d = s.x.load(relaxed);
      });
}

TEST(Litmus, IndependentReadsWithFences) {
  EXPECT_TRUE(allows(independent_reads_with_fences<acq_rel>(), 1010));
  EXPECT_FALSE(allows(independent_reads_with_fences<seq_cst>(), 1010));
}

template <memory_order order>
Outcomes two_and_two_writes_with_fences() {
  return seen(
      x_y,
      [](Shared& s) {
        s.x.store(1, relaxed);
        std::atomic_thread_fence(order);
        s.y.store(2, relaxed);
      },
      [](Shared& s) {
        s.y.store(1, relaxed);
        std::atomic_thread_fence(order);
        s.x.store(2, relaxed);
      });
}

TEST(Litmus, TwoAndTwoWritesWithFences) {
  EXPECT_TRUE(allows(two_and_two_writes_with_fences<acq_rel>(), 11));
  EXPECT_FALSE(allows(two_and_two_writes_with_fences<seq_cst>(), 11));
}

TEST(Litmus, AStoreBehindAMessageIsBehindTheStoresBeforeIt) {
  auto const run = [](auto write, auto read) {
    return seen(
        a_x,
        [=](Shared& s) {
          s.x.store(2, relaxed);
          s.y.store(1, decltype(write)::value);
        },
        [=](Shared& s) {
          s.a = s.y.load(decltype(read)::value);
          s.x.store(1, relaxed);
        });
  };
  constexpr std::integral_constant<memory_order, relaxed> weak;
  constexpr std::integral_constant<memory_order, release> out;
  constexpr std::integral_constant<memory_order, acquire> in;
  EXPECT_TRUE(allows(run(weak, weak), 12));
  EXPECT_TRUE(allows(run(out, weak), 12));
  EXPECT_FALSE(allows(run(out, in), 12));
}

template <memory_order write, memory_order read>
Outcomes store_against_load() {
  return seen(
      a_y,
      [](Shared& s) {
        s.x.store(1, write);
        s.y.store(1, write);
      },
      [](Shared& s) {
        s.y.store(2, write);
        s.a = s.x.load(read);
      });
}

TEST(Litmus, AStoreAndThenALoad) {
  EXPECT_TRUE(allows(store_against_load<release, acquire>(), 2));
  EXPECT_FALSE(allows(store_against_load<seq_cst, seq_cst>(), 2));
}

TEST(Litmus, CoherenceWithinAThread) {
  // A thread reads its own store or a later one, and stores behind what it has read.
  EXPECT_EQ(seen(
                a_x,
                [](Shared& s) {
                  s.x.store(1, relaxed);
                  s.a = s.x.load(relaxed);
                },
                [](Shared& s) { s.x.store(2, relaxed); }),
            (Outcomes{11, 12, 22}));
  EXPECT_EQ(seen(
                a_x,
                [](Shared& s) {
                  s.a = s.x.load(relaxed);
                  s.x.store(1, relaxed);
                },
                [](Shared& s) { s.x.store(2, relaxed); }),
            (Outcomes{1, 2, 21}));
  EXPECT_EQ(seen(
                a_x, [](Shared& s) { s.a = s.x.fetch_add(1, relaxed); },
                [](Shared& s) { s.x.store(5, relaxed); }),
            (Outcomes{5, 56}));
}

TEST(Litmus, AReleaseSequence) {
  // Since C++20 a later store of the same thread is not part of it.
  auto const store_twice = [](Shared& s) {
    s.x.store(1, relaxed);
    s.y.store(1, release);
    s.y.store(2, relaxed);
  };
  auto const look = [](Shared& s) {
    s.a = s.y.load(acquire);
    s.b = s.x.load(relaxed);
  };
  EXPECT_FALSE(allows(seen(a_b, store_twice, look), 10));
  EXPECT_TRUE(allows(seen(a_b, store_twice, look), 20));
  // Two read-modify-writes are, behind a store or a fence.
  auto const add = [](Shared& s) { s.y.fetch_add(1, relaxed); };
  auto const publish = [](Shared& s) {
    s.x.store(1, relaxed);
    s.y.store(4, release);
  };
  auto const publish_by_fence = [](Shared& s) {
    s.x.store(1, relaxed);
    std::atomic_thread_fence(release);
    s.y.store(4, relaxed);
  };
  EXPECT_FALSE(allows(seen(a_b, publish, add, add, look), 60));
  EXPECT_TRUE(allows(seen(a_b, publish, add, add, look), 61));
  EXPECT_FALSE(allows(seen(a_b, publish_by_fence, add, add, look), 60));
  // A load before a fence acquires, too.
  auto const look_by_fence = [](Shared& s) {
    s.a = s.y.load(relaxed);
    std::atomic_thread_fence(acquire);
    s.b = s.x.load(relaxed);
  };
  EXPECT_FALSE(allows(seen(a_b, publish_by_fence, add, look_by_fence), 50));
  EXPECT_TRUE(allows(seen(a_b, publish_by_fence, add, look_by_fence), 51));
}

TEST(Litmus, SeqCstWithReleaseAndAcquire) {
  // The single order has the seq_cst operations only, and what others see of them is a matter of
  // happens-before (RWC with one release store).
  EXPECT_TRUE(allows(seen(
                         a_b_c, [](Shared& s) { s.x.store(1, release); },
                         [](Shared& s) {
                           s.a = s.x.load(seq_cst);
                           s.b = s.y.load(seq_cst);
                         },
                         [](Shared& s) {
                           s.y.store(1, release);
                           s.c = s.x.load(seq_cst);
                         }),
                     100));
  // C++20 allows this one (Z6.U), and the checker does not see it.
  EXPECT_FALSE(allows(seen(
                          a_b_c,
                          [](Shared& s) {
                            s.x.store(1, seq_cst);
                            s.y.store(1, release);
                          },
                          [](Shared& s) {
                            s.a = s.y.fetch_add(1, seq_cst);
                            s.b = s.y.load(relaxed);
                          },
                          [](Shared& s) {
                            s.y.store(3, seq_cst);
                            s.c = s.x.load(seq_cst);
                          }),
                      130));
}

// --- what else is found --------------------------------------------------------------------------

TEST(ModelChecker, DataRacesAreFound) {
  auto const plain = [] {
    int value = 0;
    std::thread other([&] { value = 1; });
    value = 2;
    other.join();
  };
  EXPECT_THAT(explore(plain).failure, testing::HasSubstr("a data race"));
  auto const published = [](memory_order write) {
    return [write] {
      int value = 0;
      std::atomic<bool> is_there{false};
      std::thread other([&] {
        value = 1;
        is_there.store(true, write);
      });
      if (is_there.load(acquire)) value = 2;
      other.join();
    };
  };
  EXPECT_EQ(explore(published(release)).failure, "");
  EXPECT_THAT(explore(published(relaxed)).failure, testing::HasSubstr("a data race"));
}

TEST(ModelChecker, UsesOfFreedMemoryAreFound) {
  auto const program = [] {
    auto value = std::make_unique<std::atomic<int>>(0);
    std::atomic<int>& used = *value;
    std::atomic<bool> is_over{false};
    std::thread other([&] {
      used.store(1, relaxed);
      is_over.store(true, relaxed);
    });
    if (is_over.load(relaxed)) value.reset();
    other.join();
  };
  EXPECT_NE(explore(program).failure, "");
}

/// A thread waits until it is told, and then destroys what it is told by.
template <bool is_told_under_mutex>
void end_what_one_waits_for() {
  struct Shared {
    std::mutex mutex;
    std::condition_variable wakeup;
    bool is_there = false;
  };
  auto shared = std::make_unique<Shared>();
  std::thread other([&shared = *shared] {
    std::unique_lock lock(shared.mutex);
    shared.is_there = true;
    if (!is_told_under_mutex) lock.unlock();
    shared.wakeup.notify_one();
  });
  {
    std::unique_lock lock(shared->mutex);
    shared->wakeup.wait(lock, [&] { return shared->is_there; });
  }
  shared.reset();
  other.join();
}

/// Two threads share a lock, and one of them ends it, after the other or not.
template <class Mutex, bool waits>
void end_lock() {
  auto mutex = std::make_unique<Mutex>();
  std::atomic<bool> is_over{false};
  std::thread other([&mutex = *mutex, &is_over] {
    mutex.lock();
    mutex.unlock();
    is_over.store(true, release);
  });
  bool ends = true;
  if (waits) ends = is_over.load(acquire);
  if (ends) mutex.reset();
  other.join();
}

/// A lock of a scope within a function.
template <bool joins>
void end_lock_of_scope() {
  std::thread other;
  {
    Scoped<std::mutex> mutex;
    other = std::thread([&mutex = mutex.object] { std::lock_guard const lock(mutex); });
    if (joins) other.join();
  }
  if (!joins) other.join();
}

TEST(ModelChecker, UsesOfLocksAfterTheirEndAreFound) {
  EXPECT_EQ(all_outcomes(end_what_one_waits_for<true>), Outcomes());
  EXPECT_THAT(explore(end_what_one_waits_for<false>).failure, testing::HasSubstr("a data race"));
  EXPECT_EQ(all_outcomes(end_lock<std::mutex, true>), Outcomes());
  EXPECT_NE(explore(end_lock<std::mutex, false>).failure, "");
  EXPECT_EQ(all_outcomes(end_lock<Impl::SpinLock, true>), Outcomes());
  EXPECT_NE(explore(end_lock<Impl::SpinLock, false>).failure, "");
  EXPECT_EQ(all_outcomes(end_lock_of_scope<true>), Outcomes());
  EXPECT_NE(explore(end_lock_of_scope<false>).failure, "");
  auto const held = [] {
    auto mutex = std::make_unique<std::mutex>();
    mutex->lock();
    mutex.reset();
  };
  EXPECT_THAT(explore(held).failure, testing::HasSubstr("a mutex ends that a thread holds"));
}

TEST(ModelChecker, UsesOfLocksBeforeTheirBeginningAreFound) {
  auto const program = [](memory_order order) {
    return [order] {
      struct Shared {
        std::mutex mutex;
        int value = 0;
      };
      std::atomic<Shared*> shared{nullptr};
      std::thread other([&] { shared.store(new Shared, order); });
      if (Shared* const there = shared.load(acquire)) {
        std::lock_guard const lock(there->mutex);
      }
      other.join();
    };
  };
  EXPECT_EQ(all_outcomes(program(release)), Outcomes());
  EXPECT_THAT(explore(program(relaxed)).failure, testing::HasSubstr("a data race"));
}

/// A thread publishes what is in the frame of a function, and waits for the other one or not. `T`:
/// what the other one writes.
template <class T, bool waits>
struct InFrame {
  std::atomic<T*> shared{nullptr};
  std::atomic<bool> is_over{false};
  [[gnu::noinline]] void publish() {
    T value{0};
    shared.store(&value, release);
    while (waits && !is_over.load(acquire)) std::this_thread::yield();
  }
  [[gnu::noinline]] void call_again(int depth) {
    T value{depth};
    if (depth > 0) call_again(depth - 1);
    (void)is_over.load(relaxed);
    require(value == depth, "what is in a frame is its own");
  }
  static void run() {
    InFrame in;
    std::thread other([&] {
      if (T* const value = in.shared.load(acquire)) *value = 1;
      in.is_over.store(true, release);
    });
    in.publish();
    in.call_again(2);
    other.join();
  }
};

TEST(ModelChecker, UsesOfFramesAfterTheirEndAreFound) {
  // The other thread looks once, so the first one may wait for ever, but in vain.
  EXPECT_EQ(explore(InFrame<std::atomic<int>, true>::run).failure, "");
  EXPECT_EQ(explore(InFrame<int, true>::run).failure, "");
  EXPECT_THAT(explore(InFrame<std::atomic<int>, false>::run).failure,
              testing::HasSubstr("stack memory"));
  EXPECT_THAT(explore(InFrame<int, false>::run).failure, testing::HasSubstr("stack memory"));
  // The stack of a thread that is over.
  auto const over = [] {
    std::atomic<std::atomic<int>*> shared{nullptr};
    std::thread other([&] {
      std::atomic<int> value{1};
      shared.store(&value, release);
    });
    other.join();
    (void)shared.load(acquire)->load(relaxed);
  };
  EXPECT_THAT(explore(over).failure, testing::HasSubstr("stack memory"));
  // A frame that ends first in no execution, but for no reason.
  auto const lucky = [] {
    Variables v;
    auto const call = [&v]() __attribute__((noinline)) {
      std::atomic<int> value{0};
      std::thread other([&] {
        value.store(1, relaxed);
        v.x.store(1, relaxed);
      });
      while (v.x.load(relaxed) == 0) std::this_thread::yield();
      return other;
    };
    call().join();
  };
  EXPECT_THAT(explore(lucky).failure, testing::HasSubstr("stack memory"));
}

TEST(ModelChecker, RacesAndUsesOfStaticsAreFound) {
  auto const plain = [] {
    static_value = 0;
    std::thread other([] { static_value = 1; });
    require(static_value != 7, "the value is read");
    other.join();
  };
  EXPECT_THAT(explore(plain).failure, testing::HasSubstr("a data race"));
  auto const ends = [](bool joins) {
    return [joins] {
      static std::atomic<int> number;
      std::optional<Lifetime> lifetime(std::in_place, &number, sizeof(number));
      std::thread other([&] { number.store(1, relaxed); });
      if (joins) other.join();
      lifetime.reset();
      if (!joins) other.join();
    };
  };
  EXPECT_EQ(all_outcomes(ends(true)), Outcomes());
  EXPECT_NE(explore(ends(false)).failure, "");
}

TEST(ModelChecker, CrashesAreFound) {
  auto const program = [] {
    std::atomic<std::atomic<int>*> shared{nullptr};
    std::atomic<int> value{0};
    std::thread other([&] { shared.store(&value, release); });
    shared.load(acquire)->store(1, relaxed);
    other.join();
  };
  EXPECT_THAT(explore(program).failure, testing::HasSubstr("a crash"));
  EXPECT_THAT(explore(program).failure, testing::HasSubstr("a crash"));
  struct Deep {
    static int fall(std::atomic<int>& depth) { return depth++ < 0 ? 0 : fall(depth) + 1; }
  };
  auto const deep = [] {
    std::atomic<int> depth{0};
    require(Deep::fall(depth) != 7, "it ends");
  };
  EXPECT_NE(explore(deep, {.steps = 50'000}).failure, "");
}

TEST(ModelChecker, LostWakeUpsAreFound) {
  auto const program = [](bool locks) {
    return [locks] {
      std::mutex mutex;
      std::condition_variable wakeup;
      std::atomic<bool> is_there{false};
      std::thread other([&] {
        std::unique_lock lock(mutex);
        wakeup.wait(lock, [&] { return is_there.load(); });
      });
      if (locks) {
        std::lock_guard const lock(mutex);
        is_there = true;
      } else {
        is_there = true;
      }
      wakeup.notify_one();
      other.join();
    };
  };
  EXPECT_EQ(explore(program(true)).failure, "");
  EXPECT_THAT(explore(program(false)).failure, testing::HasSubstr("no thread can go on"));
}

TEST(ModelChecker, ALoopThatWaitsEndsOrIsADeadlock) {
  auto const program = [](bool sets) {
    return [sets] {
      Variables v;
      std::thread other([&] {
        if (sets) v.x.store(1, release);
      });
      while (v.x.load(acquire) == 0) std::this_thread::yield();
      other.join();
    };
  };
  Report const report = explore(program(true));
  EXPECT_EQ(report.failure, "");
  EXPECT_TRUE(report.is_complete);
  EXPECT_THAT(explore(program(false)).failure, testing::HasSubstr("no thread can go on"));
}

/// Another thread may store what this one looks for, so often at most.
template <bool stores, int rounds>
void look_and_give_up() {
  Variables v;
  std::thread other([&] {
    if (stores) v.x.store(1, release);
  });
  int looks = 0;
  while (v.x.load(acquire) == 0 && ++looks < rounds) std::this_thread::yield();
  other.join();
  outcome(looks == rounds ? 1 : 0);
}

TEST(ModelChecker, ALoopThatGivesUpFindsSomethingOrGivesUp) {
  EXPECT_EQ(outcomes(look_and_give_up<true, 9>), (Outcomes{0, 1}));
  EXPECT_EQ(outcomes(look_and_give_up<true, 500>), (Outcomes{0, 1}));
  EXPECT_EQ(outcomes(look_and_give_up<false, 9>), (Outcomes{1}));
  EXPECT_TRUE(explore(look_and_give_up<true, 9>).gives_up);
  // It is no deadlock before that, and what is wrong behind it is found.
  auto const gives_up = [](int rounds) {
    return [rounds] {
      Variables v;
      int value = 0;
      std::thread other([&] {
        value = 1;
        v.x.store(1, release);
      });
      for (int k = 0; k < rounds && v.x.load(acquire) == 0; ++k) std::this_thread::yield();
      require(value == 1, "the value is there");
      other.join();
    };
  };
  EXPECT_NE(explore(gives_up(9)).failure, "");
  EXPECT_EQ(explore(gives_up(5000)).failure, "");  // more than `most_rounds` count as endless
}

/// A search that is not over says so, and what has stopped it.
TEST(ModelChecker, WhatASearchHasNotSeenIsReported) {
  auto const program = store_buffering<relaxed, relaxed>;
  Report const all = explore(program);
  EXPECT_TRUE(all.has_ended && all.is_complete);
  Report const some = explore(program, {.executions = all.executions - 1});
  EXPECT_EQ(some.failure, "");
  EXPECT_FALSE(some.has_ended || some.is_complete);
  Report const few = explore(program, {.preemptions = 0});
  EXPECT_TRUE(few.has_ended);
  EXPECT_FALSE(few.is_complete);
  EXPECT_THAT(explore(program, {.steps = 3}).failure, testing::HasSubstr("within 3 steps"));
  EXPECT_NE(explore(program, {.steps = 1'000'000}).failure, "");
  auto const endless = [] {
    Variables v;
    std::thread other([&] { v.y.store(1, relaxed); });
    while (v.x.load(relaxed) == 0) {
    }
    other.join();
  };
  EXPECT_THAT(explore(endless).failure, testing::HasSubstr("does not end"));
}

}  // namespace
}  // namespace trellis::model
