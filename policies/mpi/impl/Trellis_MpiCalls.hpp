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

/// With MPI_THREAD_SERIALIZED one thread at a time is within MPI: it holds this. With other levels
/// nothing is locked: more threads may be, or only one thread ever is.
class MpiLock {
 public:
  MpiLock();
  MpiLock(MpiLock const&) = delete;
  MpiLock& operator=(MpiLock const&) = delete;
  ~MpiLock();

 private:
  bool const m_holds;
};

/// Does this MPI reach the memory of devices? TRELLIS_MPI_GPU_AWARE says so, else MPI does.
[[nodiscard]] bool mpi_reaches_devices();
/// Of those that have been made for values of users' types, when MPI is finalised.
void free_datatypes();

/// Does MPI want to be called by its main thread alone?
[[nodiscard]] bool is_for_main_thread();

}  // namespace trellis::Impl

#endif
