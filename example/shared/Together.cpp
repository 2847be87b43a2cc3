// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Together.hpp"

#include <exception>
#include <string>

namespace example {

void together(MPI_Comm comm, std::function<void()> const& step) {
  std::string why;
  try {
    step();
  } catch (std::exception const& error) {
    why = error.what();
    if (why.empty()) why = "an exception without a text";
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int const mine = why.empty() ? size : rank;
  int first = size;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == size) return;
  auto length = static_cast<int>(why.size());
  MPI_Bcast(&length, 1, MPI_INT, first, comm);
  why.resize(static_cast<std::size_t>(length));
  MPI_Bcast(why.data(), length, MPI_CHAR, first, comm);
  throw Refusal(first == 0 ? why : "rank " + std::to_string(first) + ": " + why);
}

bool all_of(MPI_Comm comm, bool here) {
  int const mine = here ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, comm);
  return all != 0;
}

double largest_of(MPI_Comm comm, double here) {
  double largest = here;
  MPI_Allreduce(&here, &largest, 1, MPI_DOUBLE, MPI_MAX, comm);
  return largest;
}

}  // namespace example
