// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warnings beside everything else that a graph can do, and how they are told.
#include "WarnTest.hpp"

#include "Timing.hpp"

#include <Trellis_Resources.hpp>
#include <Trellis_Token.hpp>

#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;

template <class... A>
void pass(TaskGraph& graph, Label label, A const&... accesses) {
  host_task(std::move(label), ResourcePolicy(graph, accesses...), [] {});
}
TaskGraphOptions with(int workers, bool serial) {
  TaskGraphOptions options;
  options.workers = workers;
  options.serial = serial;
  return options;
}

// --- plans ---------------------------------------------------------------------------------------

SPACE_TEST(WarnFeatures, ReplaysOfAPlanDoNotWarn) {
  V const x("x", n), y("y", n), result("result", 1);
  for (bool const serial : {false, true})
    expect_silence(
        [&](TaskGraph& graph) {
          Plan const plan = graph.record("steps", [&] {
            parallel_for(
                "there", ResourcePolicy(graph, Range(0, n), read(x), write(y)),
                KOKKOS_LAMBDA(int i) { y(i) = x(i); });
            parallel_for(
                "back", ResourcePolicy(graph, Range(0, n), read(y), write(x)),
                KOKKOS_LAMBDA(int i) { x(i) = y(i); });
            pass(graph, "for the host", write(result));
          });
          for (int k = 0; k < 5; ++k) graph.replay(plan, 3);
          pass(graph, "afterwards", write(result), write(x));
          graph.replay(plan);
          graph.wait();
          graph.replay(plan, 2);
        },
        with(2, serial));
}

SPACE_TEST(WarnFeatures, WithinAPlanWritesAndFunctorsAreLookedAt) {
  V const x("x", n), y("y", n), z("z", n);
  Heard const heard([&](TaskGraph& graph) {
    Plan const plan = graph.record("plan", [&] {
      pass(graph, "first", write(x));
      pass(graph, "second", write(x));
      parallel_for(
          "two of three", ResourcePolicy(graph, Range(0, n), read(x), read(z), write(y)),
          KOKKOS_LAMBDA(int i) { y(i) = x(i); });
      parallel_for(
          "writer", ResourcePolicy(graph, Range(0, n), read_write(z)),
          KOKKOS_LAMBDA(int i) { z(i) = i; });
      parallel_for(
          "forgetful", ResourcePolicy(graph, Range(0, n), read(x)),
          KOKKOS_LAMBDA(int i) { (void)(x(i) + static_cast<double>(z.extent(0))); });
    });
    graph.replay(plan, 3);
  });
  EXPECT_EQ(heard.all().size(), 3u) << heard.text();
  ASSERT_EQ(heard.of(WarningKind::overwritten).size(), 1u);
  EXPECT_EQ(heard.of(WarningKind::overwritten)[0].task, "first");
  ASSERT_EQ(heard.of(WarningKind::not_captured).size(), 1u);
  EXPECT_EQ(heard.of(WarningKind::not_captured)[0].resource, "z");
  ASSERT_EQ(heard.of(WarningKind::not_declared).size(), 1u);
  EXPECT_EQ(heard.of(WarningKind::not_declared)[0].task, "forgetful");
}

SPACE_TEST(WarnFeatures, BesideReplaysTasksAreLookedAt) {
  V const x("x", n);
  EXPECT_EQ(the_only(
                [&](TaskGraph& graph) {
                  Plan const plan =
                      graph.record("plan", [&] { pass(graph, "use", read_write(x)); });
                  for (int k = 0; k < 2; ++k) {
                    graph.replay(plan);
                    if (k == 0) pass(graph, "first", write(x));
                    if (k == 0) pass(graph, "second", write(x));
                  }
                },
                WarningKind::overwritten)
                .task,
            "first");
}

/// The plan counts references: those that the warnings hold must not count.
SPACE_TEST(WarnFeatures, AStalePlanIsStillFound) {
  expect_silence([&](TaskGraph& graph) {
    V x("x", n);
    V const y("y", n);
    auto const copy = [&] {
      parallel_for(
          "copy", ResourcePolicy(graph, Range(0, n), read(x), write(y)),
          KOKKOS_LAMBDA(int i) { y(i) = x(i); });
    };
    copy();
    Plan const plan = graph.record("plan", copy);
    graph.replay(plan).wait();
    copy();
    graph.wait();
    x = V("another one", n);
    EXPECT_THROW(graph.replay(plan), Error);
    graph.wait();
  });
}

SPACE_TEST(WarnFeatures, IterationsOfALoopAreWhatTheyWouldBeWithoutIt) {
  V const x("x", n), y("y", n);
  auto const copy = [&](TaskGraph& graph, V const& from, V const& to, Label label) {
    parallel_for(
        std::move(label), ResourcePolicy(graph, Range(0, n), read(from), write(to)),
        KOKKOS_LAMBDA(int i) { to(i) = from(i); });
  };
  expect_silence([&](TaskGraph& graph) {
    graph.iterate("loop", 10, [&] {
      copy(graph, x, y, Label("there"));
      copy(graph, y, x, Label("back"));
    });
  });
  Heard const heard([&](TaskGraph& graph) {
    graph.iterate("loop", 10, [&] { copy(graph, x, y, Label("again")); });
  });
  ASSERT_EQ(heard.all().size(), 2u) << heard.text();
  EXPECT_EQ(heard.all()[0].kind, WarningKind::overwritten);
  EXPECT_EQ(heard.all()[1].count, 9u);
}

// --- tasks that change ---------------------------------------------------------------------------

SPACE_TEST(WarnFeatures, ChildrenAndDemotionsCannotBeJudged) {
  V const x("x", n), y("y", n);
  for (bool const serial : {false, true})
    expect_silence(
        [&](TaskGraph& graph) {
          pass(graph, "fill", write(x));
          host_task("split", ResourcePolicy(graph, write(x), write(y)), [&](TaskScope& self) {
            self.release(x);
            parallel_for(
                "child", ResourcePolicy(self, Range(0, n), write(y)),
                KOKKOS_LAMBDA(int i) { y(i) = i; });
            parallel_for(
                "child", ResourcePolicy(self, Range(0, n), write(y)),
                KOKKOS_LAMBDA(int i) { y(i) = i; });
          });
          auto const half = Kokkos::subview(x, std::pair(0, n / 2));
          pass(graph, "fill", write(x));
          host_task("may read", ResourcePolicy(graph, write(half)), [](TaskScope&) {});
          pass(graph, "fill again", write(x));
          auto const late = host_task("refined", ResourcePolicy(graph, read(x), write(y)), [] {});
          refine(late, [&](TaskScope& self) {
            host_task("one", ResourcePolicy(self, read(x), write(y)), [] {});
            host_task("two", ResourcePolicy(self, read(x), write(y)), [] {});
          });
          pass(graph, "look", read(x), read(y));
        },
        with(2, serial));
}

SPACE_TEST(WarnFeatures, FunctorsOfChildrenAreLookedAt) {
  V const x("x", n), y("y", n);
  Warning const warning = the_only(
      [&](TaskGraph& graph) {
        host_task("split", ResourcePolicy(graph, read(x), write(y)), [&](TaskScope& self) {
          parallel_for(
              "child", ResourcePolicy(self, Range(0, n), read(x), write(y)),
              KOKKOS_LAMBDA(int i) { y(i) = i; });
        });
      },
      WarningKind::not_captured);
  EXPECT_EQ(warning.task, "child");
  EXPECT_EQ(warning.resource, "x");
}

// --- lists, threads, failures --------------------------------------------------------------------

SPACE_TEST(WarnFeatures, ListsOfAccessesAreAccesses) {
  std::vector<V> views;
  for (int k = 0; k < 12; ++k) views.emplace_back("v" + std::to_string(k), n);
  AccessList list;
  for (V const& each : views) list.write(each);
  Heard const heard([&](TaskGraph& graph) {
    pass(graph, "ranges", write(views));
    pass(graph, "list", list);
    pass(graph, "look", read(views));
  });
  auto const told = heard.of(WarningKind::overwritten);
  ASSERT_EQ(told.size(), 1u) << heard.text();
  EXPECT_EQ(told[0].task, "ranges");
  EXPECT_EQ(heard.all().back().count, 12u);
}

SPACE_TEST(WarnFeatures, ThreadsMaySubmitAtTheSameTime) {
  constexpr int threads = 4;
  std::vector<V> views;
  for (int k = 0; k < threads; ++k) views.emplace_back("v" + std::to_string(k), n);
  V const shared("shared", n);
  auto const submit_all = [&](TaskGraph& graph, bool clean) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        V const x = views[static_cast<std::size_t>(t)];
        for (int k = 0; k < 50; ++k) {
          V const own("own", n);
          parallel_for(
              "fill", ResourcePolicy(graph, Range(0, n), write(own)),
              KOKKOS_LAMBDA(int i) { own(i) = i; });
          parallel_for(
              "use", ResourcePolicy(graph, Range(0, n), read(own), read_write(x)),
              KOKKOS_LAMBDA(int i) { x(i) += own(i); });
          pass(graph, "add", atomic_add(shared));
          if (clean) continue;
          pass(graph, "look", read(x));
          pass(graph, "once " + std::to_string(t), write(x));
          pass(graph, "more " + std::to_string(t), write(x));
        }
      });
    for (std::thread& each : all) each.join();
  };
  expect_silence([&](TaskGraph& graph) { submit_all(graph, true); });
  Heard const heard([&](TaskGraph& graph) { submit_all(graph, false); });
  auto const told = heard.of(WarningKind::overwritten);
  EXPECT_EQ(told.size(), static_cast<std::size_t>(threads)) << heard.text();
  EXPECT_EQ(heard.all().size(), 2u * threads) << heard.text();
  for (Warning const& each : told) EXPECT_THAT(each.task, HasSubstr("once "));
}

SPACE_TEST(WarnFeatures, TasksOfTasksComeWhenTheyAreSubmitted) {
  V const x("x", n);
  for (bool const serial : {false, true})
    expect_silence(
        [&](TaskGraph& graph) {
          host_task("outer", ResourcePolicy(graph, write(x)), [&] {
            pass(graph, "r", read(x));
          }).wait();
          graph.wait();
          pass(graph, "again", write(x));
        },
        with(1, serial));
}

SPACE_TEST(WarnFeatures, AfterAFailureTheGraphGoesOn) {
  V const x("x", n);
  the_only(
      [&](TaskGraph& graph) {
        host_task("fails", ResourcePolicy(graph, read_write(x)),
                  [] { throw std::runtime_error("no"); });
        EXPECT_THROW(graph.wait(), Error);
        pass(graph, "first", write(x));
        pass(graph, "second", write(x));
        pass(graph, "look", read(x));
      },
      WarningKind::overwritten);
}

// --- how they are told ---------------------------------------------------------------------------

std::string on_stderr(std::function<void(TaskGraph&)> const& program,
                      TaskGraphOptions const& options = {}) {
  testing::internal::CaptureStderr();
  {
    TaskGraph graph(options);
    program(graph);
  }
  return testing::internal::GetCapturedStderr();
}

SPACE_TEST(WarnFeatures, OnTheStandardErrorStreamOnceAndWithACountAtTheEnd) {
  V const x("x", n);
  auto const program = [&](TaskGraph& graph) {
    for (int k = 0; k < 5; ++k) pass(graph, "again", write(x));
    pass(graph, "look", read(x));
  };
  unsetenv("TRELLIS_WARN");
  EXPECT_EQ(on_stderr(program), "") << "only on request";
  TaskGraphOptions options;
  options.name = "pump";
  std::string text;
  {
    Environment const warn("TRELLIS_WARN", "1");
    text = on_stderr(program, options);
  }
  EXPECT_THAT(text, HasSubstr("Trellis: pump: warning [overwritten]: task \"again\" ("));
  EXPECT_THAT(text,
              HasSubstr("Trellis: pump: warning [overwritten]: 4 times in all: task \"again\""));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  {
    Environment const warn("TRELLIS_WARN", "1");
    options.warn = false;
    EXPECT_EQ(on_stderr(program, options), "") << "the program goes before the environment";
  }
  Environment const warn("TRELLIS_WARN", "much");
  EXPECT_THROW(TaskGraph graph, Error);
}

SPACE_TEST(WarnFeatures, WhoeverTakesThemMayUseTheGraphAndThrow) {
  V const x("x", n), y("y", n);
  TaskGraphOptions options;
  options.name = "pump";
  options.warn = true;
  TaskGraph* used = nullptr;
  int calls = 0;
  options.on_warning = [&](Warning const&) {
    if (++calls == 1) used->wait();
    throw std::runtime_error("no");
  };
  std::string const text = on_stderr(
      [&](TaskGraph& graph) {
        used = &graph;
        pass(graph, "first", write(x));
        pass(graph, "second", write(x));
        pass(graph, "third", write(y));
        pass(graph, "fourth", write(y));
      },
      options);
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(text, HasSubstr("the function that takes the warnings of pump threw"));
}

SPACE_TEST(WarnFeatures, ViewsAreNotKeptForGood) {
  TaskGraphOptions options;
  options.warn = true;
  TaskGraph graph(options);
  V const x("x", n);
  pass(graph, "look", read(x));
  graph.wait();
  EXPECT_EQ(x.use_count(), 2) << "the graph knows it";
  {
    V const y("y", n);
    pass(graph, "look", read(y));
    graph.wait();
  }
  for (int k = 0; k < 40; ++k) {  // it is met no more
    V const z("z", n);
    pass(graph, "look", read(z));
  }
  graph.wait();
  EXPECT_EQ(x.use_count(), 2);
}

}  // namespace
}  // namespace trellis
