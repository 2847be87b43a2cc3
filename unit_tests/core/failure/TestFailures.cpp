// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A body that throws: who is told, who is cancelled, and that nobody else is.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;
using testing::Not;

class Failures : public Timed, public testing::WithParamInterface<bool> {
 protected:
  // With true: the serial oracle, which must tell the same story.
  Failures() {
    if (GetParam()) m_serial = std::make_unique<Environment>("TRELLIS_SERIAL", "1");
  }

 private:
  std::unique_ptr<Environment> m_serial;
};
INSTANTIATE_TEST_SUITE_P(Mode, Failures, testing::Bool(),
                         [](auto const& mode) { return mode.param ? "serial" : "parallel"; });

TEST_P(Failures, WaitNamesTheTaskTheResourceTheModeTheCallSiteAndTheReason) {
  TaskGraph graph(with_workers(2));
  Block heat("heat");
  auto const bad = [] { throw std::runtime_error("too hot"); };
  task(graph, "measure", {updates(heat)}, bad);
  unsigned const line = __LINE__ - 1;
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_EQ(error.kind(), Error::Kind::task_failed);
  EXPECT_THAT(error.what(), HasSubstr("\"measure\""));
  EXPECT_THAT(error.what(), HasSubstr("read_write \"heat\""));
  EXPECT_THAT(error.what(), HasSubstr(std::string(__FILE__) + ":" + std::to_string(line)));
  EXPECT_THAT(error.what(), HasSubstr("too hot"));
}

TEST_P(Failures, TheCauseCanBeThrownAgain) {
  struct Odd {
    int value;
  };
  TaskGraph graph(with_workers(2));
  task(graph, "odd", {}, [] { throw Odd{3}; });
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_THAT(error.what(), HasSubstr("an exception that is no std::exception"));
  try {
    std::rethrow_exception(error.cause());
  } catch (Odd const& odd) {
    EXPECT_EQ(odd.value, 3);
    return;
  }
  FAIL();
}

TEST_P(Failures, GetThrowsForItsTask) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  auto const nothing =
      task(graph, "nothing", {writes(x)}, [] { throw std::runtime_error("boom"); });
  auto const number = task(graph, "number", {}, []() -> int { throw std::runtime_error("bang"); });
  Error const first = error_of([&] { nothing.get(); });
  EXPECT_EQ(first.kind(), Error::Kind::task_failed);
  EXPECT_THAT(first.what(), testing::AllOf(HasSubstr("\"nothing\""), HasSubstr("write \"x\""),
                                           HasSubstr("boom")));
  Error const second = error_of([&] { number.get(); });
  EXPECT_EQ(second.kind(), Error::Kind::task_failed);
  EXPECT_THAT(second.what(), testing::AllOf(HasSubstr("\"number\""), HasSubstr("bang")));
  EXPECT_THROW(std::rethrow_exception(second.cause()), std::runtime_error);
  EXPECT_THROW(nothing.get(), Error) << "as often as it is asked";
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(Failures, GetAfterWaitStillThrows) {
  TaskGraph graph(with_workers(2));
  auto const bad = task(graph, "bad", {}, [] { throw std::runtime_error("boom"); });
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_THROW(bad.get(), Error);
}

TEST_P(Failures, FutureWaitDoesNotThrow) {
  TaskGraph graph(with_workers(2));
  auto const bad = task(graph, "bad", {}, [] { throw std::runtime_error("boom"); });
  EXPECT_NO_THROW(bad.wait());
  EXPECT_TRUE(bad.is_done());
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(Failures, CancelWhatDependsOnThemAndNothingElse) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y"), z("z");
  std::atomic<int> ran{0};
  auto const count = [&] { ++ran; };
  task(graph, "bad", {writes(x)}, [] { throw std::runtime_error("boom"); });
  auto const reader = task(graph, "reader", {reads(x), writes(y)}, count);
  auto const behind = task(graph, "behind", {reads(y)}, count);
  auto const beside = task(graph, "beside", {writes(z)}, count);
  EXPECT_NO_THROW(beside.get());
  EXPECT_EQ(error_of([&] { reader.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_EQ(error_of([&] { behind.get(); }).kind(), Error::Kind::cancelled);
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_THAT(error.what(), HasSubstr("2 that depend on them were cancelled"));
  EXPECT_EQ(ran, 1);
}

TEST_P(Failures, ACancelledTaskNamesItselfAndTheOneThatFailed) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  task(graph, "origin", {writes(x)}, [] { throw std::runtime_error("boom"); });
  auto const number = task(graph, "number", {reads(x)}, [] { return 1; });
  auto const nothing = task(graph, "nothing", {reads(x)}, [] {});
  for (Error const& error : {error_of([&] { number.get(); }), error_of([&] { nothing.get(); })}) {
    EXPECT_EQ(error.kind(), Error::Kind::cancelled);
    EXPECT_THAT(error.what(), HasSubstr("\"origin\""));
    EXPECT_THAT(error.what(), HasSubstr("boom"));
    EXPECT_THROW(std::rethrow_exception(error.cause()), std::runtime_error);
  }
  EXPECT_THAT(error_of([&] { number.get(); }).what(), HasSubstr("\"number\""));
  EXPECT_THAT(error_of([&] { nothing.get(); }).what(), HasSubstr("\"nothing\""));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(Failures, CancelAlsoWhatIsSubmittedBeforeTheyAreReported) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  task(graph, "bad", {writes(x)}, [] { throw std::runtime_error("boom"); }).wait();
  auto const late = task(graph, "late", {reads(x)}, [] { return 1; });
  EXPECT_EQ(error_of([&] { late.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(Failures, LeaveTheGraphUsable) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  task(graph, "bad", {writes(x)}, [] { throw std::runtime_error("boom"); });
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_NO_THROW(graph.wait()) << "reported once";
  auto const again = task(graph, "again", {updates(x)}, [&] { return x[0] = 7; });
  EXPECT_EQ(again.get(), 7);
  EXPECT_NO_THROW(graph.wait());
  task(graph, "bad again", {writes(x)}, [] { throw std::runtime_error("bang"); });
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(), HasSubstr("\"bad again\""));
}

TEST_P(Failures, AreCounted) {
  TaskGraph graph(with_workers(2));
  for (int k = 0; k < 3; ++k) task(graph, "bad", {}, [] { throw std::runtime_error("boom"); });
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(), HasSubstr("2 more failed"));
}

TEST_P(Failures, TheFirstInOrderOfSubmissionIsReported) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    TaskGraph graph(with_workers(2));
    Block x("x"), y("y");
    task(graph, "first", {writes(x)}, [] {
      std::this_thread::sleep_for(1ms);  // the other one is faster
      throw std::runtime_error("boom");
    });
    task(graph, "second", {writes(y)}, [] { throw std::runtime_error("bang"); });
    auto const both = task(graph, "both", {reads(x), reads(y)}, [] { return 1; });
    EXPECT_THAT(error_of([&] { both.get(); }).what(), HasSubstr("\"first\""));
    EXPECT_THAT(error_of([&] { graph.wait(); }).what(), HasSubstr("\"first\""));
  }
}

TEST_P(Failures, OfOneAdderDoNotCancelTheOthers) {
  TaskGraph graph(with_workers(2));
  Block sum("sum");
  std::atomic<int> ran{0};
  for (int k = 0; k < 4; ++k)
    task(graph, "adder", {adds(sum)}, [&ran, k] {
      if (k == 1) throw std::runtime_error("boom");
      ++ran;
    });
  auto const reader = task(graph, "reader", {reads(sum)}, [] { return 1; });
  EXPECT_EQ(error_of([&] { reader.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(ran, 3);
}

TEST_P(Failures, OfAnExclusiveTaskLetTheNextOneRun) {
  TaskGraph graph(with_workers(2));
  Block box("box");
  std::atomic<int> ran{0};
  for (int k = 0; k < 10; ++k)
    task(graph, "alone", {excludes(box)}, [&ran, k] {
      if (k % 3 == 0) throw std::runtime_error("boom");
      ++ran;
    });
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(), HasSubstr("3 more failed"));
  EXPECT_EQ(ran, 6);
}

TEST_P(Failures, CancelASynchronizingTask) {
  TaskGraph graph(with_workers(2));
  task(graph, "bad", {}, [] { throw std::runtime_error("boom"); });
  auto const all = task(graph, "all", {}, [] { return 1; }, {.synchronizing = true});
  EXPECT_EQ(error_of([&] { all.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(Failures, CancelWhatComesAfterThem) {
  TaskGraph graph(with_workers(2));
  auto const bad = task(graph, "bad", {}, [] { throw std::runtime_error("boom"); });
  auto const next = task(graph, "next", {}, [] { return 1; }, {.after = handles(bad)});
  EXPECT_EQ(error_of([&] { next.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(Failures, OfAnAwaitedTaskComeOutOfGetInsideATask) {
  TaskGraph graph(with_workers(2));
  auto const bad = task(graph, "inner", {}, []() -> int { throw std::runtime_error("boom"); });
  auto const outer = task(graph, "outer", {}, [=] { return bad.get(); });
  Error const error = error_of([&] { outer.get(); });
  EXPECT_EQ(error.kind(), Error::Kind::task_failed);
  EXPECT_THAT(error.what(),
              testing::AllOf(HasSubstr("\"outer\""), HasSubstr("\"inner\""), HasSubstr("boom")));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(Failures, DestroyTheBodiesOfCancelledTasks) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  auto const captured = std::make_shared<int>(1);
  task(graph, "bad", {writes(x)}, [captured] { throw std::runtime_error("boom"); });
  task(graph, "cancelled", {reads(x)}, [captured] {}).wait();
  EXPECT_EQ(captured.use_count(), 1);
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(Failures, ThatNobodyAskedForArePrintedAtTheGraphsEnd) {
  testing::internal::CaptureStderr();
  {
    TaskGraphOptions options = with_workers(2);
    options.name = "solver";
    TaskGraph graph(options);
    Block x("x");
    task(graph, "bad", {writes(x)}, [] { throw std::runtime_error("boom"); });
  }
  std::string const text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, testing::AllOf(HasSubstr("solver"), HasSubstr("\"bad\""),
                                   HasSubstr("write \"x\""), HasSubstr("boom")));
}

TEST_P(Failures, ThatWaitReportedAreNotPrinted) {
  testing::internal::CaptureStderr();
  {
    TaskGraph graph(with_workers(2));
    task(graph, "bad", {}, [] { throw std::runtime_error("boom"); });
    EXPECT_THROW(graph.wait(), Error);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(Failures, ThatGetReportedAreNotPrinted) {
  testing::internal::CaptureStderr();
  {
    TaskGraph graph(with_workers(2));
    auto const number =
        task(graph, "number", {}, []() -> int { throw std::runtime_error("boom"); });
    EXPECT_THROW(number.get(), Error);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "a get() of a value";
  testing::internal::CaptureStderr();
  {
    TaskGraph graph(with_workers(2));
    auto const nothing = task(graph, "nothing", {}, [] { throw std::runtime_error("boom"); });
    EXPECT_THROW(nothing.get(), Error);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "a get() of nothing";
}

TEST_P(Failures, ManyOfThemCostNoMemoryForEver) {
  // The log of failures is bounded; waiting clears what cancels.
  TaskGraph graph(with_workers(1));
  int const count = sanitized ? 2'000 : 100'000;
  for (int k = 0; k < count; ++k) task(graph, "bad", {}, [] { throw 1; });
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(),
              HasSubstr(std::to_string(count - 1) + " more failed"));
}

TEST_P(Failures, OfABodyThatCannotBeMovedInLeaveNothingBehind) {
  struct Stubborn {
    explicit Stubborn(int moves_left) : moves(moves_left) {}
    Stubborn(Stubborn&& other) : moves(other.moves - 1) {
      if (moves < 0) throw std::runtime_error("stays here");
    }
    void operator()() const {}
    int moves;
  };
  TaskGraph graph(recorded(1));
  Block x("x");
  EXPECT_THROW(task(graph, "stubborn", {writes(x)}, Stubborn(0)), std::runtime_error);
  EXPECT_EQ(graph.submitted(), 0u);
  task(graph, "willing", {writes(x)}, Stubborn(9)).get();
  EXPECT_EQ(graph.dependency_graph().nodes().size(), 1u);
  EXPECT_NO_THROW(graph.wait());
}

TEST(FuturesOf, NoTaskSaySo) {
  Future<int> const number;
  Future<void> const nothing;
  EXPECT_FALSE(number.valid() || nothing.valid());
  EXPECT_EQ(error_of([&] { number.get(); }).kind(), Error::Kind::bad_input);
  EXPECT_THAT(error_of([&] { nothing.get(); }).what(), HasSubstr("this future belongs to no task"));
  EXPECT_THROW(number.wait(), Error);
  EXPECT_THROW(nothing.wait(), Error);
}

TEST(FuturesOf, TasksOutliveTheirGraph) {
  Future<int> number, failed;
  Future<void> nothing;
  {
    TaskGraph graph(with_workers(2));
    number = task(graph, "number", {}, [] { return 4; });
    nothing = task(graph, "nothing", {}, [] {});
    failed = task(graph, "failed", {}, []() -> int { throw std::runtime_error("boom"); });
    testing::internal::CaptureStderr();
  }
  testing::internal::GetCapturedStderr();
  TaskGraph next(with_workers(2));  // takes over the place of the one that is gone
  Gate gate;
  task(next, "other", {}, [&] { gate.pass(); });
  EXPECT_TRUE(number.is_done() && nothing.is_done());
  EXPECT_EQ(number.get(), 4);
  EXPECT_NO_THROW(nothing.get());
  EXPECT_THAT(error_of([&] { failed.get(); }).what(), HasSubstr("boom"));
  gate.open();
}

TEST(After, AFutureOfAnotherGraphIsRefused) {
  TaskGraph one(with_workers(1)), other(with_workers(1));
  auto const there = task(one, "there", {}, [] {});
  unsigned const line = __LINE__ + 1;
  Error const error = error_of([&] { task(other, "here", {}, [] {}, {.after = handles(there)}); });
  EXPECT_EQ(error.kind(), Error::Kind::bad_input);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("\"here\""), HasSubstr("another graph"),
                                           HasSubstr(":" + std::to_string(line))));
  EXPECT_THROW(task(other, "here", {}, [] {}, {.after = handles(Future<int>())}), Error);
  EXPECT_EQ(other.submitted(), 0u) << "nothing has been submitted";
}

TEST(After, AFutureOfADeadGraphInTheSamePlaceIsRefused) {
  Future<void> there;
  {
    TaskGraph graph(with_workers(1));
    there = task(graph, "there", {}, [] {});
  }
  TaskGraph graph(with_workers(1));
  EXPECT_THROW(task(graph, "here", {}, [] {}, {.after = handles(there)}), Error);
}

}  // namespace
}  // namespace trellis
