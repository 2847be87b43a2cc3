// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

namespace taskbench {
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

char const* kind_name(Model::Kind kind) {
  switch (kind) {
    case Model::Kind::bulk:
      return "bulk";
    case Model::Kind::dynamic:
      return "dynamic";
    case Model::Kind::replay:
      return "replay";
  }
  return "";
}

std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The fastest model of others that makes its graph when this one does.
std::optional<double> best_peer(Result const& of, std::vector<Result> const& results) {
  std::optional<double> best;
  for (Result const& each : results)
    if (!each.model->is_trellis() && each.model->name() != "kokkos" &&
        each.model->kind() == of.model->kind() && each.model != of.model)
      best = std::min(best.value_or(each.us_per_task()), each.us_per_task());
  return best;
}

std::optional<double> of_kokkos(std::vector<Result> const& results) {
  for (Result const& each : results)
    if (each.model->name() == "kokkos") return each.us_per_task();
  return std::nullopt;
}

std::string cell(std::optional<double> value, char const* format = "%.3g") {
  if (!value) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), *value >= 999.5 && *value < 1e6 ? "%.0f" : format,
                *value);
  return text.data();
}

std::optional<double> ratio(double value, std::optional<double> to) {
  if (!to) return std::nullopt;
  return value / *to;
}

Json or_null(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string title(Parameters const& p) {
  return std::string(pattern_names[static_cast<std::size_t>(p.shape.pattern)]) + ", " +
         std::string(kernel_names[static_cast<std::size_t>(p.kernel)]) + ", width " +
         std::to_string(p.shape.width);
}

}  // namespace

Report::Report(int workers, std::vector<std::unique_ptr<Model>> const& models) {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  Json described = Json::object();
  for (auto const& each : models)
    described[each->name()] = {{"what", each->description()},
                               {"kind", kind_name(each->kind())},
                               {"workers", each->workers()}};
  std::string const commit = variable("TRELLIS_COMMIT");
  m_context = {{"benchmark", "taskbench"},
               {"date", date()},
               {"processor", processor()},
               {"hardware_threads", std::thread::hardware_concurrency()},
               {"load_average_at_start", load},
               {"workers", workers},
               {"compiler", compiler()},
               {"kokkos", kokkos_version()},
               {"host_space", Kokkos::DefaultHostExecutionSpace::name()},
               {"commit", commit.empty() ? "not given (TRELLIS_COMMIT)" : commit},
               {"omp_proc_bind", variable("OMP_PROC_BIND")},
               {"models", described},
               {"left_out", Json::array()}};
}

Json& Report::add_row(std::string const& part, Result const& result) {
  Parameters const& p = result.parameters;
  m_rows.push_back({{"benchmark", "taskbench"},
                    {"part", part},
                    {"model", result.model->name()},
                    {"kind", kind_name(result.model->kind())},
                    {"pattern", pattern_names[static_cast<std::size_t>(p.shape.pattern)]},
                    {"kernel", kernel_names[static_cast<std::size_t>(p.kernel)]},
                    {"width", p.shape.width},
                    {"steps", p.shape.steps},
                    {"tasks", result.tasks},
                    {"workers", result.model->workers()},
                    {"iterations", p.iterations},
                    {"output_bytes", p.output_bytes},
                    {"copies", p.copies},
                    {"repetitions", result.repetitions},
                    {"seconds", result.seconds},
                    {"seconds_fastest", result.fastest},
                    {"seconds_slowest", result.slowest},
                    {"us_per_task", result.us_per_task()},
                    {"tasks_per_second", 1e6 / result.us_per_task()},
                    {"granularity_us", result.granularity_us()},
                    {"efficiency", nullptr},
                    {"metg50_us", nullptr},
                    {"metg90_us", nullptr},
                    {"ratio_to_kokkos", nullptr},
                    {"ratio_to_best_peer", nullptr},
                    {"metg90_ratio_to_best_peer", nullptr}});
  return m_rows.back();
}

void Report::add(std::string const& part, std::vector<Result> const& results) {
  if (results.empty()) return;
  Parameters const& p = results.front().parameters;
  std::printf("\n%s: %s, %lld iterations\n", part.c_str(), title(p).c_str(),
              static_cast<long long>(p.iterations));
  std::printf("  %-20s %10s %12s %12s %10s %12s\n", "model", "tasks", "us per task", "tasks/s",
              "/ kokkos", "/ best peer");
  for (Result const& each : results) {
    std::optional<double> const to_kokkos = ratio(each.us_per_task(), of_kokkos(results));
    std::optional<double> const to_peer = ratio(each.us_per_task(), best_peer(each, results));
    std::printf("  %-20s %10lld %12s %12.0f %10s %12s\n", each.model->name().c_str(),
                static_cast<long long>(each.tasks), cell(each.us_per_task()).c_str(),
                1e6 / each.us_per_task(), cell(to_kokkos).c_str(), cell(to_peer).c_str());
    Json& row = add_row(part, each);
    row["ratio_to_kokkos"] = or_null(to_kokkos);
    row["ratio_to_best_peer"] = or_null(to_peer);
  }
  std::fflush(stdout);
}

void Report::add(std::string const& part, Sweep const& sweep) {
  if (sweep.curves.empty()) return;
  using Level = std::optional<double> Curve::*;
  // Of the other runtimes of the same kind, without plain Kokkos.
  auto const best_peer = [&](Model const& asking, Level level) {
    std::optional<double> best;
    for (auto const& [name, curve] : sweep.curves) {
      Model const& model = *curve.points.front().result.model;
      bool const is_peer = name != "kokkos" && !model.is_trellis() && model.kind() == asking.kind();
      if (is_peer && curve.*level) best = std::min(best.value_or(*(curve.*level)), *(curve.*level));
    }
    return best;
  };
  auto const over = [](std::optional<double> value, std::optional<double> other) {
    return value ? ratio(*value, other) : std::nullopt;
  };
  auto const kokkos = sweep.curves.find("kokkos");
  std::printf("\n%s: %s\n", part.c_str(),
              title(sweep.curves.begin()->second.points.front().result.parameters).c_str());
  for (auto const& [number, peak] : sweep.peaks)
    std::printf("  peak with %d worker(s): %s iterations/s\n", number, cell(peak, "%.4g").c_str());
  std::printf("  %-20s %12s %9s %12s %13s %12s %16s\n", "model", "METG(50%) us", "/ kokkos",
              "/ best peer", "METG(90%) us", "/ best peer", "best efficiency");
  for (auto const& [name, curve] : sweep.curves) {
    double best = 0;
    for (Point const& each : curve.points) best = std::max(best, each.efficiency);
    Model const& model = *curve.points.front().result.model;
    auto const to_kokkos = over(
        curve.metg50_us, kokkos != sweep.curves.end() ? kokkos->second.metg50_us : std::nullopt);
    auto const to_peer = over(curve.metg50_us, best_peer(model, &Curve::metg50_us));
    auto const to_peer90 = over(curve.metg90_us, best_peer(model, &Curve::metg90_us));
    std::printf("  %-20s %12s %9s %12s %13s %12s %15.0f%%\n", name.c_str(),
                cell(curve.metg50_us).c_str(), cell(to_kokkos).c_str(), cell(to_peer).c_str(),
                cell(curve.metg90_us).c_str(), cell(to_peer90).c_str(), 100 * best);
    for (Point const& each : curve.points) {
      Json& row = add_row(part, each.result);
      row["efficiency"] = each.efficiency;
      row["metg50_us"] = or_null(curve.metg50_us);
      row["metg90_us"] = or_null(curve.metg90_us);
      row["ratio_to_kokkos"] = or_null(to_kokkos);
      row["ratio_to_best_peer"] = or_null(to_peer);
      row["metg90_ratio_to_best_peer"] = or_null(to_peer90);
    }
  }
  std::fflush(stdout);
}

void Report::left_out(std::vector<LeftOut> const& list) {
  std::set<std::string> said;
  for (LeftOut const& each : list) {
    if (!said.insert(each.model + '/' + each.pattern).second) continue;
    m_context["left_out"].push_back(
        {{"model", each.model}, {"pattern", each.pattern}, {"why", each.why}});
  }
}

void Report::finish(double seconds) {
  m_context["seconds_in_all"] = seconds;
}

void Report::write(std::string const& path) const {
  std::filesystem::path const file(path);
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file);
  out << Json{{"context", m_context}, {"rows", m_rows}}.dump(1) << '\n';
  if (!out) throw std::runtime_error("cannot write " + path);
  std::printf("\n%s: %zu rows\n", path.c_str(), m_rows.size());
}

}  // namespace taskbench
