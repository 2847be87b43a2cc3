// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_TASKSOLVER_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_TASKSOLVER_HPP

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "Classic.hpp"
#include "Pipelined.hpp"
#include "Solver.hpp"

/// This header has the solver as tasks: operations on a tile, operations on the numbers of a step,
/// messages, and sums over the ranks. A tile of rows reads those pieces of a vector that its
/// columns lie in. So a tile without columns of the halo waits for no message. Tasks that do not
/// need a sum run while that is in progress.
namespace cg {

/// The order of tasks that could run: first those that other ranks wait for, then those that send
/// messages, then the rest, and last those that no other task waits for in this step.
inline constexpr trellis::priority messages_first(3);
inline constexpr trellis::priority border_first(2);
inline constexpr trellis::priority inner_then(1);
inline constexpr trellis::priority rest_last(0);

/// True if a task with this label works on a tile.
[[nodiscard]] inline bool computes(std::string_view label) {
  return label.starts_with("tile: ");
}

class TaskSolver {
 public:
  /// All arguments must outlive the solver. `watch` is called now and then, with the progress of
  /// the solver.
  TaskSolver(trellis::TaskGraph& graph, Matrix const& matrix, Options const& options,
             Vectors const& vectors, std::function<void(State const&)> watch = {})
      : m_graph(graph),
        m_matrix(matrix),
        m_options(options),
        m_watch(std::move(watch)),
        m_scalars(matrix, options),
        m_precondition{matrix.local, options.preconditioning},
        m_b(tile(vectors.b)),
        m_x(tile(vectors.x)),
        m_r(tile(vectors.r)),
        m_u(tile(vectors.u)),
        m_p(tile(vectors.p)),
        m_s(tile(vectors.s)),
        m_n(tile(vectors.n)) {
    if (options.method == Method::pipelined) {
      m_w = tile(vectors.w);
      m_m = tile(vectors.m);
      m_z = tile(vectors.z);
      m_q = tile(vectors.q);
    }
    for (Neighbour const& n : matrix.neighbours)
      m_packed.emplace_back("values for rank " + std::to_string(n.rank), n.rows.extent(0));
    if (options.plan) m_step = graph.record("step", [&] { step(); });
  }

  /// Solves the system. Collective. No thread waits for a step. The program knows only some steps
  /// later that one was the last, and the steps behind it change nothing. (The sums, and so what
  /// each rank sees here, are the same on all ranks: they submit the same steps.)
  Outcome solve() {
    begin();
    std::array<trellis::Future<void>, 2> looks;
    for (int k = 0;; ++k) {
      submit_steps(m_options.check_every);
      looks[k % 2] = trellis::deep_copy("look", trellis::ResourcePolicy(m_graph, messages_first),
                                        m_seen[k % 2], m_scalars.judge.state);
      if (k == 0) continue;
      looks[(k - 1) % 2].get();
      State const& seen = m_seen[(k - 1) % 2]();
      if (m_watch) m_watch(seen);
      if (!seen.continues()) break;
    }
    m_graph.wait();
    return Outcome(m_scalars.judge);
  }

  /// Takes so many steps, as `solve` does. The solver must need each. Collective.
  void take_steps(int count) {
    begin();
    submit_steps(count);
    m_graph.wait();
  }

  /// Returns |b - A x|, from x. Collective.
  [[nodiscard]] double true_residual() {
    using trellis::read, trellis::write;
    multiply(m_x, m_n);
    auto const& partials = m_scalars.partials_of_apply;
    for_tiles([&](int t, trellis::priority urgency) {
      on_tile("residual", t, urgency, Residual{m_matrix.local, m_b.all, m_n.all, partials},
              read(at(m_b, t)), read(at(m_n, t)), write(row(partials, t)));
    });
    add_up(partials, m_scalars.sums_of_apply);
    m_graph.wait();
    auto const sums =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_scalars.sums_of_apply);
    return std::sqrt(sums(0));
  }

  /// Computes b = A x. Collective.
  void multiply_into_b() {
    multiply(m_x, m_b);
    m_graph.wait();
  }

 private:
  /// A vector with the pieces that each tile's rows have columns in.
  struct Tiled : TiledVector {
    std::vector<std::vector<Vector>> columns;
  };
  Tiled tile(Vector const& vector) const {
    Tiled tiled{TiledVector(m_matrix, vector), {}};
    for (Tile const& tile : m_matrix.tiles) {
      auto& columns = tiled.columns.emplace_back(tiled.pieces(tile.tiles));
      for (int const n : tile.neighbours)
        columns.push_back(tiled.halo[static_cast<std::size_t>(n)]);
    }
    return tiled;
  }
  static Vector const& at(Tiled const& vector, int t) {
    return vector.tiles[static_cast<std::size_t>(t)];
  }
  using Row = decltype(Kokkos::subview(Partials(), 0, Kokkos::ALL));
  static Row row(Partials const& partials, int t) {
    return Kokkos::subview(partials, t, Kokkos::ALL);
  }

  void submit_steps(int count) {
    if (m_step.valid()) {
      // To later tasks a replay is one task: the next one begins when all of this is complete.
      m_graph.replay(m_step, static_cast<std::uint64_t>(count));
      return;
    }
    for (int k = 0; k < count; ++k) step();
  }
  void begin() { m_options.method == Method::classic ? begin_classic() : begin_pipelined(); }
  void step() { m_options.method == Method::classic ? step_classic() : step_pipelined(); }

  // --- the classic method

  void begin_classic() {
    using trellis::read, trellis::write;
    for_tiles([&](int t, trellis::priority urgency) {
      on_tile("begin", t, urgency,
              classic::Begin{m_precondition, m_b.all, m_x.all, m_r.all, m_u.all, m_p.all,
                             m_scalars.partials},
              read(at(m_b, t)), write(at(m_x, t)), write(at(m_r, t)), write(at(m_u, t)),
              write(at(m_p, t)), write(row(m_scalars.partials, t)));
    });
    add_up(m_scalars.partials, m_scalars.sums);
    on_numbers("begin", classic::BeginScalars{m_scalars.judge, m_scalars.sums, m_scalars.gamma},
               read(m_scalars.sums), write(m_scalars.gamma), write(m_scalars.judge.state),
               write(m_scalars.judge.history));
  }

  void step_classic() {
    using trellis::read, trellis::read_write, trellis::write;
    Scalars const& of = m_scalars;
    exchange(m_p);
    for_tiles([&](int t, trellis::priority urgency) {
      on_tile("apply", t, urgency,
              ApplyAndDot{{m_matrix.local, m_p.all, m_s.all}, of.partials_of_apply},
              read(m_p.columns[static_cast<std::size_t>(t)]), write(at(m_s, t)),
              write(row(of.partials_of_apply, t)));
    });
    add_up(of.partials_of_apply, of.sums_of_apply);
    on_numbers("alpha", classic::Alpha{of.judge, of.sums_of_apply, of.gamma, of.alpha},
               read(of.sums_of_apply), read(of.gamma), read_write(of.judge.state), write(of.alpha));
    for_tiles([&](int t, trellis::priority) {
      on_tile(
          "residual", t, border_first,
          classic::NextResidual{m_precondition, of.alpha, m_s.all, m_r.all, m_u.all, of.partials},
          read(of.alpha), read(at(m_s, t)), read_write(at(m_r, t)), read_write(at(m_u, t)),
          read_write(row(of.partials, t)));
    });
    add_up(of.partials, of.sums);
    // This runs while that sum is in progress.
    for_tiles([&](int t, trellis::priority) {
      on_tile("solution", t, rest_last,
              classic::NextSolution{m_matrix.local.bounds, of.alpha, m_p.all, m_x.all},
              read(of.alpha), read(at(m_p, t)), read_write(at(m_x, t)));
    });
    on_numbers("beta", classic::Beta{of.judge, of.sums, of.gamma, of.beta}, read(of.sums),
               read_write(of.gamma), read_write(of.judge.state), read_write(of.judge.history),
               write(of.beta));
    for_tiles([&](int t, trellis::priority urgency) {
      on_tile("direction", t, urgency,
              classic::NextDirection{m_matrix.local.bounds, of.beta, m_u.all, m_p.all},
              read(of.beta), read(at(m_u, t)), read_write(at(m_p, t)));
    });
  }

  // --- the pipelined method

  void begin_pipelined() {
    using trellis::read, trellis::write;
    for_tiles([&](int t, trellis::priority urgency) {
      on_tile("begin", t, urgency,
              pipelined::Begin{m_precondition, m_b.all, m_x.all, m_r.all, m_u.all, m_p.all, m_s.all,
                               m_q.all, m_z.all},
              read(at(m_b, t)), write(at(m_x, t)), write(at(m_r, t)), write(at(m_u, t)),
              write(at(m_p, t)), write(at(m_s, t)), write(at(m_q, t)), write(at(m_z, t)));
    });
    multiply(m_u, m_w);
    for_tiles([&](int t, trellis::priority urgency) {
      on_tile("dots", t, urgency,
              pipelined::FirstDots{m_matrix.local.bounds,
                                   {m_r.all, m_u.all, m_w.all, m_scalars.partials}},
              read(at(m_r, t)), read(at(m_u, t)), read(at(m_w, t)),
              write(row(m_scalars.partials, t)));
    });
    on_numbers("begin", pipelined::BeginScalars{m_scalars.judge, m_scalars.alpha},
               write(m_scalars.judge.state), write(m_scalars.alpha));
  }

  void step_pipelined() {
    using trellis::read, trellis::read_write, trellis::write;
    Scalars const& of = m_scalars;
    add_up(of.partials, of.sums);
    // This runs while that sum is in progress.
    for_tiles([&](int t, trellis::priority urgency) {
      on_tile("precondition", t, urgency, Precondition{m_precondition, m_w.all, m_m.all},
              read(at(m_w, t)), write(at(m_m, t)));
    });
    multiply(m_m, m_n);
    on_numbers("lengths", pipelined::NextLengths{of.judge, of.sums, of.gamma, of.alpha},
               read(of.sums), read_write(of.gamma), read_write(of.alpha),
               read_write(of.judge.state), read_write(of.judge.history));
    for_tiles([&](int t, trellis::priority) {
      on_tile("update", t, border_first,
              pipelined::Update{m_matrix.local.bounds, of.alpha, m_m.all, m_n.all, m_z.all, m_q.all,
                                m_s.all, m_p.all, m_x.all, m_r.all, m_u.all, m_w.all, of.partials},
              read(of.alpha), read(at(m_m, t)), read(at(m_n, t)), read_write(at(m_z, t)),
              read_write(at(m_q, t)), read_write(at(m_s, t)), read_write(at(m_p, t)),
              read_write(at(m_x, t)), read_write(at(m_r, t)), read_write(at(m_u, t)),
              read_write(at(m_w, t)), read_write(row(of.partials, t)));
    });
  }

  // --- what both are made of

  template <class F>
  void for_tiles(F&& f) const {
    for (int t = 0; t < m_matrix.tile_count(); ++t)
      f(t, m_matrix.tiles[static_cast<std::size_t>(t)].is_border ? border_first : inner_then);
  }
  template <class Body, class... Accesses>
  void on_tile(char const* what, int t, trellis::priority urgency, Body const& body,
               Accesses const&... accesses) {
    trellis::parallel_for(
        std::string("tile: ") + what,
        trellis::ResourcePolicy(m_graph, policy_over_tiles(1), accesses..., urgency),
        OverTiles<Body>{body, t});
  }
  template <class Body, class... Accesses>
  void on_numbers(char const* what, Body const& body, Accesses const&... accesses) {
    trellis::parallel_for(what,
                          trellis::ResourcePolicy(m_graph, Kokkos::RangePolicy<Space>(0, 1),
                                                  accesses..., messages_first),
                          body);
  }
  /// Adds up all tiles in their order, then all ranks.
  void add_up(Partials const& partials, Numbers const& sums) {
    trellis::parallel_for(
        "add up",
        trellis::ResourcePolicy(m_graph, Kokkos::RangePolicy<Space>(0, sums.extent_int(0)),
                                trellis::read(partials), trellis::write(sums), messages_first),
        AddUp{partials, sums});
    trellis::mpi::allreduce("allreduce", trellis::ResourcePolicy(m_graph, messages_first),
                            m_matrix.comm, sums, trellis::mpi::sum);
  }
  /// Copies the neighbours' parts of a vector into its halo, which must not be in use any more.
  void exchange(Tiled const& vector) {
    using trellis::read, trellis::ResourcePolicy, trellis::write;
    auto const& neighbours = m_matrix.neighbours;
    for (std::size_t n = 0; n < neighbours.size(); ++n)
      if (neighbours[n].halo_count > 0)
        trellis::mpi::recv("recv " + std::to_string(neighbours[n].rank),
                           ResourcePolicy(m_graph, messages_first), m_matrix.comm, vector.halo[n],
                           neighbours[n].rank, 0);
    for (std::size_t n = 0; n < neighbours.size(); ++n) {
      Neighbour const& to = neighbours[n];
      if (to.rows.extent(0) == 0) continue;
      std::string const label = "send " + std::to_string(to.rank);
      trellis::parallel_for(
          label + ": pack",
          ResourcePolicy(m_graph, Kokkos::RangePolicy<Space>(0, to.rows.extent_int(0)),
                         read(vector.pieces(to.tiles)), write(m_packed[n]), messages_first),
          Pack{to.rows, vector.all, m_packed[n]});
      trellis::mpi::send(label, ResourcePolicy(m_graph, messages_first), m_matrix.comm, m_packed[n],
                         to.rank, 0);
    }
  }
  /// out = A in
  void multiply(Tiled const& in, Tiled const& out) {
    exchange(in);
    for_tiles([&](int t, trellis::priority urgency) {
      on_tile("apply", t, urgency, Apply{m_matrix.local, in.all, out.all},
              trellis::read(in.columns[static_cast<std::size_t>(t)]), trellis::write(at(out, t)));
    });
  }

  trellis::TaskGraph& m_graph;
  Matrix const& m_matrix;
  Options const& m_options;
  std::function<void(State const&)> m_watch;
  Scalars m_scalars;
  Preconditioner m_precondition;
  Tiled m_b, m_x, m_r, m_u, m_p, m_s, m_n, m_w, m_m, m_z, m_q;
  std::vector<Vector> m_packed;  ///< for each neighbour
  std::array<Kokkos::View<State, Kokkos::HostSpace>, 2> m_seen{
      Kokkos::View<State, Kokkos::HostSpace>("seen, even"),
      Kokkos::View<State, Kokkos::HostSpace>("seen, odd")};
  trellis::Plan m_step;
};

}  // namespace cg

#endif
