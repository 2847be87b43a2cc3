// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pool, what is predicted, and the limit.
#include "FieldsTest.hpp"

#include "Watchdog.hpp"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t n = 16;
constexpr std::size_t block = n * sizeof(double);

F make(FieldGraph& model, std::string const& name) {
  return model.field<double*, Kokkos::LayoutRight>(name, n);
}

/// Counts what Kokkos tells tools of allocations with this label.
class Allocations {
 public:
  Allocations() {
    s_count = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, char const* label, void const*, std::uint64_t) {
          if (std::string_view(label).starts_with("field ")) ++s_count;
        });
  }
  ~Allocations() { Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr); }
  [[nodiscard]] int count() const { return s_count; }

 private:
  static inline std::atomic<int> s_count{0};
};

TEST(FieldPools, AChainOfTenHasTwoBlocksAndAllocatesInItsFirstIterationAlone) {
  for (bool const serial : {false, true}) {
    Allocations const events;
    TaskGraph graph(with_workers(1, serial));
    FieldGraph model(graph);
    Values const y("y", n);
    F const to = model.bind("y", y);
    std::vector<F> chain;
    for (int k = 0; k < 10; ++k) {
      chain.push_back(make(model, "field " + std::to_string(k)));
      add_sum(model, "link", k == 0 ? std::vector<F>() : std::vector{chain[chain.size() - 2]},
              {chain.back()});
    }
    add_sum(model, "end", {chain.back()}, {to});
    model.require(to);
    FieldMemory const memory = model.memory();
    EXPECT_EQ(memory.external, block);
    EXPECT_EQ(memory.persistent, 0U);
    EXPECT_EQ(memory.transient, 10 * block);
    EXPECT_EQ(memory.peak(), 2 * block);
    EXPECT_EQ(memory.peak(4), 2 * block);
    model.submit();
    graph.wait();
    EXPECT_EQ(y(0), 11);
    EXPECT_EQ(model.pool().counts().most_live, 2 * block);
    EXPECT_EQ(events.count(), 2);
    for (int iteration = 0; iteration < 5;
         ++iteration) {  // those that overlap have memory of their own
      model.submit();
      graph.wait();
    }
    EXPECT_EQ(events.count(), 2);
    FieldPoolCounts const counts = model.pool().counts();
    EXPECT_EQ(counts.allocated, 2U);
    EXPECT_EQ(counts.reused, 6U * 10 - 2);
    EXPECT_EQ(counts.live, 0U);
    EXPECT_EQ(counts.idle, 2 * block);
    model.pool().trim();
    EXPECT_EQ(model.pool().counts().idle, 0U);
  }
}

TEST(FieldPools, TheBlockUsedLastComesFirstAndSizesAreApart) {
  FieldPool pool;
  Impl::PoolBlock* const a = pool.take(host, 64, "a");
  Impl::PoolBlock* const b = pool.take(host, 64, "b");
  Impl::PoolBlock* const c = pool.take(host, 128, "c");
  pool.give_back(a);
  pool.give_back(b);
  pool.give_back(c);
  EXPECT_EQ(pool.counts().most_live, 256U);
  EXPECT_EQ(pool.take(host, 64, "d"), b);
  EXPECT_EQ(pool.take(host, 64, "e"), a);
  EXPECT_EQ(pool.take(host, 128, "f"), c);
  pool.give_back(c);
  // A bound on what is held frees what is idle, not what is in use.
  Impl::PoolBlock* const d = pool.take(host, 32, "g", 160);
  EXPECT_EQ(pool.counts().idle, 0U);
  EXPECT_EQ(pool.counts(host).live, 160U);
  for (Impl::PoolBlock* const each : {a, b, d}) pool.give_back(each);
}

/// The equations of the brief: six fluxes and a right-hand side each; the fluxes are more urgent,
/// as priorities by depth would have it.
void add_equations(FieldGraph& model, int equations, std::atomic<int>* started = nullptr) {
  std::vector<std::vector<F>> fluxes(static_cast<std::size_t>(equations));
  for (int k = 0; k < equations; ++k)
    for (int flux = 0; flux < 6; ++flux) {
      F const q = make(model, "flux " + std::to_string(k) + "." + std::to_string(flux));
      fluxes[static_cast<std::size_t>(k)].push_back(q);
      host_task("flux", ResourcePolicy(model, write(q), priority(10)), [=](F::view const& v) {
        if (started != nullptr) ++*started;
        for (std::size_t i = 0; i < n; ++i) v(i) = k + flux;
      });
    }
  for (int k = 0; k < equations; ++k) {
    F const r = make(model, "rhs " + std::to_string(k));
    add_sum(model, "rhs " + std::to_string(k), fluxes[static_cast<std::size_t>(k)], {r});
    model.require(r);
  }
}

TEST(FieldLimits, SixteenEquationsKeepToTwelveBlocksWhateverThePriorities) {
  constexpr std::size_t persistent = 16 * block;
  for (int const workers : {1, 2, 4}) {
    TaskGraph graph(workers == 4 ? shaken(4, 1) : with_workers(workers));
    FieldGraph model(graph, {.memory_limit = persistent + 12 * block});
    add_equations(model, 16);
    FieldMemory const memory = model.memory();
    EXPECT_EQ(memory.transient, 96 * block);
    EXPECT_EQ(memory.persistent, persistent);
    EXPECT_EQ(memory.peak(), persistent + 6 * block);
    for (int iteration = 0; iteration < 20; ++iteration) model.submit();
    graph.wait();
    for (int k = 0; k < 16; ++k) {
      auto const r = model.host_view(make(model, "rhs " + std::to_string(k)));
      EXPECT_EQ(r(n - 1), 1 + 6 * k + 15);
    }
    FieldPoolCounts const counts = model.pool().counts();
    EXPECT_LE(counts.most_live, persistent + 12 * block);
    EXPECT_LE(counts.most_held, persistent + 12 * block);
    if (!*graph.options().serial) {  // there each task is over before the next one is submitted
      EXPECT_GT(model.tasks_held_back(), 0U);
    }
  }
}

TEST(FieldLimits, FiveBlocksAreTooFew) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.memory_limit = 21 * block});
  std::atomic<int> started{0};
  add_equations(model, 16, &started);
  EXPECT_THAT(message_of([&] { model.submit(); }),
              AllOf(HasSubstr("no room for the field \"flux "),
                    HasSubstr("needs " + std::to_string(block) + " bytes"), HasSubstr("at Host"),
                    HasSubstr("computes it"), HasSubstr("limit of " + std::to_string(21 * block)),
                    HasSubstr(" 0 are available")));
  graph.wait();
  EXPECT_EQ(started, 0);
  FieldGraph none(graph, {.memory_limit = 2 * block});
  F const a = make(none, "a"), b = make(none, "b"), c = make(none, "c");
  for (F const& each : {a, b, c}) {
    add_sum(none, "x", {}, {each});
    none.require(each);
  }
  EXPECT_THAT(message_of([&] { none.submit(); }),
              AllOf(HasSubstr("field \"c\""), HasSubstr("between iterations")));
}

TEST(FieldLimits, AnOrderThatOnlyTheSearchFindsIsFound) {
  // "big" makes a lot that becomes little; whoever starts with the small ones has no room for it.
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.memory_limit = 7 * block});
  F const r = make(model, "r");
  std::vector<F> ends;
  for (int k = 0; k < 4; ++k) {
    std::string const name = std::to_string(k);
    F const big = model.field<double*, Kokkos::LayoutRight>("big " + name, 2 * n);
    F const small = make(model, "small " + name);
    host_task("big", ResourcePolicy(model, write(big)), [](F::view const& v) { v(0) = 1; });
    host_task("small", ResourcePolicy(model, read(big), write(small)),
              [](F::read_view const& from, F::view const& to) {
                for (std::size_t i = 0; i < n; ++i) to(i) = from(0);
              });
    ends.push_back(small);
  }
  add_sum(model, "r", ends, {r});
  model.require(r);
  for (int iteration = 0; iteration < 10; ++iteration) model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(r)(0), 5);
  EXPECT_LE(model.pool().counts().most_held, 7 * block);
}

/// All graphs of up to four tasks that make one block each and read some of those before, with
/// every limit, two iterations in flight, and an ordinary task between them.
TEST(FieldLimits, NobodyWaitsForEverInAnySmallGraph) {
  Watchdog const watchdog(std::chrono::seconds(120), "FieldLimits.NobodyWaitsForEver");
  int runs = 0, refused = 0;
  for (int tasks = 1; tasks <= 4; ++tasks) {
    int const pairs = tasks * (tasks - 1) / 2;
    for (int reads = 0; reads < 1 << pairs; ++reads) {
      for (std::size_t limit = 1; limit <= static_cast<std::size_t>(tasks); ++limit) {
        TaskGraph graph(shaken(2, static_cast<std::uint64_t>(runs)));
        FieldGraph model(graph, {.memory_limit = limit * block});
        Values const y("y", n);
        std::vector<F> fields;
        std::vector<double> expected;
        int bit = 0;
        std::vector<bool> is_read(static_cast<std::size_t>(tasks), false);
        for (std::size_t k = 0; k < static_cast<std::size_t>(tasks); ++k) {
          std::vector<F> in;
          double sum = 1;
          for (std::size_t from = 0; from < k; ++from)
            if ((reads >> bit++ & 1) != 0) {
              in.push_back(fields[from]);
              is_read[from] = true;
              sum += expected[from];
            }
          fields.push_back(make(model, std::to_string(k)));
          expected.push_back(sum);
          add_sum(model, std::to_string(k), in, {fields.back()});
        }
        std::vector<F> ends;
        double sum = 1;
        for (std::size_t k = 0; k < fields.size(); ++k)
          if (!is_read[k]) {
            ends.push_back(fields[k]);
            sum += expected[k];
          }
        F const to = model.bind("y", y);
        add_sum(model, "y", ends, {to});
        model.require(to);
        std::size_t const peak = model.memory().peak();
        ++runs;
        if (peak > limit * block) {
          ++refused;
          ASSERT_THAT(message_of([&] { model.submit(); }), HasSubstr("no room for the field"));
          continue;
        }
        double before = 0;
        for (int iteration = 0; iteration < 3; ++iteration) {
          model.submit();
          host_task("between", ResourcePolicy(graph, read_write(y)),
                    [=, &before] { before = y(0); });
        }
        graph.wait();
        ASSERT_EQ(before, sum);
        ASSERT_LE(model.pool().counts().most_held, limit * block);
        ASSERT_EQ(model.pool().counts().live, 0U);
      }
    }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(runs - refused, 100);
}

/// A task `name` that makes a field of so many blocks, and one that reads it into a View.
template <class Body>
void add_pair(FieldGraph& model, std::string const& name, std::size_t blocks, Body const& body) {
  F const q = model.field<double*, Kokkos::LayoutRight>(name, blocks * n);
  F const to = model.bind(name + " out", Values(name + " out", n));
  host_task(Label(name), ResourcePolicy(model, write(q)), [=](F::view const& v) {
    body();
    v(0) = 1;
  });
  host_task(name + " out", ResourcePolicy(model, read(q), write(to)),
            [](F::read_view const& from, F::view const& v) { v(0) = from(0); });
  model.require(to);
}

TEST(FieldLimits, WhoNeedsNoMemoryNeverWaitsForAny) {
  Watchdog const watchdog(std::chrono::seconds(60), "FieldLimits.WhoNeedsNoMemory");
  TaskGraph graph(with_workers(2));
  if (*graph.options().serial) GTEST_SKIP() << "nobody waits";
  FieldGraph model(graph, {.memory_limit = block});
  std::atomic<bool> go{false};
  std::atomic<int> bare{0};
  F const z = model.bind("z", Values("z", n));
  add_pair(model, "q", 1, [&] {
    while (!go) std::this_thread::yield();
  });
  host_task("bare", ResourcePolicy(model, write(z)), [&](F::view const&) { ++bare; });
  model.require(z);
  for (int iteration = 0; iteration < 5; ++iteration) model.submit();
  EXPECT_EQ(model.tasks_held_back(), 4U);
  while (bare < 5) std::this_thread::yield();  // all of them, past four that wait
  go = true;
  graph.wait();
}

TEST(FieldLimits, NobodyOvertakesWhoWaits) {
  TaskGraph graph(with_workers(3));
  if (*graph.options().serial) GTEST_SKIP() << "nobody waits";
  FieldGraph model(graph, {.memory_limit = 3 * block});
  std::atomic<bool> go{false};
  std::atomic<int> big{0}, small{0};
  add_pair(model, "has", 2, [&] {
    while (!go) std::this_thread::yield();
  });
  add_pair(model, "big", 2, [&] { ++big; });
  add_pair(model, "small", 1, [&] { small = 1 + big; });  // would fit at once
  ASSERT_THAT(model.order(),
              testing::ElementsAre("has", "has out", "big", "big out", "small", "small out"));
  model.submit();
  EXPECT_EQ(model.tasks_held_back(), 2U);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(big + small, 0);
  go = true;
  graph.wait();
  EXPECT_EQ(big, 1);
  EXPECT_GE(small, 1);
}

TEST(FieldLimits, FailuresAndCancelledTasksPassTheGatesToo) {
  Watchdog const watchdog(std::chrono::seconds(120), "FieldLimits.Failures");
  for (int round = 0; round < 100; ++round) {
    TaskGraph graph(shaken(3, static_cast<std::uint64_t>(round)));
    FieldGraph model(graph, {.memory_limit = 3 * block});
    std::atomic<int> left{1 + round % 7};
    Values const y("y", n);
    F const to = model.bind("y", y);
    std::vector<F> chain;
    for (int k = 0; k < 8; ++k) {
      chain.push_back(make(model, std::to_string(k)));
      auto const in = k == 0 ? std::vector<F>() : std::vector{chain[chain.size() - 2]};
      host_task("link", ResourcePolicy(model, read(in), write(std::vector{chain.back()})),
                [&](In from, Out out) {
                  if (--left == 0) throw std::runtime_error("here");
                  Sum()(from, out);
                });
    }
    add_sum(model, "y", {chain.back()}, {to});
    model.require(to);
    model.submit();
    model.submit();
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("here"));
    ASSERT_EQ(model.pool().counts().live, 0U);
    model.submit();
    graph.wait();
    ASSERT_EQ(y(0), 9);
    ASSERT_EQ(model.pool().counts().live, 0U);
    ASSERT_LE(model.pool().counts().most_held, 3 * block);
  }
}

TEST(FieldLimits, AFieldThatIsLockedCountsForTheLimit) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.memory_limit = 3 * block});
  Values const y("y", n);
  F const a = make(model, "a"), b = make(model, "b"), c = make(model, "c"), d = make(model, "d"),
          to = model.bind("y", y);
  add_sum(model, "a", {}, {a});
  add_sum(model, "b", {a}, {b});
  add_sum(model, "c", {b}, {c});
  add_sum(model, "d", {c}, {d});
  add_sum(model, "y", {d}, {to});
  model.require(to);
  model.submit();
  graph.wait();
  model.lock(a);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.memory().peak(), 3 * block);
  model.lock(d);
  EXPECT_THAT(message_of([&] { model.submit(); }), HasSubstr("no room for the field"));
  model.unlock(a);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(d)(0), 4);
  EXPECT_EQ(model.memory().peak(), 3 * block);
  EXPECT_LE(model.pool().counts().most_held, 3 * block);
}

}  // namespace
}  // namespace trellis
