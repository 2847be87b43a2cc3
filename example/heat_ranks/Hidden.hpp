// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_HIDDEN_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_HIDDEN_HPP

#include <string_view>

#include "../shared/Communication.hpp"

/// With this header a reader knows how much of a rank's communication was hidden. An exchange is
/// what a rank and one neighbour tell each other after a step; a worker computes while it takes a
/// step of a tile. The largest change of all ranks, which nobody waits for, is no exchange.
namespace heat::ranks {

using example::Communication, example::hidden_part;

/// From the labels that TaskSolver gives.
[[nodiscard]] inline Communication communication_of(trellis::Trace const& trace) {
  return example::communication_of(trace, [](std::string_view label) {
    return label.starts_with("step ") || label == "change" ? example::Role::computes
                                                           : example::Role::messages;
  });
}

}  // namespace heat::ranks

#endif
