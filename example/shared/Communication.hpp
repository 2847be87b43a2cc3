// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_COMMUNICATION_HPP
#define TRELLIS_EXAMPLE_COMMUNICATION_HPP

#include <Trellis_Recorded.hpp>
#include <cstdint>
#include <functional>
#include <string_view>

/// This header measures how much of a rank's communication was hidden.
///
/// An *exchange* is what a rank and one neighbour send each other at one time. It is under way from
/// when this rank begins to send (packing included) until both messages are complete: what was sent
/// can be written again, and what came is there (unpacking included). A receive is posted earlier,
/// when its memory is free. It does not count until this rank sends its own part, as it would make
/// the time under way as long as the run. A *collective operation* is under way from when this rank
/// starts it until its result is there, and counts as an exchange.
///
/// Communication is *under way* while any exchange is. It is *hidden* while at least one worker of
/// this rank computes meanwhile, and *exposed* while none does: then the rank waits, packs, or
/// calls MPI. So `under_way = hidden + exposed`, and nothing is counted twice. Waiting for a
/// neighbour that is late is exposed communication, too.
namespace example {

/// The times of one rank, in seconds.
struct Communication {
  double seconds = 0;  ///< from the first task to the end of the last one
  double under_way = 0;
  double hidden = 0;
  double computing = 0;  ///< the mean number of workers that computed while it was under way
  double exchanges = 0;

  [[nodiscard]] double exposed() const { return under_way - hidden; }
};

/// True if a task with this label computes.
using Computes = std::function<bool(std::string_view)>;

/// The role of a task with this label.
enum class Role {
  none,
  computes,
  messages,   ///< "send NAME" or "recv NAME": those of one name are an exchange
  exchanges,  ///< the task is an exchange, from its start to its end
};

/// Throws `std::runtime_error` when an exchange is incomplete.
[[nodiscard]] Communication communication_of(trellis::Trace const& trace,
                                             std::function<Role(std::string_view)> const& role_of);

/// Returns the communication of all messages.
[[nodiscard]] inline Communication exchanges_of(trellis::Trace const& trace,
                                                Computes const& computes) {
  return communication_of(trace, [&](std::string_view label) {
    return computes(label) ? Role::computes : Role::messages;
  });
}

/// Returns the communication of the collective operations with this label.
[[nodiscard]] inline Communication collectives_of(trellis::Trace const& trace,
                                                  std::string_view label,
                                                  Computes const& computes) {
  return communication_of(trace, [&](std::string_view each) {
    return computes(each) ? Role::computes : each == label ? Role::exchanges : Role::none;
  });
}

/// Returns the part that was hidden; 1 when nothing was under way.
[[nodiscard]] inline double hidden_part(Communication const& of) {
  return of.under_way > 0 ? of.hidden / of.under_way : 1;
}

}  // namespace example

#endif
