// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include <Trellis_Mpi.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace mpi_perf {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + '.' + std::to_string(KOKKOS_VERSION / 100 % 100) +
         '.' + std::to_string(KOKKOS_VERSION % 100);
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (auto const colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown";
}

std::string date() {
  std::array<char, 32> text{};
  std::time_t const now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(text.data(), text.size(), "%FT%TZ", &utc);
  return text.data();
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string line(text.data(), static_cast<std::size_t>(length));
  line.resize(std::min(line.find_first_of("\r\n,"), line.size()));
  return line;
}

std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Every row has these.
constexpr std::array keys{"benchmark",
                          "part",
                          "model",
                          "kind",
                          "pattern",
                          "kernel",
                          "ranks",
                          "workers",
                          "bytes",
                          "in_flight",
                          "tags",
                          "width",
                          "steps",
                          "tasks",
                          "messages",
                          "iterations",
                          "repetitions",
                          "seconds",
                          "seconds_fastest",
                          "seconds_slowest",
                          "spread",
                          "us_per_task",
                          "tasks_per_second",
                          "us_per_message",
                          "messages_per_second",
                          "added_us",
                          "added_us_fastest",
                          "ratio_to_bare",
                          "granularity_us",
                          "efficiency",
                          "metg50_us",
                          "metg90_us",
                          "compute_us",
                          "communicate_us",
                          "ratio_to_longer",
                          "ratio_to_bulk",
                          "us_per_step",
                          "us_per_step_fastest",
                          "agrees",
                          "ranks_on_a_core",
                          "network_us",
                          "predicted_us_per_step",
                          "predicted_efficiency",
                          "error",
                          "cost_task_us",
                          "cost_message_us",
                          "cost_latency_us",
                          "cost_agreement_us",
                          "cost_stage_us",
                          "cost_handover_us"};

std::string cell(Json const& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  std::array<char, 32> text{};
  double const number = value.get<double>();
  std::snprintf(text.data(), text.size(), std::abs(number) >= 999.5 ? "%.0f" : "%.3g", number);
  return text.data();
}

}  // namespace

Report::Report(World const& world, int most_workers)
    : m_is_first(world.is_first()), m_ranks(world.size()) {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  std::string const commit = variable("TRELLIS_COMMIT");
  m_context = {
      {"benchmark", "mpi"},
      {"date", date()},
      {"processor", processor()},
      {"hardware_threads", std::thread::hardware_concurrency()},
      {"load_average_at_start", load},
      {"ranks", world.size()},
      {"workers", most_workers},
      {"binding", "each rank to a core, where it has one worker"},
      {"mpi", mpi_version()},
      {"thread_level", trellis::mpi::to_string(trellis::mpi::thread_level())},
      {"asking_threads", "one at a time in each rank, when idle and every 3 us between two tasks"},
      {"compiler", compiler()},
      {"kokkos", kokkos_version()},
      {"host_space", Kokkos::DefaultHostExecutionSpace::name()},
      {"commit", commit.empty() ? "not given (TRELLIS_COMMIT)" : commit}};
}

void Report::begin_table(std::string const& part, std::string const& what,
                         std::vector<Column> columns) {
  m_part = part;
  m_columns = std::move(columns);
  if (!m_is_first) return;
  std::printf("\n%s: %s\n", part.c_str(), what.c_str());
  if (m_columns.empty()) return;
  std::printf("  %-20s", "model");
  for (Column const& each : m_columns) std::printf(" %12s", each.second);
  std::printf("\n");
}

Json Report::new_row(std::string const& model, std::string const& kind) const {
  Json row = Json::object();
  for (char const* const key : keys) row[key] = nullptr;
  row["benchmark"] = "mpi";
  row["part"] = m_part;
  row["model"] = model;
  row["kind"] = kind;
  row["ranks"] = m_ranks;
  row["workers"] = 1;
  return row;
}

void Report::fill(Json& row, Json const& more) {
  for (auto const& [key, value] : more.items()) {
    if (!row.contains(key)) throw std::logic_error("no row has the key " + key);
    row[key] = value;
  }
}

void Report::print(Json const& row) const {
  std::printf("  %-20s", row["model"].get_ref<std::string const&>().c_str());
  for (Column const& each : m_columns) std::printf(" %12s", cell(row.at(each.first)).c_str());
  std::printf("\n");
  std::fflush(stdout);
}

void Report::add(Times const& times, Json const& more) {
  if (!m_is_first) return;
  Json row = new_row(times.way->model, times.way->kind);
  row["workers"] = times.way->workers;
  row["steps"] = times.steps;
  row["repetitions"] = times.seconds.size();
  row["seconds"] = times.median();
  row["seconds_fastest"] = times.fastest();
  row["seconds_slowest"] = times.slowest();
  row["spread"] = times.spread();
  fill(row, more);
  for (auto const& [number, per, rate] :
       {std::array{"tasks", "us_per_task", "tasks_per_second"},
        std::array{"messages", "us_per_message", "messages_per_second"}})
    if (!row[number].is_null() && row[number] != 0) {
      row[per] = 1e6 * times.median() / row[number].get<double>();
      row[rate] = row[number].get<double>() / times.median();
    }
  print(row);
  m_rows.push_back(std::move(row));
}

void Report::add_derived(std::string const& model, std::string const& kind, Json const& more) {
  if (!m_is_first) return;
  Json row = new_row(model, kind);
  fill(row, more);
  if (!m_columns.empty()) print(row);
  m_rows.push_back(std::move(row));
}

void Report::note(std::string const& text) {
  if (m_is_first) std::printf("  %s\n", text.c_str());
}

std::string Report::why_not_written(std::string const& path) {
  std::filesystem::path const file(path);
  std::error_code code;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), code);
  bool const was_there = std::filesystem::exists(file, code);
  bool const can_write = static_cast<bool>(std::ofstream(file, std::ios::app));
  if (can_write && !was_there) std::filesystem::remove(file, code);
  return can_write ? "" : "--output: " + path + " cannot be written";
}

void Report::write(std::string const& path, double seconds_in_all) const {
  if (!m_is_first) return;
  Json context = m_context;
  context["seconds_in_all"] = seconds_in_all;
  std::filesystem::path const file(path);
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file);
  out << Json{{"context", context}, {"rows", m_rows}}.dump(1) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
  std::printf("\n%s: %zu rows\n", path.c_str(), m_rows.size());
}

}  // namespace mpi_perf
