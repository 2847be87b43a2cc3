// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_HIDDEN_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_HIDDEN_HPP

#include <Trellis_Graph.hpp>

/// With this header a reader knows how much of a rank's communication was hidden.
///
/// An *exchange* is what a rank and one neighbour tell each other after a step. It is under way
/// from when this rank begins to send its edge (packing included) until both messages are over: its
/// edge can be written again, and the neighbour's is in the halo (unpacking included). A receive is
/// posted earlier, when its halo is free; until this rank sends its own edge of that step it does
/// not count: it only stands ready, and would make the time under way as long as the run.
///
/// Communication is *under way* while any exchange is. It is *hidden* while meanwhile at least one
/// worker of this rank takes a step of a tile, and *exposed* while none does: then the rank waits,
/// packs, or calls MPI. So `under_way = hidden + exposed`, and nothing is counted twice. Waiting
/// for a neighbour that is late is exposed communication, too. The largest change of all ranks,
/// which nobody waits for, is no exchange.
namespace heat::ranks {

/// Of one rank, in seconds.
struct Communication {
  double seconds = 0;  ///< from the first task to the end of the last one
  double under_way = 0;
  double hidden = 0;
  double computing = 0;  ///< the mean number of workers that took steps while it was under way
  double exchanges = 0;

  [[nodiscard]] double exposed() const { return under_way - hidden; }
};

/// From the labels that TaskSolver gives. Throws `std::runtime_error` when an exchange is there by
/// half.
[[nodiscard]] Communication communication_of(trellis::Trace const& trace);

/// The part that was hidden; 1 when nothing was under way.
[[nodiscard]] inline double hidden_part(Communication const& of) {
  return of.under_way > 0 ? of.hidden / of.under_way : 1;
}

}  // namespace heat::ranks

#endif
