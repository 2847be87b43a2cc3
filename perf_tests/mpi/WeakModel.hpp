// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_WEAKMODEL_HPP
#define TRELLIS_MPI_PERF_WEAKMODEL_HPP

/// How long a step of a stencil takes when each of P ranks has the same amount of work, from what a
/// task and a message cost. All times are in microseconds.
///
/// A rank has k columns, each with a kernel of time g. It exchanges one small message each way with
/// b neighbours: none if P = 1, one if P = 2, else two (no rank waits longer than an inner one). If
/// the ranks agree (an allreduce of one number in each step), nobody begins the next step before.
///
///     W    = k (g + c_t) + 2 b c_m  [+ c_a]           what a rank itself does in a step
///     h    = max(0, k - b) (g + c_t)                  done while the messages travel
///     T(P) = n W + max(0, L - h)                      without agreement
///     T(P) = n W + max(L, a S),  S = ceil(log2 P)     with agreement; without L if P = 1
///     and, where n > 1 ranks share a core, + s        [+ s S]
///
/// | cost | what | measured as |
/// |---|---|---|
/// | g    | the kernel and the check of its inputs | by hand on one rank, / (steps k) |
/// | c_t  | what a task adds | one rank, the shortest kernel: (time - by hand) / (steps k) |
/// | c_m  | processor time of one task that sends or receives | two ranks, 16 messages each way
///          under way: time / (steps 32) |
/// | L    | what a message takes beyond its two tasks | ping-pong: half of a round - 2 c_m |
/// | c_a  | what the allreduce adds on a rank | one rank, the shortest kernel: with - without |
/// | a    | a stage of an allreduce | allreduces in a chain: two ranks - one rank |
/// | s    | what it takes that a rank which waits goes on, where another one has its core |
///          ping-pong of two ranks on one core - on two |
///
/// So none of the runs that the model is checked with is one of those that its costs come from,
/// but for g.
///
/// What it assumes, and leaves out:
/// - One worker in each rank, and P ranks on `cores` cores of one machine: n = ceil(P / cores)
///   share one, so their compute time adds up. In a prediction for many ranks each has a core of
///   its own.
/// - Without agreement the time does not depend on the number of ranks, as soon as there are three:
///   a delay of one rank goes to its neighbours only, and there is none. Noise of the machine,
///   which grows with the number of ranks that wait for each other, is left out; so T is a lower
///   bound there.
/// - With it, the number of stages is that of a binomial tree or recursive doubling. Messages and
///   stages take the same time however far apart ranks are: no congestion, no topology.
/// - A worker takes tasks in an order in which everything else can be done while messages travel:
///   h is an upper bound of what is hidden.
/// - L and a are those of the transport on which they were measured, shared memory as a rule. For a
///   network with a latency of N, the prediction is made again with L + N - L' and a + N - L'. (L'
///   is the latency by hand that was measured.)
namespace mpi_perf {

struct Costs {
  double task = 0;       ///< c_t
  double message = 0;    ///< c_m
  double latency = 0;    ///< L
  double agreement = 0;  ///< c_a
  double stage = 0;      ///< a
  double handover = 0;   ///< s
};

struct WeakStep {
  int columns = 4;    ///< k
  double kernel = 0;  ///< g
  bool agrees = false;
};

/// T(P). `sharing`: n.
[[nodiscard]] double predicted(Costs const& costs, WeakStep const& step, double ranks,
                               int sharing = 1);

/// The same costs where a message takes `network` in place of the `measured` latency by hand.
[[nodiscard]] Costs with_network(Costs costs, double measured, double network);

}  // namespace mpi_perf

#endif
