// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that split themselves into children.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <scope/Trellis_AreaPlaces.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Splitting : public Timed {};

/// The error that a task's body threw, as an Error.
Error cause_of(Error const& error) {
  try {
    std::rethrow_exception(error.cause());
  } catch (Error const& cause) {
    return cause;
  }
}

TEST_F(Splitting, ChildrenKeepTheirOrderAmongThemselvesAndTheParentEndsAfterThem) {
  Block x("x", 2);
  TaskGraph graph(recorded(2));
  Gate submitted;
  task(graph, "parent", {updates(x)}, [&] {
    child("left", {updates(x(0, 1))}, [&] {
      submitted.pass();
      x[0] += 1;
    });
    child("right", {updates(x(1, 1))}, [&] { x[1] += 10; });
    child("both", {updates(x)}, [&] {
      x[0] *= 2;
      x[1] *= 2;
    });
  });
  long seen = -1;
  Future<void> const next = task(graph, "next", {reads(x)}, [&] { seen = x[0] + x[1]; });
  EXPECT_FALSE(next.is_done());
  submitted.open();
  graph.wait();
  EXPECT_EQ(seen, 2 + 20);
  DependencyGraph const recorded = graph.dependency_graph();
  EXPECT_THAT(edges_of(recorded), ElementsAre("left>both", "parent>next", "right>both"));
  TaskRecord const& parent = recorded.node(1);
  std::vector<std::string> children;  // `next` may come before, between or after them
  for (TaskId const id : recorded.children(parent.id)) children.push_back(recorded.node(id).label);
  EXPECT_THAT(children, ElementsAre("left", "right", "both"));
  EXPECT_EQ(recorded.children(0), (std::vector<TaskId>{1, next.id()}));
  EXPECT_EQ(parent.state, TaskState::done);
  EXPECT_GE(parent.finished_ns, recorded.node(recorded.find("both").front()).finished_ns);
  EXPECT_LE(parent.returned_ns, parent.finished_ns);
  EXPECT_GT(parent.returned_ns, 0U);
}

TEST_F(Splitting, ChildrenOfTwoTasksRunAtTheSameTime) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(2));
  Rendezvous both(2);
  for (Block* block : {&x, &y})
    task(graph, "parent", {updates(*block)},
         [&, block] { child("child", {updates(*block)}, [&] { EXPECT_TRUE(both.meet()); }); });
  graph.wait();
}

TEST_F(Splitting, ToAnyDepth) {
  constexpr int depth = 2000;
  Block x("x");
  TaskGraph graph(with_workers(2));
  std::function<void(int)> split = [&](int level) {
    x[0] += 1;
    if (level > 0) child("child", {updates(x)}, [&split, level] { split(level - 1); });
  };
  task(graph, "parent", {updates(x)}, [&] { split(depth); });
  long seen = 0;
  task(graph, "next", {reads(x)}, [&] { seen = x[0]; });
  graph.wait();
  EXPECT_EQ(seen, depth + 1);
}

TEST_F(Splitting, AFutureHasItsValueWhenAllChildrenAreDone) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate gate;
  Future<long> const result = task(graph, "parent", {updates(x)}, [&] {
    child("child", {writes(x)}, [&] {
      gate.pass();
      x[0] = 7;
    });
    return 5L;
  });
  EXPECT_FALSE(result.is_done());
  gate.open();
  EXPECT_EQ(result.get(), 5);
  EXPECT_EQ(x[0], 7);
}

TEST_F(Splitting, WaitReturnsWhenTheChildrenAreDone) {
  Block x("x");
  for (int workers : {1, 3}) {
    TaskGraph graph(with_workers(workers));
    task(graph, "parent", {updates(x)}, [&] {
      x[0] = 1;
      for (int k = 0; k < 20; ++k) child("child", {updates(x)}, [&] { x[0] *= 3; });
      wait_for_children();
      EXPECT_EQ(x[0], 3486784401);
      child("last", {writes(x)}, [&] { x[0] = 2; });
      wait_for_children();
      wait_for_children();
      EXPECT_EQ(x[0], 2);
    });
    graph.wait();
  }
}

TEST_F(Splitting, ASynchronizingChildIsABarrierForItsSiblingsAlone) {
  Block x("x");
  Block y("y");
  TaskGraph graph(recorded(3));
  Gate outside;
  task(graph, "free", {updates(y)}, [&] { EXPECT_TRUE(outside.pass()); });
  task(graph, "parent", {updates(x)}, [&] {
    child("a", {}, [] {});
    child("barrier", {}, [] {}, {.synchronizing = true});
    child("b", {}, [&] { outside.open(); });
  });
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("a>barrier synchronizing", "barrier>b synchronizing"));
}

TEST_F(Splitting, ExclusiveChildrenExcludeEachOtherAndNotTheirParent) {
  Block x("x");
  TaskGraph graph(with_workers(3));
  Occupancy occupancy;
  for (int k = 0; k < 4; ++k)
    task(graph, "parent", {excludes(x)}, [&] {
      for (int n = 0; n < 10; ++n)
        child("child", {excludes(x)}, [&] {
          Occupancy::Stay const stay(occupancy);
          x[0] += 1;
          child("child of a child", {excludes(x)}, [&] { x[0] += 1; });
          wait_for_children();
        });
    });
  graph.wait();
  EXPECT_EQ(x[0], 80);
  EXPECT_EQ(occupancy.most(), 1);
}

// --- what is out of bounds -----------------------------------------------------------------------

TEST_F(Splitting, AChildMustKeepToWhatItsParentDeclared) {
  Block x("x", 4);
  Block y("y");
  TaskGraph graph(with_workers(2));
  int others = 0;
  task(graph, "parent", {reads(x(0, 2)), adds(x(2, 2))}, [&] {
    auto const refused = [&](std::vector<Touch> const& touches) {
      Error const error =
          error_of([&] { child("bad", touches, [] { ADD_FAILURE() << "it ran"; }); });
      EXPECT_EQ(error.kind(), Error::Kind::bad_access);
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("\"bad\""), HasSubstr("\"parent\""), HasSubstr(".cpp:")));
      return std::string(error.what());
    };
    EXPECT_THAT(refused({writes(x(0, 1))}),
                AllOf(HasSubstr("; read \"x\" [0, 16), atomic_add \"x\" [16, 32)] and asks"),
                      HasSubstr("write \"x\" [0, 8), a promotion: that has read")));
    EXPECT_THAT(refused({multiplies(x(2, 1))}), HasSubstr("promotion: that has atomic_add"));
    EXPECT_THAT(refused({reads(x)}), HasSubstr("read \"x\", an area that no single access"));
    EXPECT_THAT(refused({reads(x(1, 2))}),
                HasSubstr("read \"x\" [8, 24), an area that no single access"));
    EXPECT_THAT(refused({reads(x(0, 1)), writes(y)}),
                AllOf(HasSubstr("write \"y\""), HasSubstr("does not access")));
    child("good", {reads(x(1, 1)), adds(x(3, 1)), nothing(y)}, [&] { ++others; });
  });
  task(graph, "other", {writes(x)}, [&] { ++others; });
  graph.wait();
  EXPECT_EQ(others, 2);
}

TEST_F(Splitting, OfManyAccessesTheErrorShowsThoseThatItIsAbout) {
  Block x("x", 100);
  TaskGraph graph(with_workers(2));
  std::vector<Touch> many;
  for (std::size_t k = 0; k < 50; ++k) many.push_back(reads(x(2 * k, 2)));
  task(graph, "parent", many, [&] {
    std::string const text = error_of([&] {
                               child("bad", {reads(x(81, 2))}, [] { ADD_FAILURE() << "it ran"; });
                             }).what();
    EXPECT_THAT(text,
                AllOf(HasSubstr("; read \"x\" [640, 656), read \"x\" [656, 672), read \"x\" "
                                "[0, 16), read \"x\" [16, 32), "),
                      HasSubstr(" and 35 more]"), HasSubstr("asks for read \"x\" [648, 664)")));
  });
  graph.wait();
}

TEST_F(Splitting, WhatTheBodyMadeIsFreeForItsChildren) {
  TaskGraph graph(with_workers(2));
  long result = 0;
  Block x("x");
  task(graph, "parent", {}, [&] {
    auto scratch = std::make_shared<Block>("scratch");
    EXPECT_EQ(error_of([&] { child("early", {writes(*scratch)}, [] {}); }).kind(),
              Error::Kind::bad_access);
    make_local(*scratch);
    child("write", {writes(*scratch)}, [scratch] { (*scratch)[0] = 4; });
    child("split", {updates(*scratch)},
          [scratch] { child("deeper", {updates(*scratch)}, [scratch] { (*scratch)[0] *= 2; }); });
    child("read", {reads(*scratch)}, [scratch, &result] { result = (*scratch)[0]; });
  });
  graph.wait();
  EXPECT_EQ(result, 8);
}

/// Children of a parent that has declared, and made, many areas, in any order.
TEST_F(Splitting, ChildrenFindTheirAreasAmongMany) {
  constexpr std::size_t many = 600;
  Block declared("declared", 2 * many), made("made", 2 * many), stranger("stranger");
  std::vector<Touch> touches;
  for (std::size_t k = 0; k < many; ++k)
    touches.push_back(k % 3 == 0 ? reads(declared(2 * k, 2)) : updates(declared(2 * k, 2)));
  std::mt19937 random(1);
  TaskGraph graph(with_workers(2));
  for (int round = 0; round < 3; ++round) {
    std::atomic<std::size_t> ran = 0;
    std::size_t expected = 0;
    task(graph, "parent", touches, [&] {
      std::vector<std::size_t> order(2 * many);
      std::iota(order.begin(), order.end(), 0);
      if (round != 0) std::shuffle(order.begin(), order.end(), random);
      auto const says = [&](Touch const& touch) {
        return message_of([&] { child("bad", {touch}, [] { ADD_FAILURE() << "it ran"; }); });
      };
      auto const use_all = [&](std::size_t from) {
        for (std::size_t const k : order) {
          if (k < from) continue;
          std::size_t const inner = random() % 2;  // the area itself, or some of it
          Block& block = k < many ? declared : made;
          Place const place = block(2 * (k % many), 2 - inner);
          child("good", {k < many && k % 3 == 0 ? reads(place) : updates(place)}, [&] { ++ran; });
          ++expected;
          if (k % 100 == 0) {
            EXPECT_THAT(says(reads(stranger)), HasSubstr("which that does not access"));
            EXPECT_THAT(says(reads(declared(2 * (k % many), 3))), HasSubstr("no single access"));
            if (k < many) EXPECT_THAT(says(adds(declared(0, 1))), HasSubstr("a promotion"));
          }
        }
      };
      for (std::size_t k = 0; k < many; ++k) {
        if (k % 200 == 0)
          EXPECT_THAT(says(updates(made(2 * k, 2))), HasSubstr("which that does not access"));
        make_local(made(2 * k, 2));
      }
      use_all(0);
      wait_for_children();
      for (std::size_t k = 0; k < many / 2; ++k) release(declared(2 * k, 2));
      for (std::size_t k = 0; k < many / 2; k += 50)
        EXPECT_THAT(says(reads(declared(2 * k, 2))), HasSubstr("a promotion: that has none"));
      use_all(many / 2);
    });
    graph.wait();
    EXPECT_EQ(ran, expected);
    EXPECT_EQ(expected, 2 * many + 3 * many / 2);
  }
}

/// What is looked at, all in all, grows with the number of areas and of requests alone.
TEST(AreaPlaces, LearnsWhatIsAskedForInAnyOrder) {
  constexpr std::size_t count = 5000;
  std::mt19937 random(2);
  Impl::AreaPlaces places;
  std::size_t looks = 0;
  auto const hash_at = [](std::size_t place) { return std::uint64_t{place} % 4000 * 7; };
  auto const finds = [&](std::size_t wanted, std::size_t among) {
    auto const fits = [&](std::size_t place) {
      EXPECT_LT(place, among);
      ++looks;
      return place == wanted;
    };
    std::uint64_t const hash = hash_at(wanted);
    return places.fits_at_once(hash, among, hash_at, fits) ||
           places.fits_anywhere(among, hash_at, fits);
  };
  // While the list grows, in its order.
  for (std::size_t k = 0; k < count; ++k) EXPECT_TRUE(finds(k, k + 1));
  EXPECT_LE(looks, 2 * count);
  EXPECT_FALSE(finds(count, count));
  for (std::size_t k = 0; k < 2000; ++k) EXPECT_TRUE(finds(random() % 4000, count));
  EXPECT_LE(looks, 100 * count);
  looks = 0;
  for (std::size_t k = 0; k < 2000; ++k) EXPECT_TRUE(finds(random() % 4000, count));
  EXPECT_EQ(looks, 2000);
  // Some hashes are those of two places: the second one is far behind the first.
  EXPECT_TRUE(finds(4500, count));
  // It shrinks, and grows again by more.
  EXPECT_FALSE(finds(4000, 100));
  EXPECT_TRUE(finds(99, 100));
  EXPECT_FALSE(finds(0, 0));
  EXPECT_TRUE(finds(4999, count));
  looks = 0;
  for (std::size_t k = 0; k < 500; ++k)
    for (int again = 0; again < 3; ++again) EXPECT_TRUE(finds(k, count + k));
  EXPECT_EQ(looks, 1500);
  places.clear();
  EXPECT_TRUE(finds(0, 1));
}

/// Regions are used again: what one task's children had says nothing of the next one's.
TEST_F(Splitting, ATaskKnowsNothingOfWhatTheChildrenOfAnEarlierOneHad) {
  TaskGraphOptions options = with_workers(1);
  for (bool const record : {false, true}) {
    options.record = record;
    TaskGraph graph(options);
    Block x("x"), mine("mine");
    Graph recorded;
    for (int k = 0; k < 20; ++k) {
      std::string text;
      task(graph, "first", {updates(x)}, [&] {
        make_local(mine);
        child("before", {updates(mine)}, [] {});
        child("sync", {}, [] {}, {.synchronizing = true});
        child("behind", {updates(x)}, [] {});
      });
      graph.wait();
      task(graph, "second", {updates(x)}, [&] {
        text = message_of([&] { child("stranger", {updates(mine)}, [] {}); });
        child("alone", {reads(x)}, [] {});
      });
      graph.wait();
      EXPECT_THAT(text, HasSubstr("which that does not access"));
    }
    if (!record) continue;
    recorded = graph.dependency_graph();
    ASSERT_EQ(recorded.find("alone").size(), 20u);
    for (TaskId const id : recorded.find("alone"))
      EXPECT_TRUE(recorded.predecessors(id).empty()) << id;
  }
}

TEST_F(Splitting, AScopeIsForTheTimeOfItsTask) {
  TaskGraph graph(with_workers(2));
  Impl::TaskHandle kept;
  Block x("x");
  task(graph, "parent", {updates(x)}, [&] { kept = self(); });
  graph.wait();
  EXPECT_EQ(error_of([&] { child_of(kept, "late", {}, [] {}); }).kind(), Error::Kind::closed);
  EXPECT_EQ(error_of([&] { Impl::GraphInternals::demote(kept, requests_of({reads(x)})); }).kind(),
            Error::Kind::closed);
  EXPECT_EQ(error_of([&] { Impl::GraphInternals::wait_for_children(kept); }).kind(),
            Error::Kind::bad_input);
}

TEST_F(Splitting, AChildOfATaskThatIsOverIsRefusedWhoeverSubmitsIt) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Gate gate;
  Impl::TaskHandle kept;
  auto const refused = [&](Properties const& properties) {
    Error const error = error_of(
        [&] { child_of(kept, "late", {}, [] { ADD_FAILURE() << "it ran"; }, properties); });
    EXPECT_EQ(error.kind(), Error::Kind::closed);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("task #" + std::to_string(kept.id) + " gets a child"),
                                    HasSubstr("is complete")));
  };
  until_done(task(graph, "parent", {updates(x)}, [&] {
    kept = self();
    child("child", {updates(x)}, [] {});
  }));
  Future<void> const open = task(graph, "open", {}, [&] { EXPECT_TRUE(gate.pass()); });
  Properties behind_open;
  behind_open.after = handles(open);
  refused({});
  refused(behind_open);
  until_done(task(graph, "other", {}, [&] {
    refused({});
    refused(behind_open);
  }));
  for (int k = 0; k < 1000; ++k) task(graph, "takes its place", {updates(x)}, [&] { ++x[0]; });
  refused({});
  refused(behind_open);
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 1000);
  EXPECT_EQ(graph.in_flight(), 0U);
  EXPECT_EQ(
      error_of([&] { Impl::GraphInternals::add_local(kept, requests_of({reads(x)})[0]); }).kind(),
      Error::Kind::closed);
}

TEST_F(Splitting, NobodyButATaskItselfWaitsForItsChildren) {
  TaskGraph graph(with_workers(3));
  TaskGraph other_graph(with_workers(1));
  Impl::TaskHandle parent;
  Gate known, gate;
  auto const refused = [&] {
    Error const error = error_of([&] { Impl::GraphInternals::wait_for_children(parent); });
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("task #" + std::to_string(parent.id) + " waits"),
                                    HasSubstr("not from within its own body")));
  };
  bool child_ran = false;
  task(graph, "parent", {}, [&] {
    parent = self();
    child("child", {}, [&] {
      refused();  // it would wait for itself
      EXPECT_TRUE(gate.pass());
      child_ran = true;
    });
    known.open();
    wait_for_children();
    EXPECT_TRUE(child_ran);
  });
  EXPECT_TRUE(known.pass());
  refused();
  until_done(task(graph, "other", {}, [&] {
    child("child of the other", {}, [] {});
    refused();
    wait_for_children();
  }));
  until_done(task(other_graph, "elsewhere", {}, refused));
  gate.open();
  graph.wait();
  EXPECT_TRUE(child_ran);
}

// --- circles -------------------------------------------------------------------------------------

TEST_F(Splitting, AChildThatWaitsForItsParentIsTold) {
  TaskGraph graph(with_workers(2));
  Gate known;
  Future<void> parent;
  parent = task(graph, "parent", {}, [&] {
    child("child", {}, [&] {
      known.pass();
      parent.wait();
    });
  });
  known.open();
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_THAT(error.what(), HasSubstr("\"child\""));
  EXPECT_EQ(cause_of(error).kind(), Error::Kind::deadlock);
}

TEST_F(Splitting, AChildThatWaitsForWhatIsBehindItsParentIsTold) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate known;
  Future<void> behind;
  task(graph, "parent", {updates(x)}, [&] {
    child("child", {reads(x)}, [&] {
      child("child of a child", {reads(x)}, [&] {
        known.pass();
        behind.wait();
      });
    });
  });
  behind = task(graph, "behind", {updates(x)}, [] { ADD_FAILURE() << "cancelled"; });
  known.open();
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_EQ(cause_of(error).kind(), Error::Kind::deadlock);
  EXPECT_THAT(cause_of(error).what(), HasSubstr("\"behind\""));
}

TEST_F(Splitting, AChildAfterWhatIsBehindItsParentIsRefused) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate known;
  Future<void> behind;
  Future<void> parent;
  parent = task(graph, "parent", {updates(x)}, [&] {
    known.pass();
    Error const error = error_of([&] { child("child", {}, [] {}, {.after = handles(behind)}); });
    EXPECT_EQ(error.kind(), Error::Kind::deadlock);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("\"child\""), HasSubstr("circle")));
    EXPECT_EQ(error_of([&] { child("child", {}, [] {}, {.after = handles(parent)}); }).kind(),
              Error::Kind::deadlock);
    Future<void> const first = child("first", {}, [] {});
    child("second", {}, [&, first] { EXPECT_TRUE(first.is_done()); }, {.after = handles(first)});
  });
  behind = task(graph, "behind", {updates(x)}, [] {});
  known.open();
  graph.wait();
}

// --- failures ------------------------------------------------------------------------------------

TEST_F(Splitting, AFailedChildFailsItsParentAndCancelsWhatDependsOnEither) {
  Block x("x", 2);
  for (int workers : {1, 3}) {
    TaskGraph graph(recorded(workers));
    bool ran = false;
    Future<void> sibling;
    Future<long> const parent = task(graph, "parent", {updates(x)}, [&] {
      child("bad", {updates(x(0, 1))}, [] { throw std::runtime_error("no luck"); });
      sibling = child("behind it", {reads(x(0, 1))}, [] { ADD_FAILURE() << "it ran"; });
      child("beside it", {updates(x(1, 1))}, [&] { ran = true; });
      return 3L;
    });
    Future<void> const next =
        task(graph, "next", {reads(x(1, 1))}, [] { ADD_FAILURE() << "it ran"; });
    Error const of_parent = error_of([&] { parent.get(); });
    EXPECT_EQ(of_parent.kind(), Error::Kind::task_failed);
    EXPECT_THAT(of_parent.what(), AllOf(HasSubstr("\"parent\""), HasSubstr("child"),
                                        HasSubstr("\"bad\""), HasSubstr("no luck")));
    EXPECT_THROW(std::rethrow_exception(of_parent.cause()), std::runtime_error);
    EXPECT_EQ(error_of([&] { next.get(); }).kind(), Error::Kind::cancelled);
    EXPECT_EQ(error_of([&] { sibling.get(); }).kind(), Error::Kind::cancelled);
    Future<void> const late = task(graph, "late", {reads(x)}, [] { ADD_FAILURE() << "it ran"; });
    EXPECT_EQ(error_of([&] { late.get(); }).kind(), Error::Kind::cancelled);
    EXPECT_TRUE(ran);
    Error const reported = error_of([&] { graph.wait(); });
    EXPECT_THAT(reported.what(), AllOf(HasSubstr("task \"bad\""),
                                       HasSubstr("3 that depend on them were cancelled")));
    DependencyGraph const recorded = graph.dependency_graph();
    EXPECT_EQ(recorded.node(parent.id()).state, TaskState::failed);
    EXPECT_EQ(recorded.node(next.id()).state, TaskState::cancelled);
    task(graph, "again", {updates(x)}, [] {});
    graph.wait();
  }
}

TEST_F(Splitting, WaitThrowsTheFailureOfAChildWhichStaysTheParentsFailure) {
  TaskGraph graph(with_workers(2));
  bool reached = false;
  Future<void> const parent = task(graph, "parent", {}, [&] {
    child("bad", {}, [] { throw std::runtime_error("no luck"); });
    Error const error = error_of([] { wait_for_children(); });
    EXPECT_THAT(error.what(), AllOf(HasSubstr("\"bad\""), HasSubstr("no luck")));
    reached = true;
  });
  EXPECT_THAT(error_of([&] { parent.get(); }).what(),
              AllOf(HasSubstr("\"parent\""), HasSubstr("\"bad\"")));
  EXPECT_TRUE(reached);
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(), HasSubstr("task \"bad\""));

  Future<void> const uncaught = task(graph, "parent", {}, [&] {
    child("worse", {}, [] { throw std::runtime_error("no luck"); });
    wait_for_children();
    ADD_FAILURE() << "not reached";
  });
  EXPECT_THAT(error_of([&] { uncaught.get(); }).what(), HasSubstr("\"worse\""));
  EXPECT_THROW(std::rethrow_exception(error_of([&] { graph.wait(); }).cause()), std::runtime_error);
}

TEST_F(Splitting, ABodyThatThrowsLeavesItsChildrenRunning) {
  TaskGraph graph(with_workers(2));
  bool ran = false;
  Gate gate;
  Future<void> const parent = task(graph, "parent", {}, [&] {
    child("child", {}, [&] {
      gate.pass();
      ran = true;
      throw std::runtime_error("later");
    });
    throw std::runtime_error("first");
  });
  gate.open();
  EXPECT_THAT(error_of([&] { parent.get(); }).what(), HasSubstr("failed: first"));
  EXPECT_TRUE(ran);
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(),
              AllOf(HasSubstr("\"parent\""), HasSubstr("1 more failed")));
}

// --- everything at once --------------------------------------------------------------------------

void fibonacci_task(int n, long& result) {
  if (n < 2) {
    result = n;
    return;
  }
  auto const halves = std::make_shared<Block>("halves", 2);
  make_local(*halves);
  child("n - 1", {writes((*halves)(0, 1))}, [=] { fibonacci_task(n - 1, (*halves)[0]); });
  child("n - 2", {writes((*halves)(1, 1))}, [=] { fibonacci_task(n - 2, (*halves)[1]); });
  wait_for_children();
  result = (*halves)[0] + (*halves)[1];
}

TEST_F(Splitting, RecursionThatWaits) {
  TaskGraph graph(with_workers(2));
  long result = 0;
  task(graph, "fibonacci", {}, [&] { fibonacci_task(9, result); });
  graph.wait();
  EXPECT_EQ(result, 34);
}

TEST_F(Splitting, UnderTheSerialOracleItIsTheSame) {
  Environment const serial("TRELLIS_SERIAL", "1");
  Block x("x", 2);
  TaskGraph graph;
  std::string order;
  task(graph, "parent", {updates(x)}, [&] {
    order += 'o';
    child("a", {updates(x(0, 1))}, [&] { order += 'a'; });
    wait_for_children();
    child("b", {excludes(x)}, [&] {
      order += 'b';
      child("c", {excludes(x)}, [&] { order += 'c'; });
    });
    order += 'p';
  });
  task(graph, "next", {reads(x)}, [&] { order += 'n'; });
  graph.wait();
  EXPECT_EQ(order, "oapbcn");
}

TEST_F(Splitting, MemoryIsGivenBack) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  auto const round = [&] {
    for (int k = 0; k < 200; ++k)
      task(graph, "parent", {updates(x)}, [&] {
        for (int n = 0; n < 10; ++n) child("child", {updates(x)}, [&] { x[0] += 1; });
      });
    graph.wait();
  };
  round();
  std::size_t const before = graph.task_memory();
  for (int k = 0; k < 10; ++k) round();
  EXPECT_LE(graph.task_memory(), 2 * before);
  EXPECT_EQ(x[0], 11 * 2000);
}

// The main thread sleeps in a task, and nothing in the queue of tasks bound to it is needed for
// what it waits for, until a new child says so.
TEST_F(Splitting, AChildThatComesToDependOnATaskOfTheMainThreadWakesItUp) {
  Properties bound;
  bound.main_thread = true;
  for (int repetition = 0; repetition != 20; ++repetition) {
    TaskGraph graph(with_workers(3));
    Gate child_runs;
    Gate other_waits;
    Future<void> const other = task(graph, "other", {}, [&] {
      EXPECT_TRUE(child_runs.pass());
      child("bound child", {}, [] {}, bound);
      other_waits.open();
      wait_for_children();
    });
    task(
        graph, "on the main thread", {},
        [&] {
          child("child", {}, [&] {
            child_runs.open();
            EXPECT_TRUE(other_waits.pass());
            std::this_thread::sleep_for(
                std::chrono::milliseconds(2));  // until both sleep, most likely
            Properties after;
            after.after = handles(other);
            child("child of the child", {}, [] {}, after);
          });
          wait_for_children();
        },
        bound);
    graph.wait();
  }
}

}  // namespace
}  // namespace trellis
