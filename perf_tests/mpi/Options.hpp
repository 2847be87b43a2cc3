// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_OPTIONS_HPP
#define TRELLIS_MPI_PERF_OPTIONS_HPP

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mpi_perf {

/// What the command line asks for. Lists that are empty are chosen by each part.
struct Options {
  bool quick = false;
  bool smoke = false;
  std::vector<std::string> parts;
  std::vector<std::int64_t> bytes;
  std::vector<int> in_flight;
  std::vector<int> workers;
  int repetitions = 0;
  double seconds = 0;       ///< of a bare run
  int columns = 4;          ///< of the stencil, on each rank
  double network_us = 1.5;  ///< what a message takes in the network that is foretold
  std::string output = "out/perf/mpi.json";
};

void describe(CLI::App& app, Options& options);
/// Fills in what follows from other options. Throws CLI::ValidationError for what does not go
/// together.
void complete(Options& options);

}  // namespace mpi_perf

#endif
