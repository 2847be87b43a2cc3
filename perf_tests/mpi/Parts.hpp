// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_PARTS_HPP
#define TRELLIS_MPI_PERF_PARTS_HPP

#include "Options.hpp"
#include "Report.hpp"
#include "World.hpp"

/// The parts of the program. All ranks run them; perf_tests/README.md says what each measures.
namespace mpi_perf {

void run_latency(World const& world, Options const& options, Report& report);
void run_submission(World const& world, Options const& options, Report& report);
void run_in_flight(World const& world, Options const& options, Report& report);
void run_overlap(World const& world, Options const& options, Report& report);
void run_heat(World const& world, Options const& options, Report& report);
void run_cg(World const& world, Options const& options, Report& report);
void run_stencil(World const& world, Options const& options, Report& report);
void run_weak_scaling(World const& world, Options const& options, Report& report);

}  // namespace mpi_perf

#endif
