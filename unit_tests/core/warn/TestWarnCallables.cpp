// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What callables hold (host_task, space_task, then), and what their tasks declare. Nobody copies
// them.
#include "WarnTest.hpp"

#include <Trellis_Resources.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

// --- declared and not captured -------------------------------------------------------------------

SPACE_TEST(WarnCallables, AViewThatIsDeclaredAndNotCaptured) {
  V const x("x", n), y("y", n), z("z", n);
  std::uint_least32_t line = 0;
  for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()}) {
    Warning const warning = the_only(
        [&](TaskGraph& graph) {
          line = __LINE__ + 1;
          host_task("two of three", ResourcePolicy(graph, read(x), read(z), write(y)),
                    [x, y] { y(0) = x(0); });
        },
        WarningKind::not_captured, options);
    EXPECT_EQ(warning.task, "two of three");
    EXPECT_EQ(warning.resource, "z");
    EXPECT_EQ(warning.area, "[0, 10)");
    EXPECT_THAT(warning.place,
                AllOf(HasSubstr("TestWarnCallables.cpp"), EndsWith(std::to_string(line))));
    EXPECT_THAT(warning.text, AllOf(HasSubstr("declares read \"z\" [0, 10)"),
                                    HasSubstr("(" + warning.place + ")")));
  }
}

struct Both {
  V x, y;
  int k = 0;
  void operator()() const { y(0) = x(k); }
};

/// Each of them declares z and holds x and y.
SPACE_TEST(WarnCallables, OfEachPatternThatCallsOne) {
  V const x("x", n), y("y", n), z("z", n);
  auto const z_is_missing = [&](auto const& submit) {
    Warning const warning = the_only(submit, WarningKind::not_captured);
    EXPECT_EQ(warning.resource, "z");
  };
  auto const policy = [&](TaskGraph& graph) {
    return ResourcePolicy(graph, read(x), read(z), write(y));
  };
  z_is_missing([&](TaskGraph& graph) {
    auto const sum = host_task("with a result", policy(graph), [x, y] { return x(0) + y(0); });
    (void)sum.get();
  });
  z_is_missing([&](TaskGraph& graph) { host_task("a class", policy(graph), Both{x, y}); });
  z_is_missing([&](TaskGraph& graph) {
    Both const kept{x, y};
    host_task("a class that stays", policy(graph), kept);
  });
  z_is_missing([&](TaskGraph& graph) {
    auto const views = std::array<V, 2>{x, y};
    host_task("an array", policy(graph), [views] { views[1](0) = views[0](0); });
  });
  z_is_missing([&](TaskGraph& graph) {
    host_task("split", policy(graph), [x, y](TaskScope&) { y(0) = x(0); });
  });
  z_is_missing([&](TaskGraph& graph) {
    host_task("whole", policy(graph), [&](TaskScope& self) {
      host_task("child", ResourcePolicy(self, read(x), read(z), write(y)), [x, y] { y(0) = x(0); });
    });
  });
  z_is_missing([&](TaskGraph& graph) {
    auto const five = host_task("five", ResourcePolicy(graph), [] { return 5; });
    AccessList list;
    list.read(x).read(z).write(y);
    host_task("with a number", ResourcePolicy(graph, value(five), list),
              [x, y](int k) { y(0) = x(k); });
  });
  V const a("a", n), b("b", n), c("c", n);
  EXPECT_EQ(the_only(
                [&](TaskGraph& graph) {
                  space_task("on an instance",
                             ResourcePolicy(graph, on<Space>, read(a), read(c), write(b)),
                             [a, b](Space const& space) { Kokkos::deep_copy(space, b, a); });
                },
                WarningKind::not_captured)
                .resource,
            "c");
  EXPECT_EQ(the_only(
                [&](TaskGraph& graph) {
                  Plan const plan = graph.record("plan", [&] {
                    host_task("recorded", policy(graph), [x, y] { y(0) = x(0); });
                  });
                  graph.replay(plan, 3);
                },
                WarningKind::not_captured)
                .task,
            "recorded");
}

/// What cannot be copied is looked at as well, and nothing is copied for it.
SPACE_TEST(WarnCallables, CallablesAreNotCopied) {
  V const x("x", n), y("y", n), z("z", n);
  Warning const warning = the_only(
      [&](TaskGraph& graph) {
        host_task("move only", ResourcePolicy(graph, read(x), read(z), write(y)),
                  [x, y, none = std::unique_ptr<int>()] { y(0) = x(0) + (none == nullptr); });
      },
      WarningKind::not_captured);
  EXPECT_EQ(warning.resource, "z");
  // Its type says that it can be copied, and it cannot.
  expect_silence([&](TaskGraph& graph) {
    std::vector<std::unique_ptr<int>> numbers;
    numbers.push_back(std::make_unique<int>(3));
    host_task("vector", ResourcePolicy(graph, read(x), read(z), write(y)),
              [x, y, all = std::move(numbers)] { y(0) = x(*all[0]); });
  });
  struct Counts {
    explicit Counts(int& count) : copies(&count) {}
    Counts(Counts const& other) : copies(other.copies) { ++*copies; }
    Counts(Counts&& other) noexcept : copies(other.copies) {}
    int* copies;
  };
  int copies = 0;
  expect_silence([&](TaskGraph& graph) {
    host_task("counts", ResourcePolicy(graph, read(x), write(y)),
              [x, y, each = Counts(copies)] { y(0) = x(0) + (each.copies == nullptr); });
  });
  EXPECT_EQ(copies, 0);
}

struct Held {
  V z;
};
V* global_view = nullptr;

SPACE_TEST(WarnCallables, WhatACallableMayKnowInAnotherWayCannotBeJudged) {
  V x("x", n), y("y", n), z("z", n);
  Held const held{z};
  auto const run = [&](auto&& callable) {
    expect_silence([&](TaskGraph& graph) {
      host_task("use", ResourcePolicy(graph, read(x), read(z), write(y)),
                std::forward<decltype(callable)>(callable));
    });
  };
  run([&] { y(0) = x(0) + z(0); });
  run([x, y, &z] { y(0) = x(0) + z(0); });
  run([x, y, of = &held] { y(0) = x(0) + of->z(0); });
  run([x, y, of = std::make_shared<Held>(held)] { y(0) = x(0) + of->z(0); });
  run([x, y, of = std::make_unique<Held>(held)] { y(0) = x(0) + of->z(0); });
  run([x, y, from = z.data()] { y(0) = x(0) + from[0]; });
  run([x, y, from = z.data() + 3] { y(0) = x(0) + from[0]; });
  run([x, y,
       view = Kokkos::View<double*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(z.data(), n)] {
    y(0) = x(0) + view(0);
  });
  run([x, y, half = Kokkos::subview(z, std::pair(2, 5))] { y(0) = x(0) + half(0); });
  run([x, y, all = std::vector<V>{z}] { y(0) = x(0) + all[0](0); });
  run([all = std::vector<V>{x, y, z}] { all[1](0) = all[0](0) + all[2](0); });
  run([x, y, of = std::optional<V>(z)] { y(0) = x(0) + (*of)(0); });
  run(std::function<void()>([x, y, z] { y(0) = x(0) + z(0); }));
  run([x, y, f = std::function<double()>([z] { return z(0); })] { y(0) = x(0) + f(); });
  run([x, y, name = std::string("a name that is longer than a few characters")] {
    y(0) = x(0) + static_cast<double>(name.size());
  });
  run([] {});
  run([k = 3] { (void)k; });
  global_view = &x;
  run(+[] { (*global_view)(0) = 1; });
  run([](auto const& a, auto const& b, auto const& c) { c(0) = a(0) + b(0); });
  run([k = 1](auto const& a, auto const& b, auto const& c) { c(k) = a(k) + b(k); });
  // A task that is to have a View may get it from another one.
  expect_silence([&](TaskGraph& graph) {
    auto const which = host_task("which", ResourcePolicy(graph), [z] { return z; });
    AccessList list;
    list.read(z).write(y);
    host_task("use", ResourcePolicy(graph, value(which), list),
              [y](V const& from) { y(0) = from(0); });
  });
  std::vector<V> const all{x, z};
  expect_silence([&](TaskGraph& graph) {
    host_task("list", ResourcePolicy(graph, read(all), write(y)),
              [k = 1](read_view_list<V> const& in, V const& out) { out(k) = in[1](k); });
    AccessList list;
    for (V const& each : all) list.read(each);
    host_task("accesses", ResourcePolicy(graph, list, read_write(y)),
              [all, k = 1](V const& out) { out(k) = all[1](k); });
  });
  // The same for functors of kernels.
  expect_silence([&](TaskGraph& graph) {
    auto const which = host_task("which", ResourcePolicy(graph), [z] { return z; });
    using Host = Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>;
    AccessList list;
    list.read(z).write(y);
    parallel_for("use", ResourcePolicy(graph, Host(0, n), value(which), list),
                 [y](int i, V const& from) { y(i) = from(i); });
  });
}

// --- captured and not declared -------------------------------------------------------------------

SPACE_TEST(WarnCallables, AViewThatIsCapturedAndNotDeclaredWhileATaskWritesIt) {
  V const x("x", n), y("y", n);
  for (bool const reader_first : {false, true})
    for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()}) {
      std::uint_least32_t line = 0;
      Warning const warning = the_only(
          [&](TaskGraph& graph) {
            auto const fills = [&] {
              host_task("fill", ResourcePolicy(graph, read_write(x)), [x] { x(0) = 1; });
            };
            host_task("known", ResourcePolicy(graph, read(x)), [] {});
            if (!reader_first) fills();
            line = __LINE__ + 1;
            host_task("forgetful", ResourcePolicy(graph, write(y)), [x, y] { y(0) = x(0); });
            if (reader_first) fills();
          },
          WarningKind::not_declared, options);
      EXPECT_EQ(warning.task, "forgetful");
      EXPECT_EQ(warning.resource, "x");
      EXPECT_THAT(warning.place,
                  AllOf(HasSubstr("TestWarnCallables.cpp"), EndsWith(std::to_string(line))));
      EXPECT_THAT(warning.text, AllOf(HasSubstr("captures \"x\""), HasSubstr("task \"fill\"")));
    }
}

SPACE_TEST(WarnCallables, WhatIsOrderedOtherwiseNeedNotBeDeclared) {
  V const x("x", n), y("y", n);
  auto const fill = [&](TaskGraph& graph) {
    return host_task("fill", ResourcePolicy(graph, read_write(x)), [x] { x(0) = 1; });
  };
  auto const use = [&](TaskGraph& graph, auto const&... more) {
    return host_task("use", ResourcePolicy(graph, read_write(y), more...), [x, y] { y(0) = x(0); });
  };
  expect_silence([&](TaskGraph& graph) { use(graph, after(fill(graph))); });
  expect_silence([&](TaskGraph& graph) {
    fill(graph);
    use(graph, none(x));
  });
  expect_silence([&](TaskGraph& graph) {
    fill(graph);
    graph.wait();
    use(graph);
  });
  expect_silence([&](TaskGraph& graph) {  // by a third one
    fill(graph);
    host_task("between", ResourcePolicy(graph, read(x), read_write(y)), [] {});
    use(graph);
  });
  expect_silence([&](TaskGraph& graph) {  // it waits itself
    Future<void> const filled = fill(graph);
    host_task("use", ResourcePolicy(graph, read_write(y)), [x, y, filled] {
      filled.wait();
      y(0) = x(0);
    });
  });
  expect_silence([&](TaskGraph& graph) {  // it has x for others
    fill(graph);
    host_task("submits", ResourcePolicy(graph, read_write(y)), [x, y, &graph] {
      host_task("inner", ResourcePolicy(graph, read(x)), [x] { (void)x(0); }).wait();
      y(0) = 1;
    });
    fill(graph);
  });
  expect_silence([&](TaskGraph& graph) { fill(graph).then([x] { (void)x(0); }); });
  // (What was in the memory of a body before must not be taken for something that it holds.)
  EXPECT_EQ(the_only(
                [&](TaskGraph& graph) {
                  fill(graph).then(Label("look"), [x] { (void)x(0); });
                  fill(graph);  // while that may look
                },
                WarningKind::not_declared)
                .task,
            "look");
}

}  // namespace
}  // namespace trellis
