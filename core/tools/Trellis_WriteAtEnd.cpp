// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_Statistics.hpp>
#include <Trellis_WhatIf.hpp>
#include <engine/Trellis_Engine.hpp>
#include <graph/Trellis_Environment.hpp>
#include <tools/Trellis_Page.hpp>
#include <tools/Trellis_SetGraphTools.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace trellis::Impl {
namespace {

// --- TRELLIS_ANALYSIS ----------------------------------------------------------------------------

/// Makes a policy like that of the graph, if it is known how to make one.
std::shared_ptr<SchedulingPolicy> policy_like(std::string_view name, Graph const& graph) {
  if (name == "fifo") return make_fifo_policy();
  if (name != "priority") return make_work_stealing_policy();
  auto policy = experimental::make_priority_policy();
  policy->learn(graph);
  return policy;
}

void write(std::string const& destination, std::string const& text) {
  static std::mutex mutex;
  static std::set<std::string> begun;  // the first graph of the process overwrites a file
  std::lock_guard const lock(mutex);
  if (destination == "stderr") {
    std::cerr << text << std::flush;
  } else if (destination == "stdout") {
    std::cout << text << std::flush;
  } else {
    std::ofstream file(destination,
                       begun.insert(destination).second ? std::ios::trunc : std::ios::app);
    if (!(file << text << std::flush))
      std::cerr << "Trellis: cannot write the analysis to \"" << destination << "\"" << std::endl;
  }
}

/// Throws `Error` when the file of `TRELLIS_ANALYSIS` cannot be written. `graph` is the graph's
/// name.
void check_analysis_at_end(std::string const& graph) {
  std::optional<std::string> const destination = text_from(Variable::analysis);
  if (!destination || destination->empty() || *destination == "stderr" || *destination == "stdout")
    return;
  if (!std::ofstream(*destination, std::ios::app))
    throw Error(Error::Kind::bad_input, "Trellis: " + graph + " cannot write its analysis to \"" +
                                            *destination + "\" (TRELLIS_ANALYSIS)");
}

/// Returns what a closed graph has recorded; no tasks if it does not record.
Trace trace_at_end(Engine& engine) {
  return engine.events().recorder() != nullptr ? engine.trace() : Trace();
}

/// Returns the analysis and the predictions of this trace. Requires that the graph records.
std::string analysis_at_end(Engine& engine, Trace const& trace) {
  std::ostringstream out;
  out << "Trellis: analysis of " << engine.options().name
      << (engine.events().recorder()->is_complete()
              ? ""
              : ", whose record is incomplete: memory has run out")
      << '\n';
  write_analysis(out, trace);
  out << '\n';
  std::string_view const policy = engine.options().policy->name();
  write_predictions(out, trace, [&] { return policy_like(policy, trace.graph); });
  return out.str();
}

/// Writes what `TRELLIS_ANALYSIS` asks for. Writes nothing if it is not set, or if the graph has no
/// tasks or does not record.
void write_analysis_at_end(Engine& engine) noexcept try {
  std::optional<std::string> const destination = text_from(Variable::analysis);
  if (!destination || destination->empty()) return;
  Trace const trace = trace_at_end(engine);
  if (!trace.graph.nodes().empty()) write(*destination, analysis_at_end(engine, trace));
} catch (std::exception const& error) {
  std::cerr << "Trellis: no analysis of " << engine.options().name << ": " << error.what()
            << std::endl;
}

// --- TRELLIS_TRACE -------------------------------------------------------------------------------

namespace fs = std::filesystem;

/// A program may make a graph in each step; only so many of a process are written.
constexpr int most_graphs = 100;
constexpr char const* summary_file = "summary.txt";

/// Returns the name of a graph as that of a folder.
std::string folder_name(std::string const& graph) {
  std::string name;
  for (char const c : graph.substr(0, 60)) {
    bool const is_plain =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    if (is_plain)
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  if (name.empty()) name = "graph";
  if (int const rank = TaskCounters::rank(); rank >= 0) name += "-rank-" + std::to_string(rank);
  return name;
}

/// Makes a folder that was not there. No two processes make the same one.
fs::path make_own_folder(fs::path const& common, std::string const& graph) {
  fs::create_directories(common);
  std::string const name = folder_name(graph);
  for (int number = 1;; ++number) {
    fs::path const own = common / (name + '-' + std::to_string(number));
    if (fs::create_directory(own)) return own;
  }
}

template <class F>
void write_file(fs::path const& file, F&& write) {
  std::ofstream out(file, std::ios::binary);
  write(out);
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

std::string now_as_text() {
  using namespace std::chrono;
  auto const now = system_clock::now();
  std::time_t const seconds = system_clock::to_time_t(now);
  auto const rest = duration_cast<milliseconds>(now - system_clock::from_time_t(seconds)).count();
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32], all[48];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc);
  std::snprintf(all, sizeof all, "%s.%03d UTC", text, static_cast<int>(rest));
  return all;
}

/// Writes a line at once, as other processes write to the same terminal.
void tell(std::string const& text) {
  std::cerr << ("Trellis: " + text + '\n') << std::flush;
}

/// Finds the graphs whose files are all written, the newest first.
std::vector<GraphEntry> entries_in(fs::path const& common) {
  std::vector<GraphEntry> entries;
  for (fs::directory_entry const& own : fs::directory_iterator(common)) {
    std::ifstream file(own.path() / summary_file);
    GraphEntry entry{own.path().filename().string(), {}, {}, {}};
    if (std::getline(file, entry.title) && std::getline(file, entry.summary) &&
        std::getline(file, entry.time))
      entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](GraphEntry const& a, GraphEntry const& b) {
    return a.time != b.time ? a.time > b.time : a.folder < b.folder;
  });
  return entries;
}

/// Returns the name of the page of the common folder. A page that is not of Trellis stays.
std::string page_of(fs::path const& common) {
  std::ifstream there(common / "index.html");
  if (!there) return "index.html";
  std::string head(1000, '\0');
  there.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find("content=\"Trellis\"") != std::string::npos ? "index.html" : "trellis.html";
}

/// Writes the page of the common folder: that of its only graph, or a list that leads to all. The
/// graphs of other processes end at the same time, so it looks again after it has written.
template <class F>
void write_common_page(fs::path const& common, fs::path const& own, F const& write_own) {
  std::vector<GraphEntry> entries = entries_in(common);
  while (true) {
    fs::path const made = common / (own.filename().string() + ".part");
    write_file(made, [&](std::ostream& out) {
      if (entries.size() == 1) return write_own(out, entries.front().folder + '/');
      write_list_page(out, entries);
    });
    fs::rename(made, common / page_of(common));
    std::vector<GraphEntry> after = entries_in(common);
    if (after == entries) return;
    entries = std::move(after);
  }
}

void write_all(fs::path const& common, Engine& engine, TraceLook const& look) {
  Trace const& trace = look.trace;
  std::string const& name = engine.options().name;
  fs::path const own = make_own_folder(common, name);
  PageOptions page;
  page.title = name;
  if (int const rank = TaskCounters::rank(); rank >= 0)
    page.title += ", rank " + std::to_string(rank);
  std::replace_if(
      page.title.begin(), page.title.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  try {
    page.analysis = analysis_at_end(engine, trace);
  } catch (Error const& error) {  // edges of a policy may close a circle
    page.analysis = std::string(error.what()) + '\n';
  }
  std::string const csv = statistics_csv(look, name);
  std::pair<char const*, std::function<void(std::ostream&)>> const files[] = {
      {"trace.json", [&](std::ostream& out) { trace.write_chrome_json(out); }},
      {"timeline.svg", [&](std::ostream& out) { trace.write_svg(out); }},
      {"graph.svg", [&](std::ostream& out) { trace.write_graph_svg(out); }},
      {"graph.dot", [&](std::ostream& out) { trace.graph.write_dot(out); }},
      {"analysis.txt", [&](std::ostream& out) { out << page.analysis; }},
      {"statistics.txt", [&](std::ostream& out) { out << statistics_text(look); }},
      {"statistics.csv", [&](std::ostream& out) { out << csv; }},
      {"statistics.svg", [&](std::ostream& out) {
         std::istringstream in(csv);
         experimental::write_statistics_svg(in, out);
       }}};
  for (auto const& [name_of_file, write] : files) write_file(own / name_of_file, write);
  auto const write_own = [&](std::ostream& out, std::string const& folder) {
    page.files.clear();
    for (auto const& [file, write] : files) page.files.emplace_back(file, folder + file);
    if (folder.empty()) page.files.emplace_back("all graphs", "../index.html");
    write_page(out, look, page);
  };
  write_file(own / "index.html", [&](std::ostream& out) { write_own(out, ""); });
  write_file(own / summary_file, [&](std::ostream& out) {
    out << page.title << '\n'
        << summary_of(look) << '\n'
        << now_as_text() << ", process " << getpid() << '\n';
  });
  write_common_page(common, own, write_own);
  tell("the trace of " + name + " (" +
       TimelineStyle::with_count(trace.graph.nodes().size(), "task") + ") is in " + own.string() +
       "; open " + (common / page_of(common)).string());
}

/// The variable asked for a record, and the program may not know of it.
void tell_what_is_kept(Engine& engine, Trace const& trace) {
  tell(engine.options().name + " has recorded " +
       TimelineStyle::with_count(trace.graph.nodes().size(), "task") + " and " +
       TimelineStyle::with_count(trace.graph.edges().size(), "edge") +
       " (TRELLIS_RECORD). What the program has not asked for is dropped now; "
       "TRELLIS_TRACE=folder writes it.");
}

/// Tells once, on the standard error stream, that the folder of `TRELLIS_TRACE` cannot be made. The
/// program goes on: the end of a graph tries again, and else writes to the folder for temporary
/// files.
void check_trace_at_end() {
  static std::atomic<bool> has_told{false};
  std::optional<std::string> const folder = text_from(Variable::trace);
  if (!folder) return;
  std::error_code error;
  fs::create_directories(*folder, error);
  if (!error || has_told.exchange(true)) return;
  tell("cannot make the folder \"" + *folder + "\" (TRELLIS_TRACE): " + error.message() +
       ". Each graph tries again when it ends.");
}

/// Writes what `TRELLIS_TRACE` asks for, for a closed graph that records, and tells where. Each
/// graph has a folder of its own in that folder, which no other graph, process or run writes to.
/// The page `index.html` in the common folder leads to them all. Where only `TRELLIS_RECORD` is
/// set, tells what was recorded.
void write_trace_at_end(Engine& engine) noexcept try {
  if (engine.events().recorder() == nullptr) return;
  std::optional<std::string> const folder = text_from(Variable::trace);
  bool const is_kept = !folder && !text_from(Variable::analysis) && text_from(Variable::record) &&
                       flag_of(*text_from(Variable::record)).value_or(false);
  if (!folder && !is_kept) return;
  Trace const trace = trace_at_end(engine);
  std::string const& name = engine.options().name;
  if (trace.graph.nodes().empty()) {
    if (folder) tell(name + " had no tasks, so there is no trace of it");
    return;
  }
  static std::atomic<int> graphs{0};
  int const number = graphs.fetch_add(1);
  if (is_kept) {
    if (number < most_graphs) tell_what_is_kept(engine, trace);
    return;
  }
  if (number == most_graphs)
    tell("TRELLIS_TRACE writes only the first " + std::to_string(most_graphs) +
         " graphs of a process");
  if (number >= most_graphs) return;
  TraceLook const look(trace);
  try {
    write_all(*folder, engine, look);
  } catch (std::runtime_error const& error) {
    fs::path const instead =
        fs::temp_directory_path() / ("trellis-trace-" + std::to_string(getuid()));
    auto const* const of_file = dynamic_cast<fs::filesystem_error const*>(&error);
    tell("cannot write the trace of " + name + " to \"" + *folder +
         "\" (TRELLIS_TRACE): " + (of_file != nullptr ? of_file->code().message() : error.what()) +
         ". It goes to " + instead.string() + " instead.");
    write_all(instead, engine, look);
  }
} catch (std::exception const& error) {
  std::cerr << "Trellis: no trace of " << engine.options().name << ": " << error.what()
            << std::endl;
}

}  // namespace

void check_end(std::string const& graph) {
  check_analysis_at_end(graph);
  check_trace_at_end();
}

void write_end(Engine& engine) noexcept {
  write_analysis_at_end(engine);
  write_trace_at_end(engine);
}

}  // namespace trellis::Impl
