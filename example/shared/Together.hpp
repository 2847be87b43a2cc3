// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TOGETHER_HPP
#define TRELLIS_EXAMPLE_TOGETHER_HPP

#include <mpi.h>

#include <functional>
#include <stdexcept>

/// This header ends the program on all ranks when one rank cannot do a step. None of them then
/// waits for it.
namespace example {

/// An error that all ranks throw; one of them has to print it.
class Refusal : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Calls `step()`. When it throws on any rank, this throws a `Refusal` on all ranks, with the text
/// of the first rank that has one. Collective; `step` must not be.
void together(MPI_Comm comm, std::function<void()> const& step);

/// True if `here` is true on all ranks. Collective.
[[nodiscard]] bool all_of(MPI_Comm comm, bool here);

/// Returns the largest value of all ranks. Collective.
[[nodiscard]] double largest_of(MPI_Comm comm, double here);

}  // namespace example

#endif
