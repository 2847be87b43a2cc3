// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "../shared/Text.hpp"

namespace particles {
namespace {

using example::kokkos_version, example::line, example::number, example::plural, example::times;

std::string yes_or_no(std::optional<bool> const& holds, char const* how) {
  return !holds ? "not looked at (--verify)" : *holds ? std::string("yes, ") + how : "NO";
}

char const* name_of_known_value(Options const& options) {
  switch (options.setup().what) {
    case Case::oscillation:
      return "plasma frequency";
    case Case::streams:
      return "growth rate";
    case Case::gyration:
      break;
  }
  return "cyclotron frequency";
}

example::Communication sum_of(std::vector<example::Communication> const& all) {
  example::Communication sum;
  for (example::Communication const& one : all) {
    sum.seconds += one.seconds;
    sum.under_way += one.under_way;
    sum.hidden += one.hidden;
    sum.exchanges += one.exchanges;
    sum.computing += one.computing / static_cast<double>(all.size());
  }
  return sum;
}

}  // namespace

void print(Options const& options, Findings const& found) {
  Problem const problem = options.problem();
  std::printf("Electrons and fields, particle in cell, over ranks\n");
  line("backend", found.backend + ", Kokkos " + kokkos_version() + ", " + found.mpi);
  line("case", options.what + ", speed " + number("%g", *options.speed) + " c");
  line("grid", times(options.cells) + " cells of " + number("%.4g", problem.spacing) +
                   " c / omega_p, " + std::to_string(problem.particles()) + " particles");
  line("ranks", std::to_string(found.ranks) + ", each with " + plural(found.workers, "worker") +
                    "; " + plural(found.tiles, "tile") + " on rank 0");
  line("steps", std::to_string(options.steps) + " of dt " + number("%.4g", options.time_step) +
                    " / omega_p");

  std::printf("\nPhysics\n");
  line("particles", problem.checks() > 0 ? std::to_string(found.particles) + " at each check"
                                         : "not looked at (--check)");
  line("charge flows", yes_or_no(found.charge_flows, "at each node, in whole numbers"));
  line("Gauss' law", found.gauss ? number("%.3g off at most", *found.gauss) : "not looked at");
  line("energy drift", number("%.3g", found.drift));
  line(name_of_known_value(options),
       found.measured ? number("%.5g, ", *found.measured) + number("theory says %.5g", found.known)
                      : "not measured: too short");
  line("same as one rank", yes_or_no(found.same_as_one_rank, "in every bit"));

  std::printf("\nParticles between ranks\n");
  line("chunks received", std::to_string(found.full) + " full, " + std::to_string(found.partial) +
                              " partial, " + std::to_string(found.empty) + " empty");
  line("particles received", std::to_string(found.travelled));

  std::printf("\nTasks, %.4f s of the slowest rank\n", found.seconds);
  if (found.is_serial) {
    line("overlap, early release", "not looked at: TRELLIS_SERIAL");
    return;
  }
  line("core and messages", std::to_string(found.pairs) + " pairs, and no path joins any of them");
  line("released early", std::to_string(found.released) + " edges from pushes, " +
                             std::to_string(found.inserted) + " from exchanges");
  line("in time", std::to_string(found.early) + " messages began within the push they depend on, " +
                      std::to_string(found.overlapped) + " passed within a push of the core");
  example::Communication const all = sum_of(found.communication);
  line("communication hidden", number("%.1f %%, of a recorded run of ", 100 * hidden_part(all)) +
                                   plural(options.recorded_steps, "step"));
}

void write_summary(Options const& options, Findings const& found) {
  Problem const problem = options.problem();
  nlohmann::ordered_json summary;
  auto const put = [&](char const* name, auto const& value) {
    summary[name] = nullptr;
    if (value) summary[name] = *value;
  };
  summary["backend"] = found.backend;
  summary["kokkos_version"] = kokkos_version();
  summary["mpi"] = found.mpi;
  summary["case"] = options.what;
  summary["grid"] = options.cells;
  summary["particles_per_cell"] = options.per_cell;
  summary["ranks"] = found.ranks;
  summary["tiles_of_rank_0"] = found.tiles;
  summary["workers"] = found.workers;
  summary["steps"] = options.steps;
  summary["time_step"] = options.time_step;
  summary["chunk"] = options.chunk;
  summary["check_every"] = options.check_every;
  summary["seconds"] = found.seconds;

  summary["particles"] = nullptr;
  if (problem.checks() > 0) summary["particles"] = found.particles;
  summary["energy_drift"] = found.drift;
  summary["known_value"] = {{"name", name_of_known_value(options)}, {"theory", found.known}};
  summary["known_value"]["measured"] = nullptr;
  if (found.measured) summary["known_value"]["measured"] = *found.measured;
  auto const series = [&](auto const& value) {
    std::vector<double> all;
    for (Moment const& moment : found.moments) all.push_back(value(moment));
    return all;
  };
  summary["series"] = {{"time", series([](Moment const& m) { return m.time; })},
                       {"kinetic_energy", series([](Moment const& m) { return m.kinetic; })},
                       {"electric_energy", series([](Moment const& m) { return m.electric; })},
                       {"magnetic_energy", series([](Moment const& m) { return m.magnetic; })},
                       {"longest_wave_of_ex", series([](Moment const& m) { return m.wave(); })}};
  put("same_as_one_rank", found.same_as_one_rank);
  put("charge_flows", found.charge_flows);
  put("gauss", found.gauss);
  summary["chunks"] = {{"full", found.full},
                       {"partial", found.partial},
                       {"empty", found.empty},
                       {"particles", found.travelled}};

  summary["recorded_steps"] = options.recorded_steps;
  summary["serial"] = found.is_serial;
  summary["recorded_tasks_of_rank_0"] = found.tasks;
  summary["independent_pairs"] = found.pairs;
  summary["released_edges"] = found.released;
  summary["released_insertions"] = found.inserted;
  summary["early_messages"] = found.early;
  summary["overlapped_messages"] = found.overlapped;
  summary["workers_of_gated_run"] = found.gated_workers;
  example::Communication const all = sum_of(found.communication);
  summary["communication"] = {{"exchanges", all.exchanges},
                              {"seconds_under_way", all.under_way},
                              {"seconds_hidden", all.hidden},
                              {"hidden", hidden_part(all)},
                              {"workers_computing", all.computing}};

  auto const file = options.output / "summary.json";
  std::ofstream out(file);
  out << summary.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace particles
