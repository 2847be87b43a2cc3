// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SESSION_HPP
#define TRELLIS_SESSION_HPP

#include <string_view>

namespace trellis::mpi {

/// How many threads may call MPI, as MPI_Query_thread says. It decides how messages are started and
/// asked for:
///
/// | level | who calls MPI |
/// |---|---|
/// | multiple | any worker, at any time; one thread at a time asks for what is under way |
/// | serialized | any worker, under a lock of the process; your own calls, too: see `Guard` |
/// | funneled, single | the main thread alone, while it waits: message tasks are bound to it |
enum class ThreadLevel { single, funneled, serialized, multiple };

/// The name that MPI has for it.
[[nodiscard]] std::string_view to_string(ThreadLevel level);

/// The level that MPI was initialised with. Throws `trellis::Error` when it is not initialised.
[[nodiscard]] ThreadLevel thread_level();

/// Initialises MPI for as many threads as it can (MPI_THREAD_MULTIPLE is asked for), if the program
/// has not done so, and finalises it in the destructor if it was initialised here. It belongs
/// before Kokkos' own guard:
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

/// A program that was initialised with MPI_THREAD_SERIALIZED and calls MPI beside a graph whose
/// messages are under way holds one of these meanwhile. With other levels it does nothing.
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
