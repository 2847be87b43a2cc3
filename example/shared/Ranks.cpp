// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ranks.hpp"

#include <Trellis_Mpi.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "Together.hpp"

#ifdef __linux__
#include <sched.h>
#endif

namespace example {

int run_ranks(int argc, char** argv, char const* program,
              void (*main_of_rank)(int argc, char** argv, MPI_Comm world)) {
  trellis::mpi::ScopeGuard const mpi(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    main_of_rank(argc, argv, MPI_COMM_WORLD);
    return 0;
  } catch (Ended const& ended) {
    return ended.status;
  } catch (Refusal const& refusal) {
    if (rank == 0) std::fprintf(stderr, "%s: %s\n", program, refusal.what());
    return 1;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s: rank %d: %s\n", program, rank, error.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

int share_of_cores(MPI_Comm comm) {
  int share = 1;
#ifdef __linux__
  cpu_set_t mine, all;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_SET(0, &mine);
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int ranks = 1;
  MPI_Comm_size(machine, &ranks);
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, machine);
  MPI_Comm_free(&machine);
  share = std::max(1, CPU_COUNT(&all) / ranks);
#else
  (void)comm;
#endif
  return share;
}

int share_workers(int workers, int threads_per_worker, MPI_Comm comm) {
  int const share = share_of_cores(comm);
  if (workers == 0 && std::getenv("TRELLIS_WORKERS") == nullptr)
    return std::max(1, share / threads_per_worker);
  return workers;
}

std::string name_of_mpi() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string const name(text, static_cast<std::size_t>(length));
  std::string first = name.substr(0, name.find_first_of(",\n\r"));
  std::replace(first.begin(), first.end(), '\t', ' ');
  return first;
}

}  // namespace example
