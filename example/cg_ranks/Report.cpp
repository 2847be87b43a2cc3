// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "../shared/Text.hpp"
#include "Plot.hpp"

namespace cg {
namespace {

using example::Communication, example::hidden_part, example::kokkos_version, example::line,
    example::median, example::number, example::plural, example::times;

constexpr std::size_t most_ranks_printed = 16;

constexpr char const* definition =
    "An exchange with a neighbour is under way from when a rank begins to pack what it sends until "
    "both messages are over; a sum from when a rank starts its allreduce until it has the result. "
    "Communication of a kind is under way while any of that kind is; hidden: meanwhile at least "
    "one "
    "worker of the rank has a tile to compute; exposed: none does. Of the recorded run.";

std::string percent(double part) {
  return number("%.1f %%", 100 * part);
}
std::string hidden(Communication const& of) {
  return of.exchanges > 0 ? percent(hidden_part(of)) : "-";
}
std::string problem(Options const& options) {
  return options.matrix.empty() ? "Poisson's equation, " + times(options.cells) + " unknowns"
                                : options.matrix.string();
}

void print_ranks(Findings const& found) {
  std::printf(
      "\nCommunication, of the recorded run; and of the bulk-synchronous version, all of "
      "which is exposed\n");
  std::printf("  %-5s %9s %7s %6s %13s %7s %13s %7s %14s %7s\n", "rank", "rows", "halo", "tiles",
              "exchanges", "hidden", "sums", "hidden", "bulk, of", "its time");
  for (std::size_t rank = 0; rank < found.ranks.size() && rank < most_ranks_printed; ++rank) {
    RankFindings const& of = found.ranks[rank];
    std::printf(
        "  %-5zu %9d %7d %6d %10.3f ms %7s %10.3f ms %7s %11.3f ms %7s\n", rank, of.rows, of.halo,
        of.tiles, 1e3 * of.exchanges.under_way, hidden(of.exchanges).c_str(),
        1e3 * of.sums.under_way, hidden(of.sums).c_str(), 1e3 * of.bulk_seconds_communicating,
        percent(of.bulk_seconds > 0 ? of.bulk_seconds_communicating / of.bulk_seconds : 0).c_str());
  }
  if (found.ranks.size() > most_ranks_printed)
    std::printf("  and %zu more, see summary.json\n", found.ranks.size() - most_ranks_printed);
  std::printf("  hidden: the part of the time under way in which a worker of the rank computed\n");
}

nlohmann::ordered_json told(Communication const& of) {
  nlohmann::ordered_json all;
  all["count"] = of.exchanges;
  all["seconds_under_way"] = of.under_way;
  all["seconds_hidden"] = of.hidden;
  all["seconds_exposed"] = of.exposed();
  all["hidden"] = nullptr;
  if (of.exchanges > 0) all["hidden"] = hidden_part(of);
  all["workers_computing"] = of.computing;
  all["seconds"] = of.seconds;
  return all;
}

void write(std::filesystem::path const& file, nlohmann::ordered_json const& json) {
  std::ofstream out(file);
  out << json.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

nlohmann::ordered_json summary_of(Options const& options, Findings const& found) {
  nlohmann::ordered_json summary;
  summary["backend"] = found.backend;
  summary["kokkos_version"] = kokkos_version();
  summary["mpi"] = found.mpi;
  summary["matrix"] = options.matrix.empty() ? "poisson" : options.matrix.string();
  if (options.matrix.empty()) {
    summary["grid"] = options.cells;
    summary["process_grid"] = options.processes;
  }
  summary["rows"] = found.rows;
  summary["ranks"] = found.ranks.size();
  summary["method"] = name_of(options.method);
  summary["preconditioner"] = name_of(options.preconditioning);
  summary["plan"] = options.plan;
  summary["workers"] = found.workers;
  summary["threads_bulk"] = found.threads_bulk;
  summary["check_every"] = options.check_every;
  summary["tolerance"] = options.tolerance;
  summary["converged"] = found.converged;
  summary["steps"] = found.steps();
  summary["residual"] = found.residuals.back();
  summary["true_residual"] = found.true_residual;
  summary["residual_drift"] = found.drift();
  summary["error"] = found.error;
  summary["error_by_h2"] = nullptr;
  summary["largest_error_expected"] = nullptr;
  if (found.largest_error) {
    summary["error_by_h2"] = found.error / (found.h * found.h);
    summary["largest_error_expected"] = *found.largest_error;
  }
  summary["same_as_bulk"] = found.agrees_with_bulk;
  summary["repetitions"] = options.repetitions;
  summary["seconds_bulk"] = median(found.seconds_bulk);
  summary["seconds_tasks"] = median(found.seconds_tasks);
  summary["ratio"] = found.ratio();
  summary["all_seconds_bulk"] = found.seconds_bulk;
  summary["all_seconds_tasks"] = found.seconds_tasks;
  summary["recorded_steps"] = found.recorded_steps;
  summary["recorded_tasks_of_rank_0"] = found.tasks;
  summary["definition"] = definition;
  summary["of_each_rank"] = nlohmann::json::array();
  for (RankFindings const& rank : found.ranks) {
    nlohmann::ordered_json of;
    of["rows"] = rank.rows;
    of["inner_rows"] = rank.inner_rows;
    of["entries"] = rank.entries;
    of["halo"] = rank.halo;
    of["neighbours"] = rank.neighbours;
    of["tiles"] = rank.tiles;
    of["exchanges"] = told(rank.exchanges);
    of["sums"] = told(rank.sums);
    of["bulk_seconds"] = rank.bulk_seconds;
    of["bulk_seconds_communicating"] = rank.bulk_seconds_communicating;
    summary["of_each_rank"].push_back(std::move(of));
  }
  return summary;
}

}  // namespace

double Findings::ratio() const {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < seconds_bulk.size(); ++k)
    ratios.push_back(seconds_tasks[k] / seconds_bulk[k]);
  return median(std::move(ratios));
}

void print(Options const& options, Findings const& found) {
  std::printf("Conjugate gradients over ranks\n");
  line("backend", found.backend + ", Kokkos " + kokkos_version() + ", " + found.mpi);
  line("matrix", problem(options) + ", " + std::to_string(found.rows) + " rows");
  line("ranks", (options.matrix.empty() ? times(options.processes)
                                        : std::to_string(found.ranks.size()) + " blocks of rows") +
                    ", each with " + plural(found.workers, "worker"));
  line("method", std::string(name_of(options.method)) + ", preconditioner " +
                     name_of(options.preconditioning) +
                     (options.plan ? ", a plan of one step is replayed" : ", task by task"));

  std::printf("\nFound\n");
  line(found.converged ? "converged" : "NOT converged",
       "in " + plural(found.steps(), "step") +
           ", |r| / |b| = " + number("%.6g", found.residuals.back()));
  line("|b - A x| / |b|", number("%.6g", found.true_residual));
  if (found.largest_error)
    line("largest error", number("%.4g", found.error) + " = " +
                              number("%.4f h^2", found.error / (found.h * found.h)) +
                              ", it may be " + number("%.4g", *found.largest_error));
  else
    line("error", number("%.4g", found.error) + " of the known solution's norm");
  line("same as bulk-synchronous", found.agrees_with_bulk ? "yes, in every bit" : "NO");

  std::printf("\nTime, median of %s, of the slowest rank\n",
              plural(options.repetitions, "repetition").c_str());
  line("bulk-synchronous", number("%.4f s, ", median(found.seconds_bulk)) +
                               plural(found.threads_bulk, "thread") + " on each rank");
  line("tasks", number("%.4f s, ", median(found.seconds_tasks)) + plural(found.workers, "thread") +
                    " on each rank");
  line("tasks / bulk-synchronous",
       number("%.3f", found.ratio()) +
           (found.threads_bulk == found.workers ? "" : ", not on the same number of threads"));
  print_ranks(found);
}

void write_files(Options const& options, Findings const& found) {
  write(options.output / "summary.json", summary_of(options, found));
  nlohmann::ordered_json history;
  history["matrix"] = options.matrix.empty() ? "poisson" : options.matrix.string();
  history["method"] = name_of(options.method);
  history["preconditioner"] = name_of(options.preconditioning);
  history["tolerance"] = options.tolerance;
  history["residuals"] = found.residuals;
  write(options.output / "history.json", history);
  draw(options.output / "residual.svg",
       {"|r| / |b|: " + problem(options) + ", " + name_of(options.method) + ", " +
            name_of(options.preconditioning),
        found.residuals, options.tolerance, found.true_residual});
}

}  // namespace cg
