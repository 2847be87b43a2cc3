// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_POINTTOPOINT_HPP
#define TRELLIS_POINTTOPOINT_HPP

#include <Trellis_Future.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/Trellis_Datatype.hpp>
#include <mpi/Trellis_Received.hpp>
#include <mpi/impl/Trellis_Verb.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

/// With this header messages are tasks.
///
///     mpi::send(graph, comm, x, to, tag);                     // Future<void>
///     mpi::recv(graph, comm, y, from, tag);                   // Future<Received>
///     mpi::sendrecv(graph, comm, x, to, tag, y, from, tag);   // Future<Received>
///
/// Each submits a task and returns at once. In place of the graph there may be `self`, for a part
/// of a running task, or a `ResourcePolicy(graph, after(f), priority(1), ...)` without a range. A
/// label may stand before it. `comm` is a Communicator, an MPI_Comm, or an object whose `comm()` is
/// one. Views may have any rank, layout and memory space. `from` may be MPI_ANY_SOURCE, the tag of
/// a receive MPI_ANY_TAG, and a rank MPI_PROC_NULL.
///
/// Each adds its accesses itself: it reads what it sends, writes what it receives, and uses its
/// channel of the communicator in the order of submission, see Communicator. A task is complete
/// when MPI says that its memory can be used again. No thread waits for that.
///
/// Elements are sent in the order of their indices, the last index fastest, whatever the layouts of
/// the two Views are. So between Views of equal extents each element keeps its indices. (A
/// communicator may have the other order, see `Communicator::duplicate`.) A View that lies in
/// memory in that order is sent as it is. Any other one goes through a buffer, which tasks pack and
/// unpack. So does a View in device memory that MPI cannot reach. The receiver's View must have at
/// least as many elements as the message; further elements stay as they were.
///
/// If MPI refuses a message (as the rank does not exist, the View is too short, ...), the task
/// fails with an `mpi::Error` as its cause. Cancelling the task of a receive cancels the receive. A
/// call throws `trellis::Error` while another graph has a message on the same channel.
namespace trellis::Impl {

struct SendBody {
  PointToPoint message;
  void operator()(TaskScope& self, Completion<> completion) {
    message.start(self, std::move(completion));
  }
};
/// Sends the first `count` values; the task before it has returned `count`.
template <class Count>
struct SendSomeBody {
  PointToPoint message;
  template <class... Views>
  void operator()(TaskScope& self, Completion<> completion, Count const& count, Views const&...) {
    message.shorten(static_cast<std::int64_t>(count));
    message.start(self, std::move(completion));
  }
};
struct RecvBody {
  PointToPoint message;
  void operator()(TaskScope& self, Completion<mpi::Received> completion) {
    message.start(self, std::move(completion));
  }
};
/// When MPI refuses one direction, the task has failed, and the other direction is not needed. A
/// direction that is known to be refused comes first, so that the other one is not started.
struct SendRecvBody {
  PointToPoint out;
  PointToPoint in;
  void operator()(TaskScope& self, Completion<mpi::Received> completion) {
    if (!out.has_end()) return out.start(self, std::move(completion));
    in.start(self, std::move(completion));
    try {
      out.start(self, CompletionInternals::open(ScopeInternals::handle(self)));
    } catch (...) {
      in.give_up();
      throw;
    }
  }
};
template <class V>
PointToPoint message_of(CommunicatorState::Direction direction, mpi::Communicator const& comm,
                        int peer, int tag, MessageSide<V> const& side, char const* what) {
  return {direction, CommunicatorInternals::state(comm), peer, tag, wire_memory(side, what)};
}

/// Returns a future of the received value that is ready when the message has been unpacked into the
/// View.
template <class... Given>
Future<mpi::Received> when_unpacked(Label const& label,
                                    ResourcePolicy<Once, Given...> const& policy,
                                    Future<mpi::Received> const& received,
                                    Future<void> const& unpacked) {
  auto const submit = [&](auto const&... its_number) {
    return host_task(
        Label(label),
        ResourcePolicy(policy.target(), value(received), after(unpacked), its_number...),
        [](mpi::Received const& what) { return what; });
  };
  if constexpr ((is_task_number_v<Given> || ...))
    return submit(std::get<number>(policy.annotations()));
  else
    return submit();
}

/// Returns the future of a receive: `received` or, if the View is packed, that of the task that
/// unpacks.
template <class V, class Policy>
Future<mpi::Received> when_there(Label const& label, Policy const& policy,
                                 MessageSide<V> const& side, Future<mpi::Received> const& received,
                                 std::shared_ptr<Taker> const& taker) {
  if constexpr (MessageSide<V>::may_be_packed)
    if (side.is_packed()) {
      auto const there = when_unpacked(label, policy, received,
                                       side.unpack(label, with_number_if(false, policy), received));
      taker->is(FutureInternals::handle(there));
      return there;
    }
  return received;
}

struct SendOperation {
  using Direction = CommunicatorState::Direction;
  static constexpr std::string_view verb = "send";
  template <class Policy, AnyCommunicator C, class V>
    requires(MessageViewMust<V, false>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, int to,
                             int tag) {
    decltype(auto) comm = communicator_of(c);
    auto const channel = alone_on(label, policy, require_state(comm),
                                  require_state(comm).channel(Direction::send, to, tag));
    MessageSide<V> side(x, require_state(comm).order());
    side.pack(label, policy);
    return submit_message(std::move(label), policy,
                          SendBody{message_of(Direction::send, comm, to, tag, side, "send")},
                          side.accesses(ModeConstant<Mode::read>()), read_write(channel));
  }
  /// Sends as many values from the front as another task will return.
  template <class Policy, AnyCommunicator C, class V, std::integral Count>
    requires(MessageViewMust<V, false>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x,
                             Future<Count> const& count, int to, int tag) {
    decltype(auto) comm = communicator_of(c);
    auto const channel = alone_on(label, policy, require_state(comm),
                                  require_state(comm).channel(Direction::send, to, tag));
    MessageSide<V> side(x, require_state(comm).order());
    side.pack(label, policy);
    return submit_message(
        std::move(label), policy,
        SendSomeBody<Count>{message_of(Direction::send, comm, to, tag, side, "send")},
        std::tuple_cat(std::tuple(value(count)), side.accesses(ModeConstant<Mode::read>())),
        read_write(channel));
  }
};

struct RecvOperation {
  using Direction = CommunicatorState::Direction;
  static constexpr std::string_view verb = "recv";
  template <class Policy, AnyCommunicator C, class V>
    requires(MessageViewMust<V, true>::holds())
  static Future<mpi::Received> submit(Label& label, Policy const& policy, C const& c, V const& x,
                                      int from, int tag) {
    decltype(auto) comm = communicator_of(c);
    auto const channel = alone_on(label, policy, require_state(comm),
                                  require_state(comm).channel(Direction::recv, from, tag));
    MessageSide<V> const side(x, require_state(comm).order());
    PointToPoint message = message_of(Direction::recv, comm, from, tag, side, "recv");
    auto const taker = side.is_packed() ? message.make_taker() : nullptr;
    auto const received = submit_message(
        Label(label), with_number_if(!side.is_packed(), policy), RecvBody{std::move(message)},
        side.accesses(ModeConstant<Mode::write>()), read_write(channel));
    return when_there(label, policy, side, received, taker);
  }
};

struct SendRecvOperation {
  using Direction = CommunicatorState::Direction;
  static constexpr std::string_view verb = "sendrecv";
  template <class Policy, AnyCommunicator C, class V, class W>
    requires(MessageViewMust<V, false>::holds() && MessageViewMust<W, true>::holds())
  static Future<mpi::Received> submit(Label& label, Policy const& policy, C const& c, V const& x,
                                      int to, int send_tag, W const& y, int from, int recv_tag) {
    decltype(auto) comm = communicator_of(c);
    auto const sends = alone_on(label, policy, require_state(comm),
                                require_state(comm).channel(Direction::send, to, send_tag));
    auto const receives = alone_on(label, policy, require_state(comm),
                                   require_state(comm).channel(Direction::recv, from, recv_tag));
    MessageSide<V> out(x, require_state(comm).order());
    MessageSide<W> const in(y, require_state(comm).order());
    out.pack(label, policy);
    PointToPoint incoming = message_of(Direction::recv, comm, from, recv_tag, in, "sendrecv");
    auto const taker = in.is_packed() ? incoming.make_taker() : nullptr;
    auto const received = submit_message(
        Label(label), with_number_if(!in.is_packed(), policy),
        SendRecvBody{message_of(Direction::send, comm, to, send_tag, out, "sendrecv"),
                     std::move(incoming)},
        std::tuple_cat(out.accesses(ModeConstant<Mode::read>()),
                       in.accesses(ModeConstant<Mode::write>())),
        read_write(sends), read_write(receives));
    return when_there(label, policy, in, received, taker);
  }
};

}  // namespace trellis::Impl

namespace trellis::mpi {

/// `send(graph, comm, x, to, tag)` sends all elements of `x` to the rank `to`. Returns a
/// `Future<void>` that is complete when `x` may be written again, whether or not it has been
/// received. `send(graph, comm, x, count, to, tag)` sends the first `count` elements, where `count`
/// is a `Future` of a whole number.
inline constexpr Impl::MpiVerb<Impl::SendOperation> send{};

/// `recv(graph, comm, x, from, tag)` receives into `x`. Returns a `Future<Received>`.
inline constexpr Impl::MpiVerb<Impl::RecvOperation> recv{};

/// `sendrecv(graph, comm, x, to, send_tag, y, from, recv_tag)` sends `x` and receives into `y`,
/// which must not overlap it, as one task. Returns a `Future<Received>`. When MPI refuses one of
/// the two, the other one is abandoned.
inline constexpr Impl::MpiVerb<Impl::SendRecvOperation> sendrecv{};

}  // namespace trellis::mpi

#endif
