// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SESSION_HPP
#define TRELLIS_SESSION_HPP

#include <string_view>

namespace trellis::mpi {

/// Says which threads may call MPI, as MPI_Query_thread reports. It decides how messages are
/// started and polled:
///
/// | level | which thread calls MPI |
/// |---|---|
/// | multiple | any worker, at any time; one thread at a time polls the messages under way |
/// | serialized | any worker, under a lock of the process; so must your own calls, see `Guard` |
/// | funneled, single | the main thread alone, while it waits: message tasks are bound to it |
enum class ThreadLevel { single, funneled, serialized, multiple };

/// Returns MPI's name of the level.
[[nodiscard]] std::string_view to_string(ThreadLevel level);

/// Returns the level that MPI was initialised with. Throws `trellis::Error` when it is not
/// initialised.
[[nodiscard]] ThreadLevel thread_level();

/// Initialises MPI unless the program has done so, and asks for MPI_THREAD_MULTIPLE. The destructor
/// finalises MPI if this has initialised it. It belongs before Kokkos' own guard:
///
///     int main(int argc, char** argv) {
///       trellis::mpi::ScopeGuard const mpi(argc, argv);
///       Kokkos::ScopeGuard const kokkos(argc, argv);
class ScopeGuard {
 public:
  ScopeGuard(int& argc, char**& argv);
  ScopeGuard(ScopeGuard const&) = delete;
  ScopeGuard& operator=(ScopeGuard const&) = delete;
  ~ScopeGuard();

 private:
  bool m_is_mine;
};

/// Locks MPI for calls of your own. A program that was initialised with MPI_THREAD_SERIALIZED must
/// hold one while it calls MPI and messages of a graph are under way. With other levels it does
/// nothing.
class Guard {
 public:
  Guard();
  Guard(Guard const&) = delete;
  Guard& operator=(Guard const&) = delete;
  ~Guard();

 private:
  bool m_holds;
};

}  // namespace trellis::mpi

#endif
