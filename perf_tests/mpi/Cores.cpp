// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cores.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace mpi_perf {

Cores::Cores(World const& world) {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(world.comm(), MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &here);
  int ranks = 1;
  MPI_Comm_size(here, &ranks);
  MPI_Comm_rank(here, &m_rank_here);
  m_ranks.resize(static_cast<std::size_t>(ranks));
  int const rank = world.rank();
  MPI_Allgather(&rank, 1, MPI_INT, m_ranks.data(), 1, MPI_INT, here);
  m_count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#ifdef __linux__
  // The launcher may have bound each rank to cores of its own.
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) == 0) {
    cpu_set_t all = own;
    MPI_Allreduce(&own, &all, static_cast<int>(sizeof own), MPI_BYTE, MPI_BOR, here);
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &all)) m_cores.push_back(core);
    m_count = std::max(1, static_cast<int>(m_cores.size()));
  }
#endif
  MPI_Comm_free(&here);
}

int Cores::sharing(World const& world, int ranks) const {
  auto const here =
      std::count_if(m_ranks.begin(), m_ranks.end(), [ranks](int rank) { return rank < ranks; });
  double const most = world.longest(static_cast<double>((here + m_count - 1) / m_count));
  return std::max(1, static_cast<int>(most));
}

int Cores::own() const {
  return m_cores.empty() ? -1 : m_cores[static_cast<std::size_t>(m_rank_here) % m_cores.size()];
}
int Cores::first() const {
  return m_cores.empty() ? -1 : m_cores.front();
}

#ifdef __linux__
Bound::Bound(int core) {
  if (core < 0) return;
  cpu_set_t before, one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_getaffinity(0, sizeof before, &before) != 0) return;
  if (sched_setaffinity(0, sizeof one, &one) != 0) return;
  m_before.resize(sizeof before);
  std::memcpy(m_before.data(), &before, sizeof before);
}
Bound::~Bound() {
  if (!m_before.empty())
    sched_setaffinity(0, m_before.size(), reinterpret_cast<cpu_set_t const*>(m_before.data()));
}
#else
Bound::Bound(int) {}
Bound::~Bound() = default;
#endif

}  // namespace mpi_perf
