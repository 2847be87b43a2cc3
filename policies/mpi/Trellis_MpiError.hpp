// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPIERROR_HPP
#define TRELLIS_MPIERROR_HPP

#include <base/Trellis_OneForAll.hpp>

#include <stdexcept>
#include <string>

namespace trellis::mpi {

/// An error of MPI. A task whose message or collective operation fails has this as its failure:
/// `trellis::Error::cause()` returns it. Its text names the operation, the ranks, the tag, the
/// count and the communicator, and has MPI's own text.
class TRELLIS_IMPL_ONE_FOR_ALL Error : public std::runtime_error {
 public:
  /// `code` is what an MPI function has returned.
  Error(std::string const& what, int code);
  /// Returns the code that MPI has returned.
  [[nodiscard]] int code() const noexcept { return m_code; }
  /// Returns one of MPI's classes of errors: `MPI_ERR_TRUNCATE`, `MPI_ERR_RANK`, ...
  [[nodiscard]] int error_class() const noexcept { return m_class; }

 private:
  int m_code;
  int m_class;
};

}  // namespace trellis::mpi

#endif
