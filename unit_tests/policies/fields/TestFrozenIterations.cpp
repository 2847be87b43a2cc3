// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Iterations in plans: in the same memory in each round, which is known to the byte.
#include "FieldsTest.hpp"

#include "Watchdog.hpp"

#include <Trellis_Late.hpp>
#include <Trellis_Scheduling.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t cells = 16;
constexpr std::size_t one_field = cells * sizeof(double);

class FrozenIterations : public testing::TestWithParam<bool> {
 protected:
  TaskGraph graph{with_workers(2, GetParam())};
  FieldGraph model{graph};
  F make(std::string const& name) { return make_in(model, name); }
  static F make_in(FieldGraph& in, std::string const& name) {
    return in.field<double*, Kokkos::LayoutRight>(name, cells);
  }
  /// A chain from x to y; each link adds one.
  static std::vector<F> add_chain(FieldGraph& in, Values const& x, Values const& y, int links,
                                  std::string const& name = "") {
    std::vector<F> chain{in.bind(name + "x", x)};
    for (int k = 0; k < links; ++k) {
      chain.push_back(k + 1 == links ? in.bind(name + "y", y)
                                     : make_in(in, name + "q" + std::to_string(k)));
      add_sum(in, name + "link", {chain[chain.size() - 2]}, {chain.back()});
    }
    in.require(chain.back());
    return chain;
  }
};
INSTANTIATE_TEST_SUITE_P(, FrozenIterations, testing::Values(false, true), [](auto const& way) {
  return std::string(way.param ? "Serial" : "Tasks");
});

TEST_P(FrozenIterations, AreTheSameIterationsWithoutAllocations) {
  Values const x("x", cells), y("y", cells);
  add_chain(model, x, y, 11);
  FieldMemory const memory = model.memory();
  EXPECT_EQ(memory.persistent, 0U);
  EXPECT_EQ(memory.least_frozen, memory.peak());
  EXPECT_EQ(memory.frozen, memory.peak());  // in a chain nobody waits for bytes
  EXPECT_EQ(memory.frozen, 2 * one_field);
  Plan const plan = model.record("step");
  EXPECT_EQ(plan.tasks(), 11U);
  EXPECT_EQ(graph.submitted(), 0U);
  FieldPoolCounts const recorded = model.pool().counts();
  EXPECT_EQ(recorded.live, memory.frozen);
  EXPECT_EQ(model.memory().persistent, memory.frozen);
  for (int k = 0; k < 3; ++k) {
    Kokkos::deep_copy(x, 10.0 * k);
    graph.replay(plan, 4);
    graph.wait();
    EXPECT_EQ(y(cells - 1), 10 * k + 11);
  }
  FieldPoolCounts const after = model.pool().counts();
  EXPECT_EQ(after.most_held, memory.frozen);
  EXPECT_EQ(after.allocated, recorded.allocated);
  EXPECT_EQ(after.reused, recorded.reused);
}

TEST_P(FrozenIterations, ArePartsOfPlansWithOtherTasks) {
  Values const x("x", cells), y("y", cells);
  add_chain(model, x, y, 5);
  double expected = 0;
  auto const advance = [&] {
    host_task("x", ResourcePolicy(graph, read(y), read_write(x)), [=] {
      for (std::size_t k = 0; k < cells; ++k) x(k) = x(k) / 2 + y(k);
    });
  };
  auto const follow = [&](int steps) {
    for (int k = 0; k < steps; ++k) expected = expected / 2 + (expected + 5);
  };
  Plan const step = graph.record("step", [&] {
    model.submit();
    advance();
  });
  // Before, between and behind: iterations and ordinary tasks.
  model.submit();
  advance();
  graph.replay(step, 3);
  model.submit();
  advance();
  graph.replay(step, 2);
  advance();
  graph.wait();
  follow(7);
  expected = expected / 2 + y(0);
  EXPECT_EQ(x(cells - 1), expected);
  // A plan in a plan.
  Plan const two = graph.record("two", [&] { graph.replay(step, 2); });
  graph.replay(two, 3);
  graph.wait();
  follow(6);
  EXPECT_EQ(x(0), expected);
}

TEST_P(FrozenIterations, SeveralOfAModelInOnePlanAreOneAfterTheOther) {
  Values const x("x", cells), y("y", cells);
  add_chain(model, x, y, 3);
  Plan const plan = graph.record("two", [&] {
    for (int k = 0; k < 2; ++k) {
      model.submit();
      host_task("x", ResourcePolicy(graph, read(y), write(x)), [=] { Kokkos::deep_copy(x, y); });
    }
  });
  graph.replay(plan, 5);
  graph.wait();
  EXPECT_EQ(x(3), 30);
}

TEST_P(FrozenIterations, KeepFieldsThatAreLockedOrPersistentInTheirOwnMemory) {
  Values const x("x", cells), y("y", cells);
  std::vector<F> const chain = add_chain(model, x, y, 5);
  F const p = make("p"), z = make("z");
  add_sum(model, "z", {p}, {z});
  model.require(z);
  model.store(p, FieldStorage::persistent);
  Kokkos::deep_copy(model.host_view(p), 6.0);
  model.lock(chain[2]);
  FieldMemory const memory = model.memory();
  EXPECT_EQ(memory.persistent, 3 * one_field);
  std::optional<Plan> plan = model.record();
  EXPECT_EQ(plan->name(), "model");
  graph.replay(*plan, 2);
  graph.wait();
  EXPECT_EQ(y(1), 5);
  EXPECT_EQ(model.host_view(chain[2])(cells - 1), 2);
  EXPECT_EQ(model.host_view(z)(0), 7);
  // Who names the field, or its View, is in order with the replay.
  host_task("p", ResourcePolicy(graph, read_write(p)), [](F::view const& v) { v(0) += 1; });
  graph.replay(*plan);
  host_task("z", ResourcePolicy(graph, read_write(z)), [](F::view const& v) { v(0) *= 10; });
  graph.wait();
  EXPECT_EQ(model.host_view(z)(0), 80);
  // The same fields in ordinary iterations.
  model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(z)(0), 8);
  EXPECT_EQ(model.pool().counts().live, memory.frozen);
  // With other memory, nobody would see what the plan does.
  model.unlock(chain[2]);
  model.submit();
  EXPECT_THAT(message_of([&] { graph.replay(*plan); }),
              AllOf(HasSubstr("the field \"q1\" ("), HasSubstr("TestFrozenIterations.cpp:"),
                    HasSubstr("has been unlocked"), HasSubstr("Record the plan again")));
  graph.wait();
  // The plan still has all of it.
  EXPECT_EQ(model.pool().counts().live, memory.frozen);
  EXPECT_EQ(model.memory().persistent, memory.frozen);
  plan.reset();
  EXPECT_EQ(model.pool().counts().live, 2 * one_field);
  EXPECT_EQ(model.memory().persistent, 2 * one_field);
  plan = model.record();
  graph.replay(*plan, 3);
  graph.wait();
  EXPECT_EQ(y(1), 5);
}

TEST_P(FrozenIterations, HaveExactParts) {
  Values const x("x", cells);
  F const q = make("q"), r = make("r"), left = make("left"), to = model.bind("x", x);
  auto const low = subfield(q, Kokkos::pair<std::size_t, std::size_t>(0, 6));
  auto const high = subfield(q, Kokkos::pair<std::size_t, std::size_t>(6, cells));
  using Part = decltype(low);
  auto const fill = [](double value) {
    return [value](Part::view const& part) {
      for (std::size_t k = 0; k < part.extent(0); ++k) part(k) = value + static_cast<double>(k);
    };
  };
  host_task("high", ResourcePolicy(model, write(high)), fill(100));
  host_task("low", ResourcePolicy(model, write(low)), fill(0));
  host_task("left", ResourcePolicy(model, read(low), write(left)),
            [](Part::read_view const& from, F::view const& v) {
              for (std::size_t k = 0; k < v.extent(0); ++k) v(k) = from(k % from.extent(0));
            });
  add_sum(model, "r", {q, left}, {r});
  add_sum(model, "x", {r}, {to});
  model.require(to);
  Plan const plan = model.record();
  graph.replay(plan, 20);
  graph.wait();
  for (std::size_t k = 0; k < cells; ++k) {
    double const of_q = k < 6 ? static_cast<double>(k) : 94 + static_cast<double>(k);
    ASSERT_EQ(x(k), 2 + of_q + static_cast<double>(k % 6));
  }
}

TEST_P(FrozenIterations, TakeKernelsListsPrioritiesAndTags) {
  using G = Field<double**>;
  G const q = model.field<double**>("q", 3, 4), r = model.field<double**>("r", 3, 4);
  using Plane = Kokkos::MDRangePolicy<Kokkos::Rank<2>, Kokkos::DefaultHostExecutionSpace>;
  parallel_for(
      "r", ResourcePolicy(model, Plane({0, 0}, {3, 4}), read(q), write(r), priority(2), tag(1)),
      [](int i, int j, G::read_view const& from, G::view const& to) { to(i, j) = 2 * from(i, j); });
  parallel_for("q", ResourcePolicy(model, Plane({0, 0}, {3, 4}), write(q), main_thread),
               [](int i, int j, G::view const& to) { to(i, j) = 10 * i + j; });
  std::atomic<int> looks{0};
  host_task("look", ResourcePolicy(model, read(std::vector{q, r})),
            [&](view_list<G::read_view> const& both) {
              looks += static_cast<int>(both[0](2, 3) + both[1](2, 3));
            });
  model.require(r);
  model.submit();
  graph.wait();
  Plan const plan = model.record();
  graph.replay(plan, 4);
  graph.wait();
  EXPECT_EQ(looks, 5 * (23 + 46));
  EXPECT_EQ(model.host_view(r)(2, 3), 46);
}

/// What a task takes besides fields may be another array in each replay, of another length.
TEST_P(FrozenIterations, HaveTheArraysOfEachReplay) {
  using Array = LateView<double*, Kokkos::HostSpace>;
  using Scalar = Field<double>;
  Array const late("late");
  Values const x("x", cells);
  F const q = make("q"), to = model.bind("x", x);
  Scalar const sum = model.field<double>("sum");
  parallel_for("q", ResourcePolicy(model, extent(q), read(late), write(q)),
               [](std::size_t i, Array::read_view const& from, F::view const& v) {
                 v(i) = i < from.extent(0) ? from(i) : -1;
               });
  parallel_reduce(
      "sum", ResourcePolicy(model, extent(late), read(late)),
      [](std::size_t i, Array::read_view const& from, double& s) { s += from(i); }, sum);
  parallel_for(
      "x", ResourcePolicy(model, extent(subfield(to, Kokkos::ALL)), read(q), read(sum), write(to)),
      [](std::size_t i, F::read_view const& from, Scalar::read_view const& s, F::view const& v) {
        v(i) = from(i) + 100 * s();
      });
  model.require(to);
  auto const renew = [&](std::size_t n, double value) {
    allocate("room", ResourcePolicy(graph), late, n);
    parallel_for(
        "fill", ResourcePolicy(graph, extent(late), write(late)),
        [=](std::size_t i, Array::view const& v) { v(i) = value + static_cast<double>(i); });
  };
  renew(3, 1);
  Plan const plan = model.record();
  for (std::size_t n = 3; n < 7; ++n) {
    auto const value = static_cast<double>(n);
    renew(n, value);
    graph.replay(plan);
    graph.wait();
    for (std::size_t i = 0; i < cells; ++i) {
      double const of_q = i < n ? value + static_cast<double>(i) : -1;
      EXPECT_EQ(x(i), of_q + 100 * value * (value + (value - 1) / 2)) << n << ' ' << i;
    }
  }
  // A range that comes from a task is no order of fields.
  auto const number = host_task("number", ResourcePolicy(graph), [] { return 3; });
  EXPECT_THAT(message_of([&] {
                parallel_for("late", ResourcePolicy(model, number, write(q)),
                             [](int, F::view const&) {});
              }),
              HasSubstr("with after(...) or value(...)"));
  EXPECT_THAT(message_of([&] {
                parallel_for("late", ResourcePolicy(model, 3, write(late)),
                             [](int, Array::view const&) {});
              }),
              HasSubstr("which writes \"late\""));
}

TEST_P(FrozenIterations, FailLikeOtherTasksAndRunAgain) {
  Values const x("x", cells), y("y", cells), z("z", cells);
  add_chain(model, x, y, 3);
  F const s = make("s"), to = model.bind("z", z);
  std::atomic<int> left{3};
  host_task("s", ResourcePolicy(model, write(s)), [&](F::view const& v) {
    if (--left == 0) throw std::runtime_error("no s");
    v(cells - 1) = 4;
  });
  add_sum(model, "z", {s}, {to});
  model.require(to);
  Plan const plan = model.record("step");
  std::size_t const live = model.pool().counts().live;
  graph.replay(plan, 5);
  EXPECT_THAT(message_of([&] { graph.wait(); }), AllOf(HasSubstr("no s"), HasSubstr("\"s\"")));
  EXPECT_EQ(y(0), 3);
  left = -1;
  Kokkos::deep_copy(z, 0.0);
  graph.replay(plan, 2);
  model.submit();
  graph.wait();
  EXPECT_EQ(z(cells - 1), 5);
  EXPECT_EQ(model.pool().counts().live, live);
}

TEST_P(FrozenIterations, ModelAndPlanEndInAnyOrder) {
  Values const x("x", cells), y("y", cells);
  auto const pool = std::make_shared<FieldPool>();
  auto const token = std::make_shared<int>(0);
  auto const placement = make_host_placement();
  std::optional<Plan> plan;
  {
    std::optional<FieldGraph> brief(std::in_place, graph,
                                    FieldGraphOptions{.pool = pool, .placement = placement});
    Values dropped("x", cells);
    F const from = brief->bind("x", dropped), q = make_in(*brief, "q"), kept = make_in(*brief, "k"),
            to = brief->bind("y", y);
    Kokkos::deep_copy(dropped, 5.0);
    dropped = Values();
    host_task(
        "q", ResourcePolicy(*brief, read(from), write(q)),
        [token](F::read_view const& in, F::view const& v) { v(cells - 1) = in(cells - 1) + 1; });
    add_sum(*brief, "k", {q}, {kept});
    add_sum(*brief, "y", {kept}, {to});
    brief->require(kept);
    brief->require(to);
    plan = brief->record();
    graph.replay(*plan, 3);
    brief.reset();
    // The policy is free again.
    FieldGraph const another(graph, {.placement = placement});
  }
  graph.wait();
  EXPECT_EQ(y(cells - 1), 8);
  Kokkos::deep_copy(y, 0.0);
  graph.replay(*plan, 2);
  graph.wait();
  EXPECT_EQ(y(cells - 1), 8);
  EXPECT_GT(token.use_count(), 1);
  EXPECT_GT(pool->counts().live, 0U);
  graph.replay(*plan, 2);
  plan.reset();  // while it runs
  graph.wait();
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(pool->counts().live, 0U);
  // The graph before both.
  {
    std::optional<FieldGraph> later;
    TaskGraph brief(with_workers(2, GetParam()));
    later.emplace(brief, FieldGraphOptions{.pool = pool});
    add_chain(*later, x, y, 4);
    plan = later->record();
    brief.replay(*plan, 10);
    later.reset();
  }
  plan.reset();
  EXPECT_EQ(pool->counts().live, 0U);
}

TEST_P(FrozenIterations, TwoModelsShareAPoolAndAreOrderedByWhatTheyTouch) {
  auto const pool = std::make_shared<FieldPool>();
  Values const x("x", cells), y("y", cells), z("z", cells);
  FieldGraph first(graph, {.pool = pool}), second(graph, {.pool = pool});
  add_chain(first, x, y, 4);
  add_chain(second, y, z, 6);
  Plan const plan = graph.record("both", [&] {
    first.submit();
    second.submit();
    host_task("x", ResourcePolicy(graph, read(z), write(x)), [=] { Kokkos::deep_copy(x, z); });
  });
  Plan const own = second.record();
  graph.replay(plan, 7);
  graph.replay(own, 2);
  graph.wait();
  EXPECT_EQ(x(0), 70);
  EXPECT_EQ(z(5), 64 + 6);
  EXPECT_EQ(pool->counts().live, first.memory().frozen - first.memory().persistent +
                                     2 * (second.memory().frozen - second.memory().persistent));
}

TEST_P(FrozenIterations, AreHeldToALimit) {
  Values const x("x", cells), y("y", cells);
  std::size_t least = 0;
  {
    FieldGraph probe(graph);
    add_chain(probe, x, y, 8, "a ");
    add_chain(probe, Values("x", cells), Values("y", cells), 8, "b ");
    least = probe.memory().least_frozen;
    EXPECT_EQ(least, 2 * one_field);
  }
  auto const build = [&](FieldGraph& in) {
    add_chain(in, x, y, 8, "a ");
    add_chain(in, Values("x", cells), Values("y", cells), 8, "b ");
  };
  FieldGraph none(graph, {.memory_limit = least - 1});
  build(none);
  EXPECT_THAT(message_of([&] { static_cast<void>(none.record()); }),
              AllOf(HasSubstr("no room in a plan for the field \""),
                    HasSubstr("needs " + std::to_string(one_field) + " bytes at Host"),
                    HasSubstr("limit of " + std::to_string(least - 1)),
                    HasSubstr(std::to_string(least - 1) + " are available")));
  EXPECT_EQ(none.pool().counts().live, 0U);
  FieldGraph tight(graph, {.memory_limit = least});
  build(tight);
  EXPECT_EQ(tight.memory().frozen, least);
  std::optional<Plan> plan = tight.record();
  graph.replay(*plan, 3);
  graph.wait();
  EXPECT_EQ(y(0), 8);
  EXPECT_EQ(tight.pool().counts().most_held, least);
  // The plan has all that there is: iterations are refused, instead of waiting for ever.
  EXPECT_THAT(message_of([&] { tight.submit(); }), HasSubstr("no room for the field"));
  plan.reset();
  tight.submit();
  graph.wait();
  EXPECT_EQ(tight.pool().counts().most_held, least);
}

/// Memory that is to be there for good is not promised to anybody else.
TEST(FrozenPlans, AreNotMadeWhileIterationsHaveTheMemory) {
  TaskGraph graph(with_workers(2));
  if (*graph.options().serial) GTEST_SKIP() << "an iteration is over when submit() returns";
  FieldGraph model(graph, {.memory_limit = 3 * one_field});
  Values const y("y", cells);
  F const q = model.field<double*, Kokkos::LayoutRight>("q", cells), to = model.bind("y", y);
  std::atomic<bool> go{false};
  host_task("q", ResourcePolicy(model, write(q)), [&](F::view const& v) {
    while (!go) std::this_thread::yield();
    v(0) = 1;
  });
  add_sum(model, "y", {q}, {to});
  model.require(to);
  for (int iteration = 0; iteration < 3; ++iteration) model.submit();  // three times the memory
  EXPECT_THAT(message_of([&] { static_cast<void>(model.record()); }),
              HasSubstr("wait for the graph before"));
  model.lock(q);
  EXPECT_THAT(message_of([&] { model.submit(); }), HasSubstr("wait for the graph before"));
  model.unlock(q);
  go = true;
  graph.wait();
  Plan const plan = model.record();
  graph.replay(plan);
  model.submit();
  graph.wait();
  EXPECT_EQ(y(0), 2);
  EXPECT_LE(model.pool().counts().most_held, 3 * one_field);
}

/// A callable has one body, which ordinary iterations and plans run; no two of them at a time.
TEST(FrozenPlans, NeverRunACallableTwiceAtATime) {
  Watchdog const watchdog(std::chrono::seconds(60), "FrozenPlans.NeverRun");
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    TaskGraph graph(shaken(4, seed));
    FieldGraph model(graph);
    std::atomic<int> inside{0}, together{0}, runs{0};
    struct MoveOnly {
      std::unique_ptr<int> kept = std::make_unique<int>(0);
    };
    auto const watch = [&] {
      if (++inside > 1) ++together;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      ++runs;
      --inside;
    };
    F const q = model.field<double*, Kokkos::LayoutRight>("q", cells);
    host_task("q", ResourcePolicy(model, write(q)),
              [&, own = MoveOnly()](F::view const& v) mutable {
                watch();
                v(0) = ++*own.kept;
              });
    model.require(q);
    // The field is in a plan's memory, in its own, and in none between iterations, without a wait.
    F const look = model.field<double*, Kokkos::LayoutRight>("look", cells);
    add_sum(model, "look", {q}, {look});
    model.require(look);
    FieldGraph transient(graph);
    F const t = transient.field<double*, Kokkos::LayoutRight>("t", cells);
    host_task("t", ResourcePolicy(transient, write(t)),
              [&, own = MoveOnly()](F::view const& v) mutable {
                watch();
                v(0) = ++*own.kept;
              });
    std::atomic<int> seen{0};
    host_task("seen", ResourcePolicy(transient, read(t)),
              [&](F::read_view const& v) { seen += static_cast<int>(v(0)); });
    Plan const one = transient.record(), two = transient.record();
    for (int k = 0; k < 4; ++k) {
      transient.submit();
      graph.replay(one, 2);
      transient.lock(t);
      transient.submit();
      graph.replay(two, 2);
      transient.unlock(t);
    }
    graph.wait();
    EXPECT_EQ(together, 0);
    EXPECT_EQ(runs, 4 * 6);
    EXPECT_EQ(seen, 24 * 25 / 2);  // each run has counted on from the one before
  }
}

TEST(FrozenPlans, OfFewEquationsAtATimeHaveLittleMemory) {
  auto const build = [](FieldGraph& model, int equations) {
    for (int k = 0; k < equations; ++k) {
      std::vector<F> fluxes;
      for (int flux = 0; flux < 6; ++flux) {
        fluxes.push_back(model.field<double*, Kokkos::LayoutRight>(
            "flux " + std::to_string(k) + "." + std::to_string(flux), cells));
        add_sum(model, "flux", {}, {fluxes.back()});
      }
      F const r = model.field<double*, Kokkos::LayoutRight>("rhs " + std::to_string(k), cells);
      add_sum(model, "rhs", fluxes, {r});
      model.require(r);
    }
  };
  constexpr std::size_t persistent = 16 * one_field;
  for (int const workers : {1, 2}) {
    TaskGraph graph(with_workers(workers));
    FieldGraph model(graph);
    build(model, 16);
    FieldMemory const memory = model.memory();
    EXPECT_EQ(memory.least_frozen, persistent + 6 * one_field);
    if (workers == 1 || *graph.options().serial)
      EXPECT_EQ(memory.frozen, persistent + 6 * one_field);
    else  // of 96
      EXPECT_LE(memory.frozen, persistent + 18 * one_field);
    Plan const plan = model.record();
    graph.replay(plan, 5);
    graph.wait();
    EXPECT_EQ(model.pool().counts().most_held, memory.frozen);
    EXPECT_EQ(model.host_view(model.field<double*, Kokkos::LayoutRight>("rhs 15"))(0), 7);
  }
}

}  // namespace
}  // namespace trellis
