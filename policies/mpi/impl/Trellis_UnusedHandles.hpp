// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_UNUSEDHANDLES_HPP
#define TRELLIS_IMPL_UNUSEDHANDLES_HPP

// (In some MPIs both handles are of one type.)
#include <mpi.h>

namespace trellis::Impl {

/// Keeps communicators and persistent requests that are no longer used. Any thread may destroy the
/// last copy of a communicator, or a plan, also one that may not call MPI now or at all. So a
/// thread that drops a handle hands it over. The handle is freed at once if the thread level allows
/// that. Otherwise the next thread frees it that may call MPI and starts a message, polls, or makes
/// a communicator; at the latest it is freed when MPI is finalised. No thread waits here for a lock
/// or for another rank: MPI_Comm_free is collective by the standard, but no MPI waits in it for
/// other ranks.
class UnusedHandles {
 public:
  static void add_communicator(MPI_Comm comm);
  static void add_request(MPI_Request request);
  /// Frees what has been handed over, if the calling thread may call MPI. Cheap when there is
  /// nothing.
  static void free_all();
};

}  // namespace trellis::Impl

#endif
