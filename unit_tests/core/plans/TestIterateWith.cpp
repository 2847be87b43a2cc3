// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What iterations of a loop have besides tasks: caps, properties, failures, records, plans.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_Observer.hpp>

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::HasSubstr;

class IterateWith : public Timed {};

TEST_F(IterateWith, CapsThatAreSmallerThanAnIteration) {
  for (std::size_t const cap : {1U, 2U, 4U, 64U}) {
    Block x("x");
    Block y("y");
    TaskGraphOptions options = with_workers(2);
    options.in_flight = cap;
    TaskGraph graph(options);
    IterateReport const report = graph.iterate("loop", 50, [&] {
      for (int k = 0; k != 10; ++k) {
        task(graph, "x", {updates(x)}, [&] { ++x[0]; });
        task(graph, "y", {reads(x), updates(y)}, [&] { y[0] += x[0]; });
      }
    });
    EXPECT_LE(graph.in_flight(), cap + 21);
    graph.wait();
    EXPECT_EQ(x[0], 500);
    EXPECT_EQ(y[0], 500 * 501 / 2);
    EXPECT_EQ(report.replayed, 49U);
  }
}

TEST_F(IterateWith, ACapOfOneAndAThreadThatAsks) {
  Block x("x");
  TaskGraphOptions options = with_workers(1);
  options.in_flight = 1;
  TaskGraph graph(options);
  long seen = 0;
  graph.iterate("loop", 30, [&](std::uint64_t k) {
    task(graph, "a", {updates(x)}, [&] { ++x[0]; });
    Future<long> const sum = task(graph, "b", {updates(x)}, [&] { return ++x[0]; });
    if (k % 3 == 1) std::thread([&] { seen = sum.get(); }).join();
    task(graph, "c", {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(x[0], 90);
  EXPECT_EQ(seen, 3 * 28 + 2);
}

TEST_F(IterateWith, AGraphThatIsDestroyedRightAfterwards) {
  for (int repetition = 0; repetition != 50; ++repetition) {
    Block x("x");
    std::vector<Future<void>> futures;
    {
      TaskGraph graph(with_workers(2));
      graph.iterate("loop", 20, [&] {
        futures.push_back(task(graph, "grow", {updates(x)}, [&] { ++x[0]; }));
        task(graph, "read", {reads(x)}, [] {});
      });
    }
    EXPECT_EQ(x[0], 20);
    EXPECT_TRUE(futures.front().is_done() && futures.back().is_done());
  }
}

TEST_F(IterateWith, TheSerialOrder) {
  Environment const serial("TRELLIS_SERIAL", "1");
  Block x("x");
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 10, [&](std::uint64_t k) {
    Future<void> const grown = task(graph, "grow", {updates(x)}, [&] { ++x[0]; });
    EXPECT_TRUE(grown.is_done());
    EXPECT_EQ(x[0], static_cast<long>(k + 1));
  });
  EXPECT_EQ(report.dynamic, 10U);
}

TEST_F(IterateWith, ARecordOfAllTasks) {
  Block x("x");
  Block y("y");
  TaskGraph graph(recorded(2));
  IterateReport const report = graph.iterate("loop", 4, [&] {
    task(graph, "a", {updates(x)}, [&] { ++x[0]; });
    task(graph, "b", {reads(x), updates(y)}, [&] { y[0] += x[0]; });
    task(graph, "c", {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(y[0], 1 + 3 + 5 + 7);
  EXPECT_EQ(report.replayed, 3U);
  DependencyGraph const dependencies = graph.dependency_graph();
  ASSERT_EQ(dependencies.nodes().size(), 16U);
  for (std::size_t k = 0; k != 16; ++k) {
    TaskRecord const& node = dependencies.nodes()[k];
    EXPECT_EQ(node.id, k + 1);
    EXPECT_EQ(node.state, TaskState::done);
    EXPECT_EQ(node.parent, k % 4 == 0 ? 0 : k - k % 4 + 1);
    EXPECT_EQ(node.label, k % 4 == 0 ? "loop" : k % 4 == 1 ? "a" : k % 4 == 2 ? "b" : "c");
    EXPECT_FALSE(node.accesses.empty());
  }
  std::map<std::string, int> edges;
  for (std::string const& edge : edges_of(dependencies)) ++edges[edge];
  EXPECT_EQ(edges["a>b"], 4);
  EXPECT_EQ(edges["b>c"], 4);
  EXPECT_EQ(edges["loop>loop"], 3);
}

TEST_F(IterateWith, AnObserverThatSeesEachTask) {
  Block x("x");
  std::mutex mutex;
  std::map<std::string, std::map<TaskState, int>> seen;
  TaskGraphOptions options = with_workers(2);
  options.observer = [&](TaskEvent const& event) {
    std::lock_guard const lock(mutex);
    ++seen[std::string(event.label)][event.state];
  };
  {
    TaskGraph graph(options);
    graph.iterate("loop", 10, [&] {
      task(graph, "a", {updates(x)}, [&] { ++x[0]; });
      task(graph, "b", {updates(x)}, [&] { ++x[0]; });
    });
  }
  for (char const* const label : {"loop", "a", "b"})
    for (TaskState const state :
         {TaskState::pending, TaskState::ready, TaskState::running, TaskState::done})
      EXPECT_EQ(seen[label][state], 10) << label << ' ' << to_string(state);
}

TEST_F(IterateWith, TasksThatExcludeEachOther) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(4));
  std::array<Occupancy, 2> occupancies;
  IterateReport const report = graph.iterate("loop", 30, [&] {
    for (int k = 0; k != 6; ++k)
      task(graph, "one at a time", {excludes(k % 2 == 0 ? x : y)}, [&, k] {
        Occupancy::Stay const stay(occupancies[static_cast<std::size_t>(k % 2)]);
        ++(k % 2 == 0 ? x : y)[0];
      });
  });
  task(graph, "outside", {excludes(x)}, [&] {
    Occupancy::Stay const stay(occupancies[0]);
    ++x[0];
  });
  graph.wait();
  EXPECT_EQ(x[0], 91);
  EXPECT_EQ(y[0], 90);
  EXPECT_EQ(occupancies[0].most(), 1);
  EXPECT_EQ(occupancies[1].most(), 1);
  EXPECT_EQ(report.replayed, 29U);
}

TEST_F(IterateWith, TasksBoundToTheMainThread) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  auto const main = std::this_thread::get_id();
  IterateReport const report = graph.iterate("loop", 20, [&] {
    task(graph, "anywhere", {updates(x)}, [&] { ++x[0]; });
    task(graph, "here", {updates(x)},
         [&] {
           EXPECT_EQ(std::this_thread::get_id(), main);
           ++x[0];
         },
         {.main_thread = true});
  });
  graph.wait();
  EXPECT_EQ(x[0], 40);
  EXPECT_EQ(report.replayed, 19U);
}

TEST_F(IterateWith, SynchronizingTasksComeAfterAllThatIsThere) {
  TaskGraph graph(with_workers(3));
  std::atomic<int> outside{0};
  std::atomic<int> inside{0};
  int submitted = 0;
  IterateReport const report = graph.iterate("loop", 10, [&](std::uint64_t k) {
    std::thread([&] {
      task(graph, "outside", {}, [&] {
        std::this_thread::sleep_for(2ms);
        ++outside;
      });
    }).join();
    ++submitted;
    task(graph, "before", {}, [&] { ++inside; });
    task(graph, "all", {},
         [&, k, submitted] {
           EXPECT_EQ(inside, static_cast<int>(2 * k + 1));
           EXPECT_GE(outside, submitted);
         },
         {.synchronizing = true});
    task(graph, "after", {}, [&] { ++inside; });
  });
  graph.wait();
  EXPECT_EQ(report.replayed, 9U);
}

struct Color {
  int value = 0;
  bool operator==(Color const&) const = default;
};

TEST_F(IterateWith, TagsThatDiffer) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 40, [&](std::uint64_t k) {
    task(graph, "tagged", {updates(x)}, [&] { ++x[0]; }, tagged(Color{static_cast<int>(k % 4)}));
  });
  graph.wait();
  EXPECT_EQ(x[0], 40);
  EXPECT_EQ(report.recorded, 4U);
  EXPECT_EQ(report.replayed, 36U);
}

TEST_F(IterateWith, RulesBetweenTasksOfDifferentIterations) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (int k = 0; k != 20; ++k) blocks.push_back(std::make_unique<Block>("x"));
  TaskGraph graph(with_workers(4));
  graph.add_rule<Color>("one red", Constraint::exclusive,
                        [](Color a, Color b) { return a.value == 1 && b.value == 1; });
  Occupancy red;
  graph.iterate("loop", 20, [&](std::uint64_t k) {
    task(
        graph, "red", {updates(*blocks[k])}, [&] { Occupancy::Stay const stay(red); },
        tagged(Color{1}));
  });
  graph.wait();
  EXPECT_EQ(red.most(), 1);
}

TEST_F(IterateWith, TasksThatSplitAndDemote) {
  Block x("x", 2);
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 20, [&] {
    task(graph, "splits", {updates(x)}, [&] {
      child("left", {updates(x(0, 1))}, [&] { ++x[0]; });
      child("right", {updates(x(1, 1))}, [&] { ++x[1]; });
    });
    task(graph, "demotes", {updates(x)}, [&] {
      ++x[0];
      demote({reads(x)});
    });
    task(graph, "reads", {reads(x)}, [&] { EXPECT_EQ(x[0], 2 * x[1]); });
  });
  graph.wait();
  EXPECT_EQ(x[0], 40);
  EXPECT_EQ(x[1], 20);
  EXPECT_EQ(report.replayed, 19U);
}

TEST_F(IterateWith, PrioritiesThatReachThePolicy) {
  TaskGraphOptions options = with_workers(1);
  TaskGraph graph(options);
  Block gate_block("gate");
  Gate gate;
  std::vector<std::string> order;
  task(graph, "gate", {writes(gate_block)}, [&] { EXPECT_TRUE(gate.pass()); });
  IterateReport const report = graph.iterate("loop", 2, [&](std::uint64_t k) {
    for (int n = 0; n != 3; ++n)
      task(graph, "low", {reads(gate_block)}, [&] { order.push_back("low"); });
    task(graph, "high", {reads(gate_block)}, [&] { order.push_back("high"); },
         {.priority = static_cast<int>(k) + 1});
  });
  EXPECT_EQ(report.recorded, 2U) << "the priority is part of what a task is";
  gate.open();
  graph.wait();
  EXPECT_EQ(order.size(), 8U);
}

TEST_F(IterateWith, FailuresThatCancelWhatDependsOnThem) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(2));
  std::vector<Future<void>> in_x;
  std::vector<Future<void>> in_y;
  std::vector<Future<long>> sums;
  graph.iterate("loop", 10, [&](std::uint64_t k) {
    in_x.push_back(task(graph, "x", {updates(x)}, [&, k] {
      if (k == 4) throw std::runtime_error("four");
      ++x[0];
    }));
    in_y.push_back(task(graph, "y", {updates(y)}, [&] { ++y[0]; }));
    sums.push_back(task(graph, "sum", {reads(x), reads(y)}, [&] { return x[0] + y[0]; }));
  });
  Future<void> const later = task(graph, "later", {updates(x)}, [] {});
  for (std::size_t k = 0; k != 10; ++k) {
    std::string const of_x = message_of([&] { in_x[k].get(); });
    std::string const of_sum = message_of([&] { sums[k].get(); });
    if (k < 4) {
      EXPECT_EQ(of_x, "no error");
      EXPECT_EQ(of_sum, "no error");
    } else if (k == 4) {
      EXPECT_THAT(of_x, AllOf(HasSubstr("\"x\""), HasSubstr("failed: four"),
                              testing::Not(HasSubstr("cancelled"))));
      EXPECT_THAT(of_sum,
                  AllOf(HasSubstr("\"sum\""), HasSubstr("was cancelled"), HasSubstr("four")));
      EXPECT_EQ(message_of([&] { in_y[k].get(); }), "no error")
          << "it depends on nothing that failed";
    } else {
      EXPECT_THAT(of_x, AllOf(HasSubstr("was cancelled"), HasSubstr("four")));
      EXPECT_THAT(of_sum, HasSubstr("four"));
    }
  }
  EXPECT_THAT(message_of([&] { later.get(); }), AllOf(HasSubstr("\"later\""), HasSubstr("four")));
  EXPECT_THAT(message_of([&] { graph.wait(); }), AllOf(HasSubstr("task \"x\""), HasSubstr("four")));
  EXPECT_EQ(x[0], 4);
  // The graph is usable again, and so is the loop.
  IterateReport const report =
      graph.iterate("loop", 5, [&] { task(graph, "x", {updates(x)}, [&] { ++x[0]; }); });
  graph.wait();
  EXPECT_EQ(x[0], 9);
  EXPECT_EQ(report.replayed, 4U);
}

TEST_F(IterateWith, ABodyThatThrowsAfterSomebodyAsked) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<void> last;
  EXPECT_THROW(graph.iterate("loop", 10,
                             [&](std::uint64_t k) {
                               task(graph, "grow", {updates(x)}, [&] { ++x[0]; });
                               last = task(graph, "again", {updates(x)}, [&] { ++x[0]; });
                               if (k == 5) until_done(last);
                               if (k == 5) throw std::runtime_error("stop");
                             }),
               std::runtime_error);
  last.get();
  EXPECT_EQ(x[0], 12);
  graph.wait();
}

TEST_F(IterateWith, ABodyThatSurvivesAFunctorWhoseCopyThrows) {
  struct Throws {
    bool now;
    explicit Throws(bool throws) : now(throws) {}
    Throws(Throws const& other) : now(other.now) {
      if (now) throw std::runtime_error("copy");
    }
    Throws(Throws&& other) : Throws(static_cast<Throws const&>(other)) {}
    void operator()() const {}
  };
  Block x("x");
  TaskGraph graph(with_workers(2));
  int caught = 0;
  graph.iterate("loop", 12, [&](std::uint64_t k) {
    task(graph, "first", {updates(x)}, [&] { ++x[0]; });
    try {
      bool const throws = k == 0 || k % 4 == 3;
      Throws const second(throws);
      task(graph, "second", {updates(x)}, second);
    } catch (std::runtime_error const&) {
      ++caught;
    }
    task(graph, "third", {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(caught, 4);
  EXPECT_EQ(x[0], 24);
}

TEST_F(IterateWith, APlanThatIsRecordedInTheIteration) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  graph.iterate("loop", 10, [&] {
    task(graph, "before", {updates(x)}, [&] { x[0] += 1; });
    Plan const plan =
        graph.record([&] { task(graph, "in plan", {updates(x)}, [&] { x[0] += 10; }); });
    graph.replay(plan, 2);
    task(graph, "after", {updates(x)}, [&] { x[0] += 1; });
  });
  graph.wait();
  EXPECT_EQ(x[0], 220);
}

TEST_F(IterateWith, FunctorsThatSubmitWhenTheyAreDestroyed) {
  Block x("x");
  Block y("y");
  std::atomic<int> submitted{0};
  TaskGraph graph(with_workers(2));
  struct Submits {
    TaskGraph* graph;
    Block* y;
    std::atomic<int>* submitted;
    std::shared_ptr<int> alive = std::make_shared<int>(0);
    ~Submits() {
      if (alive == nullptr || alive.use_count() > 1) return;
      ++*submitted;
      task(*graph, "from a destructor", {updates(*y)}, [y = y] { ++(*y)[0]; });
    }
    Submits(TaskGraph& in, Block& block, std::atomic<int>& count)
        : graph(&in), y(&block), submitted(&count) {}
    Submits(Submits&&) = default;
    Submits(Submits const&) = default;
    void operator()() const {}
  };
  graph.iterate("loop", 40, [&] {
    task(graph, "grow", {updates(x)}, [&] { ++x[0]; });
    task(graph, "submits", {reads(x)}, Submits(graph, y, submitted));
  });
  graph.wait();
  EXPECT_EQ(x[0], 40);
  EXPECT_EQ(submitted, 40);
  EXPECT_EQ(y[0], 40);
}

TEST_F(IterateWith, SeveralThreadsThatLoopAtOnce) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (int k = 0; k != 4; ++k) blocks.push_back(std::make_unique<Block>("x"));
  Block shared("shared");
  TaskGraph graph(with_workers(2));
  std::vector<std::thread> threads;
  for (auto const& block : blocks)
    threads.emplace_back([&graph, &shared, &x = *block] {
      graph.iterate("loop", 100, [&](std::uint64_t k) {
        task(graph, "own", {updates(x)}, [&] { ++x[0]; });
        task(graph, "shared", {updates(shared)}, [&] { ++shared[0]; });
        if (k % 7 == 0) task(graph, "both", {updates(shared), updates(x)}, [&] { ++shared[0]; });
      });
    });
  for (std::thread& thread : threads) thread.join();
  graph.wait();
  for (auto const& block : blocks) EXPECT_EQ((*block)[0], 100);
  EXPECT_EQ(shared[0], 4 * 115);
}

}  // namespace
}  // namespace trellis
