// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ranks.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#ifdef __linux__
#include <sched.h>
#endif

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

std::string name_of_mpi() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string const name(text, static_cast<std::size_t>(length));
  std::string first = name.substr(0, name.find_first_of(",\n\r"));
  std::replace(first.begin(), first.end(), '\t', ' ');
  return first;
}

int main_of_ranks(char const* program, std::function<int(MPI_Comm)> const& body) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    return body(MPI_COMM_WORLD);
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

}  // namespace example
