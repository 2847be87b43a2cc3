// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Orchestration.hpp>
#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <graph/Trellis_Environment.hpp>
#include <graph/Trellis_Runtime.hpp>
#include <threads/Trellis_Places.hpp>
#include <threads/Trellis_Workers.hpp>
#include <policy/Trellis_SerialOrder.hpp>
#include <trace/Trellis_GraphTools.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iostream>
#include <string_view>

namespace trellis::Impl {

Runtime& runtime() {
  static Runtime instance;
  return instance;
}

namespace {

std::shared_ptr<SchedulingPolicy> policy_from_environment() {
  std::string const text = text_from(Variable::policy).value_or("work_stealing");
  std::string_view const name = text;
  if (name == "work_stealing") return make_work_stealing_policy();
  if (name == "fifo") return make_fifo_policy();
  if (name == "priority") return experimental::make_priority_policy();
  if (name == "shake") return make_shake_policy(1);
  if (name.starts_with("shake:")) {
    std::uint64_t seed = 0;
    auto const [end, error] = std::from_chars(name.data() + 6, name.data() + name.size(), seed);
    if (error == std::errc() && end == name.data() + name.size()) return make_shake_policy(seed);
  }
  bad_value(Variable::policy, name);
}

std::shared_ptr<Orchestration> orchestration_from_environment() {
  std::optional<std::string> const text = text_from(Variable::orchestration);
  if (!text) return make_native();
  try {
    return make_orchestration(*text);
  } catch (Error const&) {
    bad_value(Variable::orchestration, *text);
  }
}

std::string without_tools(std::string const& asker) {
  return "Trellis: only Trellis::tools does what is asked by " + asker +
         ", and this program is not linked with it (CMake: target_link_libraries(program "
         "Trellis::tools))";
}

/// Throws `Error` when the program asks for what only Trellis::tools does.
void refuse_tools(TaskGraphOptions const& asked) {
  auto const refuse = [&](char const* option) {
    throw Error(Error::Kind::bad_input,
                without_tools("TaskGraphOptions::" + std::string(option) + " of " + asked.name));
  };
  if (asked.log && !asked.log->empty()) refuse("log");
  if (asked.statistics && !asked.statistics->empty()) refuse("statistics");
  if (asked.warn.value_or(false)) refuse("warn");
}

/// What the environment asks of Trellis::tools. In a program that is not linked with it nothing is
/// left of that, and one line of the process says so.
class AskedOfTools {
 public:
  explicit AskedOfTools(bool has_tools) : m_has_tools(has_tools) {}

  /// A file named `1` in `TRELLIS_LOG=1` is not meant (`./1` would be one).
  std::optional<std::string> take_destination(Variable variable, bool may_be_empty) {
    std::optional<std::string> destination = text_from(variable);
    if (!destination || (destination->empty() && may_be_empty)) return destination;
    if (destination->empty() || flag_of(*destination)) bad_value(variable, *destination);
    return may(variable) ? destination : std::nullopt;
  }
  bool take(Variable variable, bool is_asked) { return is_asked && may(variable); }

  void tell_once() const {
    static std::atomic<bool> has_told{false};
    if (!m_askers.empty() && !has_told.exchange(true))
      std::cerr << without_tools(m_askers) + '\n' << std::flush;
  }

 private:
  bool may(Variable variable) {
    if (m_has_tools) return true;
    m_askers += m_askers.empty() ? "" : ", ";
    m_askers += all_variables()[static_cast<std::size_t>(variable)].name;
    return false;
  }

  bool const m_has_tools;
  std::string m_askers;
};

int default_workers(int threads_per_worker) {
  int threads = cores_of_process();
  if (runtime().concurrency != nullptr) threads = std::min(threads, runtime().concurrency());
  return std::clamp(threads / threads_per_worker, 1, Workers::most_permits);
}

/// Enough tasks for each worker to have some, and so few that they remain in a core's caches. If
/// the submitter of short tasks is further ahead, they cost more, for itself and for the workers.
std::size_t default_in_flight(int workers) {
  return std::max<std::size_t>(2048, 128 * static_cast<std::size_t>(workers));
}

template <class T>
void require_positive(TaskGraphOptions const& options, char const* what,
                      std::optional<T> const& value) {
  if (*value >= 1) return;
  throw Error(Error::Kind::bad_input,
              "Trellis: " + options.name + " cannot have " + std::to_string(*value) + ' ' + what);
}

}  // namespace

TaskGraphOptions resolve(TaskGraphOptions const& asked) {
  TaskGraphOptions options = asked;
  if (runtime().is_usable != nullptr && !runtime().is_usable())
    throw Error(Error::Kind::closed,
                "Trellis: " + options.name +
                    " is made before Kokkos::initialize() or after Kokkos::finalize()");
  tell_unknown_variables_once();
  if (!options.threads_per_worker)
    options.threads_per_worker = number_from<int>(Variable::threads_per_worker).value_or(1);
  require_positive(options, "threads per worker", options.threads_per_worker);
  if (!options.workers) options.workers = number_from<int>(Variable::workers);
  if (!options.workers) options.workers = default_workers(*options.threads_per_worker);
  require_positive(options, "workers", options.workers);
  if (*options.workers > Workers::most_permits)
    throw Error(Error::Kind::bad_input, "Trellis: " + options.name + " cannot have more than " +
                                            std::to_string(Workers::most_permits) + " workers");
  if (!options.in_flight)
    options.in_flight = number_from<std::uint64_t>(Variable::in_flight)
                            .value_or(default_in_flight(*options.workers));
  require_positive(options, "tasks in flight", options.in_flight);
  if (!options.bind) options.bind = text_from(Variable::bind).value_or("none");
  if (!options.streams) options.streams = number_from<int>(Variable::streams).value_or(8);
  require_positive(options, "streams", options.streams);
  GraphTools const* const tools = graph_tools();
  if (tools == nullptr) refuse_tools(asked);
  AskedOfTools of_tools(tools != nullptr);
  bool const has_analysis = of_tools.take_destination(Variable::analysis, true).has_value();
  bool const has_trace = of_tools.take_destination(Variable::trace, false).has_value();
  if (!options.record) {
    std::optional<bool> const records = flag_from(Variable::record);
    // Without the tools the graph records as well, but no report follows.
    static_cast<void>(of_tools.take(Variable::record, records.value_or(false)));
    options.record = records.value_or(has_analysis || has_trace);
  }
  options.serial = flag_from(Variable::serial).value_or(options.serial.value_or(false));
  if (*options.serial)
    options.policy = std::make_shared<SerialOrder>();
  else if (!options.policy || std::dynamic_pointer_cast<SerialOrder>(options.policy) != nullptr)
    options.policy = policy_from_environment();
  if (!options.orchestration) options.orchestration = orchestration_from_environment();
  if (!options.warn)
    options.warn = of_tools.take(Variable::warn, flag_from(Variable::warn).value_or(false));
  if (!options.watchdog) options.watchdog = number_from<double>(Variable::watchdog).value_or(0);
  if (!(*options.watchdog >= 0 && *options.watchdog <= 1e9))
    throw Error(Error::Kind::bad_input, "Trellis: " + options.name + " cannot have a watchdog of " +
                                            std::to_string(*options.watchdog) + " seconds");
  if (!options.log) options.log = of_tools.take_destination(Variable::log, true);
  if (!options.statistics)
    options.statistics = of_tools.take_destination(Variable::statistics, false);
  static_cast<void>(Places(*options.bind, *options.threads_per_worker, options.name));
  tell_help_once(asked, options);
  of_tools.tell_once();
  if (tools != nullptr && *options.record) tools->check_end(options.name);
  // Last: errors above leave no file behind.
  if (options.log && !options.log->empty()) {
    TaskObserver write = tools->make_log(*options.log, options.name);
    if (options.observer == nullptr)
      options.observer = std::move(write);
    else
      options.observer = [first = std::move(options.observer),
                          then = std::move(write)](TaskEvent const& event) {
        first(event);
        then(event);
      };
  }
  return options;
}

}  // namespace trellis::Impl
