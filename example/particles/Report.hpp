// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_REPORT_HPP
#define TRELLIS_EXAMPLE_PARTICLES_REPORT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../shared/Communication.hpp"
#include "Measure.hpp"
#include "Options.hpp"

/// This header has the program's findings and the functions that report them. Rank 0 reports.
namespace particles {

struct Findings {
  std::string backend;
  std::string mpi;
  int ranks = 1;
  int workers = 0;
  int tiles = 0;  ///< of rank 0
  double seconds = 0;

  std::int64_t particles = 0;   ///< at the last check, on all ranks
  double drift = 0;             ///< of the energy
  std::vector<Moment> moments;  ///< one for each check
  std::optional<double> measured;
  double known = 0;
  std::optional<bool> same_as_one_rank;
  std::optional<bool> charge_flows;
  std::optional<double> gauss;
  long full = 0, partial = 0, empty = 0, travelled = 0;  ///< chunks and particles, of all ranks

  // These are of the recorded runs. With TRELLIS_SERIAL nothing overlaps, and nothing is checked.
  bool is_serial = false;
  std::size_t tasks = 0;                                                  ///< of rank 0
  long pairs = 0, released = 0, inserted = 0, early = 0, overlapped = 0;  ///< of all ranks
  int gated_workers = 0;
  std::vector<example::Communication> communication;  ///< of each rank
};

void print(Options const& options, Findings const& found);

/// Writes `summary.json`. Throws `std::runtime_error` when it cannot write.
void write_summary(Options const& options, Findings const& found);

}  // namespace particles

#endif
