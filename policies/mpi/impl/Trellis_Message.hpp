// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MESSAGE_HPP
#define TRELLIS_IMPL_MESSAGE_HPP

#include <Trellis_Completion.hpp>
#include <Trellis_IndexSpace.hpp>
#include <Trellis_TaskScope.hpp>
#include <mpi/Trellis_Received.hpp>
#include <mpi/impl/Trellis_CommunicatorState.hpp>
#include <mpi/impl/Trellis_KeptMemory.hpp>
#include <kernel/Trellis_TaskHandle.hpp>

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

/// Who is told that a request is over.
using MessageCompletion = std::variant<Completion<>, Completion<mpi::Received>>;

/// What MPI has been asked for, as long as it is under way. It is a part of the body of its task,
/// so it stays where it is until the task is complete: until something is said to `completion`.
class Message {
 public:
  /// For errors and reports: the operation, ranks, tag, count, label of the memory, communicator.
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] virtual bool may_be_cancelled() const { return false; }
  /// Is it not wanted any more, though its own task has not been asked to stop?
  [[nodiscard]] virtual bool is_unwanted() const { return false; }
  /// MPI has failed with the request, and has left this of it: some free a persistent one then.
  virtual void has_failed(MPI_Request) {}
  /// From what MPI says of a receive.
  [[nodiscard]] virtual mpi::Received received(MPI_Status const&) const { return {}; }

 protected:
  Message() = default;
  Message(Message const&) = default;
  Message& operator=(Message const&) = default;
  ~Message() = default;

  /// Starts a request by `begin(&request)`, which returns MPI's code. When it is over at once it
  /// says so, and returns true; else it is outstanding. `is_kept`: the request is used again, and
  /// is not freed. Throws `mpi::Error`.
  template <class Begin>
  bool start(TaskScope& self, MessageCompletion&& completion, bool is_kept, Begin&& begin);
};

/// Says to the completion how a request has ended.
void say(Message& message, MessageCompletion& completion, int code, MPI_Status const& status);

// --- messages to and from one rank ---------------------------------------------------------------

/// The task behind a packed receive, which the program has the future of: if that is cancelled the
/// receive is to be cancelled, too. It is known when the receive may be under way already.
///
/// INVARIANT. The task comes after the receive, so it is live as long as anything is outstanding
/// there. Memory order: `m_is_known` is released behind the handle, and acquired before it is read.
class Taker {
 public:
  /// A recorded task cannot be cancelled; the run of its plan can, and that asks all its tasks.
  void is(TaskHandle const& task);
  [[nodiscard]] bool is_asked_to_stop() const;

 private:
  TaskHandle m_task;
  std::atomic<bool> m_is_known{false};
};

/// One send or receive of a contiguous piece of memory.
///
/// A task that runs once starts an MPI_Isend or MPI_Irecv. One that runs again, as it belongs to a
/// plan, makes a persistent request then and starts that in each further run, so that nothing is
/// allocated. The task of a plan is over before it runs again, and with it its request.
///
/// A long one gives up its channel when it has been started, so that the next one can be under way
/// at the same time. A short one keeps it: it is over soon (MPI buffers what is sent, and what has
/// arrived before its receive), and giving the channel up would take as long as the rest of it.
class PointToPoint final : public Message {
 public:
  using Direction = CommunicatorState::Direction;
  struct Memory {
    void* data;
    int count;  ///< of numbers of this type
    MPI_Datatype type;
    int numbers;  ///< in a value
    bool is_long;
    KeptMemory kept;
  };

  /// From so many bytes on a message is long. Most transports buffer less than that.
  static constexpr std::size_t long_bytes = 4096;

  PointToPoint(Direction direction, std::shared_ptr<CommunicatorState> comm, int peer, int tag,
               Memory&& memory);
  PointToPoint(PointToPoint&& other) noexcept;
  PointToPoint& operator=(PointToPoint&&) = delete;
  ~PointToPoint();

  /// Only so many values are sent.
  void shorten(std::int64_t values);
  void start(TaskScope& self, MessageCompletion&& completion);
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool may_be_cancelled() const override { return !is_send(); }
  [[nodiscard]] bool is_unwanted() const override;
  /// While it is submitted.
  std::shared_ptr<Taker> const& make_taker() { return m_taker = std::make_shared<Taker>(); }
  /// In the body of its task: a receive under way is cancelled.
  void give_up() { m_is_given_up.store(true, std::memory_order_relaxed); }
  /// Are there such a rank and such a tag? If not, MPI refuses the message.
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
  int m_sent;  ///< of these
  int m_numbers;
  int m_peer;
  int m_tag;
  Direction m_direction;
  bool m_is_long;
  bool m_has_run = false;
  /// Relaxed: it is looked at again and again, and nothing else is read for it.
  std::atomic<bool> m_is_given_up{false};
  std::shared_ptr<Taker> m_taker;  ///< null: not packed
  MPI_Request m_persistent = MPI_REQUEST_NULL;
};

// --- collective operations -----------------------------------------------------------------------

/// What a rank gives and gets, and with whom.
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
  /// Of the calls that take them.
  struct Counts {
    std::vector<int> out, out_displacements, in, in_displacements;
  };
  std::shared_ptr<Counts const> counts = nullptr;
};

class Collective final : public Message {
 public:
  /// `kept`: the memory of what it reads, of what it writes.
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

/// Numbers of a message. Throws `Error` when MPI cannot count as far as that.
int wire_count(std::int64_t values, int numbers, char const* what, std::string const& label);

}  // namespace trellis::Impl

#endif
