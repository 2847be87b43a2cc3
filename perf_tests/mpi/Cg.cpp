// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Solvers.hpp"

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace mpi_perf {
namespace {

using Field = Grid::Field;
using Partial = Kokkos::View<double*, Kokkos::HostSpace>;
using Number = Kokkos::View<double, Kokkos::HostSpace>;

// Never inlined, so that all ways run the same machine code.

/// q = A p, and what these rows add to p q.
[[gnu::noinline]] double apply(Field const& p, Field const& q, Rows rows) {
  constexpr double diagonal = 4.001;
  int const columns = p.extent_int(1);
  double sum = 0;
  for (int i = rows.begin; i < rows.end; ++i) {
    double const* const up = &p(i - 1, 0);
    double const* const here = &p(i, 0);
    double const* const down = &p(i + 1, 0);
    double* const out = &q(i, 0);
    for (int j = 1; j + 1 < columns; ++j) {
      out[j] = diagonal * here[j] - up[j] - down[j] - here[j - 1] - here[j + 1];
      sum += out[j] * here[j];
    }
  }
  return sum;
}
/// x += alpha p, r -= alpha q, and what these rows add to r r.
[[gnu::noinline]] double advance(double alpha, Field const& p, Field const& q, Field const& x,
                                 Field const& r, Rows rows) {
  int const columns = p.extent_int(1);
  double sum = 0;
  for (int i = rows.begin; i < rows.end; ++i)
    for (int j = 1; j + 1 < columns; ++j) {
      x(i, j) += alpha * p(i, j);
      r(i, j) -= alpha * q(i, j);
      sum += r(i, j) * r(i, j);
    }
  return sum;
}
/// p = r + beta p
[[gnu::noinline]] void turn(double beta, Field const& r, Field const& p, Rows rows) {
  int const columns = p.extent_int(1);
  for (int i = rows.begin; i < rows.end; ++i)
    for (int j = 1; j + 1 < columns; ++j) p(i, j) = r(i, j) + beta * p(i, j);
}
double sum_of(Partial const& parts) {
  double sum = 0;
  for (std::size_t k = 0; k < parts.extent(0); ++k) sum += parts(k);
  return sum;
}

class Cg final : public Solver {
 public:
  Cg(World const& world, GridShape const& shape)
      : m_grid(world, shape),
        m_b(m_grid.field("b")),
        m_x(m_grid.field("x")),
        m_r(m_grid.field("r")),
        m_p(m_grid.field("p")),
        m_q(m_grid.field("q")),
        m_pq_parts("pq parts", static_cast<std::size_t>(shape.tiles)),
        m_rr_parts("rr parts", static_cast<std::size_t>(shape.tiles)) {
    each_cell([&](int i, int j) { m_b(i, j) = m_grid.number_at(i, j); });
  }

  void reset() override {
    for (Field const& each : {m_x, m_r, m_p, m_q}) Kokkos::deep_copy(each, 0.0);
    double sum = 0;
    each_cell([&](int i, int j) {
      m_r(i, j) = m_p(i, j) = m_b(i, j);
      sum += m_b(i, j) * m_b(i, j);
    });
    m_rr[0]() = summed(sum);
    m_rr[1]() = 0;
    m_first_rr = m_rr[0]();
  }
  void compute(Team& team, std::int64_t steps) override { solve(team, steps, false, false); }
  void communicate(std::int64_t steps) override {
    double number = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      m_grid.begin_exchange(m_p, step);
      m_grid.end_exchange();
      for (int k = 0; k < 2; ++k) number = reduced(number);
    }
  }
  void bulk(Team& team, std::int64_t steps) override { solve(team, steps, true, false); }
  void by_hand(Team& team, std::int64_t steps) override { solve(team, steps, true, true); }

  void submit_step(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
                   std::int64_t step) override {
    using namespace trellis;
    Number const rr = m_rr[step % 2], next_rr = m_rr[(step + 1) % 2];
    m_grid.submit_exchange(graph, comm, m_p, step);
    int const last = m_grid.tiles() - 1;
    for (int t = 0; t <= last; ++t) {
      Rows const rows = m_grid.tile(t);
      Number const part = Kokkos::subview(m_pq_parts, t);
      host_task(
          "apply",
          ResourcePolicy(graph, read(Grid::rows_around(m_p, rows)), write(Grid::rows_of(m_q, rows)),
                         write(part), priority(t == 0 || t == last ? 1 : 0)),
          [p = m_p, q = m_q, rows, part] { part() = apply(p, q, rows); });
    }
    add_up(graph, comm, m_pq_parts, m_pq);
    for (int t = 0; t <= last; ++t) {
      Rows const rows = m_grid.tile(t);
      Number const part = Kokkos::subview(m_rr_parts, t);
      host_task(
          "advance",
          ResourcePolicy(graph, read(rr), read(m_pq), read(Grid::rows_of(m_p, rows)),
                         read(Grid::rows_of(m_q, rows)), read_write(Grid::rows_of(m_x, rows)),
                         read_write(Grid::rows_of(m_r, rows)), write(part)),
          [this, rr, rows, part] { part() = advance(rr() / m_pq(), m_p, m_q, m_x, m_r, rows); });
    }
    add_up(graph, comm, m_rr_parts, next_rr);
    for (int t = 0; t <= last; ++t) {
      Rows const rows = m_grid.tile(t);
      host_task("turn",
                ResourcePolicy(graph, read(rr), read(next_rr), read(Grid::rows_of(m_r, rows)),
                               read_write(Grid::rows_of(m_p, rows)),
                               priority(t == 0 || t == last ? 1 : 0)),
                [this, rr, next_rr, rows] { turn(next_rr() / rr(), m_r, m_p, rows); });
    }
  }

  /// The residual is that of x, which a halo that came late would spoil; and it has become as small
  /// as it does by hand, which a sum that came late would.
  void check(std::int64_t steps) override {
    double const found = m_rr[steps % 2]();
    m_grid.begin_exchange(m_x, 0);
    m_grid.end_exchange();
    double difference = 0;
    for (int t = 0; t < m_grid.tiles(); ++t) (void)apply(m_x, m_q, m_grid.tile(t));
    each_cell([&](int i, int j) {
      double const off = m_b(i, j) - m_q(i, j) - m_r(i, j);
      difference += off * off;
    });
    auto expected = m_expected.find(steps);
    if (expected == m_expected.end()) {
      double const off = summed(difference);
      reset();
      Team alone(1);
      bulk(alone, steps);
      expected = m_expected.emplace(steps, m_rr[steps % 2]()).first;
      difference = off;
    } else {
      difference = summed(difference);
    }
    bool const has_residual = difference <= 1e-20 * m_first_rr * static_cast<double>(steps + 1);
    bool const converges = std::abs(std::log10(found / expected->second)) < 0.5;
    if (!m_grid.world().all(has_residual && converges))
      throw std::runtime_error("cg: " +
                               std::string(has_residual ? "does not converge as it does by hand"
                                                        : "the residual is not that of x") +
                               ", after " + std::to_string(steps) + " steps");
  }
  [[nodiscard]] std::int64_t tasks_in_a_step() const override {
    return 3 * std::int64_t{m_grid.tiles()};
  }
  [[nodiscard]] std::int64_t messages_in_a_step() const override { return 2; }
  /// Then there is nothing left to solve.
  [[nodiscard]] std::int64_t most_steps() const override { return 200; }

 private:
  template <class F>
  void each_cell(F const& f) const {
    for (int t = 0; t < m_grid.tiles(); ++t)
      for (int i = m_grid.tile(t).begin; i < m_grid.tile(t).end; ++i)
        for (int j = 1; j + 1 < m_grid.columns(); ++j) f(i, j);
  }
  [[nodiscard]] double reduced(double number) const {
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_SUM, m_grid.world().comm());
    return number;
  }
  /// Not timed: the core is left to others.
  [[nodiscard]] double summed(double number) const {
    double sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, m_grid.world().comm(), &request);
    wait_yielding(request);
    return sum;
  }
  static void add_up(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
                     Partial const& parts, Number const& into) {
    using namespace trellis;
    host_task("add up", ResourcePolicy(graph, read(parts), write(into), priority(1)),
              [parts, into] { into() = sum_of(parts); });
    mpi::allreduce(ResourcePolicy(graph, priority(2)), comm, into, mpi::sum);
  }
  /// By hand. Without messages each rank solves for its own rows, as if there was nothing beyond.
  void solve(Team& team, std::int64_t steps, bool communicates, bool overlaps) {
    int const last = m_grid.tiles() - 1;
    auto const apply_tile = [&](int t) { m_pq_parts(t) = apply(m_p, m_q, m_grid.tile(t)); };
    for (std::int64_t step = 0; step < steps; ++step) {
      Number const rr = m_rr[step % 2], next_rr = m_rr[(step + 1) % 2];
      if (communicates) m_grid.begin_exchange(m_p, step);
      if (overlaps) {
        team.for_each(1, last, apply_tile);
        m_grid.end_exchange();
        team.for_each(0, 2, [&](int k) { apply_tile(k == 0 ? 0 : last); });
      } else {
        if (communicates) m_grid.end_exchange();
        team.for_each(0, last + 1, apply_tile);
      }
      m_pq() = sum_of(m_pq_parts);
      if (communicates) m_pq() = reduced(m_pq());
      double const alpha = rr() / m_pq();
      team.for_each(0, last + 1, [&](int t) {
        m_rr_parts(t) = advance(alpha, m_p, m_q, m_x, m_r, m_grid.tile(t));
      });
      next_rr() = sum_of(m_rr_parts);
      if (communicates) next_rr() = reduced(next_rr());
      double const beta = next_rr() / rr();
      team.for_each(0, last + 1, [&](int t) { turn(beta, m_r, m_p, m_grid.tile(t)); });
    }
  }

  Grid m_grid;
  Field m_b, m_x, m_r, m_p, m_q;
  Partial m_pq_parts, m_rr_parts;
  Number m_pq{"pq"};
  Number m_rr[2]{Number("rr, even"), Number("rr, odd")};
  double m_first_rr = 0;
  std::map<std::int64_t, double> m_expected;
};

}  // namespace

std::unique_ptr<Solver> make_cg(World const& world, GridShape const& shape) {
  return std::make_unique<Cg>(world, shape);
}

}  // namespace mpi_perf
