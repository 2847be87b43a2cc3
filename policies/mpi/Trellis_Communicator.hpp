// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_COMMUNICATOR_HPP
#define TRELLIS_COMMUNICATOR_HPP

#include <Trellis_Annotations.hpp>
#include <Trellis_IndexSpace.hpp>
#include <Trellis_Resource.hpp>
#include <Trellis_Token.hpp>

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace trellis {

namespace Impl {
class CommunicatorState;
struct CommunicatorDoor;
/// The order in which the elements of a View travel, by their indices: as they lie in a LayoutRight
/// View, the last index fastest, or as in a LayoutLeft one.
enum class WireOrder : int { right, left };
}  // namespace Impl

namespace mpi {

/// An MPI communicator, as a resource. Copies are the same one, and so are two that were made
/// `from_raw` of one MPI_Comm.
///
/// It is a table of channels: one for each direction, peer and tag, and one for all collective
/// operations. A message accesses its channel as `read_write` does, until it is over. So two
/// messages to one peer with one tag keep the order of submission, as MPI's matching asks for. A
/// collective operation gives its channel up when it has been started. So these are started in the
/// order of submission on every rank, and several are under way at a time. Everything else is free.
/// A receive from any source, or with any tag, accesses the channels of all of them. Two graphs may
/// use one channel in turn, else the later call throws `trellis::Error`: nothing orders the two.
///
/// A task of your own that calls MPI with this communicator, or hands it to a library, says so:
/// `read_write(comm)` is all of it.
class Communicator {
 public:
  /// Of nothing.
  Communicator() = default;

  /// `comm` itself, which somebody else frees, after all tasks that use it are complete. Its errors
  /// are returned from now on (MPI_ERRORS_RETURN), and are those of tasks. Throws `trellis::Error`
  /// when MPI is not initialised, or `comm` is MPI_COMM_NULL.
  static Communicator from_raw(MPI_Comm comm);
  /// A communicator of the same ranks, of its own: no message of others is ever taken for one of
  /// its. Collective. The last copy frees it.
  static Communicator duplicate(MPI_Comm comm);
  [[nodiscard]] Communicator duplicate() const { return duplicate(comm()); }
  /// The same, and says in which order the elements of Views travel: as they lie in a View of this
  /// layout. Such Views go as they are then, and others are packed. All ranks say the same, else
  /// each throws `trellis::Error`. Without it the order is that of the given communicator, and
  /// `LayoutRight` for one that has not been made here.
  static Communicator duplicate(MPI_Comm comm, Kokkos::LayoutRight);
  static Communicator duplicate(MPI_Comm comm, Kokkos::LayoutLeft);
  [[nodiscard]] Communicator duplicate(Kokkos::LayoutRight order) const {
    return duplicate(comm(), order);
  }
  [[nodiscard]] Communicator duplicate(Kokkos::LayoutLeft order) const {
    return duplicate(comm(), order);
  }
  /// As MPI_Comm_split: of the ranks with this color, in the order of their keys. Collective. With
  /// the color MPI_UNDEFINED a communicator of nothing.
  static Communicator split(MPI_Comm comm, int color, int key);
  [[nodiscard]] Communicator split(int color, int key) const { return split(comm(), color, key); }

  [[nodiscard]] bool valid() const { return m_state != nullptr; }
  /// MPI_COMM_NULL: of nothing.
  [[nodiscard]] MPI_Comm comm() const;
  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// The largest tag that a message may have.
  [[nodiscard]] int largest_tag() const;
  /// In errors, records and traces: the name of the communicator (MPI_Comm_get_name), or what it
  /// was made of and as which one, or which ranks of MPI_COMM_WORLD it has: "communicator{0-3}",
  /// and "communicator{0-3}#2" for the second one that was made `from_raw` without a name. The same
  /// on all ranks, if they meet those of the same ranks in the same order.
  [[nodiscard]] std::string const& name() const;

 private:
  friend class Impl::CommunicatorState;
  friend struct Impl::CommunicatorDoor;
  explicit Communicator(std::shared_ptr<Impl::CommunicatorState> state)
      : m_state(std::move(state)) {}
  std::shared_ptr<Impl::CommunicatorState> m_state;
};

}  // namespace mpi

namespace Impl {

struct CommunicatorDoor {
  static std::shared_ptr<CommunicatorState> const& state(mpi::Communicator const& comm) {
    return comm.m_state;
  }
};

/// What an MPI task takes as its communicator: ours, MPI's, or any other class that has one.
template <class C>
concept AnyCommunicator =
    std::same_as<C, mpi::Communicator> || std::same_as<C, MPI_Comm> || requires(C const& c) {
      { c.comm() } -> std::convertible_to<MPI_Comm>;
    };

template <AnyCommunicator C>
decltype(auto) communicator_of(C const& c) {
  if constexpr (std::same_as<C, mpi::Communicator>)
    return (c);
  else if constexpr (requires { c.comm(); })
    return mpi::Communicator::from_raw(c.comm());
  else
    return mpi::Communicator::from_raw(c);
}

/// Pieces of a communicator, as resources.
experimental::IndexBox all_channels(mpi::Communicator const& comm);
Token const& collective_channel(mpi::Communicator const& comm);

}  // namespace Impl

template <>
struct ResourceTraits<mpi::Communicator> {
  static auto accesses(mpi::Communicator const& comm, auto how) {
    return std::tuple(access(Impl::all_channels(comm), how),
                      access(Impl::collective_channel(comm), how));
  }
  static mpi::Communicator argument(mpi::Communicator const& comm, auto) { return comm; }
};

}  // namespace trellis

#endif
