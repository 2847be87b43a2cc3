// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Strategies.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "Text.hpp"

namespace example {
namespace {

/// Returns one of two panels with a bar for each strategy.
std::string panel(double left, std::string const& what, char const* format, char const* colour,
                  std::vector<StrategyFindings> const& found,
                  double (*value)(StrategyFindings const&)) {
  constexpr double top = 70, height = 22, room = 240;
  double most = 0;
  for (StrategyFindings const& each : found) most = std::max(most, value(each));
  std::string svg = "<text x='" + number("%g", left) + "' y='55'>" + what + "</text>\n";
  for (std::size_t k = 0; k < found.size(); ++k) {
    double const y = top + height * static_cast<double>(k);
    double const long_as = most > 0 ? room * value(found[k]) / most : 0;
    svg += "<rect x='" + number("%g", left) + "' y='" + number("%g", y) + "' width='" +
           number("%.1f", long_as) + "' height='16' fill='" + colour + "'/>\n<text x='" +
           number("%.1f", left + long_as + 5) + "' y='" + number("%g", y + 13) + "'>" +
           number(format, value(found[k])) + "</text>\n";
  }
  return svg;
}

}  // namespace

std::vector<std::string> strategies(std::string const& wanted) {
  if (wanted.empty())
    return {"native",         "bsp",
            "backfill",       "fuse_immediately:16",
            "fuse_late:16",   "all_on_device:0",
            "round_robin:16", "learning"};
  static_cast<void>(trellis::make_orchestration(wanted));
  if (wanted == "native") return {wanted};
  return {"native", wanted};
}

void StrategyFindings::add(StrategyRun const& run) {
  seconds.push_back(run.seconds);
  last = run;
  agrees = agrees && run.agrees;
}

double StrategyFindings::time() const {
  return median(seconds);
}
double StrategyFindings::mean_batch() const {
  if (last.batches == 0) return 1;
  return static_cast<double>(last.tasks_in_batches) / static_cast<double>(last.batches);
}
double StrategyFindings::part_found_done() const {
  if (last.enclaves == 0) return 1;
  return static_cast<double>(last.found_done) / static_cast<double>(last.enclaves);
}

void print(std::vector<StrategyFindings> const& found) {
  std::printf("  %-20s %10s %8s %9s %8s %6s %6s %7s  %s\n", "", "time", "/ native", "enclaves",
              "batches", "fused", "mean", "done", "as serial");
  for (StrategyFindings const& each : found)
    std::printf("  %-20s %7.2f ms %8.3f %9lld %8lld %5.1f%% %6.1f %6.1f%%  %s\n", each.name.c_str(),
                1e3 * each.time(), each.time() / found.front().time(),
                static_cast<long long>(each.last.enclaves),
                static_cast<long long>(each.last.batches),
                100 * static_cast<double>(each.last.tasks_in_batches) /
                    static_cast<double>(std::max<std::int64_t>(1, each.last.enclaves)),
                each.mean_batch(), 100 * each.part_found_done(), each.agrees ? "yes" : "NO");
  std::printf(
      "  fused: tasks in batches, and their mean size; done: tasks that were complete when a sweep "
      "came for them\n");
}

nlohmann::ordered_json json_of(std::vector<StrategyFindings> const& found) {
  nlohmann::ordered_json all = nlohmann::json::object();
  for (StrategyFindings const& each : found)
    all[each.name] = {{"seconds", each.time()},
                      {"all_seconds", each.seconds},
                      {"of_native", each.time() / found.front().time()},
                      {"skeletons", each.last.skeletons},
                      {"enclaves", each.last.enclaves},
                      {"batches", each.last.batches},
                      {"tasks_in_batches", each.last.tasks_in_batches},
                      {"found_done", each.last.found_done},
                      {"agrees", each.agrees}};
  return all;
}

bool all_agree(std::vector<StrategyFindings> const& found) {
  return std::all_of(found.begin(), found.end(), [](auto const& each) { return each.agrees; });
}

void draw(std::filesystem::path const& file, std::string const& title,
          std::vector<StrategyFindings> const& found) {
  double const height = 85 + 22 * static_cast<double>(found.size());
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' width='860' height='" +
                    number("%g", height) +
                    "' font-family='sans-serif' font-size='12'>\n"
                    "<rect width='100%' height='100%' fill='white'/>\n<text x='20' y='26' "
                    "font-size='15'>" +
                    title + "</text>\n";
  for (std::size_t k = 0; k < found.size(); ++k)
    svg += "<text x='150' y='" + number("%g", 83 + 22 * static_cast<double>(k)) +
           "' text-anchor='end'>" + found[k].name + "</text>\n";
  svg += panel(160, "time, ms", "%.2f", "#0072B2", found,
               [](StrategyFindings const& each) { return 1e3 * each.time(); });
  svg += panel(520, "tasks in a batch, mean (1: none)", "%.1f", "#D55E00", found,
               [](StrategyFindings const& each) { return each.mean_batch(); });
  svg += "</svg>\n";
  std::ofstream out(file);
  out << svg;
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace example
