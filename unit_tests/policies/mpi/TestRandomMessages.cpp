// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs of messages, collective operations and local tasks, each on all ranks, against
// one thread that plays all ranks.
#include "MpiTest.hpp"
#include "Seeds.hpp"

#include <Trellis_Scheduling.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;

class RandomMessages : public MpiTest {};

constexpr int blocks = 5;   // of a rank
constexpr int length = 12;  // of a block
using Numbers = Kokkos::View<std::int64_t**, Kokkos::LayoutRight, HostSpace>;

/// A part of a block, with so many indices in two directions. `Shape` says how its View lies there:
/// in one piece or as every second element, as a line, or with its first or its second index as the
/// faster one.
enum class Shape { line, left, right, line_with_gaps, left_with_gaps, right_with_gaps };
struct Piece {
  int block = 0;
  int begin = 0;
  int rows = 1;
  int columns = length;
  Shape shape = Shape::line;
  [[nodiscard]] int count() const { return rows * columns; }
  [[nodiscard]] int gap() const { return shape >= Shape::line_with_gaps ? 2 : 1; }
  [[nodiscard]] bool is_line() const {
    return shape == Shape::line || shape == Shape::line_with_gaps;
  }
  [[nodiscard]] bool is_left() const {
    return shape == Shape::left || shape == Shape::left_with_gaps;
  }
  /// The place in the block of the element with this number, the second index fastest.
  [[nodiscard]] int place(int i) const {
    int const in_memory = is_left() ? i / columns + i % columns * rows : i;
    return gap() * (begin + in_memory);
  }
};

struct Step {
  enum class What { compute, send, shift, allreduce, bcast, scan, gather, barrier } what;
  int from = 0, to = 0, tag = 0;
  Piece a, b;
  int delay = 0;
  bool is_part = false;  ///< of a task that declares what it touches
};

std::int64_t mixed(std::int64_t x, std::int64_t y, int k) {
  return (x * 31 + y * 17 + k) % 1000003;
}

std::int64_t& element(Numbers const& all, Piece const& piece, int i) {
  return all(piece.block, piece.place(i));
}

std::vector<Step> make_program(std::mt19937& random, int ranks, int steps) {
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Step> program;
  for (int k = 0; k < steps; ++k) {
    Step step{};
    int const dice = below(20);
    step.what = dice < 7    ? Step::What::compute
                : dice < 13 ? Step::What::send
                : dice < 15 ? Step::What::shift
                : dice < 16 ? Step::What::allreduce
                : dice < 17 ? Step::What::bcast
                : dice < 18 ? Step::What::scan
                : dice < 19 ? Step::What::gather
                            : Step::What::barrier;
    step.from = below(ranks);
    step.to = below(ranks);
    step.tag = below(3);
    step.delay = below(8) == 0 ? below(200) : 0;
    step.is_part = below(4) == 0;
    int const rows = 1 + below(4);
    int const columns = 1 + below(length / rows);
    auto const piece = [&] {
      return Piece{below(blocks), below(length - rows * columns + 1), rows, columns,
                   static_cast<Shape>(below(6))};
    };
    step.a = piece();
    step.b = piece();
    // What is sent and received by one task, or by one rank, must not be the same memory.
    step.b.block = (step.a.block + 1 + below(blocks - 1)) % blocks;
    program.push_back(step);
  }
  return program;
}

/// What the steps mean, one after the other, for all ranks.
void play(std::vector<Step> const& program, std::vector<Numbers> const& of_rank) {
  int const ranks = static_cast<int>(of_rank.size());
  for (Step const& step : program) {
    auto const all = [&](int rank) { return of_rank[static_cast<std::size_t>(rank)]; };
    auto const read_all = [&](int rank, Piece const& piece) {
      std::vector<std::int64_t> got;
      for (int i = 0; i < piece.count(); ++i) got.push_back(element(all(rank), piece, i));
      return got;
    };
    auto const write_all = [&](int rank, Piece const& piece,
                               std::vector<std::int64_t> const& what) {
      for (int i = 0; i < piece.count(); ++i)
        element(all(rank), piece, i) = what[static_cast<std::size_t>(i)];
    };
    switch (step.what) {
      case Step::What::compute:
        for (int r = 0; r < ranks; ++r)
          for (int i = 0; i < step.a.count(); ++i)
            element(all(r), step.b, i) =
                mixed(element(all(r), step.b, i), element(all(r), step.a, i), r);
        break;
      case Step::What::send:
        write_all(step.to, step.b, read_all(step.from, step.a));
        break;
      case Step::What::shift: {
        std::vector<std::vector<std::int64_t>> sent;
        for (int r = 0; r < ranks; ++r) sent.push_back(read_all(r, step.a));
        for (int r = 0; r < ranks; ++r)
          write_all((r + 1) % ranks, step.b, sent[static_cast<std::size_t>(r)]);
        break;
      }
      case Step::What::bcast: {
        auto const sent = read_all(step.from, step.a);
        for (int r = 0; r < ranks; ++r) write_all(r, step.a, sent);
        break;
      }
      case Step::What::allreduce:
      case Step::What::scan: {
        std::vector<std::int64_t> sums(static_cast<std::size_t>(step.a.count()), 0);
        for (int r = 0; r < ranks; ++r) {
          auto const mine = read_all(r, step.a);
          for (std::size_t i = 0; i < mine.size(); ++i) sums[i] += mine[i];
          if (step.what == Step::What::scan) write_all(r, step.b, sums);
        }
        if (step.what == Step::What::allreduce)
          for (int r = 0; r < ranks; ++r) write_all(r, step.b, sums);
        break;
      }
      case Step::What::gather: {  // the first number of each, if they fit
        if (ranks > step.b.count()) break;
        Piece line = step.b;
        line.shape = line.gap() > 1 ? Shape::line_with_gaps : Shape::line;
        for (int r = 0; r < ranks; ++r) element(all(step.to), line, r) = element(all(r), step.a, 0);
        break;
      }
      case Step::What::barrier:
        break;
    }
  }
}

class Submitting {
 public:
  Submitting(mpi::Communicator const& comm, Numbers const& mine) : m_comm(comm), m_mine(mine) {}

  void submit(TaskGraph& graph, Step const& step) const {
    if (!step.is_part) return submit_to(graph, step);
    with(step.a, [&](auto const& a) {
      with(step.b, [&](auto const& b) {
        host_task(
            "whole", ResourcePolicy(graph, read_write(m_comm), read_write(a), read_write(b)),
            [step, all = *this](TaskScope& self, auto const&...) { all.submit_to(self, step); });
      });
    });
  }

 private:
  template <class Where>
  void submit_to(Where& where, Step const& step) const {
    using What = Step::What;
    int const rank = m_comm.rank();
    int const size = m_comm.size();
    switch (step.what) {
      case What::compute:
        return with(step.a, [&](auto const& a) {
          with(step.b, [&](auto const& b) {
            host_task("compute", ResourcePolicy(where, read(a), read_write(b)),
                      [=, delay = step.delay] {
                        if (delay > 0)
                          std::this_thread::sleep_for(std::chrono::microseconds(delay));
                        for (int i = 0; i < static_cast<int>(a.size()); ++i)
                          at(b, i) = mixed(at(b, i), at(a, i), rank);
                      });
          });
        });
      case What::send:
        if (step.from == rank)
          with(step.a, [&](auto const& a) { mpi::send(where, m_comm, a, step.to, step.tag); });
        if (step.to == rank)
          with(step.b, [&](auto const& b) { mpi::recv(where, m_comm, b, step.from, step.tag); });
        return;
      case What::shift:
        return with(step.a, [&](auto const& a) {
          with(step.b, [&](auto const& b) {
            mpi::sendrecv(where, m_comm, a, (rank + 1) % size, step.tag, b,
                          (rank + size - 1) % size, step.tag);
          });
        });
      case What::bcast:
        return with(step.a, [&](auto const& a) { mpi::bcast(where, m_comm, a, step.from); });
      case What::allreduce:
        return with(step.a, [&](auto const& a) {
          with(step.b, [&](auto const& b) { mpi::allreduce(where, m_comm, a, b, mpi::sum); });
        });
      case What::scan:
        return with(step.a, [&](auto const& a) {
          with(step.b, [&](auto const& b) { mpi::scan(where, m_comm, a, b, mpi::sum); });
        });
      case What::gather:
        if (size > step.b.count()) return;
        return with_line(step.a, 1, [&](auto const& a) {
          with_line(step.b, size,
                    [&](auto const& b) { mpi::gather(where, m_comm, a, b, step.to); });
        });
      case What::barrier:
        mpi::barrier(where, m_comm);
        return;
    }
  }
  template <class V>
  static std::int64_t& at(V const& view, int i) {
    if constexpr (V::rank() == 1) {
      return view(i);
    } else {
      int const columns = static_cast<int>(view.extent(1));
      return view(i / columns, i % columns);
    }
  }
  [[nodiscard]] std::int64_t* first(Piece const& piece) const {
    return &m_mine(piece.block, piece.place(0));
  }
  using Plain = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using Line = Kokkos::View<std::int64_t*, Kokkos::LayoutRight, HostSpace, Plain>;
  using Table = Kokkos::View<std::int64_t**, Kokkos::LayoutStride, HostSpace, Plain>;
  /// Of a piece in a line, or as one: so many elements.
  template <class F>
  void with_line(Piece const& piece, int count, F const& f) const {
    std::size_t const n = static_cast<std::size_t>(count);
    if (piece.gap() == 1)
      f(Line(first(piece), n));
    else
      f(Table(first(piece), Kokkos::LayoutStride(1, 2 * n, n, 2)));
  }
  /// (Few types take less time to compile; MessageLayouts has those of all layouts.)
  template <class F>
  void with(Piece const& piece, F const& f) const {
    if (piece.is_line()) return with_line(piece, piece.count(), f);
    std::size_t const rows = static_cast<std::size_t>(piece.rows);
    std::size_t const columns = static_cast<std::size_t>(piece.columns);
    std::size_t const gap = static_cast<std::size_t>(piece.gap());
    f(Table(first(piece), piece.is_left()
                              ? Kokkos::LayoutStride(rows, gap, columns, gap * rows)
                              : Kokkos::LayoutStride(rows, gap * columns, columns, gap)));
  }
  mpi::Communicator m_comm;
  Numbers m_mine;
};

Numbers start(int rank) {
  Numbers all("numbers of a rank", blocks, 2 * length);
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < 2 * length; ++i) all(b, i) = 1000 * rank + 100 * b + i;
  return all;
}

void run(mpi::Communicator const& comm, unsigned seed) {
  std::mt19937 random(seed);
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int const steps = 1 + below(50);
  auto const before = make_program(random, comm.size(), steps);
  auto const repeated = make_program(random, comm.size(), 1 + below(20));
  auto const behind = make_program(random, comm.size(), below(20));
  int const rounds = below(4);
  bool const is_planned = below(2) == 0;

  TaskGraphOptions options;
  options.workers = 1 + below(3);
  options.serial = below(5) == 0;
  if (below(3) == 0) options.policy = make_shake_policy(seed + static_cast<unsigned>(comm.rank()));
  if (below(4) == 0) options.in_flight = static_cast<std::size_t>(2 + below(10));

  Numbers const mine = start(comm.rank());
  {
    TaskGraph graph(options);
    Submitting const submitting(comm, mine);
    for (Step const& step : before) submitting.submit(graph, step);
    auto const round = [&] {
      for (Step const& step : repeated) submitting.submit(graph, step);
    };
    if (is_planned && rounds > 0) {
      Plan const plan = graph.record("round", round);
      for (int k = 0; k < rounds; ++k) graph.replay(plan);
    } else {
      for (int k = 0; k < rounds; ++k) round();
    }
    for (Step const& step : behind) submitting.submit(graph, step);
    graph.wait();
  }
  std::vector<Numbers> all;
  for (int r = 0; r < comm.size(); ++r) all.push_back(start(r));
  play(before, all);
  for (int k = 0; k < rounds; ++k) play(repeated, all);
  play(behind, all);
  Numbers const& expected = all[static_cast<std::size_t>(comm.rank())];
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < 2 * length; ++i)
      ASSERT_EQ(mine(b, i), expected(b, i)) << "block " << b << ", number " << i;
}

TEST_F(RandomMessages, GiveWhatOneThreadGives) {
  // Ranks that share cores take much longer, and more ranks show little more.
  for (std::uint64_t const seed : random_program::seeds(size > 2 ? 1 : 3)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(comm, static_cast<unsigned>(seed));
    int has_failed = HasFailure() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &has_failed, 1, MPI_INT, MPI_MAX, comm.comm());
    if (has_failed != 0) return;
  }
}

}  // namespace
}  // namespace trellis
