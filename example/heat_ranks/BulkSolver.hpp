// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_BULKSOLVER_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_BULKSOLVER_HPP

#include <mpi.h>

#include <array>
#include <vector>

#include "Change.hpp"
#include "Part.hpp"

/// This header has the reference solver, bulk-synchronous and by hand: one kernel over all cells of
/// the rank, then its halo, then the next step. It uses no Trellis but the communicator.
namespace heat::ranks {

/// Sends the edges of a rank to its neighbours, and receives theirs into its halo.
class HaloExchange {
 public:
  explicit HaloExchange(Part const& part) : m_part(part) {
    for (Side const side : all_sides) {
      int const along = part.box().length(side == west || side == east ? 0 : 1);
      if (part.has(side) && !goes_as_it_is(side)) m_packed[side] = Packed(along);
    }
  }

  /// Waits for the kernels before, and for the messages. Throws `trellis::mpi::Error`.
  void operator()(Field<2> const& u) {
    for (Side const side : all_sides) {
      if (!m_part.has(side)) continue;
      with_side(u, side, [&](auto const&, auto const& halo) {
        int const count = halo.extent_int(0);
        double* const into = goes_as_it_is(side) ? halo.data() : m_packed[side].in_host.data();
        require(MPI_Irecv(into, count, MPI_DOUBLE, m_part.neighbours[side], opposite(side),
                          m_part.comm.comm(), &m_requests[side]),
                "MPI_Irecv");
      });
    }
    Space().fence("heat_ranks: before the edges are sent");
    for (Side const side : all_sides) {
      if (!m_part.has(side)) continue;
      with_side(u, side, [&](auto const& edge, auto const&) {
        double const* from = edge.data();
        if (!goes_as_it_is(side)) {
          Kokkos::deep_copy(m_packed[side].out, edge);
          Kokkos::deep_copy(m_packed[side].out_host, m_packed[side].out);
          from = m_packed[side].out_host.data();
        }
        require(MPI_Isend(from, edge.extent_int(0), MPI_DOUBLE, m_part.neighbours[side], side,
                          m_part.comm.comm(), &m_requests[4 + side]),
                "MPI_Isend");
      });
    }
    require(MPI_Waitall(8, m_requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    for (Side const side : all_sides) {
      if (!m_part.has(side) || goes_as_it_is(side)) continue;
      with_side(u, side, [&](auto const&, auto const& halo) {
        Kokkos::deep_copy(m_packed[side].in, m_packed[side].in_host);
        Kokkos::deep_copy(halo, m_packed[side].in);
      });
    }
    Space().fence("heat_ranks: after the halo has come");
  }

  static void require(int code, char const* what) {
    if (code != MPI_SUCCESS) throw trellis::mpi::Error(what, code);
  }

 private:
  using Line = Kokkos::View<double*, Space>;
  struct Packed {
    Packed() = default;
    explicit Packed(int count)
        : out("edge", count),
          in("halo", count),
          out_host(Kokkos::create_mirror_view(out)),
          in_host(Kokkos::create_mirror_view(in)) {}
    Line out, in;
    decltype(Kokkos::create_mirror_view(Line())) out_host, in_host;
  };
  // A row is contiguous; a row of a device goes through the host.
  static bool goes_as_it_is(Side side) { return runs_on_host && (side == north || side == south); }

  Part const& m_part;
  std::array<Packed, 4> m_packed;
  std::array<MPI_Request, 8> m_requests = [] {
    std::array<MPI_Request, 8> none;
    none.fill(MPI_REQUEST_NULL);
    return none;
  }();
};

struct BulkRun {
  std::vector<double> changes;          ///< the largest change of all ranks, one for each check
  double seconds_of_communication = 0;  ///< in which this rank has computed nothing
};

/// Takes `steps` steps on every thread of the default instance. Collective.
inline BulkRun solve_bulk(Part const& part, Problem const& problem, int steps,
                          DoubleBuffer<2> const& u) {
  BulkRun run;
  HaloExchange exchange(part);
  Box<2> const box = interior<2>(u.even);
  auto const policy = policy_over(box);
  for (int step = 0; step < steps; ++step) {
    Step<2> const body{u.before(step), u.after(step), box, problem.ratio()};
    double change = 0;
    bool const checks = problem.residual_of(step) >= 0;
    if (checks)
      Kokkos::parallel_reduce("step and change", policy, StepAndChange(body),
                              Kokkos::Max<double>(change));
    else
      Kokkos::parallel_for("step", policy, body);
    Space().fence("heat_ranks: the step before its messages");
    Kokkos::Timer const communicates;
    exchange(u.after(step));
    if (checks) {
      HaloExchange::require(
          MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, part.comm.comm()),
          "MPI_Allreduce");
      run.changes.push_back(change);
    }
    run.seconds_of_communication += communicates.seconds();
  }
  return run;
}

}  // namespace heat::ranks

#endif
