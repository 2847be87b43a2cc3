// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Solvers.hpp"

#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>

namespace mpi_perf {
namespace {

using Field = Grid::Field;

/// Never inlined, so that all ways run the same machine code and get the same bits.
[[gnu::noinline]] void relax(Field const& before, Field const& after, Rows rows) {
  constexpr double ratio = 0.2;
  int const columns = before.extent_int(1);
  for (int i = rows.begin; i < rows.end; ++i) {
    double const* const up = &before(i - 1, 0);
    double const* const here = &before(i, 0);
    double const* const down = &before(i + 1, 0);
    double* const out = &after(i, 0);
    for (int j = 1; j + 1 < columns; ++j)
      out[j] = here[j] + ratio * (up[j] + down[j] + here[j - 1] + here[j + 1] - 4 * here[j]);
  }
}

class Heat final : public Solver {
 public:
  Heat(World const& world, GridShape const& shape)
      : m_grid(world, shape), m_u{m_grid.field("even"), m_grid.field("odd")} {}

  void reset() override {
    for (Field const& u : m_u)
      for (int i = 0; i < u.extent_int(0); ++i)
        for (int j = 0; j < u.extent_int(1); ++j) u(i, j) = 0;
    for (int t = 0; t < m_grid.tiles(); ++t)
      for (int i = m_grid.tile(t).begin; i < m_grid.tile(t).end; ++i)
        for (int j = 1; j + 1 < m_grid.columns(); ++j) m_u[0](i, j) = m_grid.number_at(i, j);
  }
  void compute(Team& team, std::int64_t steps) override {
    for (std::int64_t step = 0; step < steps; ++step) all_tiles(team, step);
  }
  void communicate(std::int64_t steps) override {
    for (std::int64_t step = 0; step < steps; ++step) {
      m_grid.begin_exchange(before(step), step);
      m_grid.end_exchange();
    }
  }
  void bulk(Team& team, std::int64_t steps) override {
    for (std::int64_t step = 0; step < steps; ++step) {
      m_grid.begin_exchange(before(step), step);
      m_grid.end_exchange();
      all_tiles(team, step);
    }
  }
  void by_hand(Team& team, std::int64_t steps) override {
    int const last = m_grid.tiles() - 1;
    for (std::int64_t step = 0; step < steps; ++step) {
      m_grid.begin_exchange(before(step), step);
      team.for_each(1, last, [&](int t) { tile(step, t); });
      m_grid.end_exchange();
      team.for_each(0, 2, [&](int k) { tile(step, k == 0 ? 0 : last); });
    }
  }
  void submit_step(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
                   std::int64_t step) override {
    using namespace trellis;
    m_grid.submit_exchange(graph, comm, before(step), step);
    int const last = m_grid.tiles() - 1;
    for (int t = 0; t <= last; ++t) {
      Rows const rows = m_grid.tile(t);
      Field const in = before(step), out = after(step);
      host_task(
          "tile",
          ResourcePolicy(graph, read(Grid::rows_around(in, rows)), write(Grid::rows_of(out, rows)),
                         priority(t == 0 || t == last ? 1 : 0)),
          [in, out, rows] { relax(in, out, rows); });
    }
  }
  void check(std::int64_t steps) override {
    std::uint64_t const found = bits(steps);
    auto expected = m_expected.find(steps);
    if (expected == m_expected.end()) {
      reset();
      Team alone(1);
      bulk(alone, steps);
      expected = m_expected.emplace(steps, bits(steps)).first;
    }
    if (found != expected->second)
      throw std::runtime_error("heat: not what it is step by step, after " + std::to_string(steps) +
                               " steps");
  }
  [[nodiscard]] std::int64_t tasks_in_a_step() const override { return m_grid.tiles(); }
  [[nodiscard]] std::int64_t messages_in_a_step() const override { return 2; }
  [[nodiscard]] std::int64_t most_steps() const override { return 10'000; }

 private:
  [[nodiscard]] Field const& before(std::int64_t step) const { return m_u[step % 2]; }
  [[nodiscard]] Field const& after(std::int64_t step) const { return m_u[(step + 1) % 2]; }
  void tile(std::int64_t step, int t) const { relax(before(step), after(step), m_grid.tile(t)); }
  void all_tiles(Team& team, std::int64_t step) const {
    team.for_each(0, m_grid.tiles(), [&](int t) { tile(step, t); });
  }
  /// Of all cells of this rank after so many steps.
  [[nodiscard]] std::uint64_t bits(std::int64_t steps) const {
    Field const& u = before(steps);
    std::uint64_t all = 0;
    for (int i = 1; i + 1 < u.extent_int(0); ++i)
      for (int j = 0; j < u.extent_int(1); ++j)
        all = (all ^ std::bit_cast<std::uint64_t>(u(i, j))) * 0x100000001b3U;
    return all;
  }

  Grid m_grid;
  Field m_u[2];
  std::map<std::int64_t, std::uint64_t> m_expected;
};

}  // namespace

std::unique_ptr<Solver> make_heat(World const& world, GridShape const& shape) {
  return std::make_unique<Heat>(world, shape);
}

}  // namespace mpi_perf
