// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPIERROR_HPP
#define TRELLIS_MPIERROR_HPP

#include <task/Trellis_OneForAll.hpp>

#include <stdexcept>
#include <string>

namespace trellis::mpi {

/// What MPI has refused. A task whose message or collective operation fails has failed with this:
/// `trellis::Error::cause()` has it. Its text names the operation, the ranks, the tag, the count,
/// the communicator, and says what MPI says.
class TRELLIS_IMPL_ONE_FOR_ALL Error : public std::runtime_error {
 public:
  /// `code`: what an MPI function has returned.
  Error(std::string const& what, int code);
  /// As MPI has returned it.
  [[nodiscard]] int code() const noexcept { return m_code; }
  /// One of MPI's classes of errors: `MPI_ERR_TRUNCATE`, `MPI_ERR_RANK`, ...
  [[nodiscard]] int error_class() const noexcept { return m_class; }

 private:
  int m_code;
  int m_class;
};

}  // namespace trellis::mpi

#endif
