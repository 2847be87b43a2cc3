// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Failures end with the resource that they are of: what comes to its address later is another one.
#include <Trellis.hpp>
#include <Trellis_Late.hpp>
#include <Trellis_States.hpp>

#include "Seeds.hpp"
#include "Timing.hpp"
#include "WithWorkers.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using View = Kokkos::View<long*, Kokkos::HostSpace>;
using Late = LateView<long*, Kokkos::HostSpace>;

/// Ends well or with a failure; nothing is thrown.
void wait_quietly(TaskGraph& graph) {
  try {
    graph.wait();
  } catch (Error const&) {
  }
}

enum class Ends { well, by_exception, by_cancellation };

/// What a task does to a resource that it does not hold.
template <class Target, class R>
void use(TaskGraph& graph, Target& target, R& resource, Ends how, std::atomic<int>& runs) {
  if constexpr (std::is_same_v<R, Late>) allocate("allocate", ResourcePolicy(target), resource, 10);
  Future<void> const task = host_task("use", ResourcePolicy(target, write(resource)), [how, &runs] {
    if (how == Ends::by_exception) throw std::runtime_error("spoilt");
    ++runs;
  });
  if (how == Ends::by_cancellation) graph.cancel(task);
  task.wait();
}

constexpr int repetitions = 20;

/// Tasks on a resource fail, it is dropped, and a fresh one is used.
template <class Make>
void expect_fresh_ones_work(Make make) {
  for (Ends const how : {Ends::by_exception, Ends::by_cancellation}) {
    TaskGraph graph(with_workers(2));
    std::atomic<int> spoilt{0};
    std::atomic<int> runs{0};
    for (int k = 0; k != repetitions; ++k) {
      {
        auto old = make();
        use(graph, graph, old, how, spoilt);
        if (k % 2 == 0) use(graph, graph, old, Ends::well, spoilt);  // may have been cancelled, too
      }
      auto fresh = make();
      use(graph, graph, fresh, Ends::well, runs);
    }
    EXPECT_EQ(runs, repetitions);
    wait_quietly(graph);
  }
}

/// The same in the body of a task.
template <class Make>
void expect_fresh_ones_work_in_children(Make make) {
  TaskGraph graph(with_workers(2));
  std::atomic<int> spoilt{0};
  std::atomic<int> runs{0};
  host_task("parent", ResourcePolicy(graph), [&](TaskScope& self) {
    for (int k = 0; k != repetitions; ++k) {
      {
        auto old = make();
        self.local(old);
        use(graph, self, old, Ends::by_exception, spoilt);
      }
      auto fresh = make();
      self.local(fresh);
      use(graph, self, fresh, Ends::well, runs);
    }
  });
  wait_quietly(graph);
  EXPECT_EQ(runs, repetitions);
}

template <class Make>
void expect_fresh_ones_work_anywhere(Make make) {
  expect_fresh_ones_work(make);
  expect_fresh_ones_work_in_children(make);
}

class Identities : public Timed {};

TEST_F(Identities, OfViews) {
  expect_fresh_ones_work_anywhere([] { return View("v", 100); });
}
TEST_F(Identities, OfViewsOfSeveralSizesAndLabels) {
  int k = 0;
  expect_fresh_ones_work_anywhere([&] {
    ++k;
    return View("v" + std::to_string(k / 3 % 2), 100 - static_cast<std::size_t>(k % 5));
  });
}
TEST_F(Identities, OfViewsWithoutALabel) {
  expect_fresh_ones_work_anywhere([] { return View("", 100); });
}
/// The last reference to the old one goes with the body of the task that fails, before that has
/// told its successors.
TEST_F(Identities, OfViewsWhileTheTaskThatFailsEnds) {
  /// The last copy lets the View go, and ends when the program says so.
  struct Slow {
    View view;
    std::atomic<int>* stage;
    Slow(View of, std::atomic<int>* in) : view(std::move(of)), stage(in) {}
    Slow(Slow const&) = default;
    Slow& operator=(Slow const&) = delete;
    ~Slow() {
      if (view.use_count() != 1) return;
      view = {};
      *stage = 1;
      while (*stage != 2) std::this_thread::yield();
    }
  };
  for (bool const records : {false, true}) {
    TaskGraphOptions options = with_workers(2);
    options.record = records;
    TaskGraph graph(options);
    std::atomic<int> runs{0};
    for (int k = 0; k != repetitions; ++k) {
      std::atomic<int> stage{0};
      std::atomic<bool> is_open{false};
      View old("v", 100);
      auto const fails = host_task("fails", ResourcePolicy(graph, write(old)),
                                   [&is_open, slow = Slow(old, &stage)] {
                                     while (!is_open) std::this_thread::yield();
                                     throw std::runtime_error("as it should");
                                   });
      old = {};
      is_open = true;
      while (stage != 1) std::this_thread::yield();
      View const fresh("v", 100);
      auto const works =
          host_task("works", ResourcePolicy(graph, read_write(fresh)), [&runs] { ++runs; });
      stage = 2;
      EXPECT_NO_THROW(works.get()) << k;
      while (!fails.is_done()) std::this_thread::yield();
    }
    EXPECT_EQ(runs, repetitions);
    wait_quietly(graph);
  }
}

/// Kokkos keeps 119 letters beside the allocation, and the last ones make room.
TEST_F(Identities, OfViewsWithLongLabels) {
  std::size_t k = 0;
  constexpr std::array<std::size_t, 8> lengths{110, 111, 112, 113, 118, 119, 120, 300};
  expect_fresh_ones_work_anywhere(
      [&] { return View(std::string(lengths[k++ / 4 % lengths.size()], 'x'), 100); });
}
TEST_F(Identities, LeavesLongLabelsAsTheyAre) {
  TaskGraph graph(with_workers(1));
  std::string const label = std::string(115, 'x') + "end";
  View const view(label, 10);
  host_task("fill", ResourcePolicy(graph, write(view)), [](auto const&) {});
  graph.wait();
  EXPECT_EQ(view.label(), label);
}
TEST_F(Identities, OfTokens) {
  expect_fresh_ones_work_anywhere([] { return Token("t"); });
}
TEST_F(Identities, OfLateViews) {
  expect_fresh_ones_work([] { return Late("late"); });
}
TEST_F(Identities, OfIndexSpaces) {
  expect_fresh_ones_work([] { return experimental::IndexSpace<1>("space", {10}); });
}
TEST_F(Identities, OfVectors) {
  expect_fresh_ones_work([] { return std::vector<long>(100); });
}
TEST_F(Identities, OfVectorsAndViewsByTurns) {
  TaskGraph graph(with_workers(2));
  std::atomic<int> spoilt{0};
  std::atomic<int> runs{0};
  for (int k = 0; k != repetitions; ++k) {
    {
      std::vector<long> old(116);  // with its header, a View takes as much
      use(graph, graph, old, Ends::by_exception, spoilt);
    }
    {
      View view("v", 100);
      use(graph, graph, view, Ends::well, runs);
      use(graph, graph, view, Ends::by_exception, spoilt);
    }
    std::vector<long> fresh(116);
    use(graph, graph, fresh, Ends::well, runs);
  }
  EXPECT_EQ(runs, 2 * repetitions);
  wait_quietly(graph);
}

TEST_F(Identities, OfHugeIndexSpacesDoNotEnd) {
  for (int k = 0; k != 100; ++k)
    experimental::IndexSpace<1> const space("huge", {std::int64_t{1} << 59});
}

TEST_F(Identities, StayWithAResourceThatIsKept) {
  auto const expect_cancelled = [](auto resource, auto again) {
    TaskGraph graph(with_workers(2));
    std::atomic<int> runs{0};
    use(graph, graph, resource, Ends::well, runs);
    use(graph, graph, resource, Ends::by_exception, runs);
    use(graph, graph, resource, Ends::well, runs);
    use(graph, graph, again, Ends::well, runs);
    EXPECT_EQ(runs, 1);
    wait_quietly(graph);
    use(graph, graph, again, Ends::well, runs);
    EXPECT_EQ(runs, 2);
  };
  View const view("v", 100);
  expect_cancelled(
      view, Kokkos::View<long*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(view));
  View const with_long_label(std::string(200, 'x'), 100);
  expect_cancelled(with_long_label, Kokkos::subview(with_long_label, Kokkos::pair(5, 10)));
  Token const token("t", 3);
  expect_cancelled(token, token.part(1));
  experimental::IndexSpace<1> const space("space", {10});
  expect_cancelled(space, space.box({3}, {4}));
}

TEST_F(Identities, AreGivenToEachAllocationByTheFirstGraphThatSeesIt) {
  View const view("a label", 10);
  TaskGraph a(with_workers(1)), b(with_workers(1));
  std::atomic<int> runs{0};
  for (TaskGraph* graph : {&a, &b, &a}) use(*graph, *graph, view, Ends::well, runs);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(view.label(), "a label");
  EXPECT_EQ(std::string(view.impl_track().get_record<Kokkos::HostSpace>()->head()->label()),
            "a label");
}

/// Iterations bring Views of their own.
TEST_F(Identities, OfViewsThatIterationsMake) {
  for (bool const keeps : {false, true}) {
    for (bool const by_iterate : {false, true}) {
      TaskGraph graph(with_workers(2));
      std::atomic<int> runs{0};
      View kept;
      auto const iteration = [&](std::uint64_t k) {
        if (kept.data() == nullptr || !keeps || k == 2) {
          kept = View();
          kept = View("v", 100);
        }
        Future<void> const task =
            host_task("use", ResourcePolicy(graph, read_write(kept)), [k, v = kept, &runs] {
              if (k == 5) throw std::runtime_error("sixth");
              ++runs;
            });
        if (k % 3 == 2) task.wait();
      };
      if (by_iterate)
        graph.iterate("loop", 12, iteration);
      else
        for (std::uint64_t k = 0; k != 12; ++k) iteration(k);
      wait_quietly(graph);
      EXPECT_EQ(runs, keeps ? 5 : 11) << keeps << by_iterate;
    }
  }
}

TEST_F(Identities, OfViewsOfPlans) {
  TaskGraph graph(with_workers(2));
  std::atomic<int> runs{0};
  for (int k = 0; k != repetitions; ++k) {
    View const view("v", 100);
    bool const fails = k % 2 == 0;
    Plan const plan = graph.record([&] {
      host_task("use", ResourcePolicy(graph, write(view)), [fails, &runs] {
        if (fails) throw std::runtime_error("spoilt");
        ++runs;
      });
    });
    graph.replay(plan).wait();
    use(graph, graph, view, Ends::well, runs);  // is cancelled where the replay has failed
  }
  EXPECT_EQ(runs, repetitions);
  wait_quietly(graph);
}

TEST_F(Identities, AfterDemotions) {
  TaskGraph graph(with_workers(2));
  std::atomic<int> runs{0};
  for (int k = 0; k != repetitions; ++k) {
    {
      View const old("v", 100);
      host_task("demotes", ResourcePolicy(graph, write(old)), [&](TaskScope& self) {
        self.demote(read(old));
        throw std::runtime_error("spoilt");
      }).wait();
    }
    View const fresh("v", 100);
    use(graph, graph, fresh, Ends::well, runs);
  }
  EXPECT_EQ(runs, repetitions);
  wait_quietly(graph);
}

/// Views come and go in some places, and tasks on them fail now and then.
TEST_F(Identities, InRandomPrograms) {
  for (std::uint64_t const seed : random_program::seeds(2)) {
    std::mt19937_64 random(seed);
    auto const pick = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
    TaskGraphOptions options = with_workers(1 + static_cast<int>(seed % 3));
    options.record = seed % 5 == 0;
    TaskGraph graph(options);
    std::atomic<int> runs{0};
    int expected = 0;
    struct Place {
      View view;
      bool is_spoilt = false;
    };
    std::array<Place, 3> places;
    for (int k = 0; k != 200; ++k) {
      Place& place = places[pick(3)];
      if (place.view.data() == nullptr || pick(4) == 0) {
        place = {};
        place = {View("v", 10 + pick(2)), false};
      }
      if (pick(40) == 0) {
        wait_quietly(graph);
        for (Place& each : places) each.is_spoilt = false;
      }
      bool const fails = pick(10) == 0;
      bool const reads = !fails && pick(3) == 0;
      auto const body = [fails, &runs, v = place.view] {
        if (fails) throw std::runtime_error("spoilt");
        ++runs;
      };
      auto const part = Kokkos::subview(place.view, Kokkos::pair(0, 5));
      Future<void> const task =
          reads          ? host_task("read", ResourcePolicy(graph, read(place.view)), body)
          : pick(3) == 0 ? host_task("part", ResourcePolicy(graph, read_write(part)), body)
                         : host_task("write", ResourcePolicy(graph, read_write(place.view)), body);
      if (!place.is_spoilt && !fails) ++expected;
      place.is_spoilt = place.is_spoilt || fails;
      if (pick(4) == 0) task.wait();
    }
    wait_quietly(graph);
    ASSERT_EQ(runs, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace trellis
