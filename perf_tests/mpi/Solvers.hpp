// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_SOLVERS_HPP
#define TRELLIS_MPI_PERF_SOLVERS_HPP

#include "Team.hpp"
#include "World.hpp"

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Solvers on a grid whose rows are spread over the ranks, which form a ring: the first rank's
/// neighbour above is the last one. So one rank alone sends its halo to itself. Each can do its
/// steps in several ways, with the same kernels and the same result.
namespace mpi_perf {

/// The size of a rank's part.
struct GridShape {
  int rows;
  int columns;
  int tiles;  ///< of whole rows
};

/// Rows [begin, end), counted with the halo: row 0 is the last row of the rank above.
struct Rows {
  int begin;
  int end;
};

class Grid {
 public:
  using Field = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  using Row = Kokkos::View<double*, Kokkos::LayoutRight, Kokkos::HostSpace>;

  Grid(World const& world, GridShape const& shape) : m_world(world), m_shape(shape) {}

  [[nodiscard]] World const& world() const { return m_world; }
  [[nodiscard]] int columns() const { return m_shape.columns; }
  [[nodiscard]] int tiles() const { return m_shape.tiles; }
  [[nodiscard]] Rows tile(int t) const {
    return {1 + t * m_shape.rows / m_shape.tiles, 1 + (t + 1) * m_shape.rows / m_shape.tiles};
  }
  /// With a row of halo on both sides.
  [[nodiscard]] Field field(char const* label) const {
    return Field(std::string(label), static_cast<std::size_t>(m_shape.rows) + 2,
                 static_cast<std::size_t>(m_shape.columns));
  }
  static Field rows_of(Field const& u, Rows rows) {
    return Kokkos::subview(u, std::pair(rows.begin, rows.end), Kokkos::ALL);
  }
  static Field rows_around(Field const& u, Rows rows) {
    return rows_of(u, {rows.begin - 1, rows.end + 1});
  }
  /// A number for each index, the same on any number of ranks with the same rows in all.
  [[nodiscard]] double number_at(int row, int column) const;

  /// Begins, and ends, the exchange of the halo by hand.
  void begin_exchange(Field const& u, std::int64_t step);
  void end_exchange();
  /// The same as tasks.
  void submit_exchange(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
                       Field const& u, std::int64_t step) const;

 private:
  [[nodiscard]] int above() const { return (m_world.rank() + m_world.size() - 1) % m_world.size(); }
  [[nodiscard]] int below() const { return (m_world.rank() + 1) % m_world.size(); }
  [[nodiscard]] Row row(Field const& u, int which) const {
    return Kokkos::subview(u, which, Kokkos::ALL);
  }
  static int tag_up(std::int64_t step) { return static_cast<int>(2 * (step % 2)); }
  static int tag_down(std::int64_t step) { return tag_up(step) + 1; }

  World const& m_world;
  GridShape m_shape;
  std::array<MPI_Request, 4> m_requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                                        MPI_REQUEST_NULL};
};

class Solver {
 public:
  virtual ~Solver() = default;

  /// Back to the beginning.
  virtual void reset() = 0;
  /// What is measured, `steps` of it: all that is computed, and nothing else; all messages, and
  /// nothing else; one after the other; with the inner tiles while the halo travels.
  virtual void compute(Team& team, std::int64_t steps) = 0;
  virtual void communicate(std::int64_t steps) = 0;
  virtual void bulk(Team& team, std::int64_t steps) = 0;
  virtual void by_hand(Team& team, std::int64_t steps) = 0;
  /// Submits one step as tasks. Every second one is the same.
  virtual void submit_step(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
                           std::int64_t step) = 0;
  /// Throws std::runtime_error unless what is there is right after `steps` steps. Collective.
  virtual void check(std::int64_t steps) = 0;
  /// Tasks that compute, and messages, in a step.
  [[nodiscard]] virtual std::int64_t tasks_in_a_step() const = 0;
  [[nodiscard]] virtual std::int64_t messages_in_a_step() const = 0;
  /// More steps than that mean nothing.
  [[nodiscard]] virtual std::int64_t most_steps() const = 0;
};

/// The heat equation, explicitly: a step reads the row above and below of each tile.
std::unique_ptr<Solver> make_heat(World const& world, GridShape const& shape);
/// Conjugate gradients for the five-point matrix, which is applied without storing it: a step has
/// the halo of the direction and two allreduces, for which everybody waits.
std::unique_ptr<Solver> make_cg(World const& world, GridShape const& shape);

}  // namespace mpi_perf

#endif
