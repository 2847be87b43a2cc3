// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_ENDPOINT_HPP
#define TRELLIS_MPI_PERF_ENDPOINT_HPP

#include "Measure.hpp"
#include "World.hpp"

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mpi_perf {

/// Which messages there are in a step. Two ranks take part in the first two, the first one alone in
/// the last.
struct Traffic {
  enum class Pattern {
    ping_pong,  ///< one to the second rank, and one back
    exchange,   ///< both send, and both receive
    self        ///< the first rank sends to itself
  };
  Pattern pattern = Pattern::exchange;
  std::size_t bytes = 8;
  int in_flight = 1;  ///< of messages in each direction, which have nothing to do with each other
  bool one_tag = false;

  [[nodiscard]] char const* name() const;
  /// Of all ranks, in a step.
  [[nodiscard]] std::int64_t messages() const;
};

/// The memory of this rank's messages, and the ways to send them. A step sends what the one before
/// has received: each message waits for the one before, by hand as with tasks.
class Endpoint {
 public:
  using View = Kokkos::View<char*, Kokkos::HostSpace>;

  Endpoint(World const& world, Traffic const& traffic, trellis::mpi::Communicator const& comm);
  Endpoint(Endpoint const&) = delete;
  Endpoint& operator=(Endpoint const&) = delete;
  ~Endpoint();

  [[nodiscard]] bool takes_part() const { return m_takes_part; }
  [[nodiscard]] bool is_pong() const { return m_is_pong; }
  [[nodiscard]] Traffic const& traffic() const { return m_traffic; }

  /// By hand: MPI_Irecv, MPI_Isend, MPI_Waitall.
  void step_by_hand(std::int64_t step);
  /// Begins a step by hand, of one that is no pong; `try_to_end` says whether it is over.
  void begin_by_hand(std::int64_t step);
  [[nodiscard]] bool try_to_end();
  /// By hand, of a pong: answers so long after it has received.
  void answer(std::int64_t step, double seconds, MPI_Comm comm);
  /// By hand with persistent requests.
  void persistent_step(std::int64_t step);
  /// As tasks; `given` are annotations of each of them.
  template <class... Given>
  void submit_step(trellis::TaskGraph& graph, std::int64_t step, Given const&... given) const {
    using trellis::ResourcePolicy;
    namespace mpi = trellis::mpi;
    for (int k = 0; k < m_traffic.in_flight; ++k) {
      Lane const& lane = m_lanes[static_cast<std::size_t>(k)];
      int const tag = tag_of(k, step);
      View const& in = m_is_pong || step % 2 != 0 ? lane.even : lane.odd;
      View const& out = m_is_pong || step % 2 == 0 ? lane.even : lane.odd;
      mpi::recv(ResourcePolicy(graph, given...), m_trellis_comm, in, m_peer, tag);
      mpi::send(ResourcePolicy(graph, given...), m_trellis_comm, out, m_peer, tag);
    }
  }
  /// All memory, for a gate.
  [[nodiscard]] std::vector<View> views() const;

  void reset() const;
  /// Throws std::runtime_error when something wrong has arrived after an even number of steps.
  void check() const;

 private:
  /// Even steps send the one and receive the other. A pong receives and sends the same.
  struct Lane {
    View even, odd;
  };
  [[nodiscard]] int tag_of(int lane, std::int64_t step) const {
    return m_traffic.one_tag ? 0 : 2 * lane + static_cast<int>(step % 2);
  }
  void post(std::int64_t step);

  Traffic m_traffic;
  int m_rank;
  int m_peer;
  bool m_takes_part;
  bool m_is_pong;
  MPI_Comm m_comm;
  trellis::mpi::Communicator m_trellis_comm;
  std::vector<Lane> m_lanes;
  std::vector<MPI_Request> m_requests;
  std::vector<MPI_Request> m_persistent[2];  ///< of even and odd steps: all receives, all sends
};

Way bare_way(World const& world, std::shared_ptr<Endpoint> const& endpoint);
Way persistent_way(World const& world, std::shared_ptr<Endpoint> const& endpoint);
Way trellis_way(World const& world, std::shared_ptr<Endpoint> const& endpoint,
                std::shared_ptr<trellis::TaskGraph> const& graph);
/// The run alone: everything is submitted before the clock starts.
Way submitted_way(World const& world, std::shared_ptr<Endpoint> const& endpoint,
                  std::shared_ptr<trellis::TaskGraph> const& graph);
/// The submission alone.
Way submission_way(World const& world, std::shared_ptr<Endpoint> const& endpoint,
                   std::shared_ptr<trellis::TaskGraph> const& graph);
Way plan_way(World const& world, std::shared_ptr<Endpoint> const& endpoint,
             std::shared_ptr<trellis::TaskGraph> const& graph);

}  // namespace mpi_perf

#endif
