// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_CORES_HPP
#define TRELLIS_MPI_PERF_CORES_HPP

#include "World.hpp"

#include <vector>

namespace mpi_perf {

/// The cores of this machine that any of its ranks may use. Each rank has one of them, in turn: so
/// ranks share a core only where there are more of them.
class Cores {
 public:
  /// Collective.
  explicit Cores(World const& world);

  [[nodiscard]] int count() const { return m_count; }
  /// Of the first so many ranks, how many have the same core, at most. Collective.
  [[nodiscard]] int sharing(World const& world, int ranks) const;
  /// Of this rank; -1: nobody knows here.
  [[nodiscard]] int own() const;
  /// That of the first rank of this machine.
  [[nodiscard]] int first() const;

 private:
  int m_count = 1;
  std::vector<int> m_cores;  ///< empty where threads cannot be bound
  std::vector<int> m_ranks;  ///< of this machine, ascending
  int m_rank_here = 0;
};

/// While it lives, the calling thread stays on one core, and so do the threads that it starts.
class Bound {
 public:
  /// -1: it stays where it is.
  explicit Bound(int core);
  Bound(Bound const&) = delete;
  Bound& operator=(Bound const&) = delete;
  ~Bound();

 private:
  std::vector<unsigned char> m_before;  ///< empty: nothing has been changed
};

}  // namespace mpi_perf

#endif
