// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_COMMUNICATORSTATE_HPP
#define TRELLIS_IMPL_COMMUNICATORSTATE_HPP

#include <Trellis_IndexSpace.hpp>
#include <Trellis_Token.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/impl/Trellis_KnownCommunicators.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <kernel/Trellis_TaskHandle.hpp>
#include <threads/Trellis_SpinLock.hpp>

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

/// What all copies of a Communicator share. There is one for each MPI_Comm: an attribute of that
/// says which. That of somebody else's communicator lives as long as this does, or until MPI is
/// finalised; that of one which was made here until the last copy is gone, and frees it.
class CommunicatorState : public std::enable_shared_from_this<CommunicatorState> {
 public:
  static mpi::Communicator from_raw(MPI_Comm comm);
  /// `order`: none, that of `comm`.
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
  /// Of messages to or from this peer with this tag, or from MPI_ANY_SOURCE, or with MPI_ANY_TAG.
  /// Peers and tags that there are not have one, too: the message says later what is wrong.
  [[nodiscard]] experimental::IndexBox channel(Direction direction, int peer, int tag) const;
  [[nodiscard]] experimental::IndexBox channels() const { return m_channels.all(); }
  [[nodiscard]] Token const& collective() const { return m_collective; }

  /// Messages of two graphs may use one channel in turn, but not at the same time: nothing orders
  /// the one behind the other, and MPI would take them for each other. Throws `Error` when a task
  /// of another graph that is not complete uses something of `area`, which `what` of `graph` is to
  /// use. `graph` is from now on one of those that are asked.
  ///
  /// The later call finds the message of the earlier one. (Two threads that race for a channel are
  /// in no order within one graph either.) Messages of a plan look once more when they start, since
  /// a replay does not come by here.
  void require_alone(TaskHandle const& graph, Area const& area, FunctionRef<std::string()> what);
  /// Asks nothing: for messages that are recorded and do not run yet.
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
      m_channels;  ///< direction, peer (one more: none of them), tag (the same)
  Token m_collective;
  SpinLock m_lock;
  /// Guarded by m_lock: those that use it, and some that are gone.
  std::vector<TaskHandle> m_graphs;
  std::atomic<bool> m_returns_errors{false};
  std::atomic<int> m_derived{0};  ///< how many have been made of this one, for their names
};

/// Throws `Error` when it is one of nothing.
CommunicatorState& require_state(mpi::Communicator const& comm);

}  // namespace trellis::Impl

#endif
