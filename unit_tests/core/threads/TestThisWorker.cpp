// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The index of a worker: bodies that are under way on different threads have different ones, a body
// keeps its own, and they are below a number that is known before.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_ThisWorker.hpp>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class ThisWorker : public Timed {};

/// Indices as they are seen.
class Seen {
 public:
  void add(int index) {
    std::lock_guard const lock(m_mutex);
    m_indices.push_back(index);
  }
  [[nodiscard]] std::set<int> indices() const { return {m_indices.begin(), m_indices.end()}; }
  [[nodiscard]] std::size_t count() const { return m_indices.size(); }
  void expect_distinct_and_below(int bound) const {
    EXPECT_EQ(indices().size(), count());
    for (int index : m_indices) {
      EXPECT_GE(index, 0);
      EXPECT_LT(index, bound);
    }
  }

 private:
  std::mutex m_mutex;
  std::vector<int> m_indices;
};

TEST_F(ThisWorker, HasAnIndexOfItsOwnAmongBodiesAtTheSameTime) {
  for (int workers : {1, 2, 3, 6}) {
    TaskGraph graph(with_workers(workers));
    for (int time = 0; time < 5; ++time) {
      Seen seen;
      Rendezvous all(workers);
      for (int k = 0; k < workers; ++k)
        task(graph, "together", {}, [&] {
          int const index = this_worker::index();
          EXPECT_TRUE(all.meet());
          EXPECT_EQ(this_worker::index(), index);
          seen.add(index);
        });
      graph.wait();
      seen.expect_distinct_and_below(graph.concurrency());
      // With no one but workers and this thread the first ones are enough.
      EXPECT_LE(*seen.indices().rbegin(), workers);
    }
  }
}

TEST_F(ThisWorker, IsAnyThreadThatWaits) {
  constexpr int waiting = 5;
  TaskGraph graph(with_workers(2));
  Seen seen;
  Rendezvous all(waiting + 1);  // with what they run while they wait
  std::vector<std::thread> threads;
  for (int k = 0; k < waiting + 1; ++k)
    task(graph, "together", {}, [&] {
      seen.add(this_worker::index());
      EXPECT_TRUE(all.meet());
    });
  for (int k = 0; k < waiting; ++k) threads.emplace_back([&] { graph.wait(); });
  graph.wait();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.count(), static_cast<std::size_t>(waiting + 1));
  seen.expect_distinct_and_below(graph.concurrency());
}

TEST_F(ThisWorker, KeepsItsIndexWhileItSleepsInsideABody) {
  constexpr int sleeping = 12;
  TaskGraph graph(with_workers(2));
  Seen seen;
  Gate gate;
  auto const last = task(graph, "gate", {}, [&] {
    EXPECT_TRUE(gate.pass());
    seen.add(this_worker::index());
  });
  std::atomic<int> asleep{0};
  for (int k = 0; k < sleeping; ++k)
    task(graph, "sleeps", {}, [&] {
      int const index = this_worker::index();
      seen.add(index);
      if (++asleep == sleeping) gate.open();
      last.wait();
      EXPECT_EQ(this_worker::index(), index);
    });
  graph.wait();
  EXPECT_EQ(seen.count(), static_cast<std::size_t>(sleeping + 1));
  seen.expect_distinct_and_below(graph.concurrency());
}

TEST_F(ThisWorker, IsTheSameForWhatAWaitingBodyRunsOnItsStack) {
  TaskGraph graph(with_workers(1));
  int outer = -1, inner = -1, after_wait = -1;
  task(graph, "outer", {}, [&] {
    outer = this_worker::index();
    child("inner", {}, [&] { inner = this_worker::index(); });
    wait_for_children();
    after_wait = this_worker::index();
  });
  let_the_workers_finish(graph);
  graph.wait();
  EXPECT_GE(outer, 0);
  EXPECT_EQ(inner, outer);
  EXPECT_EQ(after_wait, outer);
}

TEST_F(ThisWorker, IsAnotherOneForChildrenOnOtherThreads) {
  TaskGraph graph(with_workers(3));
  Seen seen;
  task(graph, "whole", {}, [&] {
    Rendezvous all(3);
    for (int k = 0; k < 3; ++k)
      child("child", {}, [&] {
        seen.add(this_worker::index());
        EXPECT_TRUE(all.meet());
      });
    wait_for_children();
  });
  graph.wait();
  seen.expect_distinct_and_below(graph.concurrency());
}

TEST_F(ThisWorker, IsThatOfTheInnermostGraph) {
  TaskGraph outer(with_workers(1));
  int before = -1, within = -1, after_wait = -1;
  bool on_one_thread = false;
  task(outer, "outer", {}, [&] {
    before = this_worker::index();
    TaskGraph inner(with_workers(1));  // whose main thread is this one
    Properties bound;
    bound.main_thread = true;
    task(
        inner, "inner", {},
        [&, here = std::this_thread::get_id()] {
          within = this_worker::index();
          on_one_thread = std::this_thread::get_id() == here;
        },
        bound);
    inner.wait();
    after_wait = this_worker::index();
  });
  let_the_workers_finish(outer);
  outer.wait();
  EXPECT_TRUE(on_one_thread);
  EXPECT_EQ(before, 1);  // not the main thread
  EXPECT_EQ(within, 0);  // the main thread
  EXPECT_EQ(after_wait, 1);
}

TEST_F(ThisWorker, IsTheOnlyOneOfASerialGraph) {
  TaskGraphOptions options = with_workers(4);
  options.serial = true;
  TaskGraph graph(options);
  EXPECT_EQ(graph.concurrency(), 1);
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      for (int time = 0; time < 10; ++time)
        task(graph, "alone", {}, [&] {
          EXPECT_EQ(this_worker::index(), 0);
          child("child", {}, [] { EXPECT_EQ(this_worker::index(), 0); });
        });
    });
  for (std::thread& thread : threads) thread.join();
  graph.wait();
}

TEST_F(ThisWorker, IsNobodyOutsideOfBodies) {
  auto const ask = [] { (void)this_worker::index(); };
  EXPECT_EQ(error_of(ask).kind(), Error::Kind::bad_input);
  EXPECT_NE(message_of(ask).find("runs no task's body"), std::string::npos);
  TaskGraph graph(with_workers(1));
  std::atomic<int> told{0};
  struct AsksAtItsEnd {
    std::atomic<int>* told;
    AsksAtItsEnd(std::atomic<int>* whom) : told(whom) {}
    AsksAtItsEnd(AsksAtItsEnd&& other) noexcept : told(std::exchange(other.told, nullptr)) {}
    ~AsksAtItsEnd() {
      if (told != nullptr && message_of([] { (void)this_worker::index(); }) != "no error") ++*told;
    }
    void operator()() const { EXPECT_GE(this_worker::index(), 0); }
  };
  task(graph, "asks", {}, AsksAtItsEnd(&told));
  graph.wait();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(error_of(ask).kind(), Error::Kind::bad_input);
}

/// Whose an index is: bodies come and go on the stacks of threads.
class Claims {
 public:
  explicit Claims(int bound) : m_owners(static_cast<std::size_t>(bound)) {}

  class Claim {
   public:
    explicit Claim(Claims& claims) : m_owner(claims.m_owners.at(index())) {
      std::thread::id const here = std::this_thread::get_id();
      m_before = m_owner.exchange(here);
      EXPECT_TRUE(m_before == std::thread::id() || m_before == here) << "index " << m_index;
      ++claims.m_count;
    }
    Claim(Claim const&) = delete;
    Claim& operator=(Claim const&) = delete;
    ~Claim() {
      EXPECT_EQ(this_worker::index(), static_cast<int>(m_index));
      EXPECT_EQ(m_owner.exchange(m_before), std::this_thread::get_id());
    }

   private:
    std::size_t index() { return m_index = static_cast<std::size_t>(this_worker::index()); }
    std::size_t m_index;
    std::atomic<std::thread::id>& m_owner;
    std::thread::id m_before;
  };

  [[nodiscard]] int count() const { return m_count; }

 private:
  std::vector<std::atomic<std::thread::id>> m_owners;
  std::atomic<int> m_count{0};
};

TEST_F(ThisWorker, ClaimsItsIndexWhateverTasksDo) {
  TaskGraph graph(with_workers(3));
  Claims claims(graph.concurrency());
  Block field("field", 8);
  auto const work = [&claims](auto const& self, int depth) -> void {
    Claims::Claim const claim(claims);
    if (depth == 0) return;
    std::vector<Future<void>> children;
    for (int k = 0; k < 3; ++k)
      children.push_back(child("child", {}, [=] { self(self, depth - 1); }));
    if (depth % 2 == 0)
      wait_for_children();
    else
      children[1].wait();
  };
  auto const submit = [&](int thread) {
    for (int k = 0; k < 30; ++k) {
      auto const plain = task(graph, "plain", {updates(field(static_cast<std::size_t>(thread), 1))},
                              [&] { Claims::Claim const claim(claims); });
      task(graph, "tree", {}, [work] { work(work, 3); });
      if (k % 5 == 0)
        task(graph, "waits", {}, [&, plain] {
          Claims::Claim const claim(claims);
          plain.wait();
        });
      if (k % 10 == 9) graph.wait();
    }
  };
  Plan const plan = graph.record("plan", [&] {
    for (int k = 0; k < 6; ++k)
      task(graph, "recorded", {}, [&] { Claims::Claim const claim(claims); });
  });
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) threads.emplace_back([&, k] { submit(k); });
  for (int k = 0; k < 20; ++k) graph.replay(plan, 3);
  submit(3);
  for (std::thread& thread : threads) thread.join();
  graph.wait();
  EXPECT_EQ(claims.count(), 4 * 30 * (1 + 40) + 4 * 6 + 20 * 3 * 6);
}

}  // namespace
}  // namespace trellis
