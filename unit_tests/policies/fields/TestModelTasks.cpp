// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks of a model beside their fields: how they are called in errors and records, what orders
// them, what their futures are, fields that are bound anew, tasks that are replaced, and what the
// scheduling policy knows of iterations.
#include "FieldsTest.hpp"

#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_Recorded.hpp>

#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TaskGraphOptions recording(int workers = 2, bool serial = false) {
  TaskGraphOptions options = with_workers(workers, serial);
  options.record = true;
  return options;
}

class ModelTasks : public testing::TestWithParam<bool> {
 protected:
  TaskGraph graph{recording(2, GetParam())};
  FieldGraph model{graph};
  std::mutex mutex;
  std::vector<std::string> seen;
  F make(std::string const& name, std::size_t length = 4) {
    return model.field<double*, Kokkos::LayoutRight>(name, length);
  }
  auto note(std::string name) {
    return [this, name](auto const&...) {
      std::lock_guard const lock(mutex);
      seen.push_back(name);
    };
  }
  std::vector<std::string> iteration() {
    model.submit();
    graph.wait();
    return std::exchange(seen, {});
  }
};
INSTANTIATE_TEST_SUITE_P(, ModelTasks, testing::Values(false, true), [](auto const& way) {
  return std::string(way.param ? "Serial" : "Tasks");
});

// --- labels --------------------------------------------------------------------------------------

/// Of each kind of field, after each change of where it has its memory.
TEST_P(ModelTasks, AreDescribedByTheFieldsOfToday) {
  Values const o("program's", 4);
  F const q = make("q"), r = make("r"), out = model.bind("out", o);
  std::atomic<bool> fails{false};
  add_sum(model, "make q", {}, {q});
  add_sum(model, "make r", {q}, {r});
  host_task("use", ResourcePolicy(model, read(q), read(r), write(out)), [&](auto const&...) {
    if (fails.exchange(false)) throw std::runtime_error("bad value");
  });
  host_task("look", ResourcePolicy(model, read(q)), [](auto const&...) {});
  model.require(out);
  auto const expect = [&] {
    fails = true;
    model.submit();
    EXPECT_THAT(
        message_of([&] { graph.wait(); }),
        AllOf(HasSubstr("task \"use\""), HasSubstr("read \"q\", read \"r\", write \"out\"]"),
              Not(HasSubstr("runs of"))));
    iteration();
  };
  expect();
  model.lock(q);
  iteration();
  expect();
  model.unlock(q);
  iteration();
  expect();
  model.lock(r);  // may have the block that q had
  iteration();
  expect();
  model.unlock(r);
  model.store(q, FieldStorage::persistent);
  iteration();
  expect();
  std::set<std::string> const names{"q", "r", "out", "look"};  // a task without fields: its own
  for (TaskRecord const& node : graph.dependency_graph().nodes())
    for (AccessRecord const& access : node.accesses)
      EXPECT_TRUE(names.contains(access.resource)) << node.label << ": " << access.resource;
}

/// The next model gets the addresses of the one before; so do Views.
TEST_P(ModelTasks, OfANextModelAreDescribedByItsFields) {
  for (int k = 0; k < 4; ++k) {
    std::string const own = "flux " + std::to_string(k), view = "view " + std::to_string(k);
    Values const o(view, 4);
    FieldGraph next(graph);
    F const q = next.field<double*, Kokkos::LayoutRight>(own, 4), out = next.bind("to " + view, o);
    add_sum(next, "make", {}, {q});
    host_task("use", ResourcePolicy(next, read(q), write(out)),
              [](auto const&...) { throw std::runtime_error("bad value"); });
    next.require(out);
    next.submit();
    EXPECT_THAT(message_of([&] { graph.wait(); }),
                AllOf(HasSubstr("read \"" + own + "\""), HasSubstr("write \"to " + view + "\"")));
    host_task("plain", ResourcePolicy(graph, read(out)), [](F::read_view const&) {});
    host_task("plain", ResourcePolicy(graph, read(o)), [](auto const&) {});
    graph.wait();
  }
  std::vector<TaskRecord> const nodes = graph.dependency_graph().nodes();
  ASSERT_EQ(nodes.size(), 16U);
  for (std::size_t k = 0; k < nodes.size(); k += 4)
    EXPECT_EQ(nodes[k].accesses[0].resource, "flux " + std::to_string(k / 4));
}

// --- what a future is ----------------------------------------------------------------------------

TEST_P(ModelTasks, HaveFuturesThatSayWhatTheyAre) {
  F const q = make("q");
  Future<void> const task = host_task("make q", ResourcePolicy(model, write(q)), note("q"));
  model.require(q);
  EXPECT_TRUE(task.valid());
  auto const told = AllOf(HasSubstr("stands for the task \"make q\" ("),
                          HasSubstr("TestModelTasks.cpp:"), HasSubstr("once in each iteration"));
  for (int k = 0; k < 2; ++k) {
    EXPECT_THAT(message_of([&] { task.get(); }), told);
    EXPECT_THAT(message_of([&] { task.wait(); }), told);
    EXPECT_THAT(message_of([&] { static_cast<void>(task.is_done()); }), told);
    EXPECT_THAT(message_of([&] { task.then([] {}); }), HasSubstr("\"make q\""));
    EXPECT_THAT(
        message_of([&] { host_task("x", ResourcePolicy(graph, after(task)), [] {}); }),
        AllOf(HasSubstr("\"x\""), HasSubstr("after the task \"make q\""), HasSubstr("of a model")));
    iteration();
  }
  FieldGraph other(graph);
  EXPECT_THAT(message_of([&] { host_task("y", ResourcePolicy(other, after(task)), [] {}); }),
              AllOf(HasSubstr("\"y\""), HasSubstr("\"make q\""), HasSubstr("another one")));
  Future<void> left;
  {
    FieldGraph short_lived(graph);
    left = host_task("gone", ResourcePolicy(short_lived), [] {});
  }
  EXPECT_THAT(message_of([&] { left.get(); }), HasSubstr("not there any more"));
}

TEST_P(ModelTasks, AreNoForkJoins) {
  F const q = make("q");
  EXPECT_THAT(
      message_of([&] { fork_join("sweep", ResourcePolicy(model, write(q)), [](TaskScope&) {}); }),
      AllOf(HasSubstr("\"sweep\" ("), HasSubstr("fork_join")));
  // The model has no such task.
  host_task("make q", ResourcePolicy(model, write(q)), note("q"));
  model.require(q);
  EXPECT_THAT(iteration(), ElementsAre("q"));
}

// --- order ---------------------------------------------------------------------------------------

TEST_P(ModelTasks, ComeAfterThoseThatTheyName) {
  F const a = make("a"), b = make("b"), unused = make("unused");
  auto const first = host_task("first", ResourcePolicy(model, write(unused)), note("first"));
  auto const early = host_task("early", ResourcePolicy(model, write(a), after(first)), note("a"));
  std::vector<Future<void>> const both{first, early};
  host_task("last", ResourcePolicy(model, write(b), after(both), priority(9)), note("b"));
  model.require(a);
  model.require(b);
  EXPECT_THAT(iteration(), ElementsAre("first", "a", "b"));  // one that is named is needed
  EXPECT_THAT(iteration(), ElementsAre("first", "a", "b"));
  Plan const plan = model.record();
  graph.replay(plan, 2);
  graph.wait();
  EXPECT_THAT(seen, ElementsAre("first", "a", "b", "first", "a", "b"));
}

TEST_P(ModelTasks, ComeAfterTasksOfTheGraph) {
  F const a = make("a");
  auto const before = host_task("before", ResourcePolicy(graph), [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    note("before")();
  });
  host_task("a", ResourcePolicy(model, write(a), after(before)), note("a"));
  model.require(a);
  EXPECT_THAT(iteration(), ElementsAre("before", "a"));
  EXPECT_THAT(iteration(), ElementsAre("a"));
  TaskGraph other(with_workers(1));
  auto const elsewhere = host_task("elsewhere", ResourcePolicy(other), [] {});
  EXPECT_THAT(
      message_of([&] { host_task("b", ResourcePolicy(model, after(elsewhere)), note("b")); }),
      HasSubstr("after a future of another graph"));
  EXPECT_THAT(
      message_of([&] { host_task("b", ResourcePolicy(model, after(Future<void>())), note("b")); }),
      HasSubstr("after a future that belongs to no task"));
  EXPECT_THAT(message_of([&] {
                auto const number = host_task("n", ResourcePolicy(graph), [] { return 3; });
                host_task("b", ResourcePolicy(model, value(number)), [](int const&) {});
              }),
              HasSubstr("value(...)"));
  EXPECT_THAT(iteration(), ElementsAre("a"));
}

/// As in a graph: in the order in which the model got them.
TEST_P(ModelTasks, AreOrderedByTokens) {
  Token const token("token", 2);
  std::vector<F> fields;
  for (int k = 0; k < 6; ++k) fields.push_back(make("f" + std::to_string(k)));
  auto const at = [&](std::size_t k) { return write(fields[k]); };
  host_task("0", ResourcePolicy(model, read(token), at(0), priority(-9)), note("0"));
  host_task("1", ResourcePolicy(model, write(token), at(1), priority(-8)), note("1"));
  host_task("2", ResourcePolicy(model, read_write(token.part(0, 1)), at(2)), note("2"));
  host_task("3", ResourcePolicy(model, read(token.part(0, 1)), at(3), priority(8)), note("3"));
  host_task("4", ResourcePolicy(model, write(token), at(4), priority(9)), note("4"));
  host_task("5", ResourcePolicy(model, write(token), at(5), priority(9)), note("5"));
  model.require(fields[4]);
  // It needs those that write before it, but not the one that has only read before these.
  EXPECT_THAT(iteration(), ElementsAre("1", "2", "4"));
  for (F const& each : fields) model.require(each);
  for (int k = 0; k < 3; ++k) EXPECT_THAT(iteration(), ElementsAre("0", "1", "2", "3", "4", "5"));
  // What is no Token and no field is not written.
  Values const x("x", 4);
  EXPECT_THAT(message_of([&] { host_task("x", ResourcePolicy(model, write(x)), note("x")); }),
              HasSubstr("bind the View"));
}

TEST_P(ModelTasks, AreOrderedBySynchronizingOnes) {
  F const a = make("a"), b = make("b"), c = make("c"), unused = make("unused");
  host_task("a", ResourcePolicy(model, write(a), priority(-5)), note("a"));
  host_task("unused", ResourcePolicy(model, write(unused)), note("unused"));
  host_task("barrier", ResourcePolicy(model, write(b), synchronizing), note("barrier"));
  host_task("c", ResourcePolicy(model, write(c), priority(5)), note("c"));
  for (F const& each : {a, b, c}) model.require(each);
  for (int k = 0; k < 3; ++k) EXPECT_THAT(iteration(), ElementsAre("a", "barrier", "c"));
  // In the graph, too: a task after the iteration comes after it.
  TaskRecord const node =
      graph.dependency_graph().node(graph.dependency_graph().find("barrier").back());
  EXPECT_TRUE(node.synchronizing);
}

TEST_P(ModelTasks, SayWhenOrdersContradictEachOther) {
  Token const token("token");
  F const a = make("a"), b = make("b");
  host_task("reader", ResourcePolicy(model, read(a), write(b), write(token)), note("reader"));
  host_task("maker", ResourcePolicy(model, read(token), write(a)), note("maker"));
  model.require(b);
  EXPECT_THAT(message_of([&] { model.submit(); }),
              AllOf(HasSubstr("has a circle"), HasSubstr("\"reader\""), HasSubstr("\"maker\"")));
  EXPECT_EQ(graph.submitted(), 0U);
}

// --- other memory, other tasks -------------------------------------------------------------------

/// to = from + 1
void add_step(FieldGraph& model, F const& from, F const& to) {
  host_task("step", ResourcePolicy(model, read(from), write(to)),
            [](F::read_view const& in, F::view const& out) {
              for (std::size_t k = 0; k < out.extent(0); ++k) out(k) = in(k) + 1;
            });
}

/// Iterations in flight go on with the memory that they were submitted with.
TEST_P(ModelTasks, GetTheMemoryThatAFieldIsBoundToAnew) {
  Values a("a", 4), b("b", 4), c("c", 4);
  F const from = model.bind("old", a), to = model.bind("new", b);
  add_step(model, from, to);
  model.require(to);
  Values* levels[] = {&a, &b, &c};
  for (int iteration = 0; iteration < 9; ++iteration) {
    model.submit();
    std::rotate(levels, levels + 1, levels + 3);
    model.bind("old", *levels[0]);  // which is that of the other one, for a moment
    model.bind("new", *levels[1]);
  }
  graph.wait();
  EXPECT_EQ((*levels[0])(3), 9);
  EXPECT_EQ((*levels[2])(3), 8);
  // One that is held nowhere else lives as long as an iteration needs it.
  for (int iteration = 0; iteration < 5; ++iteration) {
    model.bind("old", Values("old", 4));
    model.bind("new", Values("new", 4));
    model.submit();
  }
  graph.wait();
}

TEST_P(ModelTasks, SwapTimeLevels) {
  Values a("a", 4), b("b", 4);
  F const from = model.bind("old", a), to = model.bind("new", b);
  F const kept = make("kept"), other = make("other");
  model.store(kept, FieldStorage::persistent);
  model.store(other, FieldStorage::persistent);
  Kokkos::deep_copy(model.host_view(kept), 10.0);
  Kokkos::deep_copy(model.host_view(other), 20.0);
  add_step(model, from, to);
  host_task("keep", ResourcePolicy(model, read(kept), write(other)),
            [](F::read_view const& in, F::view const& out) { out(0) = in(0) + 1; });
  model.require(to);
  model.require(other);
  for (int iteration = 0; iteration < 7; ++iteration) {
    model.submit();
    model.swap(from, to);
    model.swap(kept, other);
  }
  graph.wait();
  EXPECT_EQ(b(2), 7);
  EXPECT_EQ(a(2), 6);
  EXPECT_EQ(model.host_view(kept)(0), 17);
  F const longer = make("longer", 5);
  EXPECT_THAT(message_of([&] { model.swap(from, longer); }),
              HasSubstr("differ in type or extents"));
  EXPECT_THAT(message_of([&] { model.swap(from, kept); }),
              AllOf(HasSubstr("\"old\" and \"kept\""), HasSubstr("TestModelTasks.cpp:")));
}

TEST_P(ModelTasks, SayWhereAFieldCannotBeBoundAnew) {
  Values const a("a", 4), b("b", 4), c("c", 4);
  F const from = model.bind("from", a), to = model.bind("to", b);
  host_task("by view", ResourcePolicy(model, read(a), write(to)), [](auto const&...) {});
  model.require(to);
  auto const here = [](int line) { return "TestModelTasks.cpp:" + std::to_string(line); };
  auto const from_c = [&] { model.bind("from", c); };
  int const line_of_from_c = __LINE__ - 1;
  auto const to_longer = [&] { model.bind("to", Values("longer", 5)); };
  int const line_of_to_longer = __LINE__ - 1;
  auto const third = [&] { model.bind("third", b); };
  int const line_of_third = __LINE__ - 1;
  EXPECT_THAT(message_of(from_c),
              AllOf(HasSubstr(here(line_of_from_c)), HasSubstr("the task \"by view\" (")));
  EXPECT_THAT(message_of(to_longer),
              AllOf(HasSubstr(here(line_of_to_longer)), HasSubstr("different extents")));
  EXPECT_THAT(message_of(third),
              AllOf(HasSubstr(here(line_of_third)), HasSubstr("\"third\""), HasSubstr("\"to\"")));
  model.bind("to", a);
  int const line = __LINE__ - 1;
  EXPECT_THAT(message_of([&] { model.submit(); }),
              AllOf(HasSubstr(here(line)), HasSubstr("\"from\""), HasSubstr("\"to\"")));
  model.bind("to", c);
  model.submit();
  graph.wait();
}

TEST_P(ModelTasks, InPlansSayThatAFieldWasBoundAnew) {
  Values a("a", 4), b("b", 4);
  F const from = model.bind("from", a), to = model.bind("to", b);
  add_step(model, from, to);
  model.require(to);
  Plan const there = model.record();
  model.swap(from, to);
  Plan const back = model.record();
  EXPECT_THAT(message_of([&] { graph.replay(there); }),
              AllOf(HasSubstr("\"from\""), HasSubstr("bound anew")));
  for (int k = 0; k < 3; ++k) {
    graph.replay(back);
    model.swap(from, to);
    graph.replay(there);
    model.swap(from, to);
  }
  graph.wait();
  EXPECT_EQ(b(1), 6 - 1 + b(1) - a(1));
  EXPECT_EQ(std::abs(a(1) - b(1)), 1);
}

TEST_P(ModelTasks, AreReplaced) {
  Values const x("x", 4), y("y", 4);
  F const from = model.bind("x", x), to = model.bind("y", y), q = make("q");
  auto const flux = host_task("flux", ResourcePolicy(model, read(from), write(q)), note("flux"));
  auto const last = host_task("last", ResourcePolicy(model, read(q), write(to)), note("last"));
  host_task("behind", ResourcePolicy(model, after(flux)), note("behind"));
  model.require(to);
  EXPECT_THAT(iteration(), testing::UnorderedElementsAre("flux", "last", "behind"));
  Plan const plan = model.record();
  F const extra = make("extra");
  model.replace(flux, [&] {
    host_task("limited flux", ResourcePolicy(model, read(extra), write(q)), note("limited"));
    host_task("extra", ResourcePolicy(model, write(extra)), note("extra"));
  });
  EXPECT_THAT(model.order()[1], "limited flux");
  EXPECT_THAT(iteration(), testing::UnorderedElementsAre("extra", "limited", "last", "behind"));
  EXPECT_THAT(message_of([&] { flux.get(); }), HasSubstr("\"limited flux\""));
  graph.replay(plan);
  graph.wait();
  EXPECT_THAT(std::exchange(seen, {}), testing::UnorderedElementsAre("flux", "last", "behind"));
  // What cannot be changes nothing.
  EXPECT_THAT(message_of([&] { model.replace(last, [] {}); }), HasSubstr("is given no other one"));
  EXPECT_THAT(message_of([&] { model.replace(Future<void>(), [] {}); }),
              HasSubstr("no task of it"));
  EXPECT_THAT(message_of([&] {
                model.replace(last, [&] {
                  host_task("bad", ResourcePolicy(model, read_write(to)), note("bad"));
                });
              }),
              HasSubstr("in the mode read_write"));
  EXPECT_THAT(iteration(), testing::UnorderedElementsAre("extra", "limited", "last", "behind"));
}

// --- what the policy knows -----------------------------------------------------------------------

/// Behind a gate, so that all roots are ready before one of them runs.
TEST(ModelPriorities, AreThoseOfPathsAndThenMeasured) {
  TaskGraphOptions options = with_workers(1);
  auto const policy = experimental::make_priority_policy();
  options.policy = policy;
  TaskGraph graph(options);
  FieldGraph model(graph);
  Values const g("gate", 1), o("out", 1);
  F const gate = model.bind("gate", g), out = model.bind("out", o);
  std::vector<std::string> seen;  // by one worker
  auto const body = [&](char const* name, int ms) {
    return [&seen, name, ms](auto const&...) {
      seen.push_back(name);
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    };
  };
  auto const field = [&](char const* name) {
    return model.field<double*, Kokkos::LayoutRight>(std::string(name), 2);
  };
  F const heavy = field("heavy"), l1 = field("l1"), l2 = field("l2"), l3 = field("l3");
  host_task("heavy", ResourcePolicy(model, read(gate), write(heavy)), body("heavy", 20));
  host_task("l3", ResourcePolicy(model, read(l2), write(l3)), body("l3", 0));
  host_task("l2", ResourcePolicy(model, read(l1), write(l2)), body("l2", 0));
  host_task("l1", ResourcePolicy(model, read(gate), write(l1)), body("l1", 0));
  host_task("end", ResourcePolicy(model, read(heavy), read(l3), write(out)), body("end", 0));
  model.require(out);
  auto const iteration = [&] {
    std::atomic<bool> holds{true};
    host_task("hold", ResourcePolicy(graph, write(g)), [&](auto const&) {
      while (holds) std::this_thread::yield();
    });
    model.submit();
    holds = false;
    // (Not wait() yet, in which this thread would run tasks beside the worker.)
    while (graph.in_flight() != 0) std::this_thread::yield();
    graph.wait();
    return std::exchange(seen, {});
  };
  // Of two with one task behind each, the one that has been ready longer.
  EXPECT_THAT(iteration(), ElementsAre("l1", "l2", "heavy", "l3", "end"));
  ASSERT_EQ(policy->plans().size(), 1U);
  EXPECT_EQ(policy->urgency_of_plan(policy->plans()[0]).size(), 5U);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(iteration().front(), "heavy") << k;
  // The same iterations are one plan, also after a look at others.
  model.lock(l2);
  iteration();
  model.unlock(l2);
  iteration();
  EXPECT_EQ(policy->plans().size(), 1U);
}

}  // namespace
}  // namespace trellis
