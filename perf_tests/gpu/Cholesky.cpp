// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A = L L^T in tiles, right-looking, with small kernels of its own: what is compared is the order
// that they are run in, not the kernels.
#include "Parts.hpp"
#include "Stamps.hpp"

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpu {
namespace {

using TiledMatrix = Kokkos::View<double****, Kokkos::LayoutRight, Memory>;
using Teams = Kokkos::TeamPolicy<Space>;
using Range = Kokkos::RangePolicy<Space>;
using Square = Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>>;

/// L of a tile, by one team.
struct Factor {
  Matrix a;
  Stamp stamp;
  KOKKOS_FUNCTION void operator()(Teams::member_type const& team) const {
    stamp.start(team.team_rank() == 0);
    int const n = static_cast<int>(a.extent(0));
    for (int k = 0; k < n; ++k) {
      Kokkos::single(Kokkos::PerTeam(team), [&] { a(k, k) = Kokkos::sqrt(a(k, k)); });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k + 1, n),
                           [&](int i) { a(i, k) /= a(k, k); });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k + 1, n), [&](int i) {
        for (int j = k + 1; j <= i; ++j) a(i, j) -= a(i, k) * a(j, k);
      });
      team.team_barrier();
    }
    stamp.stop(team.team_rank() == 0);
  }
};

/// A tile below: row by row.
struct Solve {
  Matrix l;
  Matrix a;
  Stamp stamp;
  KOKKOS_FUNCTION void operator()(int i) const {
    stamp.start(i % 32 == 0);
    int const n = static_cast<int>(l.extent(0));
    for (int j = 0; j < n; ++j) {
      double sum = a(i, j);
      for (int k = 0; k < j; ++k) sum -= a(i, k) * l(j, k);
      a(i, j) = sum / l(j, j);
    }
    stamp.stop(i % 32 == 0);
  }
};

/// c -= a b^T
struct UpdateTile {
  Matrix a;
  Matrix b;
  Matrix c;
  Stamp stamp;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    stamp.start(j % 32 == 0);
    int const n = static_cast<int>(a.extent(1));
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += a(i, k) * b(j, k);
    c(i, j) -= sum;
    stamp.stop(j % 32 == 0);
  }
};

struct Spread {
  TiledMatrix a;
  KOKKOS_FUNCTION void operator()(int i, int j) const {  // symmetric, with a heavy diagonal
    int const block = static_cast<int>(a.extent(2));
    int const n = block * static_cast<int>(a.extent(0));
    a(i / block, j / block, i % block, j % block) =
        i == j ? n : 1.0 / (1 + (i > j ? i - j : j - i));
  }
};

struct Problem {
  Problem(int tiles_, int block_)
      : tiles(tiles_),
        block(block_),
        given("given", std::size_t(tiles), std::size_t(tiles), std::size_t(block),
              std::size_t(block)),
        a("a", std::size_t(tiles), std::size_t(tiles), std::size_t(block), std::size_t(block)) {
    Kokkos::parallel_for(Square({0, 0}, {tiles * block, tiles * block}), Spread{given});
    for (int i = 0; i < tiles; ++i)
      for (int j = 0; j <= i; ++j)
        tile.push_back(
            Kokkos::subview(a, std::size_t(i), std::size_t(j), Kokkos::ALL, Kokkos::ALL));
    reset();
  }
  void reset() const {
    Kokkos::deep_copy(a, given);
    Kokkos::fence();
  }
  [[nodiscard]] Matrix const& at(int i, int j) const {
    return tile[static_cast<std::size_t>(i * (i + 1) / 2 + j)];
  }
  [[nodiscard]] std::size_t kernels() const {
    std::size_t count = 0;
    for (int k = 0; k < tiles; ++k) {
      auto const below = static_cast<std::size_t>(tiles - 1 - k);
      count += 1 + below + below * (below + 1) / 2;
    }
    return count;
  }
  [[nodiscard]] Stamp stamp(std::size_t kernel) const {
    return stamps == nullptr ? Stamp{} : stamps->at(kernel);
  }
  [[nodiscard]] std::vector<double> values() const {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
    return {host.data(), host.data() + host.size()};
  }
  /// |L L^T x - A x| / |A x| for one x.
  [[nodiscard]] double residual() const {
    auto const l = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
    auto const original = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), given);
    int const n = tiles * block;
    auto const element = [&](auto const& view, int i, int j) {
      return view(i / block, j / block, i % block, j % block);
    };
    std::vector<double> x, y(std::size_t(n), 0.0);
    for (int i = 0; i < n; ++i) x.push_back(std::sin(1.0 + i));
    for (int i = 0; i < n; ++i)
      for (int j = i; j < n; ++j) y[std::size_t(i)] += element(l, j, i) * x[std::size_t(j)];
    double error = 0, size = 0;
    for (int i = 0; i < n; ++i) {
      double ours = 0, right = 0;
      for (int j = 0; j <= i; ++j) ours += element(l, i, j) * y[std::size_t(j)];
      for (int j = 0; j < n; ++j) right += element(original, i, j) * x[std::size_t(j)];
      error += (ours - right) * (ours - right);
      size += right * right;
    }
    return std::sqrt(error / size);
  }

  int tiles, block;
  TiledMatrix given, a;
  std::vector<Matrix> tile;  ///< of the lower half
  std::shared_ptr<Stamps> stamps;
};

void submit_all(trellis::TaskGraph& graph, Problem const& problem) {
  using trellis::read, trellis::read_write, trellis::ResourcePolicy;
  int const n = problem.block;
  std::size_t number = 0;
  for (int k = 0; k < problem.tiles; ++k) {
    Matrix const& diagonal = problem.at(k, k);
    trellis::parallel_for("factor",
                          ResourcePolicy(graph, Teams(1, Kokkos::AUTO), read_write(diagonal)),
                          Factor{diagonal, problem.stamp(number++)});
    for (int i = k + 1; i < problem.tiles; ++i) {
      Matrix const& below = problem.at(i, k);
      trellis::parallel_for("solve",
                            ResourcePolicy(graph, Range(0, n), read(diagonal), read_write(below)),
                            Solve{diagonal, below, problem.stamp(number++)});
    }
    for (int i = k + 1; i < problem.tiles; ++i)
      for (int j = k + 1; j <= i; ++j) {
        Matrix const &left = problem.at(i, k), &right = problem.at(j, k), &to = problem.at(i, j);
        trellis::parallel_for(
            "update",
            ResourcePolicy(graph, Square({0, 0}, {n, n}), read(left), read(right), read_write(to)),
            UpdateTile{left, right, to, problem.stamp(number++)});
      }
  }
}

class TilesOnOneStream final : public Runner {
 public:
  explicit TilesOnOneStream(Problem const& problem) : m_problem(problem) {}
  void submit() override {
    int const n = m_problem.block;
    std::size_t number = 0;
    for (int k = 0; k < m_problem.tiles; ++k) {
      Kokkos::parallel_for(Teams(m_instance, 1, Kokkos::AUTO),
                           Factor{m_problem.at(k, k), m_problem.stamp(number++)});
      for (int i = k + 1; i < m_problem.tiles; ++i)
        Kokkos::parallel_for(Range(m_instance, 0, n), Solve{m_problem.at(k, k), m_problem.at(i, k),
                                                            m_problem.stamp(number++)});
      for (int i = k + 1; i < m_problem.tiles; ++i)
        for (int j = k + 1; j <= i; ++j)
          Kokkos::parallel_for(Square(m_instance, {0, 0}, {n, n}),
                               UpdateTile{m_problem.at(i, k), m_problem.at(j, k),
                                          m_problem.at(i, j), m_problem.stamp(number++)});
    }
  }
  void wait() override { m_instance.fence(); }

 private:
  Problem const& m_problem;
  Space m_instance = Kokkos::Experimental::partition_space(Space(), 1).at(0);
};

std::unique_ptr<Runner> make(int way, Problem const& problem) {
  if (way == 0) return std::make_unique<TilesOnOneStream>(problem);
  auto const submission = [&problem](trellis::TaskGraph& graph) { submit_all(graph, problem); };
  if (way == 1) return std::make_unique<Submitted>(submission);
  return std::make_unique<Replayed>(submission);
}

}  // namespace

void run_cholesky(Options const& options, Report& report) {
  Problem problem(options.cholesky_tiles, options.cholesky_block);
  double const n = static_cast<double>(problem.tiles) * problem.block;
  report.begin_table(
      "cholesky",
      std::to_string(problem.tiles) + "^2 tiles of " + std::to_string(problem.block) + "^2, " +
          std::to_string(problem.kernels()) +
          " kernels; GFlop/s, part of the time that the device was busy, kernels side by side");
  char const* const names[] = {"one_stream", "trellis", "trellis_plan"};
  std::vector<double> expected;
  for (int way = 0; way < 3; ++way) {
    if (!options.wants(names[way])) continue;
    problem.stamps = nullptr;
    Times times;
    {
      auto const runner = make(way, problem);
      times = measure(*runner, options.repetitions, [&] { problem.reset(); });
    }
    std::vector<double> const values = problem.values();
    if (expected.empty()) {
      expected = values;
      if (!(problem.residual() < 1e-10)) report.add_failure("the factorisation itself");
    }
    if (values != expected) report.add_failure(std::string(names[way]) + " of cholesky");
    problem.stamps = std::make_shared<Stamps>(problem.kernels());
    Utilisation utilisation;
    {
      auto const runner = make(way, problem);
      for (int k = 0; k < 2; ++k) {
        problem.reset();
        problem.stamps->clear();
        runner->submit();
        runner->wait();
      }
      utilisation = problem.stamps->utilisation();
    }
    report.add("cholesky", names[way], true,
               {{"ms", times.done * 1e3},
                {"gflop_per_s", n * n * n / 3 / times.done * 1e-9},
                {"submitted_ms", times.submitted * 1e3},
                {"busy", utilisation.busy},
                {"side_by_side", utilisation.side_by_side}});
  }
}

}  // namespace gpu
