// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KNOWNCOMMUNICATORS_HPP
#define TRELLIS_IMPL_KNOWNCOMMUNICATORS_HPP

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

/// Says which ranks a communicator has. A message in the record of a graph names its communicator,
/// which may be gone when a trace is written.
struct KnownCommunicator {
  std::string name;
  /// The ranks in MPI_COMM_WORLD; MPI_UNDEFINED for one that is not in it. Communicators of the
  /// same ranks share the vector.
  std::shared_ptr<std::vector<int> const> ranks;
};
/// Returns all that exist, and the newest ones that are gone.
[[nodiscard]] std::vector<KnownCommunicator> known_communicators();

[[nodiscard]] std::vector<int> world_ranks(MPI_Comm comm);

/// Returns the name of a communicator that the program has not named. The name lists its ranks in
/// MPI_COMM_WORLD: "communicator{0-3}", "communicator{0-6:2,9}" or, if there are many pieces, their
/// number and a hash. It needs no other rank, and is the same on all ranks of the communicator.
[[nodiscard]] std::string name_of_ranks(std::vector<int> const& ranks);
/// Returns a name that no known communicator has: "NAME#2", and so on, if there is one already. If
/// all ranks make unnamed communicators of the same ranks in one order, as a program that is the
/// same on all ranks does, the numbers are the same on all of them.
[[nodiscard]] std::string unused_name(std::string const& name);

/// Makes a communicator known while it exists; each communicator's state has one. The thread that
/// makes it may call MPI, and holds the lock of MPI if that is needed.
class CommunicatorNote {
 public:
  CommunicatorNote(MPI_Comm comm, std::string const& name);
  CommunicatorNote(CommunicatorNote const&) = delete;
  CommunicatorNote& operator=(CommunicatorNote const&) = delete;
  ~CommunicatorNote();
};

}  // namespace trellis::Impl

#endif
