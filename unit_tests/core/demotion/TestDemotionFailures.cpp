// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a task gives up after something has failed that it, or a child of it, should have done.
#include "OrderTest.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class DemotionFailures : public Timed {};

TEST_F(DemotionFailures, AParentThatShrinksKeepsWhatAFailedChildHasNotDone) {
  for (bool const is_serial : {false, true}) {
    TaskGraphOptions options = with_workers(2);
    options.serial = is_serial;
    TaskGraph graph(options);
    Block x("x");
    Block y("y");
    Gate end;
    if (is_serial) end.open();
    std::atomic<bool> ran{false};
    task(graph, "parent", {updates(x), updates(y)}, [&] {
      child("x", {updates(x)}, [] { throw std::runtime_error("no x"); });
      child("y", {updates(y)}, [&] { EXPECT_TRUE(end.pass()); });
      shrink_to_children();
    });
    Future<void> const reader = task(graph, "reader", {reads(x)}, [&] { ran = true; });
    end.open();
    EXPECT_THROW(graph.wait(), Error);
    EXPECT_FALSE(ran) << is_serial;
    EXPECT_TRUE(reader.is_done());
  }
}

TEST_F(DemotionFailures, ACancelledParentKeepsWhatItsChildrenHaveNotDone) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Block y("y");
  Gate shrunk;
  Gate hold;
  std::atomic<bool> ran{false};
  Future<void> const parent = task(graph, "parent", {updates(x), updates(y)}, [&] {
    child("y", {updates(y)}, [&] { EXPECT_TRUE(hold.pass()); });
    child("x", {updates(x), reads(y)}, [] {});
    shrink_to_children();
    shrunk.open();
  });
  task(graph, "reader", {reads(x)}, [&] { ran = true; });
  EXPECT_TRUE(shrunk.pass());
  graph.cancel(parent);
  hold.open();
  graph.wait();
  EXPECT_FALSE(ran);
}

TEST_F(DemotionFailures, ATaskThatHasInheritedOneGivesUpNothing) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  std::atomic<bool> ran{false};
  Future<void> const first =
      task(graph, "first", {updates(x)}, [] { throw std::runtime_error("no x"); });
  Properties main;
  main.main_thread = true;
  Future<void> const second = task(graph, "second", {updates(x)}, [] {}, main);
  task(graph, "reader", {reads(x)}, [&] { ran = true; });
  while (!first.is_done()) std::this_thread::yield();
  EXPECT_FALSE(release_other(graph, second, {x}));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace trellis
