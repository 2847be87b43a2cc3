// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KNOWNCOMMUNICATORS_HPP
#define TRELLIS_IMPL_KNOWNCOMMUNICATORS_HPP

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

/// Which ranks a communicator has. In the record of a graph a message says the name of its
/// communicator, which may be gone when a trace is written.
struct KnownCommunicator {
  std::string name;
  /// Of MPI_COMM_WORLD, MPI_UNDEFINED where they are of another one. Communicators of the same
  /// ranks share it.
  std::shared_ptr<std::vector<int> const> ranks;
};
/// All that are there, and the newest ones that are gone.
[[nodiscard]] std::vector<KnownCommunicator> known_communicators();

[[nodiscard]] std::vector<int> world_ranks(MPI_Comm comm);

/// A part of the state of each communicator: it is known from now on. Whoever makes one may call
/// MPI, and has locked it where it must be locked.
class CommunicatorNote {
 public:
  CommunicatorNote(MPI_Comm comm, std::string const& name);
  CommunicatorNote(CommunicatorNote const&) = delete;
  CommunicatorNote& operator=(CommunicatorNote const&) = delete;
  ~CommunicatorNote();
};

}  // namespace trellis::Impl

#endif
