// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <mpi/impl/Trellis_UnusedHandles.hpp>
#include <base/Trellis_Reserve.hpp>
#include <base/Trellis_SpinLock.hpp>

#include <atomic>
#include <mutex>

namespace trellis::Impl {
namespace {

struct Unused {
  SpinLock lock;
  Vector<MPI_Comm> comms;        ///< guarded by lock
  Vector<MPI_Request> requests;  ///< guarded by lock
  /// Relaxed, as it is a hint. A thread that has added a handle looks afterwards, and so do threads
  /// that call MPI later. `lock` orders what they find.
  std::atomic<bool> any{false};
};
Unused& unused() {
  static Unused* const made = new Unused;  // objects that are destroyed last use it, too
  return *made;
}

template <class Handle>
void hand_over(Vector<Handle> Unused::* which, Handle handle) {
  if (mpi_is_over()) return;
  {
    std::lock_guard const guard(unused().lock);
    (unused().*which).push_back(handle);
    unused().any.store(true, std::memory_order_relaxed);
  }
  UnusedHandles::free_all();
}

}  // namespace

void UnusedHandles::add_communicator(MPI_Comm comm) {
  hand_over(&Unused::comms, comm);
}
void UnusedHandles::add_request(MPI_Request request) {
  hand_over(&Unused::requests, request);
}

void UnusedHandles::free_all() {
  if (!unused().any.load(std::memory_order_relaxed)) return;
  MpiLock const within_mpi(MpiLock::if_free);
  if (!within_mpi.may_call()) return;
  Vector<MPI_Comm> comms;
  Vector<MPI_Request> requests;
  {
    std::lock_guard const guard(unused().lock);
    comms.swap(unused().comms);
    requests.swap(unused().requests);
    unused().any.store(false, std::memory_order_relaxed);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace trellis::Impl
