// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_COMMUNICATOR_HPP
#define TRELLIS_COMMUNICATOR_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_IndexSpace.hpp>
#include <annotations/Trellis_Resource.hpp>
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
struct CommunicatorInternals;
/// The order of indices in which the elements of a View are sent: that of a LayoutRight View, the
/// last index fastest, or that of a LayoutLeft one.
enum class WireOrder : int { right, left };
}  // namespace Impl

namespace mpi {

/// An MPI communicator as a resource. Copies are the same communicator, and so are two that
/// `from_raw` has made from one MPI_Comm.
///
/// It is a table of channels: one for each direction, peer and tag, and one for all collective
/// operations. A message accesses its channel as `read_write` does, until it is over. So two
/// messages to one peer with one tag keep the order of submission, as MPI's matching requires. A
/// collective operation gives its channel up when it has been started. So collective operations
/// start in the order of submission on every rank, and several are under way at a time. Nothing
/// else is ordered. A receive from any source, or with any tag, accesses the channels of all of
/// them. Two graphs may use one channel in turn. If they use it at the same time, the later call
/// throws `trellis::Error`, as nothing orders the two.
///
/// A task of your own that calls MPI with this communicator, or hands it to a library, declares
/// `read_write(comm)`, which means all channels.
class Communicator {
 public:
  /// Makes a communicator of nothing.
  Communicator() = default;

  /// Returns a Communicator for `comm` itself. The program frees `comm`, after all tasks that use
  /// it are complete. From now on errors of `comm` are returned (MPI_ERRORS_RETURN) and become
  /// errors of tasks. Throws `trellis::Error` when MPI is not initialised, or `comm` is
  /// MPI_COMM_NULL.
  static Communicator from_raw(MPI_Comm comm);
  /// Returns a new communicator of the same ranks, whose messages are never mistaken for those of
  /// another one. The call is collective. The last copy frees the communicator.
  static Communicator duplicate(MPI_Comm comm);
  [[nodiscard]] Communicator duplicate() const { return duplicate(comm()); }
  /// Duplicates, and sets the order in which the elements of Views are sent: that of a View with
  /// this layout. Such Views are sent as they are, and others are packed. All ranks must name the
  /// same layout, else each throws `trellis::Error`. Without this argument the order is that of the
  /// given communicator, and `LayoutRight` for one that has not been made here.
  static Communicator duplicate(MPI_Comm comm, Kokkos::LayoutRight);
  static Communicator duplicate(MPI_Comm comm, Kokkos::LayoutLeft);
  [[nodiscard]] Communicator duplicate(Kokkos::LayoutRight order) const {
    return duplicate(comm(), order);
  }
  [[nodiscard]] Communicator duplicate(Kokkos::LayoutLeft order) const {
    return duplicate(comm(), order);
  }
  /// Returns a new communicator as MPI_Comm_split does: of the ranks with this color, in the order
  /// of their keys. The call is collective. With the color MPI_UNDEFINED it returns a communicator
  /// of nothing.
  static Communicator split(MPI_Comm comm, int color, int key);
  [[nodiscard]] Communicator split(int color, int key) const { return split(comm(), color, key); }

  [[nodiscard]] bool valid() const { return m_state != nullptr; }
  /// Returns MPI_COMM_NULL for a communicator of nothing.
  [[nodiscard]] MPI_Comm comm() const;
  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// Returns the largest tag that a message may have.
  [[nodiscard]] int largest_tag() const;
  /// Returns the name for errors, records and traces. It is the communicator's name
  /// (MPI_Comm_get_name), or the name of the one it was made from and a number. Otherwise it lists
  /// the ranks of MPI_COMM_WORLD: "communicator{0-3}", and "communicator{0-3}#2" for the second one
  /// that `from_raw` has made without a name. The name is the same on all ranks if they make
  /// communicators of the same ranks in the same order.
  [[nodiscard]] std::string const& name() const;

 private:
  friend class Impl::CommunicatorState;
  friend struct Impl::CommunicatorInternals;
  explicit Communicator(std::shared_ptr<Impl::CommunicatorState> state)
      : m_state(std::move(state)) {}
  std::shared_ptr<Impl::CommunicatorState> m_state;
};

}  // namespace mpi

namespace Impl {

struct CommunicatorInternals {
  static std::shared_ptr<CommunicatorState> const& state(mpi::Communicator const& comm) {
    return comm.m_state;
  }
};

/// An MPI task takes one of these as its communicator: ours, MPI's, or any other class that has
/// one.
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

/// Return pieces of a communicator, as resources.
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
