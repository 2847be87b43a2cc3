// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What messages as tasks cost, compared with MPI by hand. perf_tests/README.md says what is
// measured and how.
#include "Options.hpp"
#include "Parts.hpp"
#include "Report.hpp"
#include "World.hpp"

#include <Trellis_Mpi.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

namespace {

using namespace mpi_perf;

void run_parts(World const& world, Options const& options) {
  using Part = void (*)(World const&, Options const&, Report&);
  static std::map<std::string, Part> const parts{
      {"latency", &run_latency},     {"submission", &run_submission},
      {"in_flight", &run_in_flight}, {"overlap", &run_overlap},
      {"heat", &run_heat},           {"cg", &run_cg},
      {"stencil", &run_stencil},     {"weak_scaling", &run_weak_scaling}};
  auto const begin = Clock::now();
  Report report(world, *std::max_element(options.workers.begin(), options.workers.end()));
  for (std::string const& name : options.parts) parts.at(name)(world, options, report);
  report.write(options.output, seconds_since(begin));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Messages as tasks, compared with MPI by hand");
  describe(app, options);
  trellis::mpi::ScopeGuard const mpi(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    app.parse(argc, argv);
    complete(options);
  } catch (CLI::ParseError const& e) {
    return rank == 0 ? app.exit(e) : e.get_exit_code();
  }
  Kokkos::ScopeGuard const kokkos(
      Kokkos::InitializationSettings().set_num_threads(1).set_disable_warnings(true));
  try {
    World const world;
    // Before minutes of measuring.
    std::string const wrong = world.is_first() ? Report::why_not_written(options.output) : "";
    if (!world.all(wrong.empty())) {
      if (world.is_first()) std::fprintf(stderr, "%s\n", wrong.c_str());
      return 1;
    }
    run_parts(world, options);
    return 0;
  } catch (std::exception const& e) {
    // The others would wait for this rank.
    std::fprintf(stderr, "mpi, rank %d: %s\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}
