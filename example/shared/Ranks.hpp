// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_RANKS_HPP
#define TRELLIS_EXAMPLE_RANKS_HPP

#include <mpi.h>

#include <string>

/// With this header a program starts and ends on all ranks, and knows what these have in common.
namespace example {

/// Thrown to end a rank with this status, where all has been said.
struct Ended {
  int status;
};

/// Initialises MPI, calls `main_of_rank`, and returns the program's status. What all ranks refuse
/// (`Refusal`, see Together.hpp) one of them says, and all end. What goes wrong on one rank alone
/// ends the others as well, which may be waiting for it.
int run_ranks(int argc, char** argv, char const* program,
              void (*main_of_rank)(int argc, char** argv, MPI_Comm world));

/// How many cores each rank of this machine has, if they share those that any of them may use.
/// Collective.
[[nodiscard]] int share_of_cores(MPI_Comm comm);

/// The number of workers of a rank that was asked for; where neither the command line (0) nor the
/// environment says it, the ranks of a machine share its cores. Collective.
[[nodiscard]] int share_workers(int workers, int threads_per_worker, MPI_Comm comm);

/// Its name and version.
[[nodiscard]] std::string name_of_mpi();

}  // namespace example

#endif
