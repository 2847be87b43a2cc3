// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MPICALLS_HPP
#define TRELLIS_IMPL_MPICALLS_HPP

#include <mpi.h>

#include <string>

namespace trellis::Impl {

/// Throws `trellis::Error` when MPI is not initialised, or is finalised.
void require_mpi();
[[nodiscard]] bool mpi_is_over();
/// What MPI says of a code that it has returned.
[[nodiscard]] std::string text_of_code(int code);
/// Throws `mpi::Error` unless it is MPI_SUCCESS. `what`: which function, for calls that are no
/// message.
void require_success(int code, char const* what);

/// With MPI_THREAD_SERIALIZED one thread at a time is within MPI: it holds this, as often as it
/// likes. With other levels nothing is locked: more threads may be, or only one thread ever is.
class MpiLock {
 public:
  enum IfFree { if_free };

  MpiLock();
  /// Does not wait: see `may_call`.
  explicit MpiLock(IfFree);
  MpiLock(MpiLock const&) = delete;
  MpiLock& operator=(MpiLock const&) = delete;
  ~MpiLock();

  /// May this thread call MPI now? False when another one holds the lock, or only the main thread
  /// may and this is another one.
  [[nodiscard]] bool may_call() const { return m_may_call; }

 private:
  bool m_holds = false;
  bool m_may_call = true;
};

/// Does this MPI reach the memory of devices? TRELLIS_MPI_GPU_AWARE says so, else MPI does.
[[nodiscard]] bool mpi_reaches_devices();
/// Of those that have been made for values of users' types, when MPI is finalised.
void free_datatypes();

/// Does MPI want to be called by its main thread alone?
[[nodiscard]] bool is_for_main_thread();

}  // namespace trellis::Impl

#endif
