// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a model is: tasks in any order, what is needed, what is wrong, storage, and iterations
// beside other tasks.
#include "FieldsTest.hpp"

#include <atomic>
#include <thread>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Models : public testing::TestWithParam<bool> {
 protected:
  TaskGraph graph{with_workers(2, GetParam())};
  FieldGraph model{graph};
  F make(std::string const& name, std::size_t n = 4) {
    return model.field<double*, Kokkos::LayoutRight>(name, n);
  }
};
INSTANTIATE_TEST_SUITE_P(, Models, testing::Values(false, true), [](auto const& way) {
  return std::string(way.param ? "Serial" : "Tasks");
});

TEST_P(Models, TasksMayBeAddedInAnyOrder) {
  Values const x("x", 4), y("y", 4);
  Kokkos::deep_copy(x, 2.0);
  F const from = model.bind("x", x), to = model.bind("y", y);
  F const a = make("a"), b = make("b");
  add_sum(model, "last", {b}, {to});
  add_sum(model, "middle", {a, from}, {b});
  add_sum(model, "first", {from}, {a});
  model.require(to);
  EXPECT_THAT(model.order(), ElementsAre("first", "middle", "last"));
  for (int iteration = 0; iteration < 3; ++iteration) {
    Kokkos::deep_copy(x, 2.0 + iteration);
    model.submit();
    graph.wait();
    EXPECT_EQ(y(3), 1 + (1 + (1 + x(0)) + x(0)));
  }
}

TEST_P(Models, TakeSeveralFieldsInOneAnnotation) {
  Values const x("x", 4), y("y", 4), sums("sums", 4), differences("differences", 4);
  Kokkos::deep_copy(x, 5.0);
  Kokkos::deep_copy(y, 2.0);
  F const a = model.bind("x", x), b = model.bind("y", y);
  F const sum = model.bind("sums", sums), difference = model.bind("differences", differences);
  host_task("both", ResourcePolicy(model, read(a, b), write(sum, difference)),
            [](F::read_view const& first, F::read_view const& second, F::view const& plus,
               F::view const& minus) {
              for (int i = 0; i < 4; ++i) {
                plus(i) = first(i) + second(i);
                minus(i) = first(i) - second(i);
              }
            });
  model.require(sum);
  model.submit();
  graph.wait();
  EXPECT_EQ(sums(3), 7);
  EXPECT_EQ(differences(3), 3);
}

TEST_P(Models, FieldsAreUpdatedAtomicallyByTasksOfTheGraph) {
  Values const x("x", 4);
  F const field = model.bind("x", x);
  using Range = Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>;
  for (int k = 0; k < 20; ++k)
    parallel_for(
        "count", ResourcePolicy(graph, Range(0, 1000), atomic_add(field)),
        KOKKOS_LAMBDA(int, F::atomic_view const& count) { count(1) += 1; });
  graph.wait();
  EXPECT_EQ(x(1), 20000);
}

TEST_P(Models, WhatNothingRequiresIsLeftOut) {
  F const a = make("a"), b = make("b"), c = make("c"), d = make("d");
  add_sum(model, "a", {}, {a});
  add_sum(model, "b", {a}, {b});
  add_sum(model, "c and d", {a}, {c, d});
  std::atomic<int> looks{0};
  model.require("d");
  EXPECT_THAT(model.order(), ElementsAre("a", "c and d"));
  // What computes no field is there for something else.
  host_task("look", ResourcePolicy(model, read(b)),
            [&](F::read_view const& seen) { looks += static_cast<int>(seen(1)); });
  EXPECT_EQ(model.order().size(), 4U);
  model.submit();
  model.submit();
  graph.wait();
  EXPECT_EQ(looks, 2 * 2);
  EXPECT_EQ(model.host_view(d)(3), 2);
}

TEST_P(Models, ACircleIsToldWithAllWhoAreInIt) {
  F const a = make("a"), b = make("b"), c = make("c");
  add_sum(model, "one", {c}, {a});
  add_sum(model, "two", {a}, {b});
  add_sum(model, "three", {b}, {c});
  model.require(c);
  EXPECT_THAT(
      message_of([&] { model.submit(); }),
      AllOf(HasSubstr("has a circle"), HasSubstr("\"one\" ("), HasSubstr("\"two\" ("),
            HasSubstr("\"three\" ("), HasSubstr("TestFieldGraph.cpp:"), HasSubstr(" needs ")));
  EXPECT_EQ(graph.submitted(), 0U);
}

TEST_P(Models, WhatCannotBeIsAnError) {
  F const a = make("a"), b = make("b");
  EXPECT_THAT(message_of([&] { model.submit(); }), HasSubstr("has nothing to do"));
  model.require(b);
  EXPECT_THAT(message_of([&] { model.submit(); }),
              AllOf(HasSubstr("no task that computes the field \"b\""), HasSubstr("required")));
  add_sum(model, "b", {a}, {b});
  EXPECT_THAT(
      message_of([&] { model.submit(); }),
      AllOf(HasSubstr("no task that computes the field \"a\""), HasSubstr("which task \"b\" (")));
  add_sum(model, "a", {}, {a});
  add_sum(model, "a again", {}, {a});
  EXPECT_THAT(message_of([&] { model.submit(); }),
              AllOf(HasSubstr("two tasks that compute the field \"a\""), HasSubstr("\"a\" ("),
                    HasSubstr("\"a again\" (")));
  EXPECT_THAT(message_of([&] { make("a", 5); }),
              AllOf(HasSubstr("\"a\""), HasSubstr("different extents"), HasSubstr("5 elements"),
                    HasSubstr("4 elements")));
  EXPECT_THAT(message_of([&] { model.field<float*, Kokkos::LayoutRight>("a", 4); }),
              HasSubstr("different types"));
  EXPECT_THAT(message_of([&] { model.require("c"); }), HasSubstr("has no field \"c\""));
  EXPECT_THAT(message_of([&] { static_cast<void>(model.host_view(a)); }),
              HasSubstr("no values of the field \"a\""));
  EXPECT_THAT(message_of([&] { static_cast<void>(subfield(a, Kokkos::pair(2, 5))); }),
              AllOf(HasSubstr("[2, 5)"), HasSubstr("outside of its extent 4")));
  FieldGraph other(graph);
  EXPECT_THAT(message_of([&] { add_sum(other, "x", {}, {a}); }), HasSubstr("of another model"));
  Values const x("x", 4);
  EXPECT_THAT(message_of([&] {
                host_task("writes", ResourcePolicy(model, write(x)), [](Values const&) {});
              }),
              AllOf(HasSubstr("which writes \"x\""), HasSubstr("bind the View")));
  EXPECT_THAT(message_of([&] {
                host_task("updates", ResourcePolicy(model, read_write(a)), [](F::view const&) {});
              }),
              HasSubstr("in the mode read_write"));
  EXPECT_THAT(
      message_of([&] { host_task("counts", ResourcePolicy(model, read(a)), [] { return 1; }); }),
      HasSubstr("a result for a Future"));
  EXPECT_THAT(message_of([&] {
                host_task("uses", ResourcePolicy(graph, read(a)), [](F::read_view const&) {});
              }),
              HasSubstr("no memory between iterations"));
}

TEST_P(Models, ExtentsMayBeSaidLater) {
  F const a = model.field<double*, Kokkos::LayoutRight>("a");
  add_sum(model, "a", {}, {a});
  model.require(a);
  EXPECT_THAT(message_of([&] { model.submit(); }), HasSubstr("nobody has said its extents"));
  EXPECT_THAT(message_of([&] { static_cast<void>(subfield(a, Kokkos::ALL)); }),
              HasSubstr("whose extents nobody has said yet"));
  make("a", 7);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(a).extent(0), 7U);
  EXPECT_EQ(model.host_view(a)(6), 1);
}

TEST_P(Models, PartsOfAFieldAreExact) {
  F const q = make("q", 6), left = make("left", 2), right = make("right", 4);
  auto const first = subfield(q, Kokkos::pair(0, 2)), rest = subfield(q, Kokkos::pair(2, 6));
  using Part = decltype(first);
  auto const fill = [](double value) {
    return [value](Part::view const& part) {
      for (std::size_t k = 0; k < part.extent(0); ++k) part(k) = value;
    };
  };
  auto const copy = [](Part::read_view const& part, F::view const& to) {
    for (std::size_t k = 0; k < to.extent(0); ++k) to(k) = part(k);
  };
  host_task("read left", ResourcePolicy(model, read(first), write(left)), copy);
  host_task("fill right", ResourcePolicy(model, write(rest)), fill(3));
  host_task("fill left", ResourcePolicy(model, write(first)), fill(2));
  model.require(left);
  // Nobody needs the other part.
  EXPECT_THAT(model.order(), ElementsAre("fill left", "read left"));
  host_task("read right", ResourcePolicy(model, read(rest), write(right)), copy);
  model.require(right);
  for (int iteration = 0; iteration < 20; ++iteration) model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(left)(1), 2);
  EXPECT_EQ(model.host_view(right)(3), 3);
  EXPECT_EQ(model.pool().counts().live, (2 + 4) * sizeof(double));
  // A part that nobody computes.
  FieldGraph other(graph);
  F const p = other.field<double*, Kokkos::LayoutRight>("p", 6);
  host_task("some", ResourcePolicy(other, write(subfield(p, Kokkos::pair(0, 5)))), fill(1));
  other.require(p);
  EXPECT_THAT(message_of([&] { other.submit(); }),
              HasSubstr("no task that computes 1 elements of the field \"p\""));
}

TEST_P(Models, ABoundViewMayBeNamedItself) {
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const x("x", 2, 3);
  Values const y("y", 3);
  model.bind("x", x);
  F const to = model.bind("y", y);
  auto const row = Kokkos::subview(x, 1, Kokkos::ALL);
  add_sum(model, "unused", {}, {make("unused")});
  host_task("sum", ResourcePolicy(model, read(row), write(y)), [=] {
    for (int k = 0; k < 3; ++k) y(k) = 10 * row(k);
  });
  host_task("row", ResourcePolicy(model, write(row)), [=] { Kokkos::deep_copy(row, 7.0); });
  model.require(to);
  EXPECT_THAT(model.order(), ElementsAre("row", "sum"));
  model.submit();
  graph.wait();
  EXPECT_EQ(y(2), 70);
}

TEST_P(Models, AFieldMayBeLockedLookedAtAndUnlocked) {
  Values const y("y", 4);
  F const q = make("q"), to = model.bind("y", y);
  add_sum(model, "q", {}, {q});
  add_sum(model, "y", {q}, {to});
  model.require(to);
  model.submit();
  graph.wait();
  std::size_t const bytes = 4 * sizeof(double);
  EXPECT_EQ(model.pool().counts().live, 0U);
  EXPECT_EQ(model.memory().transient, bytes);
  model.lock(q);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(q)(3), 1);
  EXPECT_EQ(model.memory().persistent, bytes);
  EXPECT_EQ(model.pool().counts().live, bytes);
  // Ordinary tasks may name it, or its View.
  std::atomic<int> seen{0};
  host_task("field", ResourcePolicy(graph, read(q)),
            [&](F::read_view const& v) { seen += static_cast<int>(v(0)); });
  auto const view = model.host_view(q);
  host_task("view", ResourcePolicy(graph, read(view)),
            [&, view] { seen += static_cast<int>(view(0)); });
  model.submit();  // comes after both
  graph.wait();
  EXPECT_EQ(seen, 2);
  model.unlock(q);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.pool().counts().live, 0U);
  EXPECT_EQ(model.pool().counts().allocated, 1U);
  EXPECT_EQ(y(0), 2);
  EXPECT_THAT(message_of([&] { static_cast<void>(model.host_view(q)); }), HasSubstr("lock it"));
}

TEST_P(Models, StorageMayChangeWhileIterationsAreInFlight) {
  Values const x("x", 4), y("y", 4);
  F const from = model.bind("x", x), to = model.bind("y", y);
  std::vector<F> chain{from};
  for (int k = 0; k < 4; ++k) {
    chain.push_back(make("q" + std::to_string(k)));
    add_sum(model, "link", {chain[chain.size() - 2]}, {chain.back()});
  }
  add_sum(model, "y", {chain.back()}, {to});
  model.require(to);
  std::atomic<int> wrong{0};
  for (int iteration = 0; iteration < 200; ++iteration) {
    F const& locked = chain[static_cast<std::size_t>(1 + iteration % 4)];
    model.lock(locked);
    model.submit();
    // Keeps the memory of this iteration, whatever comes later.
    host_task("look", ResourcePolicy(graph, read(locked), read(from)),
              [&, k = 1 + iteration % 4](F::read_view const& q, F::read_view const& start) {
                if (q(2) != start(2) + k) ++wrong;
              });
    host_task("next", ResourcePolicy(graph, read(y), write(x)), [=] { Kokkos::deep_copy(x, y); });
    model.unlock(locked);
  }
  graph.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(x(0), 5 * 200);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.pool().counts().live, 0U);
}

TEST_P(Models, APersistentFieldIsAlwaysThere) {
  F const p = make("p"), r = make("r");
  model.store(p, FieldStorage::persistent);
  Kokkos::deep_copy(model.host_view(p), 5.0);
  add_sum(model, "r", {p}, {r});
  model.require(r);
  model.submit();
  // An ordinary task between two iterations.
  host_task("update", ResourcePolicy(graph, read_write(p)), [](F::view const& v) { v(0) += 1; });
  model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(r)(0), 7);
  EXPECT_EQ(model.host_view(r)(1), 6);
  model.store(p, FieldStorage::transient);
  EXPECT_THAT(message_of([&] { model.submit(); }), HasSubstr("no task that computes the field"));
  EXPECT_THAT(message_of([&] { model.store(p, FieldStorage::external); }), HasSubstr("by bind"));
}

TEST_P(Models, IterationsAndOrdinaryTasksOfTheGraphAreInOrder) {
  Values const x("x", 4), y("y", 4);
  F const from = model.bind("x", x), to = model.bind("y", y);
  F const q = make("q");
  add_sum(model, "y", {q}, {to});
  add_sum(model, "q", {from}, {q});
  model.require(to);
  double expected = 0;
  for (int step = 0; step < 200; ++step) {
    model.submit();
    host_task("update", ResourcePolicy(graph, read(y), read_write(x)), [=] {
      for (int k = 0; k < 4; ++k) x(k) = 0.5 * x(k) + y(k) + k;
    });
    expected = 0.5 * expected + (expected + 2) + 3;
  }
  graph.wait();
  EXPECT_EQ(x(3), expected);
}

TEST_P(Models, KernelsTakeFieldsAsArguments) {
  using G = Field<double**>;
  G const q = model.field<double**>("q", 3, 4), r = model.field<double**>("r", 3, 4);
  using Plane = Kokkos::MDRangePolicy<Kokkos::Rank<2>, Kokkos::DefaultHostExecutionSpace>;
  parallel_for(
      "r", ResourcePolicy(model, Plane({0, 0}, {3, 4}), read(q), write(r)),
      [](int i, int j, G::read_view const& from, G::view const& to) { to(i, j) = 2 * from(i, j); });
  parallel_for("q", ResourcePolicy(model, Plane({0, 0}, {3, 4}), write(q)),
               [](int i, int j, G::view const& to) { to(i, j) = 10 * i + j; });
  model.require(r);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(r)(2, 3), 46);
}

TEST_P(Models, AFailureLeaksNothingAndTheNextIterationRuns) {
  F const a = make("a"), b = make("b"), c = make("c"), d = make("d");
  std::atomic<bool> fails{true};
  host_task("b", ResourcePolicy(model, read(a), write(b)),
            [&](F::read_view const&, F::view const& v) {
              if (fails) throw std::runtime_error("no b");
              v(0) = 1;
            });
  add_sum(model, "a", {}, {a});
  add_sum(model, "c", {b}, {c});
  add_sum(model, "d", {a}, {d});
  model.require(c);
  model.require(d);
  model.submit();
  EXPECT_THAT(message_of([&] { graph.wait(); }), AllOf(HasSubstr("no b"), HasSubstr("\"b\"")));
  std::size_t const kept = 2 * 4 * sizeof(double);
  EXPECT_EQ(model.pool().counts().live, kept);
  EXPECT_EQ(model.host_view(d)(0), 2);  // does not depend on what has failed
  fails = false;
  model.submit();
  graph.wait();
  EXPECT_EQ(model.host_view(c)(0), 2);
  EXPECT_EQ(model.pool().counts().live, kept);
}

TEST_P(Models, AModelMayEndBeforeItsIterations) {
  Values const y("y", 4);
  auto const pool = std::make_shared<FieldPool>();
  auto const token = std::make_shared<int>(0);
  {
    FieldGraph brief(graph, {.pool = pool});
    F const q = brief.field<double*, Kokkos::LayoutRight>("q", 4), to = brief.bind("y", y);
    add_sum(brief, "q", {}, {q});
    host_task("y", ResourcePolicy(brief, read(q), write(to)),
              [token](F::read_view const& from, F::view const& v) { v(0) = from(0); });
    brief.require(to);
    for (int iteration = 0; iteration < 10; ++iteration) brief.submit();
  }
  graph.wait();
  EXPECT_EQ(y(0), 1);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(pool->counts().live, 0U);
}

TEST_P(Models, ModelsOnTwoThreadsShareAPool) {
  auto const pool = std::make_shared<FieldPool>();
  auto const run = [&](double start, double& last) {
    TaskGraph own(with_workers(2, GetParam()));
    FieldGraph mine(own, {.pool = pool});
    Values const x("x", 100), y("y", 100);
    Kokkos::deep_copy(x, start);
    F const from = mine.bind("x", x), to = mine.bind("y", y);
    std::vector<F> chain{from};
    for (int k = 0; k < 8; ++k) {
      chain.push_back(mine.field<double*, Kokkos::LayoutRight>("q" + std::to_string(k), 100));
      add_sum(mine, "q", {chain[chain.size() - 2]}, {chain.back()});
    }
    add_sum(mine, "y", {chain.back()}, {to});
    mine.require(to);
    for (int iteration = 0; iteration < 50; ++iteration) mine.submit();
    own.wait();
    last = y(99);
  };
  double first = 0, second = 0;
  std::thread other([&] { run(100, first); });
  run(1000, second);
  other.join();
  EXPECT_EQ(first, 109);
  EXPECT_EQ(second, 1009);
  EXPECT_EQ(pool->counts().live, 0U);
}

TEST_P(Models, IterationsMayBeIterationsOfALoop) {
  Values const x("x", 4), y("y", 4);
  F const from = model.bind("x", x), to = model.bind("y", y);
  F const q = make("q");
  add_sum(model, "y", {q}, {to});
  add_sum(model, "q", {from}, {q});
  model.require(to);
  graph.iterate("steps", 20, [&] {
    model.submit();
    host_task("x", ResourcePolicy(graph, read(y), write(x)), [=] { Kokkos::deep_copy(x, y); });
  });
  graph.wait();
  EXPECT_EQ(x(0), 40);
  EXPECT_EQ(model.pool().counts().live, 0U);
}

}  // namespace
}  // namespace trellis
