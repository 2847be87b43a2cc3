// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functors, tags, states and exceptions whose copies and destructors use the graph. A destructor
// may submit tasks and wait for some; a copy or a move, which happens while a task is submitted,
// may not.
#include "BareTask.hpp"
#include "FakeDevice.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::HasSubstr;

class Destructors : public Timed {};
class Copies : public Timed {};

/// Calls a function when the last copy ends.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> f)
      : m_called(new int(0), [f = std::move(f)](int const* it) {
          delete it;
          f();
        }) {}

 private:
  std::shared_ptr<int> m_called;
};

/// It is destroyed before its task is complete.
struct OfHostTask {
  AtEnd end;
  void operator()() const {}
};
/// It is destroyed when its task has been over for a while.
struct OfDeviceTask {
  AtEnd end;
  static constexpr bool may_be_deferred = true;
  void operator()(void* /*stream*/) const {}
};

template <class Functor>
class OfFunctors : public Timed {
 protected:
  /// Submits a task whose functor calls `at_end` when it is destroyed.
  void outer(TaskGraph& graph, Block const& x, std::function<void()> at_end) {
    Properties properties;
    if constexpr (std::is_same_v<Functor, OfDeviceTask>) properties.space = &m_device;
    task(graph, "outer", {updates(x)}, Functor{AtEnd(std::move(at_end))}, properties);
  }

 private:
  FakeDevice m_device;
};
using Functors = testing::Types<OfHostTask, OfDeviceTask>;
TYPED_TEST_SUITE(OfFunctors, Functors);

TYPED_TEST(OfFunctors, MaySubmitAtTheCap) {
  for (std::size_t cap : {1, 4, 64})
    for (int workers : {1, 2, 3}) {
      std::atomic<int> ran{0};
      {
        TaskGraph graph(capped(workers, cap));
        Block x("x"), y("y");
        for (int k = 0; k < 200; ++k)
          this->outer(graph, x,
                      [&] { task(graph, "from a destructor", {updates(y)}, [&] { ++ran; }); });
        graph.wait();
        EXPECT_EQ(ran, 200) << "cap " << cap << ", " << workers << " workers";
      }
    }
}

TYPED_TEST(OfFunctors, MayWaitForATask) {
  for (std::size_t cap : {4, 2048})
    for (int workers : {1, 2, 4}) {
      std::atomic<int> waited{0};
      TaskGraph graph(capped(workers, cap));
      Block x("x"), y("y");
      for (int k = 0; k < 100; ++k) {
        Future<void> const other = task(graph, "awaited", {updates(y)}, [] {});
        this->outer(graph, x, [&waited, other] {
          other.wait();
          ++waited;
        });
      }
      graph.wait();
      EXPECT_EQ(waited, 100) << "cap " << cap << ", " << workers << " workers";
    }
}

TYPED_TEST(OfFunctors, MayWaitForWhatTheySubmit) {
  for (int workers : {1, 2}) {
    std::atomic<long> sum{0};
    TaskGraph graph(with_workers(workers));
    Block x("x");
    for (int k = 0; k < 100; ++k)
      this->outer(graph, x, [&] {
        Future<int> const result = task(graph, "inner", {}, [] { return 2; });
        sum += result.get();
      });
    graph.wait();
    EXPECT_EQ(sum, 200);
  }
}

TYPED_TEST(OfFunctors, MayWaitForAnotherGraph) {
  TaskGraph graph(with_workers(1)), other(with_workers(1));
  Block x("x"), y("y");
  std::atomic<int> ran{0};
  for (int k = 0; k < 50; ++k)
    this->outer(graph, x, [&] {
      task(other, "inner", {updates(y)}, [&] { ++ran; });
      other.wait();
    });
  graph.wait();
  EXPECT_EQ(ran, 50);
}

TYPED_TEST(OfFunctors, MayWaitForATaskOfTheMainThread) {
  for (int workers : {1, 2}) {
    TaskGraph graph(with_workers(workers));
    Block x("x");
    std::atomic<int> waited{0};
    for (int k = 0; k < 40; ++k) {
      Future<void> const bound = task(graph, "bound", {}, [] {}, {.main_thread = true});
      this->outer(graph, x, [&waited, bound] {
        bound.wait();
        ++waited;
      });
    }
    graph.wait();
    EXPECT_EQ(waited, 40);
  }
}

TYPED_TEST(OfFunctors, ThatWaitForTheirOwnGraphGetAnError) {
  std::string text;
  TaskGraph graph(with_workers(1));
  Block x("x");
  this->outer(graph, x, [&] { text = message_of([&] { graph.wait(); }); });
  graph.wait();
  EXPECT_THAT(text, AllOf(HasSubstr("a destructor of task \"outer\" (#1, "),
                          HasSubstr("waits for its own graph, and so for itself")));
}

TYPED_TEST(OfFunctors, OfAPlanMaySubmitAndWait) {
  for (int workers : {1, 2}) {
    TaskGraph graph(with_workers(workers));
    Block x("x"), y("y");
    std::atomic<int> ran{0};
    for (int k = 0; k < 20; ++k) {
      Plan const plan = Impl::GraphInternals::record(graph, Label(std::string("plan")), [&] {
        this->outer(graph, x,
                    [&] { task(graph, "from a destructor", {updates(y)}, [&] { ++ran; }).wait(); });
      });
      graph.replay(plan, 3);
    }
    graph.wait();
    EXPECT_EQ(ran, 20);
  }
}

TYPED_TEST(OfFunctors, MaySubmitWhileTheGraphEnds) {
  std::atomic<int> ran{0};
  for (int repeat = 0; repeat < 50; ++repeat) {
    TaskGraph graph(with_workers(2));
    Block x("x");
    for (int k = 0; k < 4; ++k)
      this->outer(graph, x, [&] { task(graph, "inner", {}, [&] { ++ran; }); });
  }
  EXPECT_EQ(ran, 200);
}

TYPED_TEST(OfFunctors, AreDestroyedWhenWaitReturns) {
  std::atomic<int> ended{0};
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  for (int repeat = 0; repeat < 200; ++repeat) {
    ended = 0;
    for (int k = 0; k < 40; ++k) this->outer(graph, k % 2 == 0 ? x : y, [&] { ++ended; });
    graph.wait();
    ASSERT_EQ(ended, 40);
  }
}

TEST_F(Destructors, OfASuccessorsFutureAreAnErrorAndNoHang) {
  std::string text;
  TaskGraph graph(with_workers(2));
  Block x("x");
  Gate submitted;
  Future<void> behind;
  task(graph, "outer", {updates(x)}, [&submitted, end = AtEnd([&] {
                                                    text = message_of([&] { behind.wait(); });
                                                  })] { EXPECT_TRUE(submitted.pass()); });
  behind = task(graph, "behind", {updates(x)}, [] {});
  submitted.open();
  graph.wait();
  EXPECT_THAT(text, HasSubstr("which cannot be complete before it is"));
}

/// Of a body that does something.
struct BodyWithEnd {
  std::function<void()> body;
  std::shared_ptr<AtEnd> end{};
  void operator()() const { body(); }
};

TEST_F(Destructors, OfFunctorsDoNotWaitForALongTask) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Gate submitted, running, over;
  std::atomic<bool> ended = false;
  task(graph, "before", {updates(x)},
       BodyWithEnd{[&] { EXPECT_TRUE(submitted.pass()); },
                   std::make_shared<AtEnd>([&] { ended = true; })});
  task(graph, "long", {updates(x)}, BodyWithEnd{[&] {
         running.open();
         EXPECT_TRUE(over.pass());
       }});
  submitted.open();
  EXPECT_TRUE(running.pass());
  for (int k = 0; k < 64; ++k) task(graph, "short", {}, [] {});
  EXPECT_TRUE(ended);
  over.open();
  graph.wait();
}

/// The only worker destroys the functor of "before", and "whole" runs on that stack.
TEST_F(Destructors, OfFunctorsMayWaitForATaskThatWaitsForItsChildren) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  Gate submitted;
  Future<void> whole;
  task(graph, "before", {updates(x)},
       BodyWithEnd{[&] { EXPECT_TRUE(submitted.pass()); },
                   std::make_shared<AtEnd>([&] { whole.wait(); })});
  whole = task(graph, "whole", {updates(y)}, BodyWithEnd{[] {
                 child("child", {}, [] {});
                 wait_for_children();
               }});
  submitted.open();
  until_done(whole);
  graph.wait();
}

/// A wait for a task returns after its functor was destroyed, also on the stack of another task.
TEST_F(Destructors, OfFunctorsAreOverWhenAWaitForTheTaskReturns) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  std::atomic<int> ended{0};
  int ended_meanwhile = 0;
  task(graph, "whole", {updates(y)}, [&] {
    for (int k = 0; k < 500; ++k)
      task(graph, "short", {updates(x)},
           BodyWithEnd{[] {}, std::make_shared<AtEnd>([&] { ++ended; })})
          .wait();
    ended_meanwhile = ended;
  });
  graph.wait();
  EXPECT_EQ(ended, 500);
  EXPECT_EQ(ended_meanwhile, 500);
}

/// A functor is destroyed before its task is over, so what comes after the task cannot be waited
/// for, whatever is beneath on the stack.
TEST_F(Destructors, OfAChildAreToldThatTheyWaitForWhatComesAfterIt) {
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    Block x("x");
    std::string text;
    task(graph, "whole", {updates(x)}, [&] {
      Gate submitted;
      Future<void> behind;
      child("child", {updates(x)},
            BodyWithEnd{[&] { EXPECT_TRUE(submitted.pass()); }, std::make_shared<AtEnd>([&] {
                          text = message_of([&] { behind.wait(); });
                        })});
      behind = child("behind", {updates(x)}, [] {});
      submitted.open();
      wait_for_children();
    });
    graph.wait();
    EXPECT_THAT(text, HasSubstr("which cannot be complete before it is"));
  }
}

struct TagWithEnd {
  int value = 0;
  std::shared_ptr<AtEnd> end{};
  bool operator==(TagWithEnd const& other) const { return value == other.value; }
};

struct StateWithEnd {
  std::shared_ptr<AtEnd> end;
  [[nodiscard]] bool is_dependent_of(StateWithEnd const&) const { return true; }
  [[nodiscard]] bool is_superset_of(StateWithEnd const&) const { return true; }
};

/// Where a child's tag is destroyed on the stack of the task that waits for it, that task cannot go
/// on before the destructor is over. Elsewhere, or when a table held it longer, the wait just ends.
TEST_F(Destructors, OfAChildsTagAreToldThatTheyWaitForEver) {
  for (int workers : {1, 2}) {
    TaskGraph graph(with_workers(workers));
    graph.add_rule<TagWithEnd>("none", Constraint::ordered,
                               [](TagWithEnd const&, TagWithEnd const&) { return false; });
    Gate submitted;
    Future<void> whole;
    std::string text;
    whole = task(graph, "whole", {}, [&] {
      EXPECT_TRUE(submitted.pass());
      child(
          "child", {}, [] {}, tagged(TagWithEnd{1, std::make_shared<AtEnd>([&] {
                                                  text = message_of([&] { whole.wait(); });
                                                })}));
      wait_for_children();
    });
    submitted.open();
    graph.wait();
    graph.wait();
    EXPECT_THAT(text,
                testing::AnyOf("no error", HasSubstr("which cannot be complete before it is")));
  }
}

TEST_F(Destructors, OfTagsMaySubmitAndWait) {
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    graph.add_rule<TagWithEnd>(
        "in order", Constraint::ordered,
        [](TagWithEnd const& a, TagWithEnd const& b) { return a.value == b.value; });
    Block x("x"), y("y");
    std::atomic<int> ran{0};
    for (int k = 0; k < 200; ++k)
      task(
          graph, "tagged", {updates(x)}, [] {},
          tagged(TagWithEnd{1 + k % 3, std::make_shared<AtEnd>([&] {
                              task(graph, "from a destructor", {updates(y)}, [&] { ++ran; }).wait();
                            })}));
    graph.wait();  // some are held by the rule's classes until then
    graph.wait();
    EXPECT_EQ(ran, 200);
  }
}

/// `graph.wait()` waits for destructors that a worker runs when their task has been counted.
TEST_F(Destructors, OfTagsAreOverWhenWaitReturns) {
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    graph.add_rule<TagWithEnd>("none", Constraint::ordered,
                               [](TagWithEnd const&, TagWithEnd const&) { return false; });
    for (int round = 0; round < 20; ++round) {
      int ended = 0;  // not atomic: the thread sanitizer looks as well
      auto const tag = [&] {
        return tagged(TagWithEnd{1, std::make_shared<AtEnd>([&] {
                                   std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                   ++ended;
                                 })});
      };
      task(graph, "whole", {}, [&] {
        child("child", {}, [] {}, tag());
        wait_for_children();
      });
      graph.wait();
      EXPECT_EQ(ended, 1) << workers << " workers, a child's";
    }
  }
}

/// The last round may end on another thread while a worker destroys what its own run has left.
TEST_F(Destructors, OfTagsInTheChildrenOfAPlansRunsAreOverWhenWaitReturns) {
  constexpr int tasks = 3;
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    graph.add_rule<TagWithEnd>("none", Constraint::ordered,
                               [](TagWithEnd const&, TagWithEnd const&) { return false; });
    Block x("x", tasks);
    std::atomic<int> ended{0};
    auto const at_end = [&](std::size_t k) {
      return std::make_shared<AtEnd>([&, k] {
        if (k == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++ended;
      });
    };
    Plan const plan = graph.record([&] {
      for (std::size_t k = 0; k < tasks; ++k)
        task(graph, "whole", {updates(x(k, 1))}, [&, k] {
          child("child", {updates(x(k, 1))}, [] {}, tagged(TagWithEnd{1, at_end(k)}));
          child("child", {touches(x(k, 1), StateWithEnd{at_end(k)})}, [] {});
          wait_for_children();
        });
    });
    for (int rounds : {1, 2, 1, 4, 1, 2, 1}) {
      ended = 0;
      graph.replay(plan, static_cast<std::uint64_t>(rounds));
      graph.wait();
      ASSERT_EQ(ended, 2 * tasks * rounds) << workers << " workers";
    }
  }
}

/// The tasks of a plan keep theirs as long as the plan is there, which its last replay may drop.
TEST_F(Destructors, OfTagsAndStatesOfADroppedPlanAreOverWhenWaitReturns) {
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    graph.add_rule<TagWithEnd>(
        "in order", Constraint::ordered,
        [](TagWithEnd const& a, TagWithEnd const& b) { return a.value == b.value; });
    Block x("x"), y("y");
    for (int round = 0; round < 10; ++round) {
      std::atomic<int> ended{0};
      std::atomic<int> ran{0};
      auto const at_end = [&] {
        return std::make_shared<AtEnd>([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          ++ended;
        });
      };
      {
        Plan const plan = graph.record([&] {
          for (int k = 0; k < 4; ++k)
            task(
                graph, "tagged", {touches(k % 2 == 0 ? x : y, StateWithEnd{at_end()})},
                [&] { ++ran; }, tagged(TagWithEnd{1 + k % 2, at_end()}));
        });
        graph.replay(plan, 3);
        if (round % 2 == 0) graph.wait();
        EXPECT_EQ(ended, 0);
        graph.replay(plan, 2);
      }
      graph.wait();
      ASSERT_EQ(ran, 4 * 5);
      ASSERT_EQ(ended, 8) << workers << " workers";
    }
  }
}

/// What the main thread has put aside of a graph is destroyed later where that graph lives and ends
/// within a task of another one.
TEST_F(Destructors, OfTagsMayOutliveAGraphWithinATask) {
  int ended = 0;
  TaskGraph outer(with_workers(1));
  Future<void> const whole =
      task(outer, "outer", {},
           [&] {
             TaskGraph inner(with_workers(1));
             inner.add_rule<TagWithEnd>("none", Constraint::ordered,
                                        [](TagWithEnd const&, TagWithEnd const&) { return false; });
             for (int k = 0; k < 3; ++k)
               task(inner, "inner", {},
                    [&] {
                      child(
                          "child", {}, [] {},
                          tagged(TagWithEnd{1, std::make_shared<AtEnd>([&] { ++ended; })}));
                      wait_for_children();
                    },
                    {.main_thread = true});
             inner.wait();
           },
           {.main_thread = true});
  whole.wait();
  outer.wait();
  EXPECT_EQ(ended, 3);
}

TEST_F(Destructors, OfStatesMaySubmit) {
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    Block x("x"), y("y");
    std::atomic<int> ran{0};
    for (int k = 0; k < 200; ++k)
      task(graph, "in a state",
           {touches(x, StateWithEnd{std::make_shared<AtEnd>([&] {
                      task(graph, "from a destructor", {updates(y)}, [&] { ++ran; });
                    })})},
           [] {});
    graph.wait();  // the last ones are held by the table until then
    graph.wait();
    EXPECT_EQ(ran, 200);
  }
}

TEST_F(Destructors, OfTagsAndStatesInARecordMaySubmitWhenTheGraphEnds) {
  std::atomic<int> ran{0};
  {
    TaskGraph graph(recorded(2));
    graph.add_rule<TagWithEnd>(
        "apart", Constraint::exclusive,
        [](TagWithEnd const& a, TagWithEnd const& b) { return a.value == b.value; });
    Block x("x"), y("y");
    for (int k = 0; k < 50; ++k) {
      auto const end = std::make_shared<AtEnd>([&] { task(graph, "last", {}, [&] { ++ran; }); });
      task(
          graph, "tagged", {touches(x, StateWithEnd{end})}, [] {},
          tagged(TagWithEnd{1 + k % 3, end}));
    }
  }
  EXPECT_EQ(ran, 50);
}

TEST_F(Destructors, OfExceptionsMaySubmit) {
  struct Thrown : std::runtime_error {
    explicit Thrown(AtEnd at_end) : std::runtime_error("on purpose"), end(std::move(at_end)) {}
    AtEnd end;
  };
  std::atomic<int> ended{0};
  {
    TaskGraph graph(with_workers(2));
    Block x("x"), y("y");
    for (int k = 0; k < 100; ++k) {
      task(graph, "throws", {updates(x)}, [&]() {
        throw Thrown(AtEnd([&] {
          ++ended;
          if (graph.submitted() < 1000) task(graph, "from a destructor", {updates(y)}, [] {});
        }));
      });
      EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("on purpose"));
    }
  }
  EXPECT_EQ(ended, 100);
}

struct SubmitsWhenCopied {
  std::function<void()> f;
  SubmitsWhenCopied(std::function<void()> in) : f(std::move(in)) {}
  SubmitsWhenCopied(SubmitsWhenCopied const& other) : f(other.f) {
    if (f) f();
  }
  void operator()() const {}
};

TEST_F(Copies, ThatUseTheGraphGetAnErrorAndNothingIsSubmitted) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  Gate gate;
  Future<void> const other = task(graph, "other", {}, [&] { EXPECT_TRUE(gate.pass()); });
  bool armed = false;
  std::function<void()> use;
  SubmitsWhenCopied const functor([&] {
    if (std::exchange(armed, false)) use();
  });
  auto const text_of_use = [&](std::function<void()> f) {
    use = std::move(f);
    return message_of([&] {
      auto const copy = [&](void* storage) {
        armed = true;
        ::new (storage) Body<SubmitsWhenCopied, void>{functor, {}};
      };
      Impl::TaskSpec spec(Label(std::string("copied")), Body<SubmitsWhenCopied, void>::ops,
                          sizeof(Body<SubmitsWhenCopied, void>),
                          alignof(Body<SubmitsWhenCopied, void>), copy);
      Impl::GraphInternals::submit(graph, std::move(spec));
    });
  };
  auto const refused = HasSubstr("uses the graph to which a task is just being submitted");
  EXPECT_THAT(text_of_use([&] { task(graph, "inner", {}, [] {}); }), refused);
  EXPECT_THAT(text_of_use([&] { graph.wait(); }), refused);
  EXPECT_THAT(text_of_use([&] { other.wait(); }), refused);
  EXPECT_EQ(graph.submitted(), 1u);
  gate.open();
  graph.wait();
  EXPECT_EQ(text_of_use([] {}), "no error");
  graph.wait();
}

}  // namespace
}  // namespace trellis
