// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages to and from one rank.
#include "MpiTest.hpp"

#include <Trellis_Numbers.hpp>

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <complex>
#include <cstddef>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;

class Messages : public MpiTest {
 protected:
  /// `x` of this rank to the right, and what comes from the left to `y`.
  template <class V, class W>
  Future<mpi::Received> shift(TaskGraph& graph, V const& x, W const& y, int tag = 0) {
    mpi::send(graph, comm, x, right, tag);
    return mpi::recv(graph, comm, y, left, tag);
  }
  void meet() const {
    mpi::Guard const guard;
    MPI_Barrier(comm.comm());
  }
};

struct Particle {
  double position[3];
  int species;
  bool operator==(Particle const&) const = default;
};
enum class Color : short { red = 3, green = 5 };

template <class T>
struct Values {
  static T of(int number) { return static_cast<T>(number % 100); }
};
template <>
struct Values<Particle> {
  static Particle of(int number) { return {{number + 0.5, number + 1.0, -1.0 * number}, number}; }
};
template <class T>
struct Values<std::complex<T>> {
  static std::complex<T> of(int number) { return {T(number), T(-number)}; }
};
template <class T>
struct Values<Kokkos::complex<T>> {
  static Kokkos::complex<T> of(int number) { return {T(number), T(-number)}; }
};
template <class T, std::size_t N>
struct Values<std::array<T, N>> {
  static std::array<T, N> of(int number) {
    std::array<T, N> all{};
    std::iota(all.begin(), all.end(), static_cast<T>(number));
    return all;
  }
};

template <class T>
class MessageOf : public Messages {};
using ValueTypes =
    testing::Types<char, signed char, unsigned char, short, unsigned short, int, unsigned, long,
                   unsigned long, long long, unsigned long long, float, double, long double, bool,
                   std::byte, Color, std::complex<float>, std::complex<double>,
                   Kokkos::complex<float>, Kokkos::complex<double>, std::array<int, 3>, Particle>;
TYPED_TEST_SUITE(MessageOf, ValueTypes);

TYPED_TEST(MessageOf, ValuesArrives) {
  using T = TypeParam;
  constexpr int n = 7;
  Kokkos::View<T*, HostSpace> x("x", n), y("y", n);
  for (int i = 0; i < n; ++i) x(i) = Values<T>::of(this->rank * 10 + i);
  TaskGraph graph;
  auto const received = this->shift(graph, x, y);
  EXPECT_EQ(received.get().count, n);
  graph.wait();
  for (int i = 0; i < n; ++i) EXPECT_TRUE(y(i) == Values<T>::of(this->left * 10 + i)) << i;
}

/// Numbers each element by its indices, the last one fastest, from `first` on, or compares.
template <class V, class F>
void for_each_in_order(V const& view, F const& f) {
  Impl::IndexOrder<V::rank()> const order(view, Impl::WireOrder::right);
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(view.size()); ++k)
    f(*(view.data() + order.offset(k)), k);
}
template <class V>
void number(V const& view, long first) {
  for_each_in_order(view, [&](long& element, std::int64_t k) { element = first + k; });
}
template <class V>
void expect_numbers(V const& view, long first) {
  for_each_in_order(view, [&](long element, std::int64_t k) { EXPECT_EQ(element, first + k); });
}

template <class Layout>
class MessageIn : public Messages {
 protected:
  using V = Kokkos::View<long***, Layout, HostSpace>;
  V const a{"a", 5, 6, 7}, b{"b", 5, 6, 7};

  /// `part(view)` of `a` arrives in that of `b`, and nothing else of `b` changes.
  template <class F>
  void expect_arrives(F const& part) {
    for (TaskGraphOptions const& options : kinds_of_graphs()) {
      Kokkos::deep_copy(a, -1);
      Kokkos::deep_copy(b, -2);
      auto const x = part(a);
      auto const y = part(b);
      number(x, 1000 * (this->rank + 1));
      TaskGraph graph(options);
      auto const received = this->shift(graph, x, y).get();
      EXPECT_EQ(received.count, static_cast<std::int64_t>(x.size()));
      EXPECT_EQ(received.source, this->left);
      EXPECT_EQ(received.tag, 0);
      expect_numbers(y, 1000 * (this->left + 1));
      long others = 0;
      for_each_in_order(b, [&](long element, std::int64_t) { others += element == -2; });
      EXPECT_EQ(others, static_cast<long>(b.size() - y.size()));
      graph.wait();
    }
  }
};
using Layouts = testing::Types<Kokkos::LayoutLeft, Kokkos::LayoutRight>;
TYPED_TEST_SUITE(MessageIn, Layouts);

TYPED_TEST(MessageIn, AWholeViewArrives) {
  this->expect_arrives([](auto const& v) { return v; });
}
TYPED_TEST(MessageIn, EachFaceArrives) {
  using Kokkos::ALL;
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, 2, ALL, ALL); });
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, ALL, 3, ALL); });
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, ALL, ALL, 4); });
}
TYPED_TEST(MessageIn, EachEdgeArrives) {
  using Kokkos::ALL;
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, 2, 3, ALL); });
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, 2, ALL, 3); });
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, ALL, 2, 3); });
}
TYPED_TEST(MessageIn, BoxesArrive) {
  using P = std::pair<int, int>;
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, P(1, 4), P(2, 5), P(3, 6)); });
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, 4, P(2, 5), P(3, 6)); });
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, P(1, 2), P(2, 3), P(3, 4)); });
}
TYPED_TEST(MessageIn, ANumberArrives) {
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, 1, 2, 3); });
}
TYPED_TEST(MessageIn, NothingArrives) {
  using P = std::pair<int, int>;
  this->expect_arrives([](auto const& v) { return Kokkos::subview(v, P(1, 1), P(2, 5), P(3, 6)); });
}

TEST_F(Messages, OfOtherStridesFitEachOther) {
  Kokkos::View<long**, Kokkos::LayoutRight, HostSpace> a("a", 8, 9), b("b", 3, 4);
  using P = std::pair<int, int>;
  auto const x = Kokkos::subview(a, P(2, 5), P(1, 5));
  number(x, 100 * (rank + 1));
  TaskGraph graph;
  shift(graph, x, b);
  graph.wait();
  expect_numbers(b, 100 * (left + 1));
}

TEST_F(Messages, MayBeOfConstElements) {
  Kokkos::View<long*, HostSpace> x("x", 3), y("y", 3);
  Kokkos::View<long const*, HostSpace> const same = x;
  number(x, rank);
  TaskGraph graph;
  shift(graph, same, y);
  graph.wait();
  expect_numbers(y, left);
}

TEST_F(Messages, MayBeShorterThanTheirView) {
  using P = std::pair<int, int>;
  for (bool const is_packed : {false, true}) {
    Kokkos::View<long**, Kokkos::LayoutRight, HostSpace> a("a", 10, 2), b("b", 10, 2);
    Kokkos::deep_copy(b, -2);
    auto const x = Kokkos::subview(a, P(0, 3), 0);
    number(x, 10 * (rank + 1));
    Kokkos::View<long*, HostSpace> whole("whole", 10);
    Kokkos::deep_copy(whole, -2);
    TaskGraph graph;
    mpi::send(graph, comm, x, right, 0);
    auto const received = is_packed
                              ? mpi::recv(graph, comm, Kokkos::subview(b, Kokkos::ALL, 1), left, 0)
                              : mpi::recv(graph, comm, whole, left, 0);
    EXPECT_EQ(received.get().count, 3);
    graph.wait();
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(is_packed ? b(i, 1) : whole(i), i < 3 ? 10 * (left + 1) + i : -2);
  }
}

TEST_F(Messages, MayBeAsLongAsATaskSays) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Kokkos::View<long*, HostSpace> x("x", 100), y("y", 100);
    number(x, 1000 * rank);
    TaskGraph graph(options);
    auto const count = host_task("count", ResourcePolicy(graph), [=, this] { return 10 * rank; });
    mpi::send(graph, comm, x, count, right, 4);
    EXPECT_EQ(mpi::recv(graph, comm, y, left, 4).get().count, 10 * left);
    graph.wait();
    for (int i = 0; i < 10 * left; ++i) EXPECT_EQ(y(i), 1000 * left + i);
    auto const too_many = host_task("count", ResourcePolicy(graph), [] { return 101; });
    auto const sent = mpi::send(graph, comm, x, too_many, right, 5);
    EXPECT_THAT(text_of([&] { sent.get(); }),
                AllOf(HasSubstr("101 values"), HasSubstr("there are 100"), HasSubstr("\"x\"")));
    (void)text_of([&] { graph.wait(); });
  }
}

/// Two messages to one peer with one tag arrive in the order of submission, whatever is ready
/// first.
/// A message that is packed is several tasks; the number is that of the one whose future comes.
TEST_F(Messages, MayHaveNumbers) {
  TaskGraph graph;
  TaskNumbers const numbers(graph);
  for (bool const is_packed : {false, true}) {
    TaskNumber const k = numbers.reserve(5);
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> a("a", 6, 4);
    Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> b("b", 6, 4);
    auto const x = Kokkos::subview(a, std::pair(0, 5), std::pair(0, is_packed ? 3 : 4));
    auto const y = Kokkos::subview(b, std::pair(0, 5), std::pair(0, is_packed ? 3 : 4));
    host_task("fill", ResourcePolicy(graph, trellis::number(k)),
              [=, this] { Kokkos::deep_copy(a, 7 + comm.rank()); });
    mpi::send(ResourcePolicy(graph, trellis::number(k + 1), after(k)), comm, x, right, 0);
    mpi::recv(ResourcePolicy(graph, trellis::number(k + 2)), comm, y, left, 0);
    int seen = 0;
    host_task("look", ResourcePolicy(graph, trellis::number(k + 3), after(k + 2)),
              [&] { seen = b(4, 2); });
    mpi::bcast(ResourcePolicy(graph, trellis::number(k + 4), after(k + 3, k + 1)), comm, x, 0);
    graph.wait({k + 4, k + 3, k + 2, k + 1});
    EXPECT_EQ(seen, 7 + left);
    EXPECT_EQ(a(4, 2), 7);
  }
  graph.wait();
}

TEST_F(Messages, WithOneTagKeepTheirOrder) {
  constexpr int count = 40;
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    std::vector<Kokkos::View<int, HostSpace>> out, in;
    for (int k = 0; k < count; ++k) {
      out.emplace_back("out " + std::to_string(k));
      in.emplace_back("in " + std::to_string(k));
    }
    TaskGraph graph(options);
    for (int k = 0; k < count; ++k)
      host_task("make", ResourcePolicy(graph, write(out[k])), [=, view = out[k]] {
        std::this_thread::sleep_for(std::chrono::microseconds(37 * (count - k) % 100));
        view() = k;
      });
    for (int k = 0; k < count; ++k) mpi::send(graph, comm, out[k], right, 1);
    for (int k = 0; k < count; ++k) mpi::recv(graph, comm, in[k], left, 1);
    graph.wait();
    for (int k = 0; k < count; ++k) EXPECT_EQ(in[k](), k);
  }
}

/// With other tags they are free: the second is there though the first has not been sent.
TEST_F(Messages, WithOtherTagsOvertake) {
  if (comm.size() == 1) GTEST_SKIP() << "a message to oneself";
  Kokkos::View<int, HostSpace> a("a"), b("b"), c("c"), d("d");
  TaskGraph graph;
  std::atomic<bool> continues{false};
  host_task("late", ResourcePolicy(graph, write(a)), [&](TaskScope& self) {
    if (!continues) self.respawn();
  });
  mpi::send(graph, comm, a, right, 1);
  mpi::send(graph, comm, b, right, 2);
  auto const first = mpi::recv(graph, comm, c, left, 1);
  mpi::recv(graph, comm, d, left, 2).get();
  EXPECT_FALSE(first.is_done());
  MPI_Barrier(comm.comm());  // nobody has sent the first one yet
  continues = true;
  graph.wait();
}

TEST_F(Messages, OfOneChannelMayBeLong) {
  constexpr int count = 8;
  constexpr int n = 1 << 15;
  Kokkos::View<long**, Kokkos::LayoutRight, HostSpace> x("x", count, n), y("y", count, n);
  number(x, rank);
  TaskGraph graph;
  for (int k = 0; k < count; ++k) {
    mpi::recv(graph, comm, Kokkos::subview(y, k, Kokkos::ALL), left, 0);
    mpi::send(graph, comm, Kokkos::subview(x, k, Kokkos::ALL), right, 0);
  }
  graph.wait();
  expect_numbers(y, left);
}

TEST_F(Messages, FromAnyRankWithAnyTag) {
  if (rank == 0) {
    constexpr int each = 5;
    std::vector<Kokkos::View<int[2], HostSpace>> in;
    std::vector<Future<mpi::Received>> received;
    TaskGraph graph;
    for (int k = 0; k < each * size; ++k) {
      in.emplace_back("in");
      received.push_back(mpi::recv(graph, comm, in.back(), MPI_ANY_SOURCE, MPI_ANY_TAG));
    }
    Kokkos::View<int[2], HostSpace> mine[each];
    for (int k = 0; k < each; ++k) {
      mine[k] = Kokkos::View<int[2], HostSpace>("mine");
      mine[k](1) = k;
      mpi::send(graph, comm, mine[k], 0, k);
    }
    graph.wait();
    // Those with other tags may overtake.
    std::vector<std::vector<int>> tags(static_cast<std::size_t>(size));
    for (std::size_t k = 0; k < in.size(); ++k) {
      mpi::Received const what = received[k].get();
      EXPECT_EQ(what.source, in[k](0));
      EXPECT_EQ(what.tag, in[k](1));
      tags[static_cast<std::size_t>(in[k](0))].push_back(in[k](1));
    }
    for (auto const& of_rank : tags)
      EXPECT_THAT(of_rank, testing::UnorderedElementsAre(0, 1, 2, 3, 4));
  } else {
    TaskGraph graph;
    for (int k = 0; k < 5; ++k) {
      Kokkos::View<int[2], HostSpace> x("x");
      x(0) = rank;
      x(1) = k;
      mpi::send(graph, comm, x, 0, k);
    }
  }
}

TEST_F(Messages, ToNobody) {
  Kokkos::View<int, HostSpace> x("x");
  x() = 5;
  TaskGraph graph;
  mpi::send(graph, comm, x, MPI_PROC_NULL, 0);
  auto const received = mpi::recv(graph, comm, x, MPI_PROC_NULL, 0);
  EXPECT_EQ(received.get().source, MPI_PROC_NULL);
  EXPECT_EQ(received.get().count, 0);
  EXPECT_EQ(x(), 5);
}

TEST_F(Messages, BothWaysInOneTask) {
  using P = std::pair<int, int>;
  for (TaskGraphOptions const& options : kinds_of_graphs())
    for (int packed = 0; packed < 4; ++packed) {
      Kokkos::View<long**, Kokkos::LayoutRight, HostSpace> a("a", 6, 6), b("b", 6, 6);
      Kokkos::View<long*, HostSpace> c("c", 4), d("d", 4);
      auto const x = Kokkos::subview(a, P(1, 5), 2);
      auto const y = Kokkos::subview(b, P(1, 5), 3);
      number(x, 10 * rank);
      number(c, 10 * rank);
      TaskGraph graph(options);
      auto const go = [&](auto const& from, auto const& to) {
        auto const what = mpi::sendrecv(graph, comm, from, right, 7, to, left, 7).get();
        EXPECT_EQ(what.source, left);
        EXPECT_EQ(what.count, 4);
        expect_numbers(to, 10 * left);
      };
      if (packed == 0) go(c, d);
      if (packed == 1) go(x, d);
      if (packed == 2) go(c, y);
      if (packed == 3) go(x, y);
      graph.wait();
    }
}

/// What is before and behind them is ordered by the Views alone.
TEST_F(Messages, AreTasksAmongOthers) {
  constexpr int steps = 30;
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Kokkos::View<long*, HostSpace> x("x", 50), halo("halo", 50);
    TaskGraph graph(options);
    Kokkos::deep_copy(x, rank);
    for (int step = 0; step < steps; ++step) {
      mpi::send("to the right", graph, comm, x, right, 0);
      mpi::recv("from the left", ResourcePolicy(graph, priority(1)), comm, halo, left, 0);
      trellis::parallel_for(
          "add",
          ResourcePolicy(graph, Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, 50),
                         read_write(x), read(halo)),
          KOKKOS_LAMBDA(int i) { x(i) = x(i) * 2 + halo(i) % 1000; });
    }
    graph.wait();
    std::vector<long> all(static_cast<std::size_t>(size)), next(all);
    std::iota(all.begin(), all.end(), 0L);
    for (int step = 0; step < steps; ++step) {
      for (int r = 0; r < size; ++r)
        next[static_cast<std::size_t>(r)] =
            all[static_cast<std::size_t>(r)] * 2 +
            all[static_cast<std::size_t>((r + size - 1) % size)] % 1000;
      all = next;
    }
    for (int i = 0; i < 50; ++i) EXPECT_EQ(x(i), all[static_cast<std::size_t>(rank)]);
  }
}

TEST_F(Messages, AreParts) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Kokkos::View<long*, HostSpace> x("x", 8), y("y", 8);
    number(x, rank);
    TaskGraph graph(options);
    auto const all =
        host_task("exchange", ResourcePolicy(graph, read(x), write(y), read_write(comm)),
                  [=, this](TaskScope& self) {
                    mpi::send(self, comm, x, right, 0);
                    mpi::recv(self, comm, y, left, 0);
                  });
    all.get();
    expect_numbers(y, left);
    graph.wait();
  }
}

// --- what goes wrong -----------------------------------------------------------------------------

TEST_F(Messages, ThatAreTooLongFailTheReceive) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Kokkos::View<double*, HostSpace> x("long", 10), y("short", 4);
    TaskGraph graph(options);
    auto const sent = mpi::send(graph, comm, x, right, 6);
    auto const received =
        mpi::recv("receive it", where_truncation_is_told(graph, sent), comm, y, left, 6);
    mpi::Error const error = error_of([&] { received.get(); });
    EXPECT_EQ(error.error_class(), MPI_ERR_TRUNCATE);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("recv of 4"), HasSubstr("\"short\""), HasSubstr("tag 6"),
                      HasSubstr("rank " + std::to_string(left)), HasSubstr(comm.name())));
    EXPECT_THAT(text_of([&] { graph.wait(); }), HasSubstr("receive it"));
  }
}

TEST_F(Messages, ToARankThatThereIsNotFail) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    // (What depends on a failed task fails with it.)
    Kokkos::View<double*, HostSpace> x("x", 10), z("z", 10), w("w", 10);
    TaskGraph graph(options);
    auto const sent = mpi::send(graph, comm, x, size, 6);
    mpi::Error const error = error_of([&] { sent.get(); });
    EXPECT_EQ(error.error_class(), MPI_ERR_RANK);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("send of 10"), HasSubstr("tag 6"),
                                    HasSubstr("rank " + std::to_string(size))));
    auto const received = mpi::recv(graph, comm, z, -17, 6);
    EXPECT_EQ(error_of([&] { received.get(); }).error_class(), MPI_ERR_RANK);
    auto const tagged = mpi::send(graph, comm, w, 0, -5);
    EXPECT_EQ(error_of([&] { tagged.get(); }).error_class(), MPI_ERR_TAG);
    (void)text_of([&] { graph.wait(); });
    // The graph goes on, and so does the communicator.
    Kokkos::View<double*, HostSpace> y("y", 10);
    shift(graph, x, y);
    graph.wait();
  }
}

TEST_F(Messages, OfMoreThanMpiCountsAreRefused) {
  char nobody_looks = 0;
  Kokkos::View<char*, HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const huge(
      &nobody_looks, std::size_t{1} << 31);
  TaskGraph graph;
  EXPECT_THAT(text_of([&] { mpi::send(graph, comm, huge, right, 0); }),
              AllOf(HasSubstr("send"), HasSubstr("has 2147483648 numbers")));
  EXPECT_THAT(text_of([&] { mpi::bcast(graph, comm, huge, 0); }), HasSubstr("bcast"));
}

/// As `x` of `n` numbers is: in one piece, or packed.
template <class F>
void with_each_kind_of_view(std::size_t n, F const& f) {
  f(Kokkos::View<double*, HostSpace>("x", n));
  Kokkos::View<double**, Kokkos::LayoutRight, HostSpace> const table("x", n, 3);
  f(Kokkos::subview(table, Kokkos::ALL, 1));
}

TEST_F(Messages, ThatAreCancelledEnd) {
  TaskGraphOptions options;
  options.workers = 2;
  with_each_kind_of_view(10, [&](auto const& x) {
    for (bool const both_ways : {false, true}) {
      TaskGraph graph(options);
      auto const received = both_ways
                                ? mpi::sendrecv(graph, comm, x, MPI_PROC_NULL, 99, x, left, 99)
                                : mpi::recv(graph, comm, x, left, 99);
      auto const behind = host_task("behind", ResourcePolicy(graph, read(x)), [] {});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      graph.cancel(received);
      received.wait();
      EXPECT_THAT(text_of([&] { received.get(); }), HasSubstr("recv"));
      EXPECT_THAT(text_of([&] { behind.get(); }), testing::Not(""));
      (void)text_of([&] { graph.wait(); });
      // The channel goes on, when all have cancelled.
      meet();
      Kokkos::View<double*, HostSpace> const y("y", 10);
      mpi::send(graph, comm, x, right, 99);
      EXPECT_EQ(mpi::recv(graph, comm, y, left, 99).get().count, 10);
      graph.wait();
      meet();
    }
  });
}

/// Also as parts of a task that is cancelled as a whole.
TEST_F(Messages, ThatArePartsOfWhatIsCancelledEnd) {
  TaskGraphOptions options;
  options.workers = 2;
  with_each_kind_of_view(10, [&](auto const& x) {
    TaskGraph graph(options);
    auto const whole =
        host_task("whole", ResourcePolicy(graph, read_write(comm), write(x)),
                  [=, this](TaskScope& self) { mpi::recv(self, comm, x, left, 98); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    graph.cancel(whole);
    EXPECT_THAT(text_of([&] { whole.get(); }), HasSubstr("asked for it"));
    (void)text_of([&] { graph.wait(); });
    meet();
  });
}

/// What one way of a sendrecv cannot do ends the other one, before and in plans.
TEST_F(Messages, BothWaysFailTogether) {
  for (TaskGraphOptions const& options : kinds_of_graphs())
    with_each_kind_of_view(2000, [&](auto const& x) {
      with_each_kind_of_view(2000, [&](auto const& y) {
        for (int round = 0; round < 2; ++round) {
          TaskGraph graph(options);
          // Nobody sends or receives what the other way is about.
          auto const exchange = [&] {
            return round == 0 ? mpi::sendrecv(graph, comm, x, size, 1, y, left, 1)
                              : mpi::sendrecv(graph, comm, x, right, 1, y, size, 1);
          };
          auto const failed = exchange();
          EXPECT_EQ(error_of([&] { failed.get(); }).error_class(), MPI_ERR_RANK);
          EXPECT_THAT(text_of([&] { graph.wait(); }),
                      HasSubstr("rank " + std::to_string(size) + ", tag 1"));
        }
        TaskGraph graph(options);
        Plan const plan =
            graph.record("exchange", [&] { mpi::sendrecv(graph, comm, x, size, 1, y, left, 1); });
        graph.replay(plan, 2);
        EXPECT_THAT(text_of([&] { graph.wait(); }), HasSubstr("rank " + std::to_string(size)));
      });
    });
}

/// Of messages and of operations of all ranks.
TEST_F(Messages, ArePackedAsPartsToo) {
  using Table = Kokkos::View<long**, Kokkos::LayoutRight, HostSpace>;
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Table const x("x", 6, 4), y("y", 6, 4);
    Kokkos::View<long**, Kokkos::LayoutLeft, HostSpace> const z("z", 6, 4);
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 4; ++j) x(i, j) = z(i, j) = 100 * rank + 10 * i + j;
    TaskGraph graph(options);
    for (int round = 0; round < 3; ++round)
      host_task("whole", ResourcePolicy(graph, read_write(comm), read(x), write(y), read_write(z)),
                [=, this](TaskScope& self) {
                  using Kokkos::ALL;
                  mpi::send(self, comm, Kokkos::subview(x, ALL, 1), right, 0);
                  mpi::recv(self, comm, Kokkos::subview(y, ALL, 2), left, 0);
                  mpi::sendrecv(self, comm, Kokkos::subview(x, ALL, 3), left, 1,
                                Kokkos::subview(y, ALL, 0), right, 1);
                  mpi::allreduce(self, comm, z, mpi::max);
                });
    graph.wait();
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(y(i, 2), 100 * left + 10 * i + 1);
      EXPECT_EQ(y(i, 0), 100 * right + 10 * i + 3);
      for (int j = 0; j < 4; ++j) EXPECT_EQ(z(i, j), 100 * (size - 1) + 10 * i + j);
    }
  }
}

/// A buffer of a message that has failed is as good as any: another message gets it at once.
TEST_F(Messages, DoNotFailWithOthersThatHadTheirBuffer) {
  using Table = Kokkos::View<double**, Kokkos::LayoutRight, HostSpace>;
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    TaskGraph graph(options);
    for (int round = 0; round < 40; ++round) {
      Table const x("x", 10, 2), y("y", 10, 2), z("z", 10, 2);
      auto const column = [](Table const& table) { return Kokkos::subview(table, Kokkos::ALL, 1); };
      Kokkos::deep_copy(x, round);
      mpi::send(graph, comm, column(z), size, 1).wait();
      mpi::send(graph, comm, column(x), right, 2);
      EXPECT_EQ(mpi::recv(graph, comm, column(y), left, 2).get().count, 10);
      EXPECT_EQ(y(9, 1), round);
    }
    (void)text_of([&] { graph.wait(); });
  }
}

}  // namespace
}  // namespace trellis
