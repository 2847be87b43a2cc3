// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_MPIRULES_HPP
#define TRELLIS_TEST_MPIRULES_HPP

#include <string>

/// What MPI asks of its callers, looked at while the tests run: a program that links MpiRules.cpp
/// has functions of MPI's profiling interface in front of those that Trellis calls beside the
/// tests' own.
namespace trellis::Test {

/// How often they have been called in this process.
struct MpiCallCounts {
  long immediate = 0;  ///< MPI_Isend, MPI_Irecv
  long made = 0;       ///< MPI_Send_init, MPI_Recv_init
  long started = 0;    ///< MPI_Start
  long freed = 0;      ///< MPI_Request_free
  long comms_made = 0;
  long comms_freed = 0;
  /// By `operator new`, in all threads: not MPI's own. Nothing under a sanitizer.
  long allocations = 0;
};
[[nodiscard]] MpiCallCounts mpi_calls();

/// What has been called by a thread that must not, since the last call of this: with
/// MPI_THREAD_FUNNELED by another one than the main thread, with MPI_THREAD_SERIALIZED while
/// another thread was in MPI. Empty: nothing.
[[nodiscard]] std::string broken_mpi_rules();

}  // namespace trellis::Test

#endif
