// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_RANKS_HPP
#define TRELLIS_EXAMPLE_RANKS_HPP

#include <mpi.h>

#include <functional>
#include <stdexcept>
#include <string>

/// With this header a program of several ranks begins and ends on all of them: what one rank cannot
/// do ends the program on all, and none of them waits for it.
namespace example {

/// What all ranks have thrown; one of them has to print it.
class Refusal : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ends the program, after `--help` and after a malformed command line.
struct Ended {
  int status;
};

/// Calls `step()`. When it throws on any rank, this throws a `Refusal` on all ranks, with the text
/// of the first rank that has one. Collective; `step` must not be.
void together(MPI_Comm comm, std::function<void()> const& step);

/// Is it so on all ranks? Collective.
[[nodiscard]] bool all_of(MPI_Comm comm, bool here);

/// The largest value of all ranks. Collective.
[[nodiscard]] double largest_of(MPI_Comm comm, double here);

/// How many cores each rank of this machine has, if they share those that any of them may use.
/// Collective.
[[nodiscard]] int share_of_cores(MPI_Comm comm);

/// The library and its version.
[[nodiscard]] std::string name_of_mpi();

/// Calls `body(world)` and returns what `main` is to return. What all ranks refuse one of them
/// says, and all end. What goes wrong on one rank alone ends the others as well, which may be
/// waiting for it. MPI must be initialised.
int main_of_ranks(char const* program, std::function<int(MPI_Comm)> const& body);

}  // namespace example

#endif
