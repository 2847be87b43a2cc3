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

/// The name of a communicator that the program has not named: what ranks of MPI_COMM_WORLD it has,
/// "communicator{0-3}", "communicator{0-6:2,9}" or, where these are many pieces, how many and a
/// hash of them. It needs no other rank, and is the same on all that have the communicator.
[[nodiscard]] std::string name_of_ranks(std::vector<int> const& ranks);
/// The same name for none of those that are known: "NAME#2", and so on, if there is one already.
/// Where ranks meet unnamed communicators with the same ranks in one order, as they do in a program
/// that is the same on all ranks, the numbers are the same on all of them.
[[nodiscard]] std::string unused_name(std::string const& name);

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
