// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "../shared/Text.hpp"

namespace heat::ranks {
namespace {

using example::Communication, example::hidden_part, example::kokkos_version, example::line,
    example::median, example::number, example::plural, example::times;

constexpr std::size_t most_ranks_printed = 16;

constexpr char const* definition =
    "An exchange with a neighbour is under way from when a rank begins to pack or send its edge of "
    "a "
    "step until both messages of that step are over and the halo is unpacked. Communication is "
    "under "
    "way while any exchange is; hidden: meanwhile at least one worker of the rank takes a step of "
    "a "
    "tile; exposed: none does. Of the recorded run.";

std::string percent(double part) {
  return number("%.1f %%", 100 * part);
}

std::string verdict(std::optional<bool> const& agrees) {
  return !agrees ? "not looked at (--verify)" : *agrees ? "yes, in every bit" : "NO";
}

void print_ranks(Findings const& found) {
  std::printf(
      "\nCommunication, of the recorded run of %s; and of the bulk-synchronous version, all of "
      "which "
      "is exposed\n",
      plural(found.recorded_steps, "step").c_str());
  std::printf("  %-6s %10s %12s %10s %12s %10s %22s\n", "rank", "exchanges", "under way", "hidden",
              "exposed", "workers", "bulk, of its time");
  for (std::size_t rank = 0; rank < found.ranks.size() && rank < most_ranks_printed; ++rank) {
    RankFindings const& of = found.ranks[rank];
    std::printf(
        "  %-6zu %10.0f %9.3f ms %10s %9.3f ms %10.2f %12.3f ms %6s\n", rank, of.tasks.exchanges,
        1e3 * of.tasks.under_way,
        of.tasks.exchanges > 0 ? percent(hidden_part(of.tasks)).c_str() : "-",
        1e3 * of.tasks.exposed(), of.tasks.computing, 1e3 * of.bulk_seconds_communicating,
        percent(of.bulk_seconds > 0 ? of.bulk_seconds_communicating / of.bulk_seconds : 0).c_str());
  }
  if (found.ranks.size() > most_ranks_printed)
    std::printf("  and %zu more, see summary.json\n", found.ranks.size() - most_ranks_printed);
  std::printf(
      "  under way: from when an edge is packed or sent until both messages of that step are over\n"
      "  hidden: the part of that in which a worker of the rank took a step; workers: how many "
      "did\n");
}

}  // namespace

double Findings::ratio() const {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < seconds_bulk.size(); ++k)
    ratios.push_back(seconds_tasks[k] / seconds_bulk[k]);
  return median(std::move(ratios));
}

Communication Findings::communication() const {
  Communication sum;
  for (RankFindings const& rank : ranks) {
    sum.seconds += rank.tasks.seconds;
    sum.under_way += rank.tasks.under_way;
    sum.hidden += rank.tasks.hidden;
    sum.computing += rank.tasks.computing / static_cast<double>(ranks.size());
    sum.exchanges += rank.tasks.exchanges;
  }
  return sum;
}

void print(Options const& options, Findings const& found) {
  std::printf("Heat equation on a plate, over ranks\n");
  line("backend", found.backend + ", Kokkos " + kokkos_version() + ", " + found.mpi);
  line("grid", times(options.cells) + " cells");
  line("ranks", times(found.processes) + ", each with " + plural(found.workers, "worker"));
  line("tiles", times(found.tiles) + " of each rank, one task for each tile and step");
  line("steps", std::to_string(options.steps) + " of dt " + number("%.3g", options.time_step) +
                    (options.plan ? ", a plan of two is replayed" : ", task by task"));
  line("initial temperature", options.input.empty() ? "sine mode" : options.input.string());

  std::printf("\nFound\n");
  if (!found.changes.empty())
    line("largest change, at the end", number("%.12g", found.changes.back()));
  line("max error", found.max_error ? number("%.3g against the exact solution", *found.max_error)
                                    : "unknown: no exact solution");
  line("same as bulk-synchronous", verdict(found.agrees_with_bulk));
  line("same as one rank", verdict(found.agrees_with_one_rank));

  double const bulk = median(found.seconds_bulk), tasks = median(found.seconds_tasks);
  std::printf("\nTime, median of %s, of the slowest rank\n",
              plural(options.repetitions, "repetition").c_str());
  line("bulk-synchronous",
       number("%.4f s, ", bulk) + plural(found.threads_bulk, "thread") + " on each rank");
  line("tasks",
       number("%.4f s, ", tasks) + plural(found.threads_tasks, "thread") + " on each rank");
  line(
      "tasks / bulk-synchronous",
      number("%.3f", found.ratio()) +
          (found.threads_bulk == found.threads_tasks ? "" : ", not on the same number of threads"));

  print_ranks(found);
  Communication const all = found.communication();
  if (all.exchanges > 0)
    line("communication hidden", percent(hidden_part(all)) + " on all ranks");
  else
    line("communication hidden", "there was none");
}

void write_summary(Options const& options, Findings const& found) {
  nlohmann::ordered_json summary;
  summary["backend"] = found.backend;
  summary["kokkos_version"] = kokkos_version();
  summary["mpi"] = found.mpi;
  summary["grid"] = options.cells;
  summary["ranks"] = found.ranks.size();
  summary["process_grid"] = found.processes;
  summary["tiles"] = found.tiles;
  summary["steps"] = options.steps;
  summary["time_step"] = options.time_step;
  summary["initial"] = options.input.empty() ? "sine" : options.input.string();
  summary["plan"] = options.plan;
  summary["workers"] = found.workers;
  summary["threads_per_worker"] = options.threads_per_worker;
  summary["threads_bulk"] = found.threads_bulk;
  summary["check_every"] = options.check_every;
  summary["largest_changes"] = found.changes;
  summary["max_error"] = nullptr;
  if (found.max_error) summary["max_error"] = *found.max_error;
  summary["same_as_bulk"] = found.agrees_with_bulk;
  summary["same_as_one_rank"] = nullptr;
  if (found.agrees_with_one_rank) summary["same_as_one_rank"] = *found.agrees_with_one_rank;
  summary["repetitions"] = options.repetitions;
  summary["seconds_bulk"] = median(found.seconds_bulk);
  summary["seconds_tasks"] = median(found.seconds_tasks);
  summary["ratio"] = found.ratio();
  summary["all_seconds_bulk"] = found.seconds_bulk;
  summary["all_seconds_tasks"] = found.seconds_tasks;

  auto const communication = [](Communication const& of) {
    nlohmann::ordered_json told;
    told["exchanges"] = of.exchanges;
    told["seconds_under_way"] = of.under_way;
    told["seconds_hidden"] = of.hidden;
    told["seconds_exposed"] = of.exposed();
    told["hidden"] = nullptr;
    if (of.exchanges > 0) told["hidden"] = hidden_part(of);
    told["workers_computing"] = of.computing;
    told["seconds"] = of.seconds;
    return told;
  };
  summary["recorded_steps"] = found.recorded_steps;
  summary["recorded_tasks_of_rank_0"] = found.tasks;
  summary["communication"] = communication(found.communication());
  summary["communication"]["definition"] = definition;
  summary["communication"]["of_each_rank"] = nlohmann::json::array();
  for (RankFindings const& rank : found.ranks) {
    auto told = communication(rank.tasks);
    told["bulk_seconds"] = rank.bulk_seconds;
    told["bulk_seconds_communicating"] = rank.bulk_seconds_communicating;
    summary["communication"]["of_each_rank"].push_back(std::move(told));
  }

  auto const file = options.output / "summary.json";
  std::ofstream out(file);
  out << summary.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace heat::ranks
