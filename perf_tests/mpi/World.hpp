// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_WORLD_HPP
#define TRELLIS_MPI_PERF_WORLD_HPP

#include <mpi.h>

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

namespace mpi_perf {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The ranks, and how they begin together. What measures in them goes by communicators of its own.
class World {
 public:
  /// Of all ranks of this communicator. Collective, and so is the destructor.
  explicit World(MPI_Comm of = MPI_COMM_WORLD);
  World(World const&) = delete;
  World& operator=(World const&) = delete;
  ~World();

  /// Of the first so many ranks; nothing on the others. Collective.
  [[nodiscard]] std::unique_ptr<World> first(int ranks) const;

  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }
  [[nodiscard]] bool is_first() const { return m_rank == 0; }
  /// For messages by hand: of all ranks, and of this one alone.
  [[nodiscard]] MPI_Comm comm() const { return m_comm; }
  [[nodiscard]] MPI_Comm self() const { return m_self; }

  /// All ranks leave it at about the same time. Who waits long in it sleeps, so that a rank which
  /// takes no part leaves its core to the others.
  void meet() const;
  /// Meets, and times `f()` on this rank.
  template <class F>
  double time(F&& f) const {
    meet();
    auto const begin = Clock::now();
    std::forward<F>(f)();
    return seconds_since(begin);
  }
  /// The largest of all ranks' values.
  [[nodiscard]] double longest(double value) const;
  /// Is it so on all ranks?
  [[nodiscard]] bool all(bool value) const { return longest(value ? 0 : 1) == 0; }
  /// The first rank's value.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T of_first(T value) const {
    broadcast(&value, static_cast<int>(sizeof value));
    return value;
  }

 private:
  void broadcast(void* data, int bytes) const;

  MPI_Comm m_comm = MPI_COMM_NULL;
  MPI_Comm m_self = MPI_COMM_NULL;
  MPI_Comm m_control = MPI_COMM_NULL;
  int m_rank = 0;
  int m_size = 1;
};

/// Waits, and lets others have the core meanwhile: ranks may share one.
void wait_yielding(MPI_Request request);

}  // namespace mpi_perf

#endif
