// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that runs out: each allocation of a program fails in turn, on whatever thread it is made,
// alone or with all that follow. Every call says what it could not do, and all else ends.
#include "LateTest.hpp"
#include "NoMemory.hpp"
#include "OrderTest.hpp"

#include <Trellis_Graph.hpp>
#include <Trellis_Observer.hpp>
#include <Trellis_Orchestration.hpp>
#include <Trellis_Statistics.hpp>
#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_TaskNumbers.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

enum class Step { none, rank };

/// A program that counts what it has submitted and what has run.
struct Scene {
  TaskGraph& graph;
  Block& x;
  Block& y;
  std::atomic<long>& ran;
  long submitted = 0;
  long refused = 0;

  /// Calls `f`, which may find no memory, and has no effect then.
  template <class F>
  bool attempt(F&& f) {
    if (has_memory(f)) return true;
    ++refused;
    return false;
  }
  [[nodiscard]] auto counts() const {
    return [&ran = ran, held = Held()] { ran.fetch_add(1); };
  }
  Future<void> plain(std::vector<Touch> const& touches, Properties const& properties = {}) {
    return task(graph, "plain", touches, counts(), properties);
  }
};

struct Program {
  char const* name;
  std::function<void(Scene&)> run;
  bool all_run = false;  ///< what has been submitted runs, as no body needs memory
  std::function<void(TaskGraphOptions&)> options = [](TaskGraphOptions&) {};
};

/// What is told on the standard error stream meanwhile is not for the reader of the test.
class NotTold {
 public:
  NotTold() : m_before(std::cerr.rdbuf(&m_nowhere)) {}
  NotTold(NotTold const&) = delete;
  NotTold& operator=(NotTold const&) = delete;
  ~NotTold() { std::cerr.rdbuf(m_before); }

 private:
  struct Nowhere final : std::streambuf {
    int overflow(int c) override { return traits_type::not_eof(c); }
  } m_nowhere;
  std::streambuf* m_before;
};

/// As `fork_join` does.
template <class F>
void fork_join(TaskGraph& graph, std::vector<Touch> const& touches, F body) {
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

std::vector<Program> programs() {
  std::vector<Program> all;
  auto const chain = [](Scene& s) {
    for (int k = 0; k < 40; ++k)
      if (s.attempt([&] { (void)s.plain({updates(s.x)}); })) ++s.submitted;
  };
  all.push_back({"a chain", chain, true});
  all.push_back({"serial", chain, true, [](TaskGraphOptions& o) { o.serial = true; }});
  all.push_back({"at a small cap", chain, true, [](TaskGraphOptions& o) { o.in_flight = 2; }});
  all.push_back(
      {"fan",
       [](Scene& s) {
         for (int k = 0; k < 40; ++k) {
           bool const writes = k % 20 == 0;
           if (s.attempt([&] { (void)s.plain({writes ? updates(s.x) : reads(s.x), adds(s.y)}); }))
             ++s.submitted;
         }
       },
       true});
  all.push_back({"many areas",
                 [](Scene& s) {
                   for (std::size_t k = 0; k < 120; ++k)
                     if (s.attempt([&] {
                           (void)s.plain({updates(s.x(k % 60, 3)), reads(s.y(k % 7, 1 + k % 50))});
                         }))
                       ++s.submitted;
                 },
                 true});
  auto const urgent = [](Scene& s) {
    for (int k = 0; k < 40; ++k)
      if (s.attempt([&] { (void)s.plain({}, {.priority = k % 3 - 1}); })) ++s.submitted;
  };
  all.push_back({"priorities", urgent, true});
  all.push_back(
      {"a fifo", urgent, true, [](TaskGraphOptions& o) { o.policy = make_fifo_policy(); }});
  all.push_back({"a priority policy", urgent, true,
                 [](TaskGraphOptions& o) { o.policy = experimental::make_priority_policy(); }});
  all.push_back({"a shaken policy", urgent, true,
                 [](TaskGraphOptions& o) { o.policy = make_shake_policy(3); }});
  auto const exclusive = [](Scene& s) {
    for (int k = 0; k < 40; ++k)
      if (s.attempt([&] {
            (void)s.plain({excludes(s.x(static_cast<std::size_t>(k % 4), 2))}, {.priority = k % 2});
          }))
        ++s.submitted;
  };
  all.push_back({"exclusion", exclusive, true});
  all.push_back(
      {"serial exclusion", exclusive, true, [](TaskGraphOptions& o) { o.serial = true; }});
  all.push_back({"completions", [](Scene& s) {
                   for (int k = 0; k < 20; ++k) {
                     s.attempt([&] {
                       (void)late(s.graph, "late", {updates(s.x), excludes(s.y)},
                                  [held = Held()](Completion<> c) { c.done(); });
                     });
                     s.attempt([&] { (void)s.plain({reads(s.x), excludes(s.y)}); });
                   }
                 }});
  auto const children = [](Scene& s) {
    for (int k = 0; k < 10; ++k)
      s.attempt([&] {
        (void)task(s.graph, "whole", {updates(s.x)}, [&s, held = Held()] {
          for (std::size_t n = 0; n < 5; ++n)
            (void)child("child", {updates(s.x(n, 2))}, s.counts());
          wait_for_children();
          (void)child("last", {excludes(s.x)}, s.counts());
        });
      });
  };
  all.push_back({"children", children});
  all.push_back({"serial children", children, false, [](TaskGraphOptions& o) { o.serial = true; }});
  all.push_back({"fork-joins", [](Scene& s) {
                   for (int k = 0; k < 6; ++k)
                     s.attempt([&] {
                       fork_join(s.graph, {updates(s.x)}, [&s, held = Held()] {
                         for (std::size_t n = 0; n < 4; ++n)
                           (void)child("forked", {updates(s.x(n, 1))}, s.counts(),
                                       {.fusable = n % 2 == 0});
                       });
                     });
                 }});
  all.push_back({"fusable tasks",
                 [](Scene& s) {
                   for (int k = 0; k < 20; ++k)
                     if (s.attempt([&] { (void)s.plain({adds(s.x)}, {.fusable = true}); }))
                       ++s.submitted;
                 },
                 true, [](TaskGraphOptions& o) { o.orchestration = make_orchestration("bsp"); }});
  all.push_back({"failures", [](Scene& s) {
                   for (int k = 0; k < 10; ++k) {
                     s.attempt([&] {
                       (void)task(s.graph, "fails", {updates(s.x)}, [held = Held()] {
                         throw std::runtime_error("it fails, always");
                       });
                     });
                     s.attempt([&] {
                       auto const future = task(s.graph, "has a result that never comes",
                                                {updates(s.x)}, [held = Held()] { return 1; });
                       (void)future.get();
                     });
                     s.attempt([&] { s.graph.wait(); });
                   }
                 }});
  all.push_back({"plans", [](Scene& s) {
                   s.attempt([&] {
                     Plan const plan = s.graph.record("plan", [&] {
                       for (int k = 0; k < 6; ++k) (void)s.plain({updates(s.x)});
                     });
                     (void)s.graph.replay(plan, 3);
                     (void)s.graph.replay(plan, 2);
                   });
                 }});
  all.push_back({"loops", [](Scene& s) {
                   s.attempt([&] {
                     (void)s.graph.iterate("loop", 8, [&] {
                       for (int k = 0; k < 4; ++k) (void)s.plain({updates(s.x)});
                     });
                   });
                 }});
  all.push_back({"waits in tasks", [](Scene& s) {
                   for (int k = 0; k < 10; ++k)
                     s.attempt([&] {
                       auto const first = s.plain({updates(s.x)});
                       (void)task(s.graph, "waits", {adds(s.y)},
                                  [first, held = Held()] { first.wait(); });
                     });
                 }});
  all.push_back({"demotion", [](Scene& s) {
                   for (int k = 0; k < 10; ++k)
                     s.attempt([&] {
                       auto const first = s.plain({updates(s.x), updates(s.y)});
                       auto const second = s.plain({updates(s.x), excludes(s.y(0, 3))});
                       (void)s.plain({reads(s.x)});
                       (void)s.plain({excludes(s.y)});
                       (void)demote_other(s.graph, second, {reads(s.x)});
                       (void)release_other(s.graph, first, {s.y});
                       s.graph.cancel(first);
                       (void)task(s.graph, "gives up", {updates(s.x), excludes(s.y)},
                                  [&s, held = Held()] { release(s.y); });
                     });
                 }});
  all.push_back({"parents that shrink", [](Scene& s) {
                   for (int k = 0; k < 8; ++k)
                     s.attempt([&] {
                       (void)task(s.graph, "shrinks", {updates(s.x), excludes(s.y)}, [&s] {
                         for (std::size_t n = 0; n < 4; ++n)
                           (void)child("child", {updates(s.x(n, 1))}, s.counts());
                         shrink_to_children();
                       });
                       (void)s.plain({updates(s.x(2, 1))});
                       (void)s.plain({excludes(s.y)});
                     });
                 }});
  all.push_back({"refined tasks", [](Scene& s) {
                   for (int k = 0; k < 8; ++k)
                     s.attempt([&] {
                       (void)s.plain({updates(s.x)});
                       auto const second = s.plain({updates(s.x)});
                       (void)refine(second, [&](Impl::TaskHandle const& parent) {
                         for (std::size_t n = 0; n < 3; ++n)
                           (void)child_of(parent, "of a refinement", {updates(s.x(n, 1))},
                                          s.counts());
                       });
                     });
                 }});
  all.push_back({"tags", [](Scene& s) {
                   s.attempt([&] {
                     for (int k = 0; k < 12; ++k)
                       (void)s.plain({updates(s.x)}, tagged(static_cast<Step>(k % 2)));
                   });
                 }});
  all.push_back({"synchronizing tasks",
                 [](Scene& s) {
                   for (int k = 0; k < 20; ++k)
                     if (s.attempt([&] { (void)s.plain({}, {.synchronizing = k % 4 == 0}); }))
                       ++s.submitted;
                 },
                 true});
  all.push_back({"the main thread",
                 [](Scene& s) {
                   for (int k = 0; k < 20; ++k)
                     if (s.attempt([&] { (void)s.plain({}, {.main_thread = k % 2 == 0}); }))
                       ++s.submitted;
                 },
                 true});
  all.push_back({"numbers", [](Scene& s) {
                   s.attempt([&] {
                     TaskNumbers numbers(s.graph);
                     for (int k = 0; k < 10; ++k)
                       s.attempt([&] {
                         TaskNumber const first = numbers.reserve(2);
                         (void)s.plain({}, numbered(first));
                         (void)s.plain({}, numbered(first + 1, {first}));
                       });
                   });
                 }});
  return all;
}

class NoMemory : public NoMemoryTest {
 protected:
  using NoMemoryTest::NoMemoryTest;
  /// `watch`: makes the graph one that is looked at; and `look` does so.
  static void run(
      Program const& program,
      std::function<void(TaskGraphOptions&)> const& watch = [](TaskGraphOptions&) {},
      std::function<void(TaskGraph&)> const& look = [](TaskGraph&) {}) {
    std::atomic<long> ran{0};
    std::atomic<long> afterwards{0};
    Block x("x", 70), y("y", 70);
    TaskGraphOptions options;
    options.workers = 2;
    program.options(options);
    watch(options);
    TaskGraph graph(options);
    (void)task(graph, "warm", {}, [] {});
    graph.wait();
    Scene scene{graph, x, y, ran};
    Shortage::begin();
    program.run(scene);
    scene.attempt([&] { graph.wait(); });
    Shortage::end();
    scene.attempt([&] { graph.wait(); });
    EXPECT_EQ(graph.in_flight(), 0u);
    if (program.all_run) {
      EXPECT_EQ(ran, scene.submitted);
    }
    for (int k = 0; k < 10; ++k)
      (void)task(graph, "after", {updates(x), excludes(y)}, [&] { ++afterwards; });
    graph.wait();
    EXPECT_EQ(afterwards, 10);
    look(graph);
  }
  void run_all(bool all) {
    for (Program const& program : programs())
      each_allocation(program.name, all, [&] { run(program); });
  }
  static void records(TaskGraphOptions& options) { options.record = true; }
  /// Each task is in the record, with its state.
  static void look_at_record(TaskGraph& graph) {
    Trace const trace = graph.trace();
    EXPECT_GE(trace.graph.nodes().size(), graph.submitted());  // which counts a replay once
    for (TaskRecord const& task : trace.graph.nodes()) EXPECT_GE(task.state, TaskState::done);
  }
  static void counts(TaskGraphOptions& options) {
    options.statistics = "";  // without a file
    options.observer = [](TaskEvent const& event) { (void)std::string(event.label).size(); };
  }
  static void look_at_counts(TaskGraph& graph) {
    GraphStatistics const all = graph.statistics();
    EXPECT_EQ(all.in_flight(), 0u);
    EXPECT_EQ(all.spawned, all.completed);
  }
};

TEST_F(NoMemory, OfOneAllocationIsToldAndTheRestEnds) {
  run_all(false);
}
TEST_F(NoMemory, OfAllAllocationsFromOneOnIsToldAndTheRestEnds) {
  run_all(true);
}

/// The same programs in graphs that are looked at.
class NoMemoryWatched : public NoMemory {
 protected:
  NoMemoryWatched() : NoMemory(7) {}
};

TEST_F(NoMemoryWatched, LeavesEachTaskInTheRecord) {
  NotTold const quiet;
  for (Program const& program : programs())
    each_allocation(program.name, false, [&] { run(program, records, look_at_record); });
}
TEST_F(NoMemoryWatched, LeavesEachTaskInTheRecordWhereAllFollow) {
  NotTold const quiet;
  for (Program const& program : programs())
    each_allocation(program.name, true, [&] { run(program, records, look_at_record); });
}
TEST_F(NoMemoryWatched, IsToldByALookAtTheRecord) {
  auto const look = [](TaskGraph& graph) {
    std::ostringstream out;
    graph.dependency_graph().write_dot(out);
    graph.trace().write_svg(out);
  };
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  Block x("x", 4);
  for (std::size_t k = 0; k < 6; ++k) (void)task(graph, "task", {updates(x(k % 4, 1))}, [] {});
  graph.wait();
  each_allocation("a look", false, [&] {
    Shortage::begin();
    (void)has_memory([&] { look(graph); });
    Shortage::end();
    EXPECT_EQ(graph.dependency_graph().nodes().size(), 6u);
  });
}
TEST_F(NoMemoryWatched, LeavesStatisticsThatCount) {
  NotTold const quiet;
  for (Program const& program : programs())
    each_allocation(program.name, true, [&] { run(program, counts, look_at_counts); });
}

}  // namespace
}  // namespace trellis
