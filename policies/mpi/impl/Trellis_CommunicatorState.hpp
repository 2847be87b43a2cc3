// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_COMMUNICATORSTATE_HPP
#define TRELLIS_IMPL_COMMUNICATORSTATE_HPP

#include <Trellis_IndexSpace.hpp>
#include <Trellis_Token.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/impl/Trellis_KnownCommunicators.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <base/Trellis_SpinLock.hpp>

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trellis::Impl {

[[nodiscard]] inline bool is_same_graph(TaskHandle const& a, TaskHandle const& b) {
  return a.control == b.control && a.generation == b.generation;
}

/// All copies of a Communicator share this. There is one for each MPI_Comm; an attribute of the
/// MPI_Comm points to it. The state of a communicator that was made elsewhere lives as long as
/// that, or until MPI is finalised. The state of one that was made here lives until the last copy
/// is gone, and frees the MPI_Comm.
class CommunicatorState : public std::enable_shared_from_this<CommunicatorState> {
 public:
  static mpi::Communicator from_raw(MPI_Comm comm);
  /// Without `order` the order is that of `comm`.
  static mpi::Communicator duplicate(MPI_Comm comm, std::optional<WireOrder> order);
  static mpi::Communicator split(MPI_Comm comm, int color, int key);

  CommunicatorState(MPI_Comm comm, std::string name, bool is_own, WireOrder order);
  CommunicatorState(CommunicatorState const&) = delete;
  CommunicatorState& operator=(CommunicatorState const&) = delete;
  ~CommunicatorState();

  [[nodiscard]] MPI_Comm comm() const { return m_comm; }
  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }
  [[nodiscard]] int largest_tag() const { return m_largest_tag; }
  [[nodiscard]] std::string const& name() const { return m_name; }
  [[nodiscard]] WireOrder order() const { return m_order; }

  enum class Direction : int { send, recv };
  /// Returns the channel of messages to or from this peer with this tag, which may be
  /// MPI_ANY_SOURCE and MPI_ANY_TAG. Invalid peers and tags have a channel, too: the message
  /// reports the error later.
  [[nodiscard]] experimental::IndexBox channel(Direction direction, int peer, int tag) const;
  [[nodiscard]] experimental::IndexBox channels() const { return m_channels.all(); }
  [[nodiscard]] Token const& collective() const { return m_collective; }

  /// Requires that no other graph uses these channels at the same time: nothing orders messages of
  /// two graphs, and MPI would mistake them for each other. Throws `Error` when an incomplete task
  /// of another graph uses a part of `area`, which `what` of `graph` is to use. From now on later
  /// calls look at `graph`, too.
  ///
  /// The later call finds the message of the earlier one. (Two threads that race for a channel are
  /// in no order within one graph either.) Messages of a plan check once more when they start,
  /// since a replay does not call this.
  void require_alone(TaskHandle const& graph, Area const& area, FunctionRef<std::string()> what);
  /// Notes that `graph` uses it, and checks nothing: for messages that are recorded and do not run
  /// yet.
  void is_used_by(TaskHandle const& graph);

 private:
  static std::shared_ptr<CommunicatorState> find_or_make(MPI_Comm comm);
  static mpi::Communicator own(MPI_Comm comm, std::string&& name, WireOrder order);
  void put_attribute();

  MPI_Comm m_comm;
  bool m_is_own;
  WireOrder m_order;
  int m_rank = 0;
  int m_size = 0;
  int m_largest_tag = 0;
  std::string m_name;
  CommunicatorNote const m_note;
  experimental::IndexSpace<3>
      m_channels;  ///< direction; peer and tag, each with one more index for all invalid ones
  Token m_collective;
  SpinLock m_lock;
  /// The graphs that use it, and some that are gone. Guarded by m_lock.
  std::vector<TaskHandle> m_graphs;
  std::atomic<bool> m_returns_errors{false};
  std::atomic<int> m_derived{0};  ///< how many have been made from this one, for their names
};

/// Returns the state. Throws `Error` for a communicator of nothing.
CommunicatorState& require_state(mpi::Communicator const& comm);

}  // namespace trellis::Impl

#endif
