// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "../shared/Text.hpp"

namespace transport {

using example::line;
using example::median;
using example::number;

std::string text_of(trellis::ThreadRatio const& ratio) {
  return std::to_string(ratio.workers) + "x" + std::to_string(ratio.threads);
}

namespace {

std::string megabytes(std::size_t bytes) {
  return number("%.2f MB", 1e-6 * static_cast<double>(bytes));
}
std::string milliseconds(std::int64_t ns) {
  return number("%.3f ms", 1e-6 * static_cast<double>(ns));
}
double of_host(HybridFindings const& found) {
  return static_cast<double>(found.hybrid_ns) / static_cast<double>(found.host_ns);
}

void print(HybridFindings const& found) {
  std::printf("  %3d^3, %s: %s on the host, %s with %s (%.3f); same as the plain loop: %s\n",
              found.problem.cells, example::plural(found.problem.equations, "equation").c_str(),
              milliseconds(found.host_ns).c_str(), milliseconds(found.hybrid_ns).c_str(),
              found.copies == 1 ? "1 copy" : (std::to_string(found.copies) + " copies").c_str(),
              of_host(found), found.agrees ? "yes" : "NO");
  for (auto const& [kind, places] : found.assignment) {
    std::printf("    %-12s", kind.c_str());
    for (auto const& [place, tasks] : places) std::printf(" %s: %d", place.c_str(), tasks);
    std::printf("\n");
  }
}
nlohmann::ordered_json row_of(HybridFindings const& found) {
  return {{"grid", found.problem.cells},
          {"equations", found.problem.equations},
          {"virtual_ns_host", found.host_ns},
          {"virtual_ns_hybrid", found.hybrid_ns},
          {"of_host", of_host(found)},
          {"copies", found.copies},
          {"steps", found.steps},
          {"assignment", found.assignment},
          {"agrees", found.agrees}};
}
std::string yes(bool is_so) {
  return is_so ? "yes" : "NO";
}

}  // namespace

void print(Options const& options, Findings const& found) {
  Problem const& problem = options.problem;
  std::printf("Problem\n");
  line("Kokkos", found.space + ", Kokkos " + found.kokkos_version);
  line("grid",
       std::to_string(problem.cells) + "^3 cells, a field has " + megabytes(problem.field_bytes()));
  line("equations",
       std::to_string(problem.equations) +
           (problem.coupling == Coupling::all ? ", coupled" : ", not coupled") +
           (problem.source == Source::shared ? ", one source for all" : ", a source for each"));
  line("tasks", std::to_string(problem.tasks()) + " in a step");

  std::printf("\nFound\n");
  line("same as the plain loop", yes(found.agrees));
  line("serial graph, too", yes(found.agrees_serially));
  line("work", number("%.3f ms", 1e-6 * found.analysis.work));
  line("span", number("%.3f ms", 1e-6 * found.analysis.span));
  line("most speedup by tasks", number("%.2f", found.analysis.max_speedup()));
  line("parallel fraction", number("%.4f", found.analysis.parallel_fraction()));

  std::printf("\nTime of a step, median of %s\n",
              example::plural(options.repetitions, "repetition").c_str());
  double const plain = median(found.seconds_plain);
  std::printf("  %-14s %10.3f ms\n", "plain loop", 1e3 * plain);
  for (RatioFindings const& each : found.ratios)
    std::printf("  %-14s %10.3f ms  %6.3f of the loop; memory %s, predicted %s\n",
                text_of(each.ratio).c_str(), 1e3 * median(each.seconds),
                median(each.seconds) / plain, megabytes(each.measured).c_str(),
                megabytes(each.predicted).c_str());
  if (!found.feedback.empty()) {
    std::printf("\nRatio by feedback, step by step\n ");
    for (Findings::Iteration const& iteration : found.feedback)
      std::printf(" %s (%.3f ms)", text_of(iteration.ratio).c_str(), 1e3 * iteration.seconds);
    std::printf("\n");
  }
  if (found.hybrid.empty()) return;
  std::printf(
      "\nPlaces chosen by measured times, in virtual time: a host thread that computes a cell in "
      "1 ns,\ndevices in software that compute %g and %g cells in that, and links of %g bytes in "
      "that and\n%g us for each copy. An iteration takes:\n",
      Machine::fast, Machine::slow, Machine::link_bytes, 1e-3 * Machine::link_latency);
  for (HybridFindings const& each : found.hybrid) print(each);
}

void write_summary(Options const& options, Findings const& found) {
  Problem const& problem = options.problem;
  nlohmann::ordered_json summary;
  summary["space"] = found.space;
  summary["kokkos_version"] = found.kokkos_version;
  summary["grid"] = problem.cells;
  summary["equations"] = problem.equations;
  summary["coupling"] = problem.coupling == Coupling::all ? "all" : "none";
  summary["source"] = problem.source == Source::shared ? "shared" : "own";
  summary["tasks"] = problem.tasks();
  summary["steps"] = options.steps;
  summary["repetitions"] = options.repetitions;
  summary["field_bytes"] = problem.field_bytes();
  summary["limited"] = options.limit;
  summary["agrees"] = found.agrees;
  summary["agrees_serially"] = found.agrees_serially;
  summary["max_speedup"] = found.analysis.max_speedup();
  summary["parallel_fraction"] = found.analysis.parallel_fraction();
  summary["seconds_plain"] = median(found.seconds_plain);
  summary["ratios"] = nlohmann::json::object();
  for (RatioFindings const& each : found.ratios)
    summary["ratios"][text_of(each.ratio)] = {
        {"seconds", median(each.seconds)},
        {"all_seconds", each.seconds},
        {"of_plain", median(each.seconds) / median(found.seconds_plain)},
        {"predicted_bytes", each.predicted},
        {"measured_bytes", each.measured},
        {"allocated", each.allocated},
        {"allocated_later", each.allocated_later},
        {"held_back", each.held_back}};
  summary["feedback"] = nlohmann::json::array();
  for (Findings::Iteration const& iteration : found.feedback)
    summary["feedback"].push_back(
        {{"ratio", text_of(iteration.ratio)}, {"seconds", iteration.seconds}});
  summary["hybrid"] = nlohmann::json::array();
  for (HybridFindings const& each : found.hybrid) summary["hybrid"].push_back(row_of(each));
  auto const file = options.output / "summary.json";
  std::ofstream out(file);
  out << summary.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace transport
