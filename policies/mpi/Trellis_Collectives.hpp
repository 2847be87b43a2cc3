// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_COLLECTIVES_HPP
#define TRELLIS_COLLECTIVES_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Future.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/Trellis_Datatype.hpp>
#include <mpi/Trellis_Operator.hpp>
#include <mpi/impl/Trellis_Verb.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// With this header collective operations are tasks.
///
///     mpi::allreduce(graph, comm, x, mpi::sum);
///     mpi::bcast(graph, comm, x, root);
///
/// All ranks of the communicator call the same operations in the same order. Trellis starts them in
/// that order, each as soon as its memory allows; they run side by side. Each operation is a task,
/// like a message. Trellis_PointToPoint.hpp says what may stand in place of the graph and of the
/// communicator, and how Views that are not one piece of memory are sent. An operation adds its
/// accesses itself. It returns a `Future<void>`.
///
/// If a View has a part for each rank, the parts come one after the other in the order of the
/// indices, beginning with rank 0. So row r of a `View<T**> y("y", comm.size(), n)`, of any layout,
/// has what rank r sent. (If the first index is the fastest one on the communicator, it is column r
/// of a View `(n, comm.size())`, see `Communicator::duplicate`.)
namespace trellis::Impl {

// These functions call MPI; they are defined in src/.
int begin_barrier(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_bcast(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_reduce(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_allreduce(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_scan(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_exscan(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_gather(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_gatherv(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_allgather(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_allgatherv(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_scatter(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_scatterv(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_alltoall(CollectiveCall const&, MPI_Comm, MPI_Request*);
int begin_alltoallv(CollectiveCall const&, MPI_Comm, MPI_Request*);

/// Throws `Error` unless `y` has the elements that the operation needs.
void require_elements(char const* operation, std::string const& view, std::int64_t has,
                      std::int64_t needs);
/// Says how many values each rank has, and where they begin. Without displacements they lie one
/// after the other. Throws `Error` when a rank has no number, or when values lie outside of a View
/// of `size` values.
struct RankBlocks {
  std::vector<int> counts, displacements;
  RankBlocks(char const* operation, std::string const& view, std::int64_t size, int ranks,
             int numbers, std::vector<std::int64_t> const& counts,
             std::vector<std::int64_t> const* displacements);
};

template <class R>
concept RankCounts = std::ranges::input_range<R> && std::integral<std::ranges::range_value_t<R>>;
/// (nvcc's front end would take a constraint of the operations themselves to be unmet.)
template <class R>
std::vector<std::int64_t> numbers_of(R const& range) {
  static_assert(RankCounts<R>,
                "Trellis: counts and displacements for each rank are a range of whole numbers");
  std::vector<std::int64_t> all;
  for (auto const each : range) all.push_back(static_cast<std::int64_t>(each));
  return all;
}

struct CollectiveBody {
  Collective message;
  void operator()(TaskScope& self, Completion<> completion) {
    message.start(self, std::move(completion));
  }
};

template <class Policy>
Future<void> submit_collective(Label& label, Policy const& policy, mpi::Communicator const& comm,
                               CollectiveCall&& call) {
  return submit_message(
      std::move(label), policy,
      CollectiveBody{Collective(CommunicatorInternals::state(comm), std::move(call))}, std::tuple(),
      read_write(alone_on(label, policy, require_state(comm), require_state(comm).collective())));
}
inline bool is_read_with(Mode mode) {
  return mode == Mode::read || mode == Mode::read_write;
}
inline bool is_written_with(Mode mode) {
  return mode == Mode::write || mode == Mode::read_write;
}
/// Submits an operation in place.
template <class Policy, class V>
Future<void> submit_collective(Label& label, Policy const& policy, mpi::Communicator const& comm,
                               CollectiveCall&& call, V const& x, Mode mode) {
  Token const& channel =
      alone_on(label, policy, require_state(comm), require_state(comm).collective());
  MessageSide<V> side(x, require_state(comm).order());
  if (is_read_with(mode)) side.pack(label, policy);
  call.out = call.in = side.data();
  bool const continues = side.is_packed() && is_written_with(mode);
  Future<void> const over = submit_message(
      Label(label), with_number_if(!continues, policy),
      CollectiveBody{Collective(CommunicatorInternals::state(comm), std::move(call), side.kept())},
      side.accesses(mode), read_write(channel));
  if constexpr (MessageSide<V>::may_be_packed && !std::is_const_v<typename V::value_type>)
    if (continues) return side.unpack(label, policy, over);
  return over;
}
/// Submits an operation from `x` to `y`. A rank that receives or sends nothing has the mode `none`
/// for that View.
template <class Policy, class V, class W>
Future<void> submit_collective(Label& label, Policy const& policy, mpi::Communicator const& comm,
                               CollectiveCall&& call, V const& x, W const& y,
                               Mode x_mode = Mode::read, Mode y_mode = Mode::write) {
  Token const& channel =
      alone_on(label, policy, require_state(comm), require_state(comm).collective());
  MessageSide<V> out(x, require_state(comm).order());
  MessageSide<W> in(y, require_state(comm).order());
  if (is_read_with(x_mode)) out.pack(label, policy);
  if (is_read_with(y_mode)) in.pack(label, policy);
  call.out = out.data();
  call.in = in.data();
  bool const continues = in.is_packed() && is_written_with(y_mode);
  Future<void> const over = submit_message(
      Label(label), with_number_if(!continues, policy),
      CollectiveBody{
          Collective(CommunicatorInternals::state(comm), std::move(call), out.kept(), in.kept())},
      std::tuple_cat(out.accesses(x_mode), in.accesses(y_mode)), read_write(channel));
  if constexpr (MessageSide<W>::may_be_packed)
    if (continues) return in.unpack(label, policy, over);
  return over;
}

/// Makes the call for values of this type.
template <class T>
CollectiveCall call_of(char const* name, decltype(CollectiveCall::begin) begin,
                       std::optional<int> root = {}) {
  CollectiveCall call{name, begin};
  call.type = wire_type<T>().type;
  call.root = root.value_or(0);
  call.has_root = root.has_value();
  return call;
}
template <class T, class Op>
CollectiveCall reduction_of(char const* name, decltype(CollectiveCall::begin) begin,
                            std::int64_t values, std::string const& view,
                            std::optional<int> root = {}) {
  WireReduction const wire = wire_reduction<Op, T>();
  CollectiveCall call{name, begin};
  call.type = wire.type;
  call.op = wire.op;
  call.root = root.value_or(0);
  call.has_root = root.has_value();
  call.out_count = call.in_count = wire_count(values, wire.count, name, view);
  return call;
}
template <class V>
int count_of(V const& view, char const* name) {
  return wire_count(static_cast<std::int64_t>(view.size()),
                    wire_type<typename V::non_const_value_type>().count, name, view.label());
}
template <class V>
std::int64_t size_of_view(V const& view) {
  return static_cast<std::int64_t>(view.size());
}

/// (A class, so that the compiler's message has few lines.)
template <class V, class W>
struct MessageViewsMust {
  static constexpr bool same =
      std::is_same_v<typename V::non_const_value_type, typename W::non_const_value_type>;
  static constexpr bool holds() {
    static_assert(same, "Trellis: the Views of a collective operation have the same value type");
    return same && MessageViewMust<V, false>::holds() && MessageViewMust<W, true>::holds();
  }
};

struct BarrierOperation {
  static constexpr std::string_view verb = "barrier";
  template <class Policy, AnyCommunicator C>
  static Future<void> submit(Label& label, Policy const& policy, C const& c) {
    return submit_collective(label, policy, communicator_of(c), {"barrier", &begin_barrier});
  }
};

struct BcastOperation {
  static constexpr std::string_view verb = "bcast";
  template <class Policy, AnyCommunicator C, class V>
    requires(MessageViewMust<V, true>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, int root) {
    decltype(auto) comm = communicator_of(c);
    auto call = call_of<typename V::non_const_value_type>("bcast", &begin_bcast, root);
    call.in_count = count_of(x, "bcast");
    Mode const mode = require_state(comm).rank() == root ? Mode::read : Mode::write;
    return submit_collective(label, policy, comm, std::move(call), x, mode);
  }
};

struct ReduceOperation {
  static constexpr std::string_view verb = "reduce";
  template <class Policy, AnyCommunicator C, class V, class W, class Op>
    requires(MessageViewsMust<V, W>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, W const& y,
                             Op, int root) {
    decltype(auto) comm = communicator_of(c);
    bool const is_root = require_state(comm).rank() == root;
    if (is_root) require_elements("reduce", y.label(), size_of_view(y), size_of_view(x));
    return submit_collective(label, policy, comm,
                             reduction_of<typename W::value_type, Op>(
                                 "reduce", &begin_reduce, size_of_view(x), x.label(), root),
                             x, y, Mode::read, is_root ? Mode::write : Mode::none);
  }
};

/// The operation allreduce, scan or exscan: in place, or from one View to another.
template <class Which>
struct ReduceToAllOperation {
  static constexpr std::string_view verb = Which::verb;
  template <class Policy, AnyCommunicator C, class V, class Op>
    requires(MessageViewMust<V, true>::holds() && !Kokkos::is_view_v<Op>)
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, Op) {
    decltype(auto) comm = communicator_of(c);
    return submit_collective(label, policy, comm,
                             reduction_of<typename V::value_type, Op>(
                                 Which::verb.data(), Which::begin, size_of_view(x), x.label()),
                             x, Mode::read_write);
  }
  template <class Policy, AnyCommunicator C, class V, class W, class Op>
    requires(MessageViewsMust<V, W>::holds() && !Kokkos::is_view_v<Op>)
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, W const& y,
                             Op) {
    decltype(auto) comm = communicator_of(c);
    require_elements(Which::verb.data(), y.label(), size_of_view(y), size_of_view(x));
    return submit_collective(label, policy, comm,
                             reduction_of<typename W::value_type, Op>(
                                 Which::verb.data(), Which::begin, size_of_view(x), x.label()),
                             x, y);
  }
};
struct Allreduce {
  static constexpr std::string_view verb = "allreduce";
  static constexpr auto begin = &begin_allreduce;
};
struct Scan {
  static constexpr std::string_view verb = "scan";
  static constexpr auto begin = &begin_scan;
};
struct Exscan {
  static constexpr std::string_view verb = "exscan";
  static constexpr auto begin = &begin_exscan;
};

/// An operation on equal parts. A View has one part, or one for each rank (`many_out`,
/// `many_in`).
template <class Which>
struct EqualPartsOperation {
  static constexpr std::string_view verb = Which::verb;
  static constexpr bool to_root = Which::has_root && !Which::many_out;
  static constexpr bool from_root = Which::has_root && Which::many_out;

  template <class Policy, AnyCommunicator C, class V, class W>
    requires(!Which::has_root && MessageViewsMust<V, W>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x,
                             W const& y) {
    return go(label, policy, c, x, y, std::nullopt, Mode::read, Mode::write);
  }
  template <class Policy, AnyCommunicator C, class V, class W>
    requires(Which::has_root && MessageViewsMust<V, W>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, W const& y,
                             int root) {
    decltype(auto) comm = communicator_of(c);
    bool const is_root = require_state(comm).rank() == root;
    return go(label, policy, comm, x, y, root, is_root || to_root ? Mode::read : Mode::none,
              is_root || from_root ? Mode::write : Mode::none);
  }

 private:
  template <class Policy, class C, class V, class W>
  static Future<void> go(Label& label, Policy const& policy, C const& c, V const& x, W const& y,
                         std::optional<int> root, Mode x_mode, Mode y_mode) {
    decltype(auto) comm = communicator_of(c);
    char const* const name = Which::verb.data();
    std::int64_t const ranks = require_state(comm).size();
    bool const gives = x_mode != Mode::none;
    bool const gets = y_mode != Mode::none;
    // The side with one part gives the size of a part; if both have many, x does.
    std::int64_t const part = !Which::many_out  ? size_of_view(x)
                              : !Which::many_in ? size_of_view(y)
                                                : size_of_view(x) / ranks;
    if (gives)
      require_elements(name, x.label(), size_of_view(x), Which::many_out ? part * ranks : part);
    if (gets)
      require_elements(name, y.label(), size_of_view(y), Which::many_in ? part * ranks : part);
    using T = typename W::value_type;
    auto call = call_of<T>(name, Which::begin, root);
    call.out_count = call.in_count = wire_count(part, wire_type<T>().count, name, x.label());
    return submit_collective(label, policy, comm, std::move(call), x, y, x_mode, y_mode);
  }
};
struct Gather {
  static constexpr std::string_view verb = "gather";
  static constexpr auto begin = &begin_gather;
  static constexpr bool has_root = true, many_out = false, many_in = true;
};
struct Allgather {
  static constexpr std::string_view verb = "allgather";
  static constexpr auto begin = &begin_allgather;
  static constexpr bool has_root = false, many_out = false, many_in = true;
};
struct Scatter {
  static constexpr std::string_view verb = "scatter";
  static constexpr auto begin = &begin_scatter;
  static constexpr bool has_root = true, many_out = true, many_in = false;
};
struct Alltoall {
  static constexpr std::string_view verb = "alltoall";
  static constexpr auto begin = &begin_alltoall;
  static constexpr bool has_root = false, many_out = true, many_in = true;
};

/// The operation gatherv or allgatherv, with parts of any size.
template <class Which>
struct GathervOperation {
  static constexpr std::string_view verb = Which::verb;
  template <class Policy, AnyCommunicator C, class V, class W, class R>
    requires(Which::has_root)
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, W const& y,
                             R const& counts, int root) {
    return go(label, policy, communicator_of(c), x, y, numbers_of(counts), nullptr, root);
  }
  template <class Policy, AnyCommunicator C, class V, class W, class R, class D>
    requires(Which::has_root)
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, W const& y,
                             R const& counts, D const& displacements, int root) {
    auto const all = numbers_of(displacements);
    return go(label, policy, communicator_of(c), x, y, numbers_of(counts), &all, root);
  }
  template <class Policy, AnyCommunicator C, class V, class W, class R>
    requires(!Which::has_root)
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, W const& y,
                             R const& counts) {
    return go(label, policy, communicator_of(c), x, y, numbers_of(counts), nullptr, std::nullopt);
  }
  template <class Policy, AnyCommunicator C, class V, class W, class R, class D>
    requires(!Which::has_root)
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x, W const& y,
                             R const& counts, D const& displacements) {
    auto const all = numbers_of(displacements);
    return go(label, policy, communicator_of(c), x, y, numbers_of(counts), &all, std::nullopt);
  }

 private:
  template <class Policy, class V, class W>
  static Future<void> go(Label& label, Policy const& policy, mpi::Communicator const& comm,
                         V const& x, W const& y, std::vector<std::int64_t> const& counts,
                         std::vector<std::int64_t> const* displacements, std::optional<int> root) {
    static_cast<void>(MessageViewsMust<V, W>::holds());
    using T = typename W::value_type;
    char const* const name = Which::verb.data();
    bool const gets = !Which::has_root || require_state(comm).rank() == root;
    auto call = call_of<T>(name, Which::begin, root);
    call.out_count = count_of(x, name);
    if (gets) {
      RankBlocks blocks(name, y.label(), size_of_view(y), require_state(comm).size(),
                        wire_type<T>().count, counts, displacements);
      auto made = std::make_shared<CollectiveCall::Counts>();
      made->in = std::move(blocks.counts);
      made->in_displacements = std::move(blocks.displacements);
      call.counts = std::move(made);
    }
    // With displacements there may be gaps between the parts of the ranks, so the rest of y stays.
    return submit_collective(label, policy, comm, std::move(call), x, y, Mode::read,
                             !gets                      ? Mode::none
                             : displacements != nullptr ? Mode::read_write
                                                        : Mode::write);
  }
};
struct Gatherv {
  static constexpr std::string_view verb = "gatherv";
  static constexpr auto begin = &begin_gatherv;
  static constexpr bool has_root = true;
};
struct Allgatherv {
  static constexpr std::string_view verb = "allgatherv";
  static constexpr auto begin = &begin_allgatherv;
  static constexpr bool has_root = false;
};

struct ScattervOperation {
  static constexpr std::string_view verb = "scatterv";
  template <class Policy, AnyCommunicator C, class V, class W, class R>
    requires(MessageViewsMust<V, W>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x,
                             R const& counts, W const& y, int root) {
    return go(label, policy, communicator_of(c), x, numbers_of(counts), nullptr, y, root);
  }
  template <class Policy, AnyCommunicator C, class V, class W, class R, class D>
    requires(MessageViewsMust<V, W>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x,
                             R const& counts, D const& displacements, W const& y, int root) {
    auto const all = numbers_of(displacements);
    return go(label, policy, communicator_of(c), x, numbers_of(counts), &all, y, root);
  }

 private:
  template <class Policy, class V, class W>
  static Future<void> go(Label& label, Policy const& policy, mpi::Communicator const& comm,
                         V const& x, std::vector<std::int64_t> const& counts,
                         std::vector<std::int64_t> const* displacements, W const& y, int root) {
    using T = typename W::value_type;
    bool const gives = require_state(comm).rank() == root;
    auto call = call_of<T>("scatterv", &begin_scatterv, root);
    call.in_count = count_of(y, "scatterv");
    if (gives) {
      RankBlocks blocks("scatterv", x.label(), size_of_view(x), require_state(comm).size(),
                        wire_type<T>().count, counts, displacements);
      auto made = std::make_shared<CollectiveCall::Counts>();
      made->out = std::move(blocks.counts);
      made->out_displacements = std::move(blocks.displacements);
      call.counts = std::move(made);
    }
    return submit_collective(label, policy, comm, std::move(call), x, y,
                             gives ? Mode::read : Mode::none, Mode::write);
  }
};

struct AlltoallvOperation {
  static constexpr std::string_view verb = "alltoallv";
  template <class Policy, AnyCommunicator C, class V, class R, class W, class S>
    requires(MessageViewsMust<V, W>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x,
                             R const& out, W const& y, S const& in) {
    return go(label, policy, communicator_of(c), x, numbers_of(out), nullptr, y, numbers_of(in),
              nullptr);
  }
  template <class Policy, AnyCommunicator C, class V, class R, class D, class W, class S, class E>
    requires(MessageViewsMust<V, W>::holds())
  static Future<void> submit(Label& label, Policy const& policy, C const& c, V const& x,
                             R const& out, D const& out_displacements, W const& y, S const& in,
                             E const& in_displacements) {
    auto const from = numbers_of(out_displacements);
    auto const to = numbers_of(in_displacements);
    return go(label, policy, communicator_of(c), x, numbers_of(out), &from, y, numbers_of(in), &to);
  }

 private:
  template <class Policy, class V, class W>
  static Future<void> go(Label& label, Policy const& policy, mpi::Communicator const& comm,
                         V const& x, std::vector<std::int64_t> const& out,
                         std::vector<std::int64_t> const* from, W const& y,
                         std::vector<std::int64_t> const& in, std::vector<std::int64_t> const* to) {
    using T = typename W::value_type;
    int const ranks = require_state(comm).size();
    int const numbers = wire_type<T>().count;
    RankBlocks given("alltoallv", x.label(), size_of_view(x), ranks, numbers, out, from);
    RankBlocks got("alltoallv", y.label(), size_of_view(y), ranks, numbers, in, to);
    auto call = call_of<T>("alltoallv", &begin_alltoallv);
    call.counts = std::make_shared<CollectiveCall::Counts>(
        CollectiveCall::Counts{std::move(given.counts), std::move(given.displacements),
                               std::move(got.counts), std::move(got.displacements)});
    return submit_collective(label, policy, comm, std::move(call), x, y, Mode::read,
                             to != nullptr ? Mode::read_write : Mode::write);
  }
};

}  // namespace trellis::Impl

namespace trellis::mpi {

/// `barrier(graph, comm)` is complete when all ranks have started theirs.
inline constexpr Impl::MpiVerb<Impl::BarrierOperation> barrier{};

/// `bcast(graph, comm, x, root)` sends `x` of the root to all.
inline constexpr Impl::MpiVerb<Impl::BcastOperation> bcast{};

/// `reduce(graph, comm, x, y, op, root)` reduces all ranks' `x` element by element into the root's
/// `y`. On other ranks `y` is not touched and may be empty. For operators see Trellis_Operator.hpp.
inline constexpr Impl::MpiVerb<Impl::ReduceOperation> reduce{};

/// `allreduce(graph, comm, x, op)` (in place) and `allreduce(graph, comm, x, y, op)` reduce, and
/// give the result to all ranks.
inline constexpr Impl::MpiVerb<Impl::ReduceToAllOperation<Impl::Allreduce>> allreduce{};

/// `scan(graph, comm, x, op)` and `scan(graph, comm, x, y, op)` reduce the ranks up to this one.
inline constexpr Impl::MpiVerb<Impl::ReduceToAllOperation<Impl::Scan>> scan{};

/// `exscan(...)` reduces the ranks before this one. On rank 0 the result is not set.
inline constexpr Impl::MpiVerb<Impl::ReduceToAllOperation<Impl::Exscan>> exscan{};

/// `gather(graph, comm, x, y, root)` collects all ranks' `x`, which have one size, in the root's
/// `y`.
inline constexpr Impl::MpiVerb<Impl::EqualPartsOperation<Impl::Gather>> gather{};

/// `allgather(graph, comm, x, y)` collects them in every rank's `y`.
inline constexpr Impl::MpiVerb<Impl::EqualPartsOperation<Impl::Allgather>> allgather{};

/// `scatter(graph, comm, x, y, root)` sends the parts of the root's `x` into the ranks' `y`.
inline constexpr Impl::MpiVerb<Impl::EqualPartsOperation<Impl::Scatter>> scatter{};

/// `alltoall(graph, comm, x, y)` sends part r of `x` to rank r; part r of `y` comes from rank r.
inline constexpr Impl::MpiVerb<Impl::EqualPartsOperation<Impl::Alltoall>> alltoall{};

/// `gatherv(graph, comm, x, y, counts, root)` collects `counts[r]` elements of each rank r (all of
/// its `x`), one after the other. `counts` is any range of whole numbers, and matters on the root
/// alone. In `gatherv(graph, comm, x, y, counts, displacements, root)` the displacements say where
/// they begin.
inline constexpr Impl::MpiVerb<Impl::GathervOperation<Impl::Gatherv>> gatherv{};

/// `allgatherv(graph, comm, x, y, counts)` and `allgatherv(graph, comm, x, y, counts,
/// displacements)` do this on every rank.
inline constexpr Impl::MpiVerb<Impl::GathervOperation<Impl::Allgatherv>> allgatherv{};

/// `scatterv(graph, comm, x, counts, y, root)` and `scatterv(graph, comm, x, counts, displacements,
/// y, root)` send to each rank as many elements as its `y` has. `counts` matters on the root alone.
inline constexpr Impl::MpiVerb<Impl::ScattervOperation> scatterv{};

/// `alltoallv(graph, comm, x, out_counts, y, in_counts)` sends `out_counts[r]` elements of `x` to
/// rank r, and receives `in_counts[r]` from there. Displacements may stand after each of the
/// counts.
inline constexpr Impl::MpiVerb<Impl::AlltoallvOperation> alltoallv{};

}  // namespace trellis::mpi

#endif
