// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HIDDEN_HPP
#define TRELLIS_EXAMPLE_HIDDEN_HPP

#include <Trellis_Graph.hpp>
#include <functional>
#include <string_view>

/// With this header a reader knows how much of a rank's communication was hidden.
///
/// An *exchange* is what a rank and one neighbour tell each other after a step. It is under way
/// from when this rank begins to send its edge (packing included) until both messages are over: its
/// edge can be written again, and the neighbour's is in the halo (unpacking included). A receive is
/// posted earlier, when its halo is free; until this rank sends its own edge of that step it does
/// not count: it only stands ready, and would make the time under way as long as the run. A
/// *collective operation* is under way from when this rank starts it until its result is there.
///
/// Communication is *under way* while any exchange is. It is *hidden* while meanwhile at least one
/// worker of this rank computes, and *exposed* while none does: then the rank waits, packs, or calls
/// MPI. So `under_way = hidden + exposed`, and nothing is counted twice. Waiting for a rank that is
/// late is exposed communication, too.
namespace example {

/// Of one rank, in seconds.
struct Communication {
  double seconds = 0;  ///< from the first task to the end of the last one
  double under_way = 0;
  double hidden = 0;
  double computing = 0;  ///< the mean number of workers that computed while it was under way
  double exchanges = 0;

  [[nodiscard]] double exposed() const { return under_way - hidden; }
};

/// Does a task of this label compute?
using Computes = std::function<bool(std::string_view)>;

/// From labels: "send NAME", "recv NAME", and with ": pack" or ": unpack" behind them. Exchanges of
/// one name come one after the other. Throws `std::runtime_error` when one is there by half.
[[nodiscard]] Communication exchanges_of(trellis::Trace const& trace, Computes const& computes);

/// Of the collective operations of this label.
[[nodiscard]] Communication collectives_of(trellis::Trace const& trace, std::string_view label,
                                           Computes const& computes);

/// The part that was hidden; 1 when nothing was under way.
[[nodiscard]] inline double hidden_part(Communication const& of) {
  return of.under_way > 0 ? of.hidden / of.under_way : 1;
}

}  // namespace example

#endif
