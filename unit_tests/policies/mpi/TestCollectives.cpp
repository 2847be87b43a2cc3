// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collective operations, each against the call of MPI that it stands for.
#include "MpiTest.hpp"

#include <gmock/gmock.h>

#include <complex>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;
using P = std::pair<int, int>;

/// How a View lies in memory: as it is, or every second element of a longer one, which is packed.
enum class Lies { in_one_piece, with_gaps };

class Collectives : public MpiTest {
 protected:
  using Strided = Kokkos::View<double*, Kokkos::LayoutStride, HostSpace>;

  /// So many numbers, which differ from rank to rank.
  Strided numbers(int n, Lies how, int from) const {
    Strided const view = empty(n, how);
    for (int i = 0; i < n; ++i) view(i) = from + i * 3 + rank * 100;
    return view;
  }
  static Strided empty(int n, Lies how) {
    if (how == Lies::in_one_piece)
      return Kokkos::View<double*, Kokkos::LayoutRight, HostSpace>("piece", n);
    return Kokkos::subview(Kokkos::View<double**, Kokkos::LayoutRight, HostSpace>("gaps", n, 2),
                           Kokkos::ALL, 1);
  }
  static std::vector<double> of(Strided const& view) {
    std::vector<double> all;
    for (std::size_t i = 0; i < view.extent(0); ++i) all.push_back(view(i));
    return all;
  }
  /// `trellis(graph, how)` gives what `bare()` gives, in graphs of all kinds and with all Views.
  template <class Tasks, class Bare>
  void expect_same(Tasks const& tasks, Bare const& bare) {
    for (TaskGraphOptions const& options : kinds_of_graphs())
      for (Lies const how : {Lies::in_one_piece, Lies::with_gaps}) {
        TaskGraph graph(options);
        Strided const got = tasks(graph, how);
        graph.wait();
        EXPECT_EQ(of(got), bare()) << static_cast<int>(how);
      }
  }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(size); }
  MPI_Comm const raw = comm.comm();
};

TEST_F(Collectives, Bcast) {
  for (int root = 0; root < size; ++root)
    expect_same(
        [&](TaskGraph& graph, Lies how) {
          auto const x = numbers(5, how, root);
          mpi::bcast(graph, comm, x, root);
          return x;
        },
        [&] {
          auto x = of(numbers(5, Lies::in_one_piece, root));
          MPI_Bcast(x.data(), 5, MPI_DOUBLE, root, raw);
          return x;
        });
}

TEST_F(Collectives, Reduce) {
  for (int root = 0; root < size; ++root)
    expect_same(
        [&](TaskGraph& graph, Lies how) {
          auto const y = empty(rank == root ? 5 : 0, how);
          mpi::reduce(graph, comm, numbers(5, how, 1), y, mpi::sum, root);
          return y;
        },
        [&] {
          auto const x = of(numbers(5, Lies::in_one_piece, 1));
          std::vector<double> y(5);
          MPI_Reduce(x.data(), y.data(), 5, MPI_DOUBLE, MPI_SUM, root, raw);
          y.resize(rank == root ? 5 : 0);
          return y;
        });
}

TEST_F(Collectives, Allreduce) {
  auto const bare = [&] {
    auto x = of(numbers(5, Lies::in_one_piece, 1));
    MPI_Allreduce(MPI_IN_PLACE, x.data(), 5, MPI_DOUBLE, MPI_MAX, raw);
    return x;
  };
  expect_same(
      [&](TaskGraph& graph, Lies how) {
        auto const x = numbers(5, how, 1);
        mpi::allreduce(graph, comm, x, mpi::max);
        return x;
      },
      bare);
  expect_same(
      [&](TaskGraph& graph, Lies how) {
        auto const y = empty(5, how);
        mpi::allreduce(graph, comm, numbers(5, how, 1), y, mpi::max);
        return y;
      },
      bare);
}

TEST_F(Collectives, Scan) {
  auto const bare = [&] {
    auto x = of(numbers(5, Lies::in_one_piece, 1));
    MPI_Scan(MPI_IN_PLACE, x.data(), 5, MPI_DOUBLE, MPI_SUM, raw);
    return x;
  };
  expect_same(
      [&](TaskGraph& graph, Lies how) {
        auto const x = numbers(5, how, 1);
        mpi::scan(graph, comm, x, mpi::sum);
        return x;
      },
      bare);
  expect_same(
      [&](TaskGraph& graph, Lies how) {
        auto const y = empty(5, how);
        mpi::scan(graph, comm, numbers(5, how, 1), y, mpi::sum);
        return y;
      },
      bare);
}

TEST_F(Collectives, Exscan) {
  expect_same(
      [&](TaskGraph& graph, Lies how) {
        auto const x = numbers(5, how, 1);
        mpi::exscan(graph, comm, x, mpi::sum);
        return rank == 0 ? empty(0, how) : x;
      },
      [&] {
        auto x = of(numbers(5, Lies::in_one_piece, 1));
        MPI_Exscan(MPI_IN_PLACE, x.data(), 5, MPI_DOUBLE, MPI_SUM, raw);
        if (rank == 0) x.clear();
        return x;
      });
}

TEST_F(Collectives, Gather) {
  for (int root = 0; root < size; ++root)
    expect_same(
        [&](TaskGraph& graph, Lies how) {
          auto const y = empty(rank == root ? 4 * size : 0, how);
          mpi::gather(graph, comm, numbers(4, how, 1), y, root);
          return y;
        },
        [&] {
          auto const x = of(numbers(4, Lies::in_one_piece, 1));
          std::vector<double> y(rank == root ? 4 * ranks() : 0);
          MPI_Gather(x.data(), 4, MPI_DOUBLE, y.data(), 4, MPI_DOUBLE, root, raw);
          return y;
        });
}

TEST_F(Collectives, Scatter) {
  for (int root = 0; root < size; ++root)
    expect_same(
        [&](TaskGraph& graph, Lies how) {
          auto const y = empty(4, how);
          mpi::scatter(graph, comm, numbers(rank == root ? 4 * size : 0, how, 1), y, root);
          return y;
        },
        [&] {
          auto const x = of(numbers(4 * size, Lies::in_one_piece, 1));
          std::vector<double> y(4);
          MPI_Scatter(x.data(), 4, MPI_DOUBLE, y.data(), 4, MPI_DOUBLE, root, raw);
          return y;
        });
}

TEST_F(Collectives, Allgather) {
  expect_same(
      [&](TaskGraph& graph, Lies how) {
        auto const y = empty(4 * size, how);
        mpi::allgather(graph, comm, numbers(4, how, 1), y);
        return y;
      },
      [&] {
        auto const x = of(numbers(4, Lies::in_one_piece, 1));
        std::vector<double> y(4 * ranks());
        MPI_Allgather(x.data(), 4, MPI_DOUBLE, y.data(), 4, MPI_DOUBLE, raw);
        return y;
      });
}

TEST_F(Collectives, Alltoall) {
  expect_same(
      [&](TaskGraph& graph, Lies how) {
        auto const y = empty(3 * size, how);
        mpi::alltoall(graph, comm, numbers(3 * size, how, 1), y);
        return y;
      },
      [&] {
        auto const x = of(numbers(3 * size, Lies::in_one_piece, 1));
        std::vector<double> y(3 * ranks());
        MPI_Alltoall(x.data(), 3, MPI_DOUBLE, y.data(), 3, MPI_DOUBLE, raw);
        return y;
      });
}

/// Rank r has r + 1 elements; the parts have a gap of two between them when they have places.
class Parts : public Collectives {
 protected:
  std::vector<int> counts() const {
    std::vector<int> all(ranks());
    std::iota(all.begin(), all.end(), 1);
    return all;
  }
  std::vector<int> places(bool with_gaps) const {
    std::vector<int> all;
    int next = 0;
    for (int const count : counts()) {
      all.push_back(next);
      next += count + (with_gaps ? 2 : 0);
    }
    return all;
  }
  int whole(bool with_gaps) const { return places(with_gaps).back() + size; }
};

TEST_F(Parts, OfAnySizeAreGathered) {
  for (bool const with_gaps : {false, true})
    for (int root = 0; root < size; ++root)
      expect_same(
          [&](TaskGraph& graph, Lies how) {
            auto const y = empty(rank == root ? whole(with_gaps) : 0, how);
            auto const x = numbers(rank + 1, how, 1);
            if (with_gaps)
              mpi::gatherv(graph, comm, x, y, counts(), places(true), root);
            else
              mpi::gatherv(graph, comm, x, y, counts(), root);
            return y;
          },
          [&] {
            auto const x = of(numbers(rank + 1, Lies::in_one_piece, 1));
            std::vector<double> y(rank == root ? static_cast<std::size_t>(whole(with_gaps))
                                               : std::size_t{0});
            MPI_Gatherv(x.data(), rank + 1, MPI_DOUBLE, y.data(), counts().data(),
                        places(with_gaps).data(), MPI_DOUBLE, root, raw);
            return y;
          });
}

TEST_F(Parts, OfAnySizeAreGatheredByAll) {
  for (bool const with_gaps : {false, true})
    expect_same(
        [&](TaskGraph& graph, Lies how) {
          auto const y = empty(whole(with_gaps), how);
          auto const x = numbers(rank + 1, how, 1);
          if (with_gaps)
            mpi::allgatherv(graph, comm, x, y, counts(), places(true));
          else
            mpi::allgatherv(graph, comm, x, y, counts());
          return y;
        },
        [&] {
          auto const x = of(numbers(rank + 1, Lies::in_one_piece, 1));
          std::vector<double> y(static_cast<std::size_t>(whole(with_gaps)));
          MPI_Allgatherv(x.data(), rank + 1, MPI_DOUBLE, y.data(), counts().data(),
                         places(with_gaps).data(), MPI_DOUBLE, raw);
          return y;
        });
}

TEST_F(Parts, OfAnySizeAreScattered) {
  for (bool const with_gaps : {false, true})
    for (int root = 0; root < size; ++root)
      expect_same(
          [&](TaskGraph& graph, Lies how) {
            auto const y = empty(rank + 1, how);
            auto const x = numbers(rank == root ? whole(with_gaps) : 0, how, 1);
            if (with_gaps)
              mpi::scatterv(graph, comm, x, counts(), places(true), y, root);
            else
              mpi::scatterv(graph, comm, x, counts(), y, root);
            return y;
          },
          [&] {
            auto const x = of(numbers(whole(with_gaps), Lies::in_one_piece, 1));
            std::vector<double> y(static_cast<std::size_t>(rank + 1));
            MPI_Scatterv(x.data(), counts().data(), places(with_gaps).data(), MPI_DOUBLE, y.data(),
                         rank + 1, MPI_DOUBLE, root, raw);
            return y;
          });
}

TEST_F(Parts, OfAnySizeGoToAll) {
  std::vector<int> const in(ranks(), rank + 1);
  std::vector<int> in_places(ranks());
  for (int r = 0; r < size; ++r) in_places[static_cast<std::size_t>(r)] = r * (rank + 1);
  for (bool const with_gaps : {false, true})
    expect_same(
        [&](TaskGraph& graph, Lies how) {
          auto const y = empty(size * (rank + 1), how);
          auto const x = numbers(whole(with_gaps), how, 1);
          if (with_gaps)
            mpi::alltoallv(graph, comm, x, counts(), places(true), y, in, in_places);
          else
            mpi::alltoallv(graph, comm, x, counts(), y, in);
          return y;
        },
        [&] {
          auto const x = of(numbers(whole(with_gaps), Lies::in_one_piece, 1));
          std::vector<double> y(ranks() * static_cast<std::size_t>(rank + 1));
          MPI_Alltoallv(x.data(), counts().data(), places(with_gaps).data(), MPI_DOUBLE, y.data(),
                        in.data(), in_places.data(), MPI_DOUBLE, raw);
          return y;
        });
}

TEST_F(Parts, ThatDoNotFitAreRefused) {
  if (rank != 0) return;  // nothing is started
  TaskGraph graph;
  auto const x = empty(1, Lies::in_one_piece);
  auto const y = empty(size, Lies::in_one_piece);
  std::vector<int> ones(ranks(), 1);
  std::vector<int> too_few(ranks() - 1, 1);
  std::vector<int> too_many(ranks(), 2);
  std::vector<int> negative(ranks(), -1);
  EXPECT_THAT(text_of([&] { mpi::gatherv(graph, comm, x, y, too_few, 0); }),
              AllOf(HasSubstr("gatherv"), HasSubstr(std::to_string(size - 1) + " counts")));
  EXPECT_THAT(text_of([&] { mpi::gatherv(graph, comm, x, y, too_many, 0); }),
              HasSubstr("the View has " + std::to_string(size)));
  EXPECT_THAT(text_of([&] { mpi::allgatherv(graph, comm, x, y, negative); }),
              HasSubstr("-1 elements"));
  EXPECT_THAT(text_of([&] { mpi::alltoallv(graph, comm, y, ones, y, too_many); }),
              HasSubstr("alltoallv"));
  EXPECT_THAT(text_of([&] { mpi::gather(graph, comm, y, empty(0, Lies::in_one_piece), 0); }),
              HasSubstr("gather needs"));
  EXPECT_THAT(text_of([&] {
                mpi::allreduce(graph, comm, y, empty(size + 1, Lies::in_one_piece), mpi::sum);
              }),
              HasSubstr("allreduce needs"));
}

TEST_F(Collectives, BarrierIsOverWhenAllHaveCome) {
  TaskGraph graph;
  for (int k = 0; k < 20; ++k) mpi::barrier(graph, comm);
  mpi::barrier("the last one", graph, comm).get();
}

// --- operators -----------------------------------------------------------------------------------

struct Vector {
  double x, y;
};
/// The larger one counts; on equal ones the first rank's.
struct Longest {
  static constexpr bool is_commutative = false;
  Vector operator()(Vector const& a, Vector const& b) const {
    return b.x * b.x + b.y * b.y > a.x * a.x + a.y * a.y ? b : a;
  }
};
struct Point {
  double x, y, z;
};

}  // namespace
}  // namespace trellis

template <>
struct trellis::mpi::NumbersOf<trellis::Point> {
  using type = double;
  static constexpr int count = 3;
};

namespace trellis {
namespace {

class Operators : public MpiTest {
 protected:
  /// Of `f(rank)`.
  template <class T, class Op, class F>
  T all(Op op, F const& f) {
    Kokkos::View<T*, HostSpace> x("x", 3);
    for (int i = 0; i < 3; ++i) x(i) = f(rank);
    TaskGraph graph;
    mpi::allreduce(graph, comm, x, op).get();
    return x(2);
  }
};

TEST_F(Operators, OfWholeNumbers) {
  int sum = 0, band = -1, bor = 0, bxor = 0;
  bool land = true, lor = false, lxor = false;
  for (int r = 0; r < size; ++r) {
    sum += r + 1;
    band &= r + 5;
    bor |= r + 5;
    bxor ^= r + 5;
    land = land && r % 2;
    lor = lor || r % 2;
    lxor = lxor != (r % 2 != 0);
  }
  EXPECT_EQ(all<int>(mpi::sum, [](int r) { return r + 1; }), sum);
  EXPECT_EQ(all<std::int8_t>(mpi::min, [](int r) { return std::int8_t(r - 1); }), -1);
  EXPECT_EQ(all<char>(mpi::max, [](int r) { return char('a' + r); }), char('a' + size - 1));
  EXPECT_EQ(all<unsigned>(mpi::band, [](int r) { return unsigned(r + 5); }), unsigned(band));
  EXPECT_EQ(all<long>(mpi::bor, [](int r) { return long{r + 5}; }), bor);
  EXPECT_EQ(all<short>(mpi::bxor, [](int r) { return short(r + 5); }), bxor);
  EXPECT_EQ(all<bool>(mpi::land, [](int r) { return r % 2 != 0; }), land);
  EXPECT_EQ(all<bool>(mpi::lor, [](int r) { return r % 2 != 0; }), lor);
  EXPECT_EQ(all<bool>(mpi::lxor, [](int r) { return r % 2 != 0; }), lxor);
}

TEST_F(Operators, OfComplexNumbers) {
  using C = Kokkos::complex<double>;
  C product(1, 0);
  for (int r = 0; r < size; ++r) product *= C(r + 1, 1);
  EXPECT_EQ(all<C>(mpi::prod, [](int r) { return C(r + 1, 1); }), product);
}

TEST_F(Operators, OfValuesWithAPlace) {
  using MinLoc = Kokkos::ValLocScalar<double, long>;
  auto const least = all<MinLoc>(mpi::min_loc, [&](int r) { return MinLoc{-1.0 * (r / 2), r}; });
  EXPECT_EQ(least.val, -((size - 1) / 2));
  EXPECT_EQ(least.loc, (size - 1) / 2 * 2);
  auto const most = all<MinLoc>(mpi::max_loc, [&](int r) { return MinLoc{1.0 * (r / 2), r}; });
  EXPECT_EQ(most.val, (size - 1) / 2);
  EXPECT_EQ(most.loc, (size - 1) / 2 * 2);
}

TEST_F(Operators, OfTheUsersOwn) {
  auto const longest = all<Vector>(Longest(), [&](int r) {
    return Vector{r % 2 == 0 ? -3.0 : 3.0, static_cast<double>(r) / 1000 * (r > 100)};
  });
  EXPECT_EQ(longest.x, -3.0);  // rank 0's
  EXPECT_EQ(longest.y, 0.0);
}

TEST_F(Operators, OfStructsOfNumbersGoNumberByNumber) {
  auto const most = all<Point>(mpi::max, [&](int r) { return Point{1.0 * r, -1.0 * r, 7}; });
  EXPECT_EQ(most.x, size - 1);
  EXPECT_EQ(most.y, 0);
  EXPECT_EQ(most.z, 7);
  auto const sums =
      all<Kokkos::Array<int, 2>>(mpi::sum, [](int r) { return Kokkos::Array<int, 2>{{r, 1}}; });
  EXPECT_EQ(sums[0], size * (size - 1) / 2);
  EXPECT_EQ(sums[1], size);
}

// --- order ---------------------------------------------------------------------------------------

/// Ready in another order on each rank, they are started in the order of submission on all.
TEST_F(Collectives, KeepTheirOrderOnAllRanks) {
  constexpr int count = 30;
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    std::vector<Kokkos::View<long*, HostSpace>> x;
    TaskGraph graph(options);
    for (int k = 0; k < count; ++k) {
      x.emplace_back("x", 1 + k % 5);
      host_task("make", ResourcePolicy(graph, write(x[static_cast<std::size_t>(k)])),
                [=, this, view = x.back()] {
                  volatile long spent = 0;
                  for (int i = 0; i < (k * 7 + rank * 13) % 11 * 3000; ++i) spent = spent + i;
                  for (std::size_t i = 0; i < view.extent(0); ++i) view(i) = k + rank;
                });
    }
    for (int k = 0; k < count; ++k) {
      auto const& view = x[static_cast<std::size_t>(k)];
      if (k % 3 == 0)
        mpi::allreduce(graph, comm, view, mpi::sum);
      else if (k % 3 == 1)
        mpi::bcast(graph, comm, view, k % size);
      else
        mpi::scan(graph, comm, view, mpi::sum);
    }
    graph.wait();
    for (int k = 0; k < count; ++k) {
      long const expected = k % 3 == 0   ? size * k + size * (size - 1) / 2
                            : k % 3 == 1 ? k + k % size
                                         : (rank + 1) * k + rank * (rank + 1) / 2;
      for (std::size_t i = 0; i < x[static_cast<std::size_t>(k)].extent(0); ++i)
        EXPECT_EQ(x[static_cast<std::size_t>(k)](i), expected) << k;
    }
  }
}

TEST_F(Collectives, WithARootThatThereIsNotFail) {
  Kokkos::View<double*, HostSpace> x("x", 10);
  TaskGraph graph;
  auto const sent = mpi::bcast(graph, comm, x, size + 3);
  mpi::Error const error = error_of([&] { sent.get(); });
  EXPECT_EQ(error.error_class(), MPI_ERR_ROOT);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("bcast of 10"), HasSubstr("\"x\""),
                                  HasSubstr("root " + std::to_string(size + 3))));
  (void)text_of([&] { graph.wait(); });
  mpi::allreduce(graph, comm, x, mpi::sum).get();
}

TEST_F(Collectives, NameTheirRootIfTheyHaveOne) {
  auto const text = [&](Impl::CollectiveCall&& call) {
    return Impl::Collective(Impl::CommunicatorInternals::state(comm), std::move(call)).describe();
  };
  EXPECT_THAT(text(Impl::call_of<int>("gather", &Impl::begin_gather, 0)),
              HasSubstr(", root 0, on"));
  EXPECT_THAT(text(Impl::call_of<int>("allgather", &Impl::begin_allgather)),
              testing::Not(HasSubstr("root")));
}

}  // namespace
}  // namespace trellis
