// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One more feature is its folder (tag_count) and a few lines of the list (Features): the core is
// compiled here with such a list.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <engine/Trellis_Engine.hpp>

#include <random>
#include <stdexcept>
#include <thread>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using Counted = Impl::TagCount::Counted;

class Features : public Timed {
 public:
  static Impl::TagCount& count_in(TaskGraph const& graph) {
    return Impl::GraphInternals::handle(graph).pin()->features().tag_count;
  }
  static void expect_counts(TaskGraph const& graph, std::uint64_t made, std::uint64_t completed) {
    EXPECT_EQ(count_in(graph).completed(), completed);
    EXPECT_EQ(count_in(graph).made(), made);
  }
};

TEST_F(Features, OneMoreSeesTheTasksThatItWantsToSeeAndNoOthers) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  for (int k = 0; k < 50; ++k) {
    task(graph, "plain", {updates(x)}, [] {});
    task(graph, "tagged", {updates(x)}, [] {}, tagged(Counted::yes));
    task(graph, "other tag", {updates(x)}, [] {}, tagged(k));
  }
  graph.wait();
  expect_counts(graph, 50, 50);
  TaskGraph another(with_workers(1));
  expect_counts(another, 0, 0);
}

TEST_F(Features, OneMoreSeesChildrenFailedAndCancelledTasks) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  task(graph, "parent", {updates(x)}, [] {
    for (int k = 0; k < 10; ++k) child("child", {}, [] {}, tagged(Counted::yes));
  });
  task(
      graph, "fails", {updates(y)}, [] { throw std::runtime_error("on purpose"); },
      tagged(Counted::yes));
  task(graph, "is cancelled", {updates(y)}, [] {}, tagged(Counted::yes));
  EXPECT_THROW(graph.wait(), Error);
  expect_counts(graph, 12, 12);
}

TEST_F(Features, OneMoreSeesATaskOfAPlanWhenItIsMade) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  {
    Plan plan = graph.record("plan", [&] {
      task(graph, "recorded", {updates(x)}, [&] { ++x[0]; }, tagged(Counted::yes));
    });
    for (int k = 0; k < 5; ++k) graph.replay(plan);
    graph.wait();
  }
  EXPECT_EQ(x[0], 5);
  expect_counts(graph, 1, 0);
}

TEST_F(Features, OneMoreCountsWhatSeveralThreadsSubmit) {
  for (int workers : {1, 2, 4}) {
    TaskGraph graph(with_workers(workers));
    std::atomic<std::uint64_t> expected{0};
    std::atomic<bool> is_over{false};
    std::thread reader([&] {
      while (!is_over) {
        std::uint64_t const completed = count_in(graph).completed();
        EXPECT_LE(completed, count_in(graph).made());
        std::this_thread::yield();
      }
    });
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        Block mine("mine");
        for (int k = 0; k < 300; ++k) {
          bool const counts = random() % 2 == 0;
          if (counts) ++expected;
          task(
              graph, "task", {random() % 2 == 0 ? reads(mine) : updates(mine)}, [] {},
              counts ? tagged(Counted::yes) : Properties());
        }
        graph.wait();
      });
    for (std::thread& thread : threads) thread.join();
    is_over = true;
    reader.join();
    expect_counts(graph, expected, expected);
  }
}

}  // namespace
}  // namespace trellis
