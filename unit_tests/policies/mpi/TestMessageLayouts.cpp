// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements keep their indices from one rank to the other, whatever the two layouts are.
#include "MpiTest.hpp"

#include <Trellis_Observation.hpp>

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <string>
#include <type_traits>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;

constexpr int ways_to_lie = 7;  ///< of memory, see AnyView
/// A View of rank 3 (or 2, where its last extent is 1) in memory of its own. It lies there in one
/// piece or not, in any order of its directions; and no other element of the memory is touched.
struct AnyView {
  using Strided = Kokkos::View<long***, Kokkos::LayoutStride, HostSpace>;
  static constexpr long untouched = -7;
  Kokkos::View<long*, HostSpace> memory;
  Strided view;
  int kind;

  AnyView(int kind_, std::array<std::size_t, 3> const& n) : kind(kind_) {
    // The order of the directions, the fastest one first, and gaps between elements and rows.
    static constexpr int orders[ways_to_lie][3] = {{2, 1, 0}, {0, 1, 2}, {1, 0, 2}, {2, 1, 0},
                                                   {0, 1, 2}, {1, 2, 0}, {2, 0, 1}};
    std::size_t const gap = kind >= 3 && kind != 4 ? 2 : 1;
    std::size_t const padding = kind >= 4 ? 1 : 0;
    std::size_t strides[3];
    std::size_t next = gap;
    for (int const direction : orders[kind]) {
      strides[direction] = next;
      next *= n[static_cast<std::size_t>(direction)] + padding;
    }
    memory = Kokkos::View<long*, HostSpace>("memory", next);
    Kokkos::deep_copy(memory, untouched);
    view = Strided(memory.data(),
                   Kokkos::LayoutStride(n[0], strides[0], n[1], strides[1], n[2], strides[2]));
  }
  /// As the layout that it is, where it is one.
  template <class F>
  void with(F const& f) const {
    auto const n = [&](std::size_t k) { return view.extent(k); };
    using Plain = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    if (kind == 0)
      f(Kokkos::View<long***, Kokkos::LayoutRight, HostSpace, Plain>(view.data(), n(0), n(1),
                                                                     n(2)));
    else if (kind == 1)
      f(Kokkos::View<long***, Kokkos::LayoutLeft, HostSpace, Plain>(view.data(), n(0), n(1), n(2)));
    else
      f(view);
  }
  void fill(long first) const {
    for_each([&](int i, int j, int k) { view(i, j, k) = first + 100 * i + 10 * j + k; });
  }
  void expect(long first) const {
    for_each([&](int i, int j, int k) {
      EXPECT_EQ(view(i, j, k), first + 100 * i + 10 * j + k) << i << ' ' << j << ' ' << k;
    });
    long others = 0;
    for (std::size_t at = 0; at < memory.size(); ++at) others += memory(at) == untouched;
    EXPECT_EQ(others, static_cast<long>(memory.size() - view.size()));
  }
  template <class F>
  void for_each(F const& f) const {
    for (int i = 0; i < static_cast<int>(view.extent(0)); ++i)
      for (int j = 0; j < static_cast<int>(view.extent(1)); ++j)
        for (int k = 0; k < static_cast<int>(view.extent(2)); ++k) f(i, j, k);
  }
};

class MessageLayouts : public MpiTest {
 protected:
  mpi::Communicator const left_comm = comm.duplicate(Kokkos::LayoutLeft());
  static std::vector<std::array<std::size_t, 3>> shapes() {
    return {{2, 3, 4}, {3, 3, 1}, {1, 4, 4}, {2, 1, 3}, {1, 5, 1}, {1, 1, 1}, {2, 0, 3}};
  }
  static long first(int of_rank) { return 1000 * (of_rank + 1); }
  /// How many tasks pack and unpack while `submit(graph)` runs.
  template <class F>
  static int packings(F const& submit) {
    std::atomic<int> count{0};
    TaskGraphOptions options;
    options.workers = 2;
    options.observer = [&](TaskEvent const& event) {
      if (event.state == TaskState::done && event.label.find("pack") != event.label.npos) ++count;
    };
    {
      TaskGraph graph(options);
      submit(graph);
      graph.wait();
    }
    return count;
  }
};

TEST_F(MessageLayouts, OfEachPairKeepIndices) {
  std::vector<TaskGraphOptions> const graphs = kinds_of_graphs();
  int pair = 0;
  for (mpi::Communicator const& on : {comm, left_comm})
    for (auto const& shape : shapes())
      for (int from = 0; from < ways_to_lie; ++from)
        for (int to = 0; to < ways_to_lie; ++to) {
          SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
          AnyView const x(from, shape), y(to, shape), z(to, shape);
          x.fill(first(rank));
          TaskGraph graph(graphs[static_cast<std::size_t>(++pair) % graphs.size()]);
          x.with([&](auto const& out) {
            y.with([&](auto const& in) {
              mpi::send(graph, on, out, right, 1);
              EXPECT_EQ(mpi::recv(graph, on, in, left, 1).get().count, std::int64_t(in.size()));
            });
            z.with([&](auto const& in) { mpi::sendrecv(graph, on, out, left, 2, in, right, 2); });
          });
          graph.wait();
          y.expect(first(left));
          z.expect(first(right));
        }
}

/// Each rank has another layout.
TEST_F(MessageLayouts, OfCollectivesKeepIndices) {
  for (mpi::Communicator const& on : {comm, left_comm})
    for (int k = 0; k < ways_to_lie; ++k)
      for (int root = 0; root < size; ++root) {
        TaskGraph graph;
        AnyView const all((k + rank) % ways_to_lie, {2, 3, 4});
        if (rank == root) all.fill(first(root));
        all.with([&](auto const& x) { mpi::bcast(graph, on, x, root); });
        AnyView const mine((k + 2 * rank) % ways_to_lie, {2, 3, 4}),
            most((3 * k + rank) % ways_to_lie, {2, 3, 4});
        mine.fill(first(rank));
        mine.with([&](auto const& x) {
          most.with([&](auto const& y) { mpi::allreduce(graph, on, x, y, mpi::max); });
        });
        graph.wait();
        all.expect(first(root));
        most.expect(first(size - 1));
        mine.with([&](auto const& x) { mpi::allreduce(graph, on, x, mpi::min); });
        graph.wait();
        mine.expect(first(0));
      }
}

/// The first index is the rank; with the other order, the last one.
TEST_F(MessageLayouts, OfPartsOfRanksKeepIndices) {
  std::size_t const ranks = static_cast<std::size_t>(size);
  for (bool const is_left : {false, true})
    for (int k = 0; k < ways_to_lie; ++k) {
      mpi::Communicator const& on = is_left ? left_comm : comm;
      std::array<std::size_t, 3> const one{2, 3, 1}, many{2, 3, ranks}, row{1, 2, 3},
          rows{ranks, 2, 3};
      AnyView const mine((k + rank) % ways_to_lie, is_left ? one : row);
      AnyView const all((2 * k + rank) % ways_to_lie, is_left ? many : rows);
      AnyView const out((3 * k + rank) % ways_to_lie, is_left ? many : rows);
      AnyView const back((k + 2 * rank) % ways_to_lie, is_left ? many : rows);
      auto const value = [](int of_rank, int a, int b, int to) {
        return long{1000} * of_rank + 100 * a + 10 * b + to;
      };
      auto const indices = [&](int i, int j, int l) {
        return is_left ? std::array{l, i, j} : std::array{i, j, l};  // the rank first
      };
      mine.for_each([&](int i, int j, int l) {
        auto const [none, a, b] = indices(i, j, l);
        mine.view(i, j, l) = value(rank, a, b, none);
      });
      out.for_each([&](int i, int j, int l) {
        auto const [to, a, b] = indices(i, j, l);
        out.view(i, j, l) = value(rank, a, b, to);
      });
      TaskGraph graph;
      mine.with([&](auto const& x) {
        all.with([&](auto const& y) { mpi::allgather(graph, on, x, y); });
      });
      out.with([&](auto const& x) {
        back.with([&](auto const& y) { mpi::alltoall(graph, on, x, y); });
      });
      graph.wait();
      all.for_each([&](int i, int j, int l) {
        auto const [of, a, b] = indices(i, j, l);
        EXPECT_EQ(all.view(i, j, l), value(of, a, b, 0));
        EXPECT_EQ(back.view(i, j, l), value(of, a, b, rank));
      });
    }
}

TEST_F(MessageLayouts, ThatLieAsTheyTravelAreNotPacked) {
  using Right = Kokkos::View<long**, Kokkos::LayoutRight, HostSpace>;
  using Left = Kokkos::View<long**, Kokkos::LayoutLeft, HostSpace>;
  auto const exchange = [&](mpi::Communicator const& on, auto const& x, auto const& y) {
    return packings([&](TaskGraph& graph) {
      mpi::send(graph, on, x, right, 0);
      mpi::recv(graph, on, y, left, 0);
    });
  };
  Right const a("a", 4, 5), b("b", 4, 5);
  Left const c("c", 4, 5), d("d", 4, 5);
  EXPECT_EQ(exchange(comm, a, b), 0);
  EXPECT_EQ(exchange(left_comm, c, d), 0);
  EXPECT_EQ(exchange(comm, c, d), 2);
  EXPECT_EQ(exchange(left_comm, a, b), 2);
  // A line is one piece, however it was cut out.
  std::pair<int, int> const third(2, 3);
  EXPECT_EQ(
      exchange(comm, Kokkos::subview(c, Kokkos::ALL, 2), Kokkos::subview(a, 1, std::pair(0, 4))),
      0);
  Kokkos::View<long*, HostSpace> const line("line", 4);
  EXPECT_EQ(exchange(comm, Kokkos::subview(c, Kokkos::ALL, 2), line), 0);
  EXPECT_EQ(exchange(comm, Kokkos::subview(c, Kokkos::ALL, third), line), 0);
  EXPECT_EQ(exchange(left_comm, Kokkos::subview(c, Kokkos::ALL, third), line), 0);
}

TEST_F(MessageLayouts, GoOnInCopiesOfTheCommunicator) {
  Kokkos::View<long**, Kokkos::LayoutLeft, HostSpace> const x("x", 3, 4), y("y", 3, 4);
  for (mpi::Communicator const& on : {left_comm.duplicate(), left_comm.split(0, rank)})
    EXPECT_EQ(
        packings([&](TaskGraph& graph) { mpi::sendrecv(graph, on, x, right, 0, y, left, 0); }), 0);
  mpi::Communicator const back = left_comm.duplicate(Kokkos::LayoutRight());
  EXPECT_EQ(
      packings([&](TaskGraph& graph) { mpi::sendrecv(graph, back, x, right, 0, y, left, 0); }), 2);
}

TEST_F(MessageLayouts, AreTheSameOnAllRanks) {
  if (size == 1) GTEST_SKIP() << "there is one rank";
  EXPECT_THAT(text_of([&] {
                if (rank == 0)
                  (void)comm.duplicate(Kokkos::LayoutLeft());
                else
                  (void)comm.duplicate();
              }),
              HasSubstr("some ranks duplicate " + comm.name()));
}

}  // namespace
}  // namespace trellis
