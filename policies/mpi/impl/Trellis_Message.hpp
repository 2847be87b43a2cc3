// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MESSAGE_HPP
#define TRELLIS_IMPL_MESSAGE_HPP

#include <Trellis_Completion.hpp>
#include <Trellis_IndexSpace.hpp>
#include <annotations/Trellis_TaskScope.hpp>
#include <mpi/Trellis_Received.hpp>
#include <mpi/impl/Trellis_CommunicatorState.hpp>
#include <mpi/impl/Trellis_KeptMemory.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace trellis::Impl {

/// The completion that is signalled when a request is over.
using MessageCompletion = std::variant<Completion<>, Completion<mpi::Received>>;

/// A request to MPI that is under way. It is a member of the body of its task, so it stays where it
/// is until the task is complete, which is when `completion` is signalled.
class Message {
 public:
  /// Returns a text for errors and reports: the operation, ranks, tag, count, label of the memory,
  /// and communicator.
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] virtual bool may_be_cancelled() const { return false; }
  /// True if it is not wanted any more though its own task has not been asked to stop.
  [[nodiscard]] virtual bool is_unwanted() const { return false; }
  /// Called when the request has failed in MPI; the argument is what MPI has left of it. (Some MPIs
  /// free a persistent request then.)
  virtual void has_failed(MPI_Request) {}
  /// Returns the result of a receive from MPI's status.
  [[nodiscard]] virtual mpi::Received received(MPI_Status const&) const { return {}; }

 protected:
  Message() = default;
  Message(Message const&) = default;
  Message& operator=(Message const&) = default;
  ~Message() = default;

  /// Starts a request by `begin(&request)`, which returns MPI's code. If the request is over at
  /// once, this signals the completion and returns true; otherwise the request is outstanding.
  /// `is_kept`: the request is used again, and is not freed. Throws `mpi::Error`.
  template <class Begin>
  bool start(TaskScope& self, MessageCompletion&& completion, bool is_kept, Begin&& begin);
};

/// Signals to the completion how a request has ended.
void say(Message& message, MessageCompletion& completion, int code, MPI_Status const& status);

// --- messages to and from one rank ---------------------------------------------------------------

/// The task after a packed receive, whose future the program has. If this task is cancelled, the
/// receive is cancelled, too. The receive may already be under way when the task becomes known.
///
/// INVARIANT. The task comes after the receive, so it is live as long as the receive is
/// outstanding. Memory order: `m_is_known` is stored with release order after the handle, and
/// loaded with acquire order before the handle is read.
class Taker {
 public:
  /// Sets the task. A recorded task cannot be cancelled. The run of its plan can be, which asks all
  /// its tasks to stop.
  void is(TaskHandle const& task);
  [[nodiscard]] bool is_asked_to_stop() const;

 private:
  TaskHandle m_task;
  std::atomic<bool> m_is_known{false};
};

/// One send or receive of a contiguous piece of memory.
///
/// The first run of a task starts an MPI_Isend or MPI_Irecv. A task that runs again, as it belongs
/// to a plan, makes a persistent request in its second run. It starts that in each further run, so
/// that nothing is allocated. The task of a plan, and so its request, is over before it runs again.
///
/// A long message gives up its channel when it has been started, so that the next one can be under
/// way at the same time. A short one keeps it. It is over soon, as MPI buffers what is sent and
/// what arrives before its receive, and giving the channel up would take as long as the rest of it.
class PointToPoint final : public Message {
 public:
  using Direction = CommunicatorState::Direction;
  struct Memory {
    void* data;
    int count;  ///< count of numbers of this type
    MPI_Datatype type;
    int numbers;  ///< numbers in a value
    bool is_long;
    KeptMemory kept;
  };

  /// A message with this many bytes or more is long. Most transports buffer less than that.
  static constexpr std::size_t long_bytes = 4096;

  PointToPoint(Direction direction, std::shared_ptr<CommunicatorState> comm, int peer, int tag,
               Memory&& memory);
  PointToPoint(PointToPoint&& other) noexcept;
  PointToPoint& operator=(PointToPoint&&) = delete;
  ~PointToPoint();

  /// Limits the message to this many values.
  void shorten(std::int64_t values);
  void start(TaskScope& self, MessageCompletion&& completion);
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool may_be_cancelled() const override { return !is_send(); }
  [[nodiscard]] bool is_unwanted() const override;
  /// Called while the message is submitted.
  std::shared_ptr<Taker> const& make_taker() { return m_taker = std::make_shared<Taker>(); }
  /// Called in the body of its task: a receive under way is cancelled.
  void give_up() { m_is_given_up.store(true, std::memory_order_relaxed); }
  /// True if the rank and the tag are valid. If not, MPI refuses the message.
  [[nodiscard]] bool has_end() const;
  void has_failed(MPI_Request left) override {
    if (left == MPI_REQUEST_NULL) m_persistent = MPI_REQUEST_NULL;
  }
  [[nodiscard]] mpi::Received received(MPI_Status const& status) const override;

 private:
  [[nodiscard]] bool is_send() const { return m_direction == Direction::send; }
  [[nodiscard]] int begin(MPI_Request* request);
  [[nodiscard]] int make_persistent();

  std::shared_ptr<CommunicatorState> m_comm;
  KeptMemory m_kept;
  void* m_data;
  MPI_Datatype m_type;
  int m_count;
  int m_sent;  ///< how many of these are sent
  int m_numbers;
  int m_peer;
  int m_tag;
  Direction m_direction;
  bool m_is_long;
  bool m_has_run = false;
  /// Relaxed: it is polled, and no other data depends on it.
  std::atomic<bool> m_is_given_up{false};
  std::shared_ptr<Taker> m_taker;  ///< null: not packed
  MPI_Request m_persistent = MPI_REQUEST_NULL;
};

// --- collective operations -----------------------------------------------------------------------

/// Describes what a rank sends and receives, and the root.
struct CollectiveCall {
  char const* name;
  int (*begin)(CollectiveCall const& call, MPI_Comm comm, MPI_Request* request);
  void* out = nullptr;
  void* in = nullptr;
  int out_count = 0;
  int in_count = 0;
  MPI_Datatype type = MPI_BYTE;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  bool has_root = false;
  /// The counts, for calls that take them.
  struct Counts {
    std::vector<int> out, out_displacements, in, in_displacements;
  };
  std::shared_ptr<Counts const> counts = nullptr;
};

class Collective final : public Message {
 public:
  /// `kept` is the memory that it reads and that it writes.
  template <class... Kept>
  Collective(std::shared_ptr<CommunicatorState> comm, CollectiveCall&& call, Kept&&... kept)
      : m_comm(std::move(comm)),
        m_call(std::move(call)),
        m_kept{std::forward<Kept>(kept)...},
        m_views(static_cast<int>(sizeof...(kept))) {}

  void start(TaskScope& self, MessageCompletion&& completion);
  [[nodiscard]] std::string describe() const override;

 private:
  std::shared_ptr<CommunicatorState> m_comm;
  CollectiveCall m_call;
  KeptMemory m_kept[2];
  int m_views;
};

/// Returns how many numbers a message has. Throws `Error` when MPI cannot count that far.
int wire_count(std::int64_t values, int numbers, char const* what, std::string const& label);

}  // namespace trellis::Impl

#endif
