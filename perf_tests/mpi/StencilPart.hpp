// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_STENCILPART_HPP
#define TRELLIS_MPI_PERF_STENCILPART_HPP

#include "../taskbench/Work.hpp"
#include "World.hpp"

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpi_perf {

/// Task Bench's stencil over ranks: the columns of this rank in a Work of all columns. What
/// neighbours write comes by messages, into the place that it has in every rank's Work; so the
/// check of taskbench holds as it is.
///
/// If the ranks agree, they find a maximum together after each step, and no column of the next step
/// begins before that is there, as in a solver that needs a norm.
class Part {
 public:
  using View = taskbench::Work::Buffer;
  using Agreed = Kokkos::View<double, Kokkos::HostSpace>;

  Part(World const& world, taskbench::Parameters const& parameters, bool agrees = false);

  [[nodiscard]] World const& world() const { return m_world; }
  [[nodiscard]] taskbench::Work& work() { return m_work; }
  [[nodiscard]] std::int64_t steps() const { return m_work.steps(); }
  [[nodiscard]] std::int64_t own_tasks() const { return steps() * m_columns; }
  [[nodiscard]] int first() const { return m_first; }
  [[nodiscard]] int end() const { return m_end; }
  [[nodiscard]] View const& tile(std::int64_t step, int column) const {
    return m_tiles[static_cast<std::size_t>(m_work.copy_of(step) * m_work.width() + column)];
  }
  [[nodiscard]] bool agrees() const { return m_agrees; }
  [[nodiscard]] Agreed const& agreed() const { return m_agreed; }

  /// Calls `f(peer, own column, column of the peer)` for each neighbour.
  template <class F>
  void for_each_neighbour(F const& f) const {
    if (m_first > 0) f(m_world.rank() - 1, m_first, m_first - 1);
    if (m_end < m_work.width()) f(m_world.rank() + 1, m_end - 1, m_end);
  }

  /// Resets, runs and checks on all ranks. Seconds of this rank. Throws std::runtime_error when a
  /// column has not found what it needs.
  template <class F>
  double timed(F const& run) {
    reset();
    double const seconds = m_world.time(run);
    check();
    return seconds;
  }

 private:
  void reset();
  void check();

  World const& m_world;
  taskbench::Work m_work;
  int m_columns, m_first, m_end;
  bool m_agrees;
  std::vector<View> m_tiles;
  Agreed m_agreed{"agreed"};
};

/// A way to run it.
struct StencilModel {
  std::string name;
  std::string kind;  ///< bare, dynamic, replay
  std::function<double(Part&)> run;
};

/// By hand: all columns, then the messages; the columns at the border first, and the others while
/// their messages go. As tasks of this graph; as a plan of two steps.
std::vector<StencilModel> stencil_models(std::shared_ptr<trellis::TaskGraph> const& graph,
                                         trellis::mpi::Communicator const& comm);

}  // namespace mpi_perf

#endif
