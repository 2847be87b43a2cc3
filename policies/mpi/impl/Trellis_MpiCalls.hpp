// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MPICALLS_HPP
#define TRELLIS_IMPL_MPICALLS_HPP

#include <mpi.h>

#include <string>

namespace trellis::Impl {

/// Throws `trellis::Error` when MPI is not initialised, or is finalised.
void require_mpi();
[[nodiscard]] bool mpi_is_over();
/// Returns MPI's text for a code that it has returned.
[[nodiscard]] std::string text_of_code(int code);
/// Throws `mpi::Error` unless the code is MPI_SUCCESS. `what` names the function; it is for calls
/// that are no message.
void require_success(int code, char const* what);

/// With MPI_THREAD_SERIALIZED a thread holds this, recursively if need be, while it is within MPI.
/// With other levels nothing is locked: several threads may call MPI, or only one thread ever does.
class MpiLock {
 public:
  enum IfFree { if_free };

  MpiLock();
  /// Does not wait for the lock, see `may_call`.
  explicit MpiLock(IfFree);
  MpiLock(MpiLock const&) = delete;
  MpiLock& operator=(MpiLock const&) = delete;
  ~MpiLock();

  /// True if this thread may call MPI now. False when another thread holds the lock, or only the
  /// main thread may call MPI and this is another one.
  [[nodiscard]] bool may_call() const { return m_may_call; }

 private:
  bool m_holds = false;
  bool m_may_call = true;
};

/// True if this MPI reaches device memory. TRELLIS_MPI_GPU_AWARE decides if it is set, else MPI is
/// asked.
[[nodiscard]] bool mpi_reaches_devices();
/// Frees the datatypes made for users' types, when MPI is finalised.
void free_datatypes();

/// True if only the main thread may call MPI.
[[nodiscard]] bool is_for_main_thread();

}  // namespace trellis::Impl

#endif
