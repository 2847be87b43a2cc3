// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "World.hpp"

#include <algorithm>
#include <thread>

namespace mpi_perf {
namespace {

/// What takes no part for long costs the others little.
void wait_asleep(MPI_Request request) {
  std::chrono::microseconds nap{100};
  constexpr std::chrono::microseconds longest_nap{1000};
  for (int is_over = 0;;) {
    MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    if (is_over != 0) return;
    std::this_thread::sleep_for(nap);
    nap = std::min(longest_nap, nap + nap / 4);
  }
}

}  // namespace

void wait_yielding(MPI_Request request) {
  for (int is_over = 0;;) {
    MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    if (is_over != 0) return;
    std::this_thread::yield();
  }
}

World::World(MPI_Comm of) {
  MPI_Comm_dup(of, &m_comm);
  MPI_Comm_dup(of, &m_control);
  MPI_Comm_dup(MPI_COMM_SELF, &m_self);
  MPI_Comm_rank(m_comm, &m_rank);
  MPI_Comm_size(m_comm, &m_size);
}

World::~World() {
  MPI_Comm_free(&m_self);
  MPI_Comm_free(&m_control);
  MPI_Comm_free(&m_comm);
}

std::unique_ptr<World> World::first(int ranks) const {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(m_control, m_rank < ranks ? 0 : MPI_UNDEFINED, m_rank, &part);
  if (part == MPI_COMM_NULL) return nullptr;
  auto made = std::make_unique<World>(part);
  MPI_Comm_free(&part);
  return made;
}

void World::meet() const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(m_control, &request);
  wait_asleep(request);
  MPI_Ibarrier(m_control, &request);
  wait_yielding(request);
}

double World::longest(double value) const {
  double found = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&value, &found, 1, MPI_DOUBLE, MPI_MAX, m_control, &request);
  wait_asleep(request);
  return found;
}

void World::broadcast(void* data, int bytes) const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(data, bytes, MPI_BYTE, 0, m_control, &request);
  wait_asleep(request);
}

}  // namespace mpi_perf
