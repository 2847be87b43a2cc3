// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Orchestration.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <graph/Trellis_Environment.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <locale>
#include <numeric>
#include <sstream>
#include <vector>

extern char** environ;  // POSIX has it, and no header needs to declare it

namespace trellis::Impl {
namespace {

constexpr std::string_view flag_values = "1, true, on, yes or 0, false, off, no";

template <auto option>
std::optional<std::string> said(TaskGraphOptions const& options) {
  auto const& value = options.*option;
  if (!value) return std::nullopt;
  if constexpr (requires { value->name(); }) {
    return std::string(value->name());
  } else if constexpr (requires { value->empty(); }) {
    return value->empty() ? "nowhere" : *value;
  } else {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << *value;
    return text.str();
  }
}

using Options = TaskGraphOptions;
constexpr std::array all_rows{
    VariableRow{Variable::workers, "TRELLIS_WORKERS", "a whole number",
                "threads that run tasks at the same time", &said<&Options::workers>},
    VariableRow{Variable::threads_per_worker, "TRELLIS_THREADS_PER_WORKER", "a whole number",
                "threads of each worker's Kokkos instance", &said<&Options::threads_per_worker>},
    VariableRow{Variable::bind, "TRELLIS_BIND", "none, core or processors such as 0,2-5",
                "where the main thread and the workers run", &said<&Options::bind>},
    VariableRow{Variable::in_flight, "TRELLIS_IN_FLIGHT", "a whole number",
                "largest number of tasks submitted and not complete", &said<&Options::in_flight>},
    VariableRow{Variable::policy, "TRELLIS_POLICY",
                "work_stealing, fifo, priority, shake or shake:SEED",
                "the order of tasks that are ready; shake: at random, which finds bugs",
                &said<&Options::policy>},
    VariableRow{Variable::orchestration, "TRELLIS_ORCHESTRATION",
                "native, bsp, backfill, fuse_immediately:N, fuse_late:N, all_on_device:D, "
                "round_robin:N[:DEVICES] or learning[:SEED]",
                "how fork-joins run, and which fusable tasks run as one",
                &said<&Options::orchestration>},
    VariableRow{Variable::streams, "TRELLIS_STREAMS", "a whole number",
                "streams of each asynchronous device", &said<&Options::streams>},
    VariableRow{Variable::record, "TRELLIS_RECORD", flag_values, "keep both graphs and time stamps",
                &said<&Options::record>},
    VariableRow{Variable::log, "TRELLIS_LOG", "stderr, stdout or a file",
                "gets a line for every change of a task's state", &said<&Options::log>},
    VariableRow{Variable::analysis, "TRELLIS_ANALYSIS", "stderr, stdout or a file",
                "gets the critical path of each graph when that ends, and predictions for other "
                "machines; records"},
    VariableRow{Variable::trace, "TRELLIS_TRACE", "a folder",
                "gets a page with timeline, graph, analysis and statistics of each graph when that "
                "ends: open its index.html; records"},
    VariableRow{Variable::statistics, "TRELLIS_STATISTICS", "a file",
                "gets counters over time, with a picture beside it", &said<&Options::statistics>},
    VariableRow{Variable::serial, "TRELLIS_SERIAL", flag_values,
                "run each task inside the call that submits it: the oracle",
                &said<&Options::serial>},
    VariableRow{Variable::warn, "TRELLIS_WARN", flag_values,
                "tell what looks wrong in the annotations", &said<&Options::warn>},
    VariableRow{Variable::watchdog, "TRELLIS_WATCHDOG", "a number of seconds; 0: never",
                "tell all unfinished tasks when none has been completed for so long",
                &said<&Options::watchdog>},
    VariableRow{Variable::help, "TRELLIS_HELP", flag_values,
                "print this list when the first graph is made"},
};

constexpr bool is_in_order() {
  for (std::size_t k = 0; k != all_rows.size(); ++k)
    if (all_rows[k].variable != static_cast<Variable>(k)) return false;
  return all_rows.size() == static_cast<std::size_t>(Variable::help) + 1;
}
static_assert(is_in_order(), "each variable has its row");

/// Read by Trellis::mpi, the tests, the benchmarks, `./run` and CMake, not by this library.
constexpr std::string_view prefix = "TRELLIS_";
constexpr std::array<std::string_view, 3> prefixes_of_others{"TRELLIS_TEST_", "TRELLIS_RUN_",
                                                             "TRELLIS_MPI_"};
constexpr std::array<std::string_view, 7> names_of_others{
    "TRELLIS_COMMIT", "TRELLIS_DIR",     "TRELLIS_ROOT",   "TRELLIS_IN_HOME",
    "TRELLIS_IN_PWD", "TRELLIS_IN_REPO", "TRELLIS_IN_ROOT"};

VariableRow const& row_of(Variable variable) {
  return all_rows[static_cast<std::size_t>(variable)];
}

char const* value_of(Variable variable) {
  return std::getenv(row_of(variable).name.data());  // literals end with a zero
}

bool is_known(std::string_view name) {
  return std::ranges::any_of(all_rows, [&](VariableRow const& row) { return row.name == name; }) ||
         std::ranges::find(names_of_others, name) != names_of_others.end() ||
         std::ranges::any_of(prefixes_of_others,
                             [&](std::string_view other) { return name.starts_with(other); });
}

/// How many letters must be inserted, removed or changed.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> line(b.size() + 1);
  std::iota(line.begin(), line.end(), std::size_t{0});
  for (std::size_t i = 0; i != a.size(); ++i) {
    std::size_t before = line[0]++;
    for (std::size_t j = 0; j != b.size(); ++j) {
      std::size_t const changed = before + (a[i] == b[j] ? 0 : 1);
      before = line[j + 1];
      line[j + 1] = std::min({changed, line[j] + 1, before + 1});
    }
  }
  return line.back();
}

/// Returns a variable with the words of this name, or the most similar one; empty if none is near.
std::string_view nearest_to(std::string_view name) {
  name.remove_prefix(prefix.size());
  if (name.empty()) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (VariableRow const& row : all_rows) {
    std::string_view const known = row.name.substr(prefix.size());
    bool const shares = name.size() > 2 && (known.find(name) != std::string_view::npos ||
                                            name.find(known) != std::string_view::npos);
    if (std::size_t const d = shares ? 1 : distance(name, known); d < least && d < known.size()) {
      least = d;
      best = row.name;
    }
  }
  return best;
}

/// True if the program's option counts. For `serial` the environment takes precedence.
bool says(TaskGraphOptions const& asked, VariableRow const& row) {
  return row.said != nullptr && row.said(asked).has_value() &&
         (row.variable != Variable::serial || value_of(row.variable) == nullptr);
}

std::string in_force(TaskGraphOptions const& options, VariableRow const& row) {
  if (row.said != nullptr) return row.said(options).value_or("nowhere");
  if (row.variable == Variable::help) return flag_from(row.variable).value_or(false) ? "1" : "0";
  return text_from(row.variable).value_or("nowhere");
}

}  // namespace

std::span<VariableRow const> all_variables() {
  return all_rows;
}

void bad_value(Variable variable, std::string_view value) {
  VariableRow const& row = row_of(variable);
  throw Error(Error::Kind::bad_input, "Trellis: the environment variable " + std::string(row.name) +
                                          " is \"" + std::string(value) + "\", but must be " +
                                          std::string(row.values));
}

std::optional<std::string> text_from(Variable variable) {
  char const* const text = value_of(variable);
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<bool> flag_of(std::string_view word) {
  auto const is = [&](std::string_view other) {
    return std::ranges::equal(word, other, {},
                              [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  };
  for (std::string_view const yes : {"1", "true", "on", "yes"})
    if (is(yes)) return true;
  for (std::string_view const no : {"0", "false", "off", "no"})
    if (is(no)) return false;
  return std::nullopt;
}

std::optional<bool> flag_from(Variable variable) {
  char const* const text = value_of(variable);
  if (text == nullptr) return std::nullopt;
  std::optional<bool> const flag = flag_of(text);
  if (!flag) bad_value(variable, text);
  return flag;
}

template <class T>
std::optional<T> number_from(Variable variable) {
  char const* const text = value_of(variable);
  if (text == nullptr) return std::nullopt;
  std::string_view const view(text);
  T value{};
  auto const [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || view.starts_with('-'))
    bad_value(variable, view);
  return value;
}
template std::optional<int> number_from<int>(Variable);
template std::optional<double> number_from<double>(Variable);
template std::optional<std::uint64_t> number_from<std::uint64_t>(Variable);

std::string unknown_variables(std::span<char const* const> environment) {
  std::string text;
  for (std::string_view const entry : environment) {
    std::string_view const name = entry.substr(0, entry.find('='));
    if (!name.starts_with(prefix) || is_known(name)) continue;
    (text += "Trellis: nothing reads the environment variable ") += name;
    if (std::string_view const near = nearest_to(name); !near.empty())
      ((text += "; do you mean ") += near) += '?';
    else
      text += '.';
    text += " TRELLIS_HELP=1 lists all.\n";
  }
  return text;
}

std::string environment_help(TaskGraphOptions const& asked, TaskGraphOptions const& options) {
  std::string text =
      "Trellis: the environment variables, with the values in force in the first graph (\"" +
      options.name + "\")\n";
  for (VariableRow const& row : all_rows) {
    char const* const source = says(asked, row)                    ? "set by the program"
                               : value_of(row.variable) != nullptr ? "from the environment"
                                                                   : "by default";
    ((text += "  ") += row.name) += " = " + in_force(options, row) + " (" + source + ")\n";
    ((((text += "      ") += row.meaning) += "; must be ") += row.values) += '\n';
  }
  return text;
}

void tell_unknown_variables_once() {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true)) return;
  std::size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  std::cerr << unknown_variables({environ, count}) << std::flush;
}

void tell_help_once(TaskGraphOptions const& asked, TaskGraphOptions const& options) {
  static std::atomic<bool> reported{false};
  bool const is_asked = flag_from(Variable::help).value_or(false);  // each graph reports errors
  if (is_asked && !reported.exchange(true))
    std::cerr << environment_help(asked, options) << std::flush;
}

}  // namespace trellis::Impl
