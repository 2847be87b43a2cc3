// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_WARNING_HPP
#define TRELLIS_WARNING_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

/// With this header you take the warnings of a graph (`TaskGraphOptions::warn`, `TRELLIS_WARN=1`)
/// and process them yourself, instead of having them on the standard error stream.
namespace trellis {

/// What looks wrong.
enum class WarningKind : std::uint8_t {
  read_unwritten,    ///< a task reads what no task has written
  never_read,        ///< a task writes what no task can read any more
  overwritten,       ///< two tasks write the same, and none reads in between
  serialising_wait,  ///< a wait() that keeps independent tasks apart without need
  not_captured,      ///< a task declares a View that its functor does not hold
  not_declared,      ///< a functor holds a View that its task does not declare
  not_atomic         ///< a functor holds a plain View that its task is to update atomically
};
[[nodiscard]] constexpr std::string_view to_string(WarningKind kind) {
  constexpr std::string_view names[] = {"read_unwritten",   "never_read",   "overwritten",
                                        "serialising_wait", "not_captured", "not_declared",
                                        "not_atomic"};
  return names[static_cast<std::size_t>(kind)];
}

/// A finding about a program, from its annotations alone.
struct Warning {
  WarningKind kind{};
  std::string text;      ///< the whole sentence
  std::string task;      ///< the label of the task, or "wait()"
  std::string resource;  ///< the label of the View
  std::string area;      ///< its part, as indices: "[0, 10) x [2, 4)"
  std::string place;     ///< `file:line` of the call
  std::uint64_t count = 1;
};

/// Called once for each kind, label and call site, with a count of 1. When the graph ends it is
/// called once more for those that have come again, with the total count. Calls may come from
/// several threads at once, but under no lock: the handler may use the graph. It must not throw.
using WarningHandler = std::function<void(Warning const&)>;

}  // namespace trellis

#endif
