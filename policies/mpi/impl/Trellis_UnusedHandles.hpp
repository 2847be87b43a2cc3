// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_UNUSEDHANDLES_HPP
#define TRELLIS_IMPL_UNUSEDHANDLES_HPP

// (In some MPIs both handles are of one type.)
#include <mpi.h>

namespace trellis::Impl {

/// Communicators and persistent requests that nobody uses any more. The last copy of a communicator
/// goes, or a plan, on any thread of the program, also on one that may not call MPI, or that another
/// one keeps from doing so. So whoever drops a handle hands it over, and it is freed at once where
/// the thread level allows that, else by the next thread that may call MPI and comes along: one that
/// starts a message, asks for messages, or makes a communicator, at the latest when MPI is
/// finalised. Nobody waits here, for a lock or for another rank: MPI_Comm_free is collective by
/// MPI's word, but no MPI waits in it for other ranks.
class UnusedHandles {
 public:
  static void add_communicator(MPI_Comm comm);
  static void add_request(MPI_Request request);
  /// Frees what has been handed over, if the calling thread may. Cheap when there is nothing.
  static void free_all();
};

}  // namespace trellis::Impl

#endif
