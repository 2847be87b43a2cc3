// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_RANKS_HPP
#define TRELLIS_EXAMPLE_RANKS_HPP

#include <mpi.h>

#include <string>

/// This header starts and ends a program on all ranks, and has what these share.
namespace example {

/// Thrown to end a rank with this status, after all messages have been printed.
struct Ended {
  int status;
};

/// Initialises MPI, calls `main_of_rank`, and returns the program's status. If all ranks throw a
/// `Refusal` (see Together.hpp), one of them prints it, and all end. An error on one rank alone
/// ends the others as well, which may be waiting for it.
int run_ranks(int argc, char** argv, char const* program,
              void (*main_of_rank)(int argc, char** argv, MPI_Comm world));

/// Returns how many cores each rank of this machine has, if the ranks share the cores that any of
/// them may use. Collective.
[[nodiscard]] int share_of_cores(MPI_Comm comm);

/// Returns the requested number of workers of a rank. If neither the command line (0) nor the
/// environment gives it, the ranks of a machine share its cores. Collective.
[[nodiscard]] int share_workers(int workers, int threads_per_worker, MPI_Comm comm);

/// Returns its name and version.
[[nodiscard]] std::string name_of_mpi();

}  // namespace example

#endif
