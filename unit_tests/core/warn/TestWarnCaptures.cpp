// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What functors hold, and what their tasks declare.
#include "WarnTest.hpp"

#include <Kokkos_Bitset.hpp>
#include <Trellis_Token.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

/// Something that reads it all, so that nothing else is told.
template <class... X>
void read_all(TaskGraph& graph, X const&... x) {
  host_task("read all", ResourcePolicy(graph, read(x)...), [] {});
}

// --- declared and not captured -------------------------------------------------------------------

SPACE_TEST(WarnCaptures, AViewThatIsDeclaredAndNotCaptured) {
  V const x("x", n), y("y", n), z("z", n);
  std::uint_least32_t line = 0;
  for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()}) {
    Warning const warning = the_only(
        [&](TaskGraph& graph) {
          ResourcePolicy const policy(graph, Range(0, n), read(x), read(z), write(y));
          line = __LINE__ + 1;
          parallel_for("two of three", policy, KOKKOS_LAMBDA(int i) { y(i) = x(i); });
        },
        WarningKind::not_captured, options);
    EXPECT_EQ(warning.task, "two of three");
    EXPECT_EQ(warning.resource, "z");
    EXPECT_EQ(warning.area, "[0, 10)");
    EXPECT_THAT(warning.place,
                AllOf(HasSubstr("TestWarnCaptures.cpp"), EndsWith(std::to_string(line))));
    EXPECT_THAT(warning.text, AllOf(HasSubstr("declares read \"z\" [0, 10)"),
                                    HasSubstr("(" + warning.place + ")")));
  }
}

SPACE_TEST(WarnCaptures, OfReductionsToo) {
  V const x("x", n), z("z", n);
  Warning const warning = the_only(
      [&](TaskGraph& graph) {
        auto const sum = parallel_reduce(
            "sum", ResourcePolicy(graph, Range(0, n), read(x), read(z)),
            KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
        (void)sum.get();
      },
      WarningKind::not_captured);
  EXPECT_EQ(warning.resource, "z");
  View<double> const result("result"), other("other");
  expect_silence([&](TaskGraph& graph) {
    parallel_reduce(
        "into", ResourcePolicy(graph, Range(0, n), read(x)),
        KOKKOS_LAMBDA(int i, double& s) { s += x(i); }, result);
    parallel_reduce(
        "into", ResourcePolicy(graph, Range(0, n), read(x), read(result)),
        KOKKOS_LAMBDA(int i, double& s) { s += x(i) + result(); },
        Kokkos::Sum<double, Memory>(other));
  });
}

struct WithPointer {
  double const* from;
  V to;
  KOKKOS_FUNCTION void operator()(int i) const { to(i) = from[i]; }
};
struct Far {
  V x;
};
struct WithObject {
  Far const* far;
  V to;
  void operator()(int i) const { to(i) = far->x(i); }
};

SPACE_TEST(WarnCaptures, WhatAFunctorMayKnowInAnotherWayCannotBeJudged) {
  V const x("x", n), y("y", n);
  Far const holder{x};
  Kokkos::View<double*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const loose(x.data(), n);
  auto const run = [&](auto const& functor) {
    expect_silence([&](TaskGraph& graph) {
      parallel_for("copy", ResourcePolicy(graph, Range(0, n), read(x), write(y)), functor);
    });
  };
  run(WithPointer{x.data(), y});
  run(WithObject{&holder, y});
  run(KOKKOS_LAMBDA(int i) { y(i) = loose(i); });
  run([&](int i) { y(i) = x(i); });  // by reference
  run(KOKKOS_LAMBDA(int){});         // whatever is global
  int k = 3;
  run(KOKKOS_LAMBDA(int i) { (void)(i + k); });
}

SPACE_TEST(WarnCaptures, SubviewsAndArgumentsAreCaptured) {
  V const x("x", n), y("y", n);
  std::vector<V> const near{x, y};
  V const z("z", n);
  expect_silence([&](TaskGraph& graph) {
    auto const half = Kokkos::subview(x, std::pair(0, n / 2));
    parallel_for(
        "whole for half", ResourcePolicy(graph, Range(0, n / 2), read(half), write(y)),
        KOKKOS_LAMBDA(int i) { y(i) = x(i); });
    parallel_for(
        "arguments", ResourcePolicy(graph, Range(0, n), read(x), read_write(y)),
        KOKKOS_LAMBDA(int i, read_view<V> const& in, V const& out) { out(i) = in(i); });
    parallel_for(
        "list", ResourcePolicy(graph, Range(0, n), read(near), write(z)),
        KOKKOS_LAMBDA(int i, read_view_list<V> const& in, V const& out) { out(i) = in[1](i); });
    parallel_for("values in a vector",
                 ResourcePolicy(graph, Range(0, n), read(near), read_write(z)),
                 [near, z](int i) { z(i) = near[0](i); });
  });
}

// --- captured and not declared -------------------------------------------------------------------

SPACE_TEST(WarnCaptures, AViewThatIsCapturedAndNotDeclaredWhileATaskWritesIt) {
  V const x("x", n), y("y", n);
  for (bool const reader_first : {false, true})
    for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()}) {
      std::uint_least32_t line = 0;
      Warning const warning = the_only(
          [&](TaskGraph& graph) {
            auto const fills = [&] {
              parallel_for(
                  "fill", ResourcePolicy(graph, Range(0, n), read_write(x)),
                  KOKKOS_LAMBDA(int i) { x(i) = i; });
            };
            read_all(graph, x);  // the graph knows the View
            if (!reader_first) fills();
            ResourcePolicy const policy(graph, Range(0, n), write(y));
            line = __LINE__ + 1;
            parallel_for("forgetful", policy, KOKKOS_LAMBDA(int i) { y(i) = x(i); });
            if (reader_first) fills();
          },
          WarningKind::not_declared, options);
      EXPECT_EQ(warning.task, "forgetful");
      EXPECT_EQ(warning.resource, "x");
      EXPECT_EQ(warning.area, "[0, 10)");
      EXPECT_THAT(warning.place,
                  AllOf(HasSubstr("TestWarnCaptures.cpp"), EndsWith(std::to_string(line))));
      EXPECT_THAT(warning.text, AllOf(HasSubstr("captures \"x\""), HasSubstr("task \"fill\"")));
    }
}

SPACE_TEST(WarnCaptures, WhatIsOrderedOtherwiseNeedNotBeDeclared) {
  V const x("x", n), y("y", n), table("table", n);
  Token const token("token");
  auto const fill = [&](TaskGraph& graph, auto const&... more) {
    return parallel_for(
        "fill", ResourcePolicy(graph, Range(0, n), read_write(x), more...),
        KOKKOS_LAMBDA(int i) { x(i) = i; });
  };
  auto const use = [&](TaskGraph& graph, auto const&... more) {
    return parallel_for(
        "use", ResourcePolicy(graph, Range(0, n), read_write(y), more...),
        KOKKOS_LAMBDA(int i) { y(i) = x(i); });
  };
  auto const wait_for = [](auto const& future) { future.wait(); };
  expect_silence([&](TaskGraph& graph) { use(graph, after(fill(graph))); });
  expect_silence([&](TaskGraph& graph) {
    fill(graph, write(token));
    use(graph, read(token));
    fill(graph, write(token));
  });
  expect_silence([&](TaskGraph& graph) {  // by a third one
    fill(graph);
    host_task("between", ResourcePolicy(graph, read(x), read_write(y)), [] {});
    use(graph);
  });
  expect_silence([&](TaskGraph& graph) {
    fill(graph);
    graph.wait();
    use(graph);
  });
  expect_silence([&](TaskGraph& graph) {
    wait_for(fill(graph));
    use(graph);
  });
  expect_silence([&](TaskGraph& graph) {
    fill(graph);
    host_task("all", ResourcePolicy(graph, synchronizing), [] {});
    use(graph);
  });
  expect_silence([&](TaskGraph& graph) {
    fill(graph);
    use(graph, none(x));
  });
  expect_silence([&](TaskGraph& graph) {  // nobody writes the table
    for (int k = 0; k < 3; ++k)
      parallel_for(
          "look up", ResourcePolicy(graph, Range(0, n), read_write(y), read(table)),
          KOKKOS_LAMBDA(int i) { y(i) += table(i); });
    parallel_for(
        "look up", ResourcePolicy(graph, Range(0, n), read_write(y)),
        KOKKOS_LAMBDA(int i) { y(i) += table(i); });
  });
}

/// Its tasks may use what a task has declared that waits for them.
SPACE_TEST(WarnCaptures, TasksOfABodyMayStandBehindIt) {
  V const x("x", n), y("y", n);
  expect_silence([&](TaskGraph& graph) {
    parallel_for(
        "fill", ResourcePolicy(graph, Range(0, n), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) = i; });
    host_task("outer", ResourcePolicy(graph, read(x)), [&graph, x, y] {
      parallel_for(
          "inner", ResourcePolicy(graph, Range(0, n), read_write(y)),
          KOKKOS_LAMBDA(int i) { y(i) = x(i); })
          .wait();
    });
    parallel_for(
        "fill again", ResourcePolicy(graph, Range(0, n), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) = i; });
  });
}

/// A class may have members for its other kernels.
struct Solver {
  V x, y;
  struct First {};
  struct Second {};
  KOKKOS_FUNCTION void operator()(First, int i) const { x(i) = i; }
  KOKKOS_FUNCTION void operator()(Second, int i) const { y(i) = i; }
};

SPACE_TEST(WarnCaptures, AClassMayHaveViewsThatThisKernelDoesNotTouch) {
  V const x("x", n), y("y", n);
  expect_silence([&](TaskGraph& graph) {
    Solver const solver{x, y};
    using First = Kokkos::RangePolicy<Space, Solver::First>;
    using Second = Kokkos::RangePolicy<Space, Solver::Second>;
    parallel_for("first", ResourcePolicy(graph, First(0, n), read_write(x)), solver);
    parallel_for("second", ResourcePolicy(graph, Second(0, n), read_write(y)), solver);
  });
}

/// Uses the graph when it is destroyed, as far as that is possible.
struct SubmitsAtItsEnd {
  struct Counts {
    TaskGraph& graph;
    std::atomic<int> submitted{0};
    std::atomic<int> refused{0};
  };
  V y;
  Counts* counts;
  explicit SubmitsAtItsEnd(V const& view, Counts& to) : y(view), counts(&to) {}
  SubmitsAtItsEnd(SubmitsAtItsEnd const&) = default;
  SubmitsAtItsEnd& operator=(SubmitsAtItsEnd const&) = delete;
  ~SubmitsAtItsEnd() {
    try {
      host_task("from a destructor", ResourcePolicy(counts->graph), [] {});
      ++counts->submitted;
    } catch (Error const&) {
      ++counts->refused;
    }
  }
  void operator()(int i) const { y(i) = i; }
};

SPACE_TEST(WarnCaptures, WhatIsCopiedToBeLookedAtIsDestroyedUnderNoLock) {
  V const x("x", n), y("y", n);
  for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()})
    expect_silence(
        [&](TaskGraph& graph) {
          SubmitsAtItsEnd::Counts counts{graph};
          {
            host_task("write", ResourcePolicy(graph, write(x), write(y)), [] {});
            SubmitsAtItsEnd const functor(y, counts);
            parallel_for("use", ResourcePolicy(graph, Range(0, n), read(x), read_write(y)),
                         functor);
            host_task("split", ResourcePolicy(graph, read(x), read_write(y)), [&](TaskScope& self) {
              parallel_for("child", ResourcePolicy(self, Range(0, n), read_write(y)), functor);
            });
            graph.wait();
          }
          EXPECT_GT(counts.submitted, 4);
          EXPECT_EQ(counts.refused, 0);
          graph.wait();
        },
        options);
}

/// Workers copy functors while others are looked at.
SPACE_TEST(WarnCaptures, OthersThatMakeAndDropReferencesDoNotDeceive) {
  std::vector<V> views;
  for (int k = 0; k < 8; ++k) views.emplace_back("v" + std::to_string(k), n);
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int t = 0; t < 2; ++t)
    busy.emplace_back([&] {
      while (!stop) {
        std::vector<V> const copies = views;
        (void)copies;
      }
    });
  TaskGraphOptions options;
  options.workers = 2;
  Heard const heard(
      [&](TaskGraph& graph) {
        for (int k = 0; k < 400; ++k) {
          V const x = views[static_cast<std::size_t>(k % 8)];
          V const y = views[static_cast<std::size_t>((k + 3) % 8)];
          parallel_for(
              "busy", ResourcePolicy(graph, Range(0, n), read(x), read_write(y)),
              KOKKOS_LAMBDA(int i) { y(i) += x(i); });
        }
      },
      options);
  stop = true;
  for (std::thread& each : busy) each.join();
  EXPECT_TRUE(heard.all().empty()) << heard.text();
}

/// As long as there are copies of a functor, somebody else holds some references, however many
/// copies there are.
class OthersHoldMeanwhile {
 public:
  struct Others {
    Others(V const& view, std::size_t references) : lent(references, view) {}
    std::vector<V> const lent;
    std::mutex mutex;
    std::map<int, int> copies;           ///< for each generation; guarded by mutex
    std::map<int, std::vector<V>> held;  ///< guarded by mutex
  };
  explicit OthersHoldMeanwhile(Others& others) : m_others(&others) {}
  OthersHoldMeanwhile(OthersHoldMeanwhile const& other)
      : m_others(other.m_others), m_generation(other.m_generation + 1) {
    std::lock_guard const lock(m_others->mutex);
    if (++m_others->copies[m_generation] == 1) m_others->held[m_generation] = m_others->lent;
  }
  OthersHoldMeanwhile& operator=(OthersHoldMeanwhile const&) = delete;
  ~OthersHoldMeanwhile() {
    if (m_generation == 0) return;
    std::lock_guard const lock(m_others->mutex);
    if (--m_others->copies[m_generation] == 0) m_others->held.erase(m_generation);
  }
  [[nodiscard]] int generation() const { return m_generation; }

 private:
  Others* m_others;
  int m_generation = 0;
};

SPACE_TEST(WarnCaptures, OthersThatHoldAViewInStepWithTheCopiesDoNotDeceive) {
  V const x("x", n), y("y", n);
  for (std::size_t const references : {1u, 2u, 3u, 8u, 16u, 840u}) {
    OthersHoldMeanwhile::Others others(x, references);
    OthersHoldMeanwhile const in_step(others);
    for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()})
      expect_silence(
          [&](TaskGraph& graph) {
            host_task("write x", ResourcePolicy(graph, write(x)), [x] { x(0) = 1; });
            parallel_for("use y", ResourcePolicy(graph, Range(0, n), write(y)),
                         [y, in_step](int i) { y(i) = in_step.generation(); });
            host_task("read both", ResourcePolicy(graph, read(x), read(y)), [] {});
          },
          options);
  }
}

SPACE_TEST(WarnCaptures, AViewInAContainerOfTheFunctor) {
  V const x("x", n), y("y", n), z("z", n);
  std::vector<V> const all{x, x, y};
  for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()}) {
    Warning const warning = the_only(
        [&](TaskGraph& graph) {
          host_task("write x", ResourcePolicy(graph, write(x)), [x] { x(0) = 1; });
          parallel_for("use all", ResourcePolicy(graph, Range(0, n), read(y), write(z)),
                       [all, z](int i) { z(i) = all.back()(i); });
          read_all(graph, x, z);
        },
        WarningKind::not_declared, options);
    EXPECT_EQ(warning.task, "use all");
    EXPECT_EQ(warning.resource, "x");
  }
}

// --- updated atomically, and captured as a plain View --------------------------------------------

SPACE_TEST(WarnCaptures, APlainViewThatIsUpdatedAtomically) {
  V const x("x", n), c("c", n);
  for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()}) {
    Warning const warning = the_only(
        [&](TaskGraph& graph) {
          parallel_for(
              "count", ResourcePolicy(graph, Range(0, n), read(x), atomic_add(c)),
              KOKKOS_LAMBDA(int i) { c(0) += x(i); });
          read_all(graph, c);
        },
        WarningKind::not_atomic, options);
    EXPECT_EQ(warning.task, "count");
    EXPECT_EQ(warning.resource, "c");
    EXPECT_THAT(warning.text, AllOf(HasSubstr("task \"count\" ("), HasSubstr("atomic_add \"c\""),
                                    HasSubstr("capture an atomic_view")));
  }
  EXPECT_EQ(the_only(
                [&](TaskGraph& graph) {
                  auto const part = Kokkos::subview(c, std::pair(2, 5));
                  host_task("scale", ResourcePolicy(graph, atomic_mul(part)),
                            [part] { part(0) *= 2; });
                  read_all(graph, c);
                },
                WarningKind::not_atomic)
                .resource,
            "c");
}

SPACE_TEST(WarnCaptures, WhatIsAtomicOrMayBeOtherwiseIsSilent) {
  V const c("c", n);
  atomic_view<V> const atomic = c;
  Kokkos::Bitset<Memory::execution_space> const bits(64);
  expect_silence([&](TaskGraph& graph) {
    parallel_for(
        "argument", ResourcePolicy(graph, Range(0, n), atomic_add(c)),
        KOKKOS_LAMBDA(int, atomic_view<V> const& to) { to(0) += 1; });
    parallel_for(
        "captured", ResourcePolicy(graph, Range(0, n), atomic_add(atomic)),
        KOKKOS_LAMBDA(int) { atomic(0) += 1; });
    parallel_for(
        "by a function", ResourcePolicy(graph, Range(0, n), atomic_add(atomic_view<V>(c))),
        KOKKOS_LAMBDA(int) { Kokkos::atomic_add(&c(0), 1.0); });
    auto const half = Kokkos::subview(c, std::pair(0, n / 2));
    auto const rest = Kokkos::subview(c, std::pair(n / 2, n));
    host_task("also read", ResourcePolicy(graph, read(half), atomic_add(rest)),
              [c] { (void)c(0); });
    host_task("callable", ResourcePolicy(graph, atomic_add(c)),
              [](atomic_view<V> const& to) { to(1) += 1; });
    host_task("exclusive", ResourcePolicy(graph, exclusive(c)), [c] { c(1) += 1; });
    host_task("bits", ResourcePolicy(graph, atomic_add(bits)), [bits] { bits.set(3); });
    host_task("look at bits", ResourcePolicy(graph, read(bits)), [bits] { (void)bits.test(3); });
    read_all(graph, c);
  });
}

}  // namespace
}  // namespace trellis
