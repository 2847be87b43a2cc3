// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_BULKSOLVER_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_BULKSOLVER_HPP

#include <mpi.h>

#include <vector>

#include "Classic.hpp"
#include "Pipelined.hpp"
#include "Solver.hpp"

/// This header has the reference solver, bulk-synchronous and by hand: one kernel over all tiles of
/// the rank, then messages that all threads wait for, then the next kernel. It uses no Trellis but
/// the communicator.
namespace cg {

class BulkSolver {
 public:
  /// All arguments must outlive the solver.
  BulkSolver(Matrix const& matrix, Options const& options, Vectors const& vectors)
      : m_matrix(matrix),
        m_options(options),
        m_vectors(vectors),
        m_scalars(matrix, options),
        m_precondition{matrix.local, options.preconditioning},
        m_host_sums(Kokkos::create_mirror_view(m_scalars.sums)),
        m_host_sum(Kokkos::create_mirror_view(m_scalars.sums_of_apply)),
        m_host_state(Kokkos::create_mirror_view(m_scalars.judge.state)) {
    for (Neighbour const& n : matrix.neighbours)
      m_sides.emplace_back(Vector("out", n.rows.extent(0)),
                           Vector("in", static_cast<std::size_t>(n.halo_count)));
  }

  /// Solves the system. Collective. Throws `trellis::mpi::Error`.
  Outcome solve() {
    m_seconds_communicating = 0;
    bool const is_classic = m_options.method == Method::classic;
    is_classic ? begin_classic() : begin_pipelined();
    while (continues()) is_classic ? step_classic() : step_pipelined();
    return Outcome(m_scalars.judge);
  }
  /// Returns the time of the last call in which this rank has computed nothing.
  [[nodiscard]] double seconds_communicating() const { return m_seconds_communicating; }

 private:
  using HostVector = decltype(Kokkos::create_mirror_view(Vector()));
  struct Side {
    Side(Vector const& o, Vector const& i)
        : out(o),
          in(i),
          host_out(Kokkos::create_mirror_view(o)),
          host_in(Kokkos::create_mirror_view(i)) {}
    Vector out, in;
    HostVector host_out, host_in;
  };

  void begin_classic() {
    Vectors const& v = m_vectors;
    over_tiles("begin",
               classic::Begin{m_precondition, v.b, v.x, v.r, v.u, v.p, m_scalars.partials});
    add_up(m_scalars.partials, m_scalars.sums, m_host_sums);
    once("begin", classic::BeginScalars{m_scalars.judge, m_scalars.sums, m_scalars.gamma});
  }
  void step_classic() {
    Vectors const& v = m_vectors;
    Scalars const& of = m_scalars;
    exchange(v.p);
    over_tiles("apply", ApplyAndDot{{m_matrix.local, v.p, v.s}, of.partials_of_apply});
    add_up(of.partials_of_apply, of.sums_of_apply, m_host_sum);
    once("alpha", classic::Alpha{of.judge, of.sums_of_apply, of.gamma, of.alpha});
    over_tiles("residual",
               classic::NextResidual{m_precondition, of.alpha, v.s, v.r, v.u, of.partials});
    add_up(of.partials, of.sums, m_host_sums);
    over_tiles("solution", classic::NextSolution{m_matrix.local.bounds, of.alpha, v.p, v.x});
    once("beta", classic::Beta{of.judge, of.sums, of.gamma, of.beta});
    over_tiles("direction", classic::NextDirection{m_matrix.local.bounds, of.beta, v.u, v.p});
  }

  void begin_pipelined() {
    Vectors const& v = m_vectors;
    over_tiles("begin", pipelined::Begin{m_precondition, v.b, v.x, v.r, v.u, v.p, v.s, v.q, v.z});
    exchange(v.u);
    over_tiles("apply", Apply{m_matrix.local, v.u, v.w});
    over_tiles("dots",
               pipelined::FirstDots{m_matrix.local.bounds, {v.r, v.u, v.w, m_scalars.partials}});
    once("begin", pipelined::BeginScalars{m_scalars.judge, m_scalars.alpha});
  }
  void step_pipelined() {
    Vectors const& v = m_vectors;
    Scalars const& of = m_scalars;
    add_up(of.partials, of.sums, m_host_sums);
    over_tiles("precondition", Precondition{m_precondition, v.w, v.m});
    exchange(v.m);
    over_tiles("apply", Apply{m_matrix.local, v.m, v.n});
    once("lengths", pipelined::NextLengths{of.judge, of.sums, of.gamma, of.alpha});
    over_tiles("update", pipelined::Update{m_matrix.local.bounds, of.alpha, v.m, v.n, v.z, v.q, v.s,
                                           v.p, v.x, v.r, v.u, v.w, of.partials});
  }

  [[nodiscard]] bool continues() const {
    Kokkos::deep_copy(m_host_state, m_scalars.judge.state);
    return m_host_state().continues();
  }
  template <class Body>
  void over_tiles(char const* label, Body const& body) const {
    Kokkos::parallel_for(label, policy_over_tiles(m_matrix.tile_count()), OverTiles<Body>{body, 0});
  }
  template <class Body>
  void once(char const* label, Body const& body) const {
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Space>(0, 1), body);
  }

  static void require(int code, char const* what) {
    if (code != MPI_SUCCESS) throw trellis::mpi::Error(what, code);
  }
  /// Waits for the sum at once. (MPI_Allreduce may add up the ranks in another order than
  /// MPI_Iallreduce does, and then the last bits would differ from those of the tasks.)
  template <class HostNumbers>
  void add_up(Partials const& partials, Numbers const& sums, HostNumbers const& host) {
    Kokkos::parallel_for("add up", Kokkos::RangePolicy<Space>(0, sums.extent_int(0)),
                         AddUp{partials, sums});
    Space().fence("cg_ranks: the sums of this rank before those of others");
    Kokkos::Timer const communicates;
    Kokkos::deep_copy(host, sums);
    MPI_Request request = MPI_REQUEST_NULL;
    require(MPI_Iallreduce(MPI_IN_PLACE, host.data(), host.extent_int(0), MPI_DOUBLE, MPI_SUM,
                           m_matrix.comm.comm(), &request),
            "MPI_Iallreduce");
    require(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    Kokkos::deep_copy(sums, host);
    m_seconds_communicating += communicates.seconds();
  }
  void exchange(Vector const& vector) {
    auto const& neighbours = m_matrix.neighbours;
    for (std::size_t n = 0; n < neighbours.size(); ++n)
      Kokkos::parallel_for("pack", Kokkos::RangePolicy<Space>(0, neighbours[n].rows.extent_int(0)),
                           Pack{neighbours[n].rows, vector, m_sides[n].out});
    Space().fence("cg_ranks: the values before they are sent");
    Kokkos::Timer const communicates;
    m_requests.assign(2 * neighbours.size(), MPI_REQUEST_NULL);
    for (std::size_t n = 0; n < neighbours.size(); ++n) {
      // Messages go directly into the halo; those of a device go through the host.
      double* const into =
          runs_on_host ? vector.data() + neighbours[n].halo_begin : m_sides[n].host_in.data();
      require(MPI_Irecv(into, neighbours[n].halo_count, MPI_DOUBLE, neighbours[n].rank, 0,
                        m_matrix.comm.comm(), &m_requests[2 * n]),
              "MPI_Irecv");
    }
    for (std::size_t n = 0; n < neighbours.size(); ++n) {
      Kokkos::deep_copy(m_sides[n].host_out, m_sides[n].out);
      require(MPI_Isend(m_sides[n].host_out.data(), m_sides[n].host_out.extent_int(0), MPI_DOUBLE,
                        neighbours[n].rank, 0, m_matrix.comm.comm(), &m_requests[2 * n + 1]),
              "MPI_Isend");
    }
    require(
        MPI_Waitall(static_cast<int>(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
    for (std::size_t n = 0; !runs_on_host && n < neighbours.size(); ++n) {
      int const begin = neighbours[n].halo_begin;
      Kokkos::deep_copy(m_sides[n].in, m_sides[n].host_in);
      Kokkos::deep_copy(Kokkos::subview(vector, std::pair(begin, begin + neighbours[n].halo_count)),
                        m_sides[n].in);
    }
    Space().fence("cg_ranks: after the halo has come");
    m_seconds_communicating += communicates.seconds();
  }

  Matrix const& m_matrix;
  Options const& m_options;
  Vectors const& m_vectors;
  Scalars m_scalars;
  Preconditioner m_precondition;
  decltype(Kokkos::create_mirror_view(Numbers())) m_host_sums, m_host_sum;
  decltype(Kokkos::create_mirror_view(StateView())) m_host_state;
  std::vector<Side> m_sides;  ///< for each neighbour
  std::vector<MPI_Request> m_requests;
  double m_seconds_communicating = 0;
};

}  // namespace cg

#endif
