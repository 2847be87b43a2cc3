// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ENVIRONMENT_HPP
#define TRELLIS_IMPL_ENVIRONMENT_HPP

#include <Trellis_TaskGraphOptions.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The environment variables of the library. The table in Trellis_Environment.cpp has all of them,
/// and nothing else reads the environment. A new variable is a new row, and then `TRELLIS_HELP`
/// lists it.
namespace trellis::Impl {

enum class Variable {
  workers,
  threads_per_worker,
  bind,
  in_flight,
  policy,
  orchestration,
  streams,
  record,
  log,
  analysis,
  trace,
  statistics,
  serial,
  warn,
  watchdog,
  help
};

struct VariableRow {
  Variable variable;
  std::string_view name;
  std::string_view values;  ///< text to follow "must be"
  std::string_view meaning;
  /// Returns what the program's option says, if it says anything. Null: there is no option.
  std::optional<std::string> (*said)(TaskGraphOptions const&) = nullptr;
};

[[nodiscard]] std::span<VariableRow const> all_variables();

/// Returns the value from the environment, if it is set. Throws `Error` for a value that cannot be
/// used, with the name of the variable and its valid values. A flag is 1, true, on or yes, or 0,
/// false, off or no.
[[nodiscard]] std::optional<std::string> text_from(Variable variable);
[[nodiscard]] std::optional<bool> flag_from(Variable variable);
template <class T>
[[nodiscard]] std::optional<T> number_from(Variable variable);
extern template std::optional<int> number_from<int>(Variable);
extern template std::optional<double> number_from<double>(Variable);
extern template std::optional<std::uint64_t> number_from<std::uint64_t>(Variable);

/// Reads 1, true, on, yes or 0, false, off, no, in letters of any case.
[[nodiscard]] std::optional<bool> flag_of(std::string_view word);

[[noreturn]] void bad_value(Variable variable, std::string_view value);

/// Returns a line for each `TRELLIS_...` among these ("NAME=VALUE") that nothing reads, with the
/// most similar name that is read.
[[nodiscard]] std::string unknown_variables(std::span<char const* const> environment);

/// Lists all variables, with the values in force and where they come from.
[[nodiscard]] std::string environment_help(TaskGraphOptions const& asked,
                                           TaskGraphOptions const& in_force);

/// Write to the standard error stream when the first graph of the process is made: first the
/// unknown variables, then the help if `TRELLIS_HELP` asks for it.
void tell_unknown_variables_once();
void tell_help_once(TaskGraphOptions const& asked, TaskGraphOptions const& in_force);

/// Returns the options of a graph with a value for each one: what the program asks for, else what
/// the environment says, else the default. Throws `Error` for a value that cannot be.
[[nodiscard]] TaskGraphOptions resolve(TaskGraphOptions const& asked);

}  // namespace trellis::Impl

#endif
