// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Observer.hpp>
#include <tools/Trellis_SetGraphTools.hpp>

#include <exception>
#include <string>

namespace trellis {
namespace {

[[noreturn]] void cannot_log_to(std::string const& destination, std::string const& why,
                                std::exception_ptr cause = nullptr) {
  throw Error(Error::Kind::bad_input,
              "Trellis: cannot log the states of tasks to \"" + destination + "\": " + why, cause);
}

}  // namespace
}  // namespace trellis

#ifdef TRELLIS_HAS_SPDLOG

#include <tools/Trellis_Text.hpp>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

namespace trellis {
namespace {

// Names come from users. Whatever they hold, an event stays on its line, and a quotation mark ends
// the label.
std::string one_line(std::string_view text) {
  return Impl::escaped(text, {{'\n', "\\n"}, {'\t', "\\t"}, {'"', "\\\""}, {'\\', "\\\\"}});
}

// "     123.456 us": exact, and aligned for the first hundred seconds.
std::string time_text(std::uint64_t ns) {
  std::string digits = std::to_string(ns);
  if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
  digits.insert(digits.size() - 3, 1, '.');
  if (digits.size() < 12) digits.insert(0, 12 - digits.size(), ' ');
  return digits + " us";
}

/// Returns a destination's sink. Logs of one process that write to one file at the same time share
/// it.
std::shared_ptr<spdlog::sinks::sink> make_sink(std::string const& destination, bool overwrite) {
  if (destination == "stderr") return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (destination == "stdout") return std::make_shared<spdlog::sinks::stdout_sink_mt>();
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<spdlog::sinks::sink>> open;
  std::lock_guard const lock(mutex);
  std::weak_ptr<spdlog::sinks::sink>& known = open[destination];
  if (std::shared_ptr<spdlog::sinks::sink> sink = known.lock()) return sink;
  // spdlog would make the folders of a mistyped path.
  std::filesystem::path const folder = std::filesystem::path(destination).parent_path();
  if (std::error_code ignored; !folder.empty() && !std::filesystem::is_directory(folder, ignored))
    cannot_log_to(destination, "there is no folder \"" + folder.string() + '"');
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(destination, overwrite);
    known = sink;
    return sink;
  } catch (spdlog::spdlog_ex const& error) {
    cannot_log_to(destination, error.what(), std::current_exception());
  }
}

/// Logs events. Copies share the logger, whose end flushes and closes the file. The logger is in no
/// registry, as the program may use spdlog for itself.
class StateLog {
 public:
  StateLog(std::string const& destination, std::string const& graph_name, bool overwrite)
      : m_logger(std::make_shared<spdlog::logger>("trellis", make_sink(destination, overwrite))) {
    if (!graph_name.empty()) m_prefix = '[' + one_line(graph_name) + "] ";
    m_logger->set_pattern("%v");  // the time is the graph's, not the wall clock's
    m_logger->flush_on(spdlog::level::err);
  }

  // The sink takes a line as a whole, under its mutex. spdlog itself reports errors while writing.
  void operator()(TaskEvent const& event) const noexcept {
    try {
      std::string line = m_prefix + time_text(event.time_ns) + "  #" + std::to_string(event.id) +
                         " \"" + one_line(event.label) + "\"  ";
      line += to_string(event.state);
      if (event.row >= 0) line += "  row " + std::to_string(event.row);
      if (event.parent != 0) line += "  child of #" + std::to_string(event.parent);
      bool const bad = event.state == TaskState::failed || event.state == TaskState::cancelled;
      m_logger->log(bad ? spdlog::level::err : spdlog::level::info, spdlog::string_view_t(line));
    } catch (...) {  // out of memory: a line is missing, the program goes on
    }
  }

 private:
  std::shared_ptr<spdlog::logger> m_logger;
  std::string m_prefix;
};

}  // namespace

TaskObserver make_state_log(std::string const& destination, std::string const& graph_name) {
  return StateLog(destination, graph_name, true);
}

TaskObserver Impl::make_graph_log(std::string const& destination, std::string const& graph_name) {
  static std::mutex mutex;
  static std::set<std::string> begun;
  std::lock_guard const lock(mutex);
  bool const overwrite = !begun.contains(destination);
  StateLog log(destination, graph_name, overwrite);
  begun.insert(destination);
  return log;
}

}  // namespace trellis

#else

namespace trellis {

TaskObserver make_state_log(std::string const& destination, std::string const&) {
  cannot_log_to(destination, "this Trellis was built without spdlog");
}
TaskObserver Impl::make_graph_log(std::string const& destination, std::string const& graph_name) {
  return make_state_log(destination, graph_name);
}

}  // namespace trellis

#endif
