// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of several graphs: what shares a channel is told, and a thread that waits for one graph
// goes on with the others.
#include "MpiTest.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;

/// Two graphs of all kinds, and messages of this rank to itself, which need no other rank.
class TwoGraphs : public MpiTest {
 protected:
  using List = Kokkos::View<long*, HostSpace>;
  mpi::Communicator const self = mpi::Communicator::duplicate(MPI_COMM_SELF);

  template <class F>
  void with_graphs(F const& f) {
    for (TaskGraphOptions first : kinds_of_graphs())
      for (TaskGraphOptions second : kinds_of_graphs()) {
        first.name = "one";
        second.name = "two";
        TaskGraph one(first), two(second);
        f(one, two);
        (void)text_of([&] { one.wait(); });
        (void)text_of([&] { two.wait(); });
      }
  }
  /// Why `call` is refused; it names both graphs.
  template <class F>
  void expect_refused(F const& call) const {
    EXPECT_THAT(text_of(call), AllOf(HasSubstr("of two uses a channel of " + self.name()),
                                     HasSubstr("of one uses, too")));
  }
};

TEST_F(TwoGraphs, AreToldThatTheyShareAChannel) {
  with_graphs([&](TaskGraph& one, TaskGraph& two) {
    List const x("x", 4), y("y", 4), z("z", 4);
    auto const under_way = mpi::recv(one, self, x, 0, 5);
    expect_refused([&] { mpi::recv(two, self, y, 0, 5); });
    expect_refused([&] { mpi::recv(two, self, y, MPI_ANY_SOURCE, 5); });
    expect_refused([&] { mpi::recv(two, self, y, 0, MPI_ANY_TAG); });
    expect_refused([&] { mpi::sendrecv(two, self, y, 0, 6, z, 0, 5); });
    expect_refused([&] {
      host_task("whole", ResourcePolicy(two, read_write(self), write(y)), [=, this](TaskScope& in) {
        mpi::recv("part", in, self, y, 0, 5);
      }).get();
    });
    (void)text_of([&] { two.wait(); });
    // Other tags and the other direction are free; and so is the channel when the message is over.
    List const w("w", 4), v("v", 4);
    mpi::send(two, self, w, 0, 6);
    mpi::recv(two, self, v, 0, 6);
    mpi::send(two, self, w, 0, 5);
    two.wait();
    one.wait();
    EXPECT_TRUE(under_way.is_done());
    mpi::send(two, self, w, 0, 5);
    mpi::recv(two, self, v, 0, 5);
    two.wait();
  });
}

TEST_F(TwoGraphs, AreToldThatTheyShareCollectiveOperations) {
  for (int const waits : {0, 1}) {
    TaskGraphOptions options;
    options.workers = 2;
    options.name = "one";
    TaskGraph one(options);
    options.name = "two";
    TaskGraph two(options);
    List const x("x", 4), y("y", 4);
    std::atomic<bool> continues{false};
    host_task("late", ResourcePolicy(one, write(x)), [&](TaskScope& scope) {
      if (!continues) scope.respawn();
    });
    mpi::allreduce(one, self, x, mpi::sum);
    if (waits == 0) {
      expect_refused([&] { mpi::allreduce(two, self, y, mpi::sum); });
      expect_refused([&] { mpi::barrier(two, self); });
      continues = true;
    } else {
      continues = true;
      one.wait();
      mpi::allreduce(two, self, y, mpi::sum);
    }
    one.wait();
    two.wait();
  }
}

/// A task that says `read_write(comm)` uses all of it.
TEST_F(TwoGraphs, AreToldOfATaskThatUsesTheCommunicator) {
  TaskGraphOptions options;
  options.workers = 2;
  options.name = "one";
  TaskGraph one(options);
  options.name = "two";
  TaskGraph two(options);
  List const x("x", 4), y("y", 4);
  mpi::send(one, self, x, 0, 1);  // the graph is known
  mpi::recv(one, self, y, 0, 1);
  one.wait();
  std::atomic<bool> continues{false};
  host_task("library", ResourcePolicy(one, read_write(self)), [&](TaskScope& scope) {
    if (!continues) scope.respawn();
  });
  expect_refused([&] { mpi::send(two, self, x, 0, 1); });
  continues = true;
  one.wait();
  mpi::send(two, self, x, 0, 1);
  mpi::recv(two, self, y, 0, 1);
  two.wait();
}

TEST_F(TwoGraphs, AreToldOfPlans) {
  with_graphs([&](TaskGraph& one, TaskGraph& two) {
    List const x("x", 4), y("y", 4), z("z", 4);
    Plan const plan = one.record("receive", [&] { mpi::recv(one, self, x, 0, 5); });
    // Nothing of it runs, now and between two replays.
    for (int round = 0; round < 3; ++round) {
      mpi::send(two, self, y, 0, 5);
      mpi::recv(two, self, z, 0, 5);
      two.wait();
      one.replay(plan);
      expect_refused([&] { mpi::recv(two, self, z, 0, 5); });
      mpi::send(two, self, y, 0, 5);
      two.wait();
      one.wait();
    }
  });
}

/// A replay while the other graph uses the channel fails, as it is known too late to refuse it.
TEST_F(TwoGraphs, FailAReplayThatComesBetween) {
  with_graphs([&](TaskGraph& one, TaskGraph& two) {
    List const x("x", 4), y("y", 4), z("z", 4);
    Plan const plan = two.record("receive", [&] { mpi::recv(two, self, x, 0, 5); });
    mpi::recv(one, self, z, 0, 5);
    two.replay(plan);
    EXPECT_THAT(text_of([&] { two.wait(); }),
                AllOf(HasSubstr("recv of 4"), HasSubstr("of one uses, too")));
    mpi::send(one, self, y, 0, 5);
    one.wait();
  });
}

/// Graphs that come and go are forgotten.
TEST_F(TwoGraphs, MayBeManyOneAfterTheOther) {
  List const x("x", 4), y("y", 4);
  for (int k = 0; k < 100; ++k) {
    TaskGraph graph;
    mpi::send(graph, self, x, 0, 0);
    mpi::recv(graph, self, y, 0, 0);
    mpi::barrier(graph, self);
  }
}

// --- a thread that waits -------------------------------------------------------------------------

/// Of the ranks each waits for its graphs in another order, and what comes in one of them is
/// answered in it, while the thread waits for another one.
TEST_F(TwoGraphs, GoOnWhileAThreadWaitsForTheOther) {
  for (TaskGraphOptions const& options : kinds_of_graphs())
    for (bool const from_a_task : {false, true})
      for (int round = 0; round < 3; ++round) {
        mpi::Communicator const answers = comm.duplicate(), others = comm.duplicate();
        List const a("a", 10), b("b", 10), c("c", 10), d("d", 10);
        TaskGraph one(options), two(options);
        if (rank % 2 == 0 && right != rank) {
          // Answers what the other rank says, in the first graph, and waits in the second one for
          // what the other rank sends when it has the answer.
          int const other = rank + 1;
          if (other < size) {
            mpi::recv(one, answers, a, other, 0);
            mpi::send(one, answers, a, other, 1);
            mpi::recv(two, others, b, other, 0);
            two.wait();
            EXPECT_EQ(b(9), 7);
            one.wait();
          }
        } else if (rank % 2 == 1) {
          int const other = rank - 1;
          std::this_thread::sleep_for(std::chrono::milliseconds(round));
          Kokkos::deep_copy(a, 7);
          mpi::send(one, answers, a, other, 0);
          mpi::recv(one, answers, c, other, 1);
          one.wait();
          EXPECT_EQ(c(9), 7);
          mpi::send(two, others, c, other, 0);
          two.wait();
        }
        if (from_a_task) {
          // A task of a third graph waits for the second one.
          TaskGraph three(options);
          mpi::recv(one, self, d, 0, 2);
          mpi::send(one, self, d, 0, 3);
          auto const last = mpi::recv(two, self, c, 0, 3);
          auto const first = mpi::send(two, self, b, 0, 2);
          host_task("waits", ResourcePolicy(three), [&] { two.wait(); });
          three.wait();
          EXPECT_TRUE(last.is_done() && first.is_done());
          one.wait();
          EXPECT_EQ(c(9), b(9));
        }
      }
}

/// Random chains of messages over three graphs. Each is sent when the one before has come, and the
/// graphs are waited for in any order.
TEST_F(TwoGraphs, GoOnWhicheverIsWaitedForFirst) {
  if (size == 1) GTEST_SKIP() << "with MPICH a message to oneself is sent when it is received";
  constexpr int count = 3;
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<mpi::Communicator> comms;
    std::vector<std::unique_ptr<TaskGraph>> graphs;
    for (int k = 0; k < count; ++k) {
      comms.push_back(comm.duplicate());
      TaskGraphOptions options;
      options.serial = below(2) == 0;
      options.workers = 1 + below(2);
      graphs.push_back(std::make_unique<TaskGraph>(options));
    }
    // A token goes from rank to rank; in each graph a rank receives it and hands it on.
    std::vector<List> tokens;
    for (int k = 0; k < count; ++k) tokens.emplace_back("token", 1);
    List const ends("ends", count);
    int const hops = 2 * size;
    for (int k = 0; k < count; ++k) {
      auto const which = static_cast<std::size_t>(k);
      TaskGraph& graph = *graphs[which];
      List const& token = tokens[which];
      for (int hop = 0; hop < hops; ++hop) {
        if (hop % size == rank) {
          host_task("add", ResourcePolicy(graph, read_write(token)), [=] { token(0) += 1; });
          mpi::send(graph, comms[which], token, right, hop);
        }
        if ((hop + 1) % size == rank) mpi::recv(graph, comms[which], token, left, hop);
      }
    }
    // (Each rank waits in an order of its own.)
    std::vector<int> order{0, 1, 2};
    std::mt19937 mine(seed * 7 + static_cast<unsigned>(rank));
    std::shuffle(order.begin(), order.end(), mine);
    for (int const k : order) graphs[static_cast<std::size_t>(k)]->wait();
    for (int k = 0; rank == 0 && k < count; ++k)
      EXPECT_EQ(tokens[static_cast<std::size_t>(k)](0), hops);
  }
}

}  // namespace
}  // namespace trellis
