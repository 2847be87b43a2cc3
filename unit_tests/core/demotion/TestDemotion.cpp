// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that give up accesses while they run.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Demotion : public Timed {};

/// A task that demotes and then runs until it is told that it may end.
struct Demoter {
  Gate demote_now;
  Gate demoted;
  Gate end;
  std::atomic<bool> over{false};

  template <class F>
  Future<void> start(TaskGraph& graph, std::vector<Touch> const& touches, F demotion) {
    return task(graph, "demoter", touches, [this, demotion] {
      EXPECT_TRUE(demote_now.pass());
      demotion();
      demoted.open();
      EXPECT_TRUE(end.pass());
      over = true;
    });
  }
};

TEST_F(Demotion, WhatNoLongerConflictsStartsWhileTheTaskStillRuns) {
  Block x("x");
  TaskGraph graph(recorded(3));
  Demoter demoter;
  std::atomic<bool> writer_ran{false};
  demoter.start(graph, {updates(x)}, [&] { demote({reads(x)}); });
  task(graph, "reader", {reads(x)}, [&] {
    EXPECT_FALSE(demoter.over);
    EXPECT_FALSE(writer_ran);
    demoter.end.open();
  });
  task(graph, "writer", {updates(x)}, [&] {
    EXPECT_TRUE(demoter.over);
    writer_ran = true;
  });
  demoter.demote_now.open();
  graph.wait();
  // The writer got to the demoter through the reader; now it must wait for it itself.
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("demoter>reader released", "demoter>writer", "reader>writer"));
  TaskRecord const node = graph.dependency_graph().node(1);
  ASSERT_EQ(node.demotions.size(), 1U);
  EXPECT_EQ(node.accesses.front().mode, "read_write");
  EXPECT_EQ(node.demotions.front().accesses.front().mode, "read");
  EXPECT_LT(graph.dependency_graph().node(2).started_ns, node.finished_ns);
}

TEST_F(Demotion, TasksSubmittedAfterwardsSeeWhatIsLeft) {
  Block x("x", 2);
  TaskGraph graph(recorded(3));
  Demoter demoter;
  demoter.demote_now.open();
  demoter.start(graph, {updates(x)}, [&] { demote({writes(x(0, 1))}); });
  ASSERT_TRUE(demoter.demoted.pass());
  Future<void> const right =
      task(graph, "right", {updates(x(1, 1))}, [&] { EXPECT_FALSE(demoter.over); });
  Future<void> const left =
      task(graph, "left", {reads(x(0, 1))}, [&] { EXPECT_TRUE(demoter.over); });
  Future<void> const both = task(graph, "both", {updates(x)}, [&] { EXPECT_TRUE(demoter.over); });
  until_done(right);
  EXPECT_FALSE(left.is_done());
  demoter.end.open();
  graph.wait();
  EXPECT_TRUE(both.is_done());
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("demoter>left", "demoter>right released", "left>both", "right>both"));
}

TEST_F(Demotion, ReleaseLetsGoOfEverything) {
  Block x("x", 2);
  Block y("y");
  TaskGraph graph(with_workers(3));
  Demoter demoter;
  demoter.start(graph, {updates(x(0, 1)), reads(x(1, 1)), updates(y)}, [&] { release(x); });
  Future<void> const free = task(graph, "free", {updates(x)}, [&] { EXPECT_FALSE(demoter.over); });
  task(graph, "bound", {reads(y)}, [&] { EXPECT_TRUE(demoter.over); });
  demoter.demote_now.open();
  until_done(free);
  demoter.end.open();
  graph.wait();
}

/// The one of just this area, else the first that allows it.
TEST_F(Demotion, OfTwoAccessesThatContainAnAreaOneIsChanged) {
  Block x("x", 2);
  auto const edges = [&](std::vector<Touch> const& touches, auto demotion) {
    TaskGraph graph(recorded(3));
    Demoter demoter;
    demoter.demote_now.open();
    demoter.start(graph, touches, demotion);
    EXPECT_TRUE(demoter.demoted.pass());
    task(graph, "left", {reads(x(0, 1))}, [] {});
    task(graph, "right", {reads(x(1, 1))}, [] {});
    demoter.end.open();
    graph.wait();
    return edges_of(graph.dependency_graph());
  };
  std::vector<Touch> const two{updates(x), reads(x(0, 1))};
  EXPECT_THAT(edges(two, [&] { demote({reads(x(0, 1))}); }),
              ElementsAre("demoter>left", "demoter>right"));
  EXPECT_THAT(edges(two, [&] { demote({writes(x(0, 1))}); }),
              ElementsAre("demoter>left", "demoter>right released"));
  EXPECT_THAT(edges(two, [&] { release(x); }),
              ElementsAre("demoter>left released", "demoter>right released"));
  EXPECT_THAT(edges({updates(x)}, [&] { demote({reads(x(0, 1))}); }),
              ElementsAre("demoter>left released", "demoter>right released"));
}

TEST_F(Demotion, StepByStepAndInSeveralParts) {
  Block x("x", 3);
  TaskGraph graph(recorded(4));
  Gate end;
  Gate first_step;
  Gate second_step;
  task(graph, "demoter", {updates(x)}, [&] {
    demote({reads(x(0, 1)), adds(x(1, 1)), writes(x(2, 1))});
    first_step.open();
    EXPECT_TRUE(second_step.pass());
    demote({reads(x(2, 1))});
    release(x(1, 1));
    EXPECT_TRUE(end.pass());
  });
  ASSERT_TRUE(first_step.pass());
  until_done(task(graph, "reads 0", {reads(x(0, 1))}, [] {}));
  until_done(task(graph, "adds 1", {adds(x(1, 1))}, [] {}));
  Future<void> const reads_1 = task(graph, "reads 1", {reads(x(1, 1))}, [] {});
  Future<void> const reads_2 = task(graph, "reads 2", {reads(x(2, 1))}, [] {});
  Future<void> const writes_2 =
      task(graph, "writes 2", {writes(x(2, 1))}, [&] { EXPECT_TRUE(end.is_open()); });
  EXPECT_FALSE(reads_1.is_done() || reads_2.is_done());
  second_step.open();
  until_done(reads_1);
  until_done(reads_2);
  EXPECT_FALSE(writes_2.is_done());
  end.open();
  graph.wait();
  EXPECT_EQ(graph.dependency_graph().node(1).demotions.size(), 3U);
}

// A chain of readers and writers behind the demoter: each path keeps its first conflict.
TEST_F(Demotion, BehindWhatIsLetGoTheNextConflictIsKept) {
  Block x("x", 2);
  TaskGraph graph(recorded(3));
  Demoter demoter;
  demoter.start(graph, {updates(x)}, [&] { demote({writes(x(0, 1))}); });
  std::string order;
  task(graph, "a", {updates(x(1, 1))}, [&] { order += 'a'; });
  task(graph, "b", {updates(x(1, 1))}, [&] { order += 'b'; });
  task(graph, "c", {updates(x)}, [&] { order += demoter.over ? 'C' : 'c'; });
  task(graph, "d", {updates(x(0, 1))}, [&] { order += demoter.over ? 'D' : 'd'; });
  demoter.demote_now.open();
  ASSERT_TRUE(demoter.demoted.pass());
  while (graph.in_flight() > 3) std::this_thread::yield();
  demoter.end.open();
  graph.wait();
  EXPECT_EQ(order, "abCD");
  EXPECT_THAT(
      edges_of(graph.dependency_graph()),
      ElementsAre("a>b", "b>c", "c>d", "demoter>a released", "demoter>b released", "demoter>c"));
}

TEST_F(Demotion, DoesNotEndExplicitAndSynchronizingDependencies) {
  Block x("x");
  TaskGraph graph(with_workers(3));
  Demoter demoter;
  Future<void> const first = demoter.start(graph, {updates(x)}, [&] { release(x); });
  task(graph, "after", {updates(x)}, [&] { EXPECT_TRUE(demoter.over); }, {.after = handles(first)});
  task(graph, "barrier", {}, [&] { EXPECT_TRUE(demoter.over); }, {.synchronizing = true});
  demoter.demote_now.open();
  ASSERT_TRUE(demoter.demoted.pass());
  EXPECT_EQ(graph.in_flight(), 3U);
  demoter.end.open();
  graph.wait();
}

TEST_F(Demotion, ToExclusiveKeepsOthersOutAndGivesUpTheOrder) {
  Block x("x");
  TaskGraph graph(recorded(3));
  Demoter demoter;
  demoter.start(graph, {updates(x)}, [&] { demote({excludes(x)}); });
  Future<void> const exclusive =
      task(graph, "exclusive", {excludes(x)}, [&] { EXPECT_TRUE(demoter.over); });
  task(graph, "reader", {reads(x)}, [&] { EXPECT_TRUE(demoter.over); });
  demoter.demote_now.open();
  ASSERT_TRUE(demoter.demoted.pass());
  EXPECT_FALSE(exclusive.is_done());
  demoter.end.open();
  graph.wait();
  EXPECT_THAT(edges_of(graph.scheduling_graph()),
              ElementsAre("demoter>exclusive exclusion", "demoter>exclusive released",
                          "demoter>reader", "exclusive>reader"));
}

TEST_F(Demotion, FromExclusiveLetsTheNextOneIn) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Demoter demoter;
  demoter.start(graph, {excludes(x)}, [&] { release(x); });
  Future<void> const next = task(graph, "next", {excludes(x)}, [&] {});
  demoter.demote_now.open();
  until_done(next);
  demoter.end.open();
  graph.wait();
}

TEST_F(Demotion, TheRecordedGraphDoesNotDependOnItsTime) {
  for (Touch (*to)(Place) : {&reads, &writes, &updates, &adds, &excludes, &nothing}) {
    std::vector<std::string> edges[2];
    for (bool early : {false, true}) {
      Block x("x");
      TaskGraph graph(recorded(3));
      Demoter demoter;
      if (early) demoter.demote_now.open();
      demoter.start(graph, {updates(x)}, [&] {
        Touch const touch = to(x);
        if (touch.mode == Mode::none)
          release(x);
        else
          demote({touch});
      });
      if (early) demoter.demoted.pass();
      task(graph, "a", {reads(x)}, [] {});
      task(graph, "b", {updates(x)}, [] {});
      task(graph, "c", {excludes(x)}, [] {});
      task(graph, "d", {reads(x)}, [] {});
      demoter.demote_now.open();
      EXPECT_TRUE(demoter.demoted.pass());
      demoter.end.open();
      graph.wait();
      edges[early] = edges_of(graph.dependency_graph());
    }
    EXPECT_EQ(edges[0], edges[1]) << to_string(to(Block("x")).mode);
  }
}

// --- bad input -----------------------------------------------------------------------------------

TEST_F(Demotion, NeverPromotes) {
  Block x("x", 4);
  Block y("y");
  TaskGraph graph(with_workers(2));
  bool after = false;
  task(graph, "demoter", {reads(x(0, 2)), updates(x(2, 2))}, [&] {
    auto const refused = [&](std::vector<Touch> const& to) {
      Error const error = error_of([&] { demote(to); });
      EXPECT_EQ(error.kind(), Error::Kind::bad_access);
      EXPECT_THAT(error.what(), HasSubstr("\"demoter\""));
      return std::string(error.what());
    };
    EXPECT_THAT(refused({writes(x(0, 1))}),
                AllOf(HasSubstr("; read \"x\" [0, 16), read_write \"x\" [16, 32)]"),
                      HasSubstr("write \"x\" [0, 8): from read that is a promotion")));
    EXPECT_THAT(refused({reads(x)}),
                HasSubstr("with read \"x\": no single access of it contains that area"));
    EXPECT_THAT(refused({reads(x(1, 2))}),
                HasSubstr("read \"x\" [8, 24): no single access of it contains that area"));
    EXPECT_THAT(refused({reads(y)}), AllOf(HasSubstr("\"y\""), HasSubstr("never declared")));
    // Refused as a whole: nothing has changed.
    refused({reads(x(2, 2)), reads(y)});
    demote({updates(x(2, 1))});
    refused({reads(x(3, 1))});
    auto const not_released = [&](Place const& place) {
      return std::string(error_of([&] { release(place); }).what());
    };
    EXPECT_THAT(not_released(x(0, 1)),
                HasSubstr("cannot release \"x\" [0, 8): that is a part of what it declared"));
    EXPECT_THAT(not_released(y), HasSubstr("never declared"));
    release(x(0, 2));
    EXPECT_THAT(not_released(x(0, 2)), AllOf(HasSubstr("release"), HasSubstr("twice")));
    EXPECT_THAT(refused({reads(x(0, 1))}), HasSubstr("given that up before"));
  });
  task(graph, "other", {writes(x), writes(y)}, [&] { after = true; });
  graph.wait();
  EXPECT_TRUE(after);
}

TEST_F(Demotion, OfWhatAnUnfinishedChildNeedsIsRefused) {
  Block x("x", 2);
  TaskGraph graph(with_workers(2));
  Gate gate;
  task(graph, "parent", {updates(x)}, [&] {
    child("child", {updates(x(0, 1))}, [&] { gate.pass(); });
    Error const error = error_of([&] { demote({reads(x)}); });
    EXPECT_THAT(error.what(), AllOf(HasSubstr("\"parent\""), HasSubstr("\"child\"")));
    demote({updates(x(0, 1))});
    EXPECT_EQ(error_of([&] { child("too late", {reads(x(1, 1))}, [] {}); }).kind(),
              Error::Kind::bad_access);
    gate.open();
    wait_for_children();
    release(x);
  });
  graph.wait();
}

TEST_F(Demotion, OfChildrenIsBetweenThem) {
  Block x("x");
  TaskGraph graph(recorded(3));
  Gate read;
  std::atomic<bool> parent_over{false};
  task(graph, "parent", {updates(x)}, [&] {
    child("demoter", {updates(x)}, [&] {
      demote({reads(x)});
      EXPECT_TRUE(read.pass());
    });
    child("reader", {reads(x)}, [&] { read.open(); });
    wait_for_children();
    parent_over = true;
  });
  task(graph, "outside", {reads(x)}, [&] { EXPECT_TRUE(parent_over); });
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("demoter>reader released", "parent>outside"));
}

// --- with failures -------------------------------------------------------------------------------

TEST_F(Demotion, AFailureCancelsWhatStillDependsAndNothingElse) {
  Block x("x");
  Block y("y");
  for (bool late : {false, true}) {
    TaskGraph graph(with_workers(3));
    Gate go;
    Future<void> const bad = task(graph, "bad", {updates(x), updates(y)}, [&] {
      demote({reads(x)});
      EXPECT_TRUE(late || go.pass());
      throw std::runtime_error("no luck");
    });
    if (late) until_done(bad);
    bool read = false;
    Future<void> const reader = task(graph, "reader", {reads(x)}, [&] { read = true; });
    Future<void> const writer =
        task(graph, "writer", {writes(x)}, [] { ADD_FAILURE() << "it ran"; });
    Future<void> const other = task(graph, "other", {reads(y)}, [] { ADD_FAILURE() << "it ran"; });
    until_done(reader);
    reader.get();
    EXPECT_TRUE(read);
    go.open();
    EXPECT_EQ(error_of([&] { writer.get(); }).kind(), Error::Kind::cancelled);
    EXPECT_EQ(error_of([&] { other.get(); }).kind(), Error::Kind::cancelled);
    EXPECT_THROW(graph.wait(), Error);
  }
}

/// One access of a task may cover another one of it. When it gives up the first the second one
/// still counts.
TEST_F(Demotion, WhatAnAccessHasCoveredComesToLightWhenThatIsGivenUp) {
  for (bool const records : {false, true})
    for (bool const releases : {false, true}) {
      Block x("x", 4);
      TaskGraphOptions options;
      options.workers = 2;
      options.record = records;
      TaskGraph graph(options);
      Demoter demoter;
      demoter.demote_now.open();
      demoter.start(graph, {excludes(x(0, 1)), updates(x)}, [&] {
        if (releases)
          release(x(0, 4));
        else
          demote({reads(x(2, 1))});
      });
      ASSERT_TRUE(demoter.demoted.pass());
      Future<void> const other = task(graph, "other", {updates(x(3, 1))}, [] {});
      Future<void> const next =
          task(graph, "next", {updates(x(0, 1))}, [&] { EXPECT_EQ(demoter.over, !releases); });
      until_done(other);
      if (releases) until_done(next);
      demoter.end.open();
      graph.wait();
    }
}

TEST_F(Demotion, UnderTheSerialOracleNothingRunsEarly) {
  Environment const serial("TRELLIS_SERIAL", "1");
  Block x("x");
  TaskGraph graph;
  std::string order;
  task(graph, "outer", {}, [&] {
    task(graph, "demoter", {excludes(x)}, [&] {
      release(x);
      order += 'd';
    });
    task(graph, "next", {updates(x)}, [&] { order += 'n'; });
  });
  graph.wait();
  EXPECT_EQ(order, "dn");
}

}  // namespace
}  // namespace trellis
