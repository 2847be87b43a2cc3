// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// host_task, space_task and the properties of tasks, as users write them.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include "Timing.hpp"
#include "WithWorkers.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;
using V = Kokkos::View<int*, Kokkos::HostSpace>;

TEST(HostTask, GivesWhatItsCallableReturns) {
  TaskGraph graph(with_workers(2));
  auto const number = host_task("number", ResourcePolicy(graph), [] { return 3; });
  auto const text = host_task("text", ResourcePolicy(graph), [] { return std::string(100, 'x'); });
  auto const nothing = host_task("nothing", ResourcePolicy(graph), [] {});
  static_assert(std::is_same_v<decltype(number), Future<int> const>);
  static_assert(std::is_same_v<decltype(nothing), Future<void> const>);
  EXPECT_EQ(number.get(), 3);
  EXPECT_EQ(text.get().size(), 100u);
  nothing.get();
}

TEST(HostTask, TakesItsViewsTypedByTheAccess) {
  TaskGraph graph(with_workers(2));
  V x("x", 2), y("y", 2);
  host_task("fill", ResourcePolicy(graph, write(x)), [](V const& a) { a(1) = 5; });
  host_task("add", ResourcePolicy(graph, read(x), atomic_add(y)),
            [](read_view<V> const& a, atomic_view<V> const& b) { b(1) += a(1); });
  auto const sum =
      host_task("sum", ResourcePolicy(graph, read(y), read(x)), [](auto const& a, auto const& b) {
        static_assert(std::is_const_v<typename std::remove_cvref_t<decltype(a)>::value_type>);
        return a(1) + b(1);
      });
  EXPECT_EQ(sum.get(), 10);
}

int forty_two() {
  return 42;
}
TEST(HostTask, TakesTheNameOfAFunction) {
  TaskGraph graph;
  EXPECT_EQ(host_task("named", ResourcePolicy(graph), forty_two).get(), 42);
}

TEST(HostTask, TakesCallablesThatCanOnlyBeMoved) {
  TaskGraph graph(with_workers(1));
  auto owner = std::make_unique<int>(4);
  auto const number =
      host_task("move", ResourcePolicy(graph), [owner = std::move(owner)] { return *owner; });
  EXPECT_EQ(number.get(), 4);
}

TEST(HostTask, GivesResultsThatCanOnlyBeMoved) {
  TaskGraph graph(with_workers(1));
  auto const pointer =
      host_task("move", ResourcePolicy(graph), [] { return std::make_unique<int>(4); });
  EXPECT_EQ(*pointer.get(), 4);
}

/// The memory of a small result goes to the thread that drops it last, for results of its own.
template <class Value>
void results_go_from_thread_to_thread() {
  constexpr std::size_t count = 300;
  constexpr std::size_t steps = sanitized ? 10 : 40;
  auto const witness = std::make_shared<int>(0);
  std::vector<std::vector<Future<Value>>> batches(steps + 2);
  TaskGraph graph(with_workers(2));
  for (std::size_t step = 0; step < steps + 2; ++step) {
    std::thread makes([&] {
      for (std::size_t k = 0; step < steps && k < count; ++k)
        batches[step].push_back(host_task("make", ResourcePolicy(graph), [&witness, step, k] {
          return Value{{static_cast<int>(step), static_cast<int>(k)}, witness};
        }));
    });
    std::thread reads([&] {
      for (std::size_t k = 0; step > 0 && k < batches[step - 1].size(); ++k) {
        if (k % 5 == 0) continue;  // may be dropped before its task has run
        Value const value = batches[step - 1][k].get();
        EXPECT_EQ(value.numbers.front(), static_cast<int>(step) - 1);
        EXPECT_EQ(value.numbers[1], static_cast<int>(k));
      }
    });
    std::thread drops([&] {
      if (step > 1) batches[step - 2].clear();
    });
    makes.join();
    reads.join();
    drops.join();
  }
  graph.wait();
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(HostTask, ResultsGoFromThreadToThreadAndThoseEnd) {
  struct Small {
    std::array<int, 2> numbers;
    std::shared_ptr<int> witness;
  };
  struct Large {
    std::array<int, 100> numbers;
    std::shared_ptr<int> witness;
  };
  results_go_from_thread_to_thread<Small>();
  results_go_from_thread_to_thread<Large>();
}

TEST(HostTask, TakesFunctionsAndMutableCallables) {
  TaskGraph graph(with_workers(1));
  static int called;
  called = 0;
  struct Functions {
    static void call() { ++called; }
  };
  host_task("function", ResourcePolicy(graph), &Functions::call).get();
  EXPECT_EQ(called, 1);
  EXPECT_EQ(host_task("mutable", ResourcePolicy(graph), [k = 1]() mutable { return ++k; }).get(),
            2);
}

TEST(HostTask, DoesNotCopyACallableThatIsMovedIn) {
  struct Counted {
    explicit Counted(int& c) : copies(&c) {}
    Counted(Counted const& other) : copies(other.copies) { ++*copies; }
    Counted(Counted&& other) = default;
    void operator()() const {}
    int* copies;
  };
  TaskGraph graph(with_workers(1));
  int copies = 0;
  host_task("moved", ResourcePolicy(graph), Counted(copies)).get();
  EXPECT_EQ(copies, 0);
  Counted const kept(copies);
  host_task("copied", ResourcePolicy(graph), kept).get();
  EXPECT_EQ(copies, 1);
}

TEST(HostTask, TakesLabelsMadeAtRunTime) {
  TaskGraphOptions options = with_workers(1);
  options.record = true;
  TaskGraph graph(options);
  for (int k = 0; k < 3; ++k) host_task("step " + std::to_string(k), ResourcePolicy(graph), [] {});
  std::string const name = "by name";
  host_task(name, ResourcePolicy(graph), [] {});
  graph.wait();
  EXPECT_EQ(graph.dependency_graph().node(3).label, "step 2");
  EXPECT_EQ(graph.dependency_graph().node(4).label, "by name");
}

TEST(HostTask, TokensOrderTasksThatShareNoMemory) {
  TaskGraph graph(with_workers(2));
  Token const file("file"), same = file, other("file");
  for (int repeat = 0; repeat < 30; ++repeat) {
    std::string written;  // guarded by the token
    host_task("write", ResourcePolicy(graph, write(file)), [&] {
      std::this_thread::sleep_for(50us);
      written += 'a';
    });
    host_task("append", ResourcePolicy(graph, read_write(same)), [&] { written += 'b'; });
    EXPECT_EQ(host_task("look", ResourcePolicy(graph, read(file)), [&] { return written; }).get(),
              "ab");
  }
  Rendezvous both(2);
  auto const meet = [&] {
    EXPECT_TRUE(both.meet()) << "another token of the same name is another resource";
  };
  host_task("one", ResourcePolicy(graph, write(file)), meet);
  host_task("two", ResourcePolicy(graph, write(other)), meet);
  graph.wait();
}

TEST(HostTask, PropertiesArriveInAnyOrder) {
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  V x("x", 1);
  auto const first = host_task("first", ResourcePolicy(graph), [] {});
  auto const second = host_task("second", ResourcePolicy(graph), [] { return 1; });
  auto const here = std::this_thread::get_id();
  auto const third = host_task(
      "third", ResourcePolicy(graph, priority(7), read(x), main_thread, after(first, second)),
      [here] { return std::this_thread::get_id() == here; });
  host_task("fourth", ResourcePolicy(graph, synchronizing, write(x)), [] {});
  EXPECT_TRUE(third.get());
  graph.wait();
  auto const dependencies = graph.dependency_graph();
  EXPECT_EQ(dependencies.node(3).priority, 7);
  EXPECT_TRUE(dependencies.node(3).main_thread);
  EXPECT_TRUE(dependencies.node(4).synchronizing);
  EXPECT_EQ(dependencies.predecessors(3), (std::vector<TaskId>{1, 2}));
  EXPECT_EQ(dependencies.predecessors(4), (std::vector<TaskId>{1, 2, 3}));
}

TEST(HostTask, AfterAFutureOfAnotherGraphIsAnError) {
  TaskGraph one(with_workers(1)), other(with_workers(1));
  auto const there = host_task("there", ResourcePolicy(one), [] {});
  Error const error =
      error_of([&] { host_task("here", ResourcePolicy(other, after(there)), [] {}); });
  EXPECT_EQ(error.kind(), Error::Kind::bad_input);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("\"here\""), HasSubstr("another graph")));
}

/// Not everything that names a future is an `after(...)`.
TEST(HostTask, AWrongFutureIsToldAsWhatItIs) {
  TaskGraph one(with_workers(1)), other(with_workers(1));
  auto const there = host_task("there", ResourcePolicy(one), [] { return 1; });
  Future<int> const none;
  auto const taken = [&](Future<int> const& future) {
    return error_of([&] { host_task("here", ResourcePolicy(other, value(future)), [](int) {}); });
  };
  EXPECT_THAT(
      taken(there).what(),
      testing::AllOf(HasSubstr("\"here\""), HasSubstr("to come after a future of another graph"),
                     testing::Not(HasSubstr("after(...)"))));
  EXPECT_THAT(taken(none).what(),
              testing::AllOf(HasSubstr("\"here\""), HasSubstr("TestHostTask.cpp:"),
                             HasSubstr("to come after a future that belongs to no task")));
  EXPECT_THAT(
      error_of([&] { host_task("here", ResourcePolicy(other, after(none)), [] {}); }).what(),
      HasSubstr("to come after a future that belongs to no task"));
}

TEST(HostTask, AWrongTaskNamesItsViewItsLabelAndItsPlace) {
  TaskGraph graph(with_workers(2));
  V x("temperature", 1);
  unsigned const line = __LINE__ + 1;  // where the label stands
  auto const bad = host_task("heat up", ResourcePolicy(graph, read_write(x)),
                             [] { throw std::runtime_error("melted"); });
  auto const reader = host_task("look", ResourcePolicy(graph, read(x)), [] { return 1; });
  for (Error const& error : {error_of([&] { bad.get(); }), error_of([&] { reader.get(); }),
                             error_of([&] { graph.wait(); })})
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr("\"heat up\""), HasSubstr("read_write \"temperature\""),
                               HasSubstr("melted"),
                               HasSubstr(std::string(__FILE__) + ":" + std::to_string(line))));
}

TEST(HostTask, IsDestroyedOnceAndBeforeItsSuccessorsRun) {
  struct Counted {
    std::atomic<int>* alive;
    explicit Counted(std::atomic<int>& counter) : alive(&counter) { ++*alive; }
    Counted(Counted const& other) : alive(other.alive) { ++*alive; }
    ~Counted() { --*alive; }
  };
  TaskGraph graph(with_workers(2));
  V x("x", 1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::atomic<int> alive{0};
    host_task("counted", ResourcePolicy(graph, write(x)), [counted = Counted(alive)] {});
    EXPECT_EQ(host_task("next", ResourcePolicy(graph, read(x)), [&] { return alive.load(); }).get(),
              0);
  }
}

TEST(HostTask, KeepsCapturedViewsAliveAndLetsGoOfThemInTime) {
  TaskGraph graph(with_workers(1));
  Gate gate;
  V kept("kept", 1);
  Future<int> last;
  {
    V x("x", 1000);
    host_task("fill", ResourcePolicy(graph, write(x)), [x, &gate] {
      gate.pass();
      x(999) = 4;
    });
    last = host_task("look", ResourcePolicy(graph, read(x), write(kept)),
                     [x, kept] { return kept(0) = x(999); });
    EXPECT_GT(x.use_count(), 2);
  }  // the caller drops x while both tasks are pending
  gate.open();
  EXPECT_EQ(last.get(), 4);
  EXPECT_EQ(kept.use_count(), 1) << "the task's body is gone when get() returns";
}

TEST(SpaceTask, GetsTheWorkersInstance) {
  TaskGraph graph(with_workers(2));
  V x("x", 100);
  auto const size = space_task("fill", ResourcePolicy(graph, write(x)),
                               [](Kokkos::DefaultExecutionSpace const& space, V const& out) {
                                 Kokkos::parallel_for(
                                     "inner", Kokkos::RangePolicy(space, 0, 100),
                                     KOKKOS_LAMBDA(int i) { out(i) = i; });
                                 return out.extent(0);
                               });
  auto const alone =
      space_task("alone", ResourcePolicy(graph, read(x)), [x](auto const&) { return x(99); });
  EXPECT_EQ(size.get(), 100u);
  EXPECT_EQ(alone.get(), 99);
}

TEST(SpaceTask, RunsOnTheSpaceThatItAsksFor) {
  TaskGraphOptions options = with_workers(1);
  options.record = true;
  TaskGraph graph(options);
  using Space = Kokkos::DefaultHostExecutionSpace;
  space_task("on", ResourcePolicy(graph, on<Space>), [](Space const&) {}).get();
  parallel_for("count", ResourcePolicy(graph, 1, on<Space>), KOKKOS_LAMBDA(int){});
  host_task("host", ResourcePolicy(graph), [] {});
  graph.wait();
  EXPECT_EQ(graph.dependency_graph().node(1).space, Space::name());
  EXPECT_EQ(graph.dependency_graph().node(1).pattern, "space_task");
  EXPECT_EQ(graph.dependency_graph().node(2).space, Space::name());
  EXPECT_EQ(graph.dependency_graph().node(3).space, "host");
}

}  // namespace
}  // namespace trellis
