// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_VERB_HPP
#define TRELLIS_IMPL_VERB_HPP

#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>
#include <annotations/impl/Trellis_WrongCalls.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/Trellis_Datatype.hpp>
#include <mpi/impl/Trellis_CommunicatorState.hpp>
#include <mpi/impl/Trellis_Message.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <mpi/impl/Trellis_Packing.hpp>
#include <patterns/Trellis_HostTask.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace trellis::Impl {

/// A type that does not say where a task goes. (Text is a label; nvcc's front end must not be asked
/// for the conversion, which is consteval.)
template <class T>
concept GoesNowhere = !std::is_array_v<T> && !std::is_convertible_v<T&, Target> &&
                      !std::is_convertible_v<T const&, Label>;
template <class T>
inline constexpr bool is_resource_policy_v = false;
template <class Base, class... A>
inline constexpr bool is_resource_policy_v<ResourcePolicy<Base, A...>> = true;

#define TRELLIS_WRONG_MPI_CALL                                                                    \
  "Trellis: behind the graph an MPI task takes a communicator, Views, and what the operation is " \
  "to know; see the operation's documentation"

#ifdef __CUDACC__
/// Takes all arguments that the operation does not take; overload resolution ranks it behind all
/// that the operation takes.
template <class Operation>
struct OrWrongCall : Operation {
  struct Any {
    template <class T>
    Any(T const&);
  };
  using Operation::submit;
  template <class Wrong = Operation>
  static Refused submit(Any, ...) {
    static_assert(never<Wrong>, TRELLIS_WRONG_MPI_CALL);
    return {};
  }
};
#endif

/// The function object of an MPI operation. Its first argument is the graph, a TaskScope, or a
/// policy without a range; a label may stand before that. `Operation::submit(label, policy,
/// arguments...)` does the work.
template <class Operation>
class MpiVerb {
 public:
  template <class... A>
  auto operator()(Target where, A&&... arguments) const {
    return (*this)(ResourcePolicy(where), std::forward<A>(arguments)...);
  }
  template <class... Given, class... A>
  auto operator()(ResourcePolicy<Once, Given...> const& policy, A&&... arguments) const {
    return (*this)(Label::lasting(Operation::verb, policy.target().site()), policy,
                   std::forward<A>(arguments)...);
  }
  template <class... A>
  auto operator()(Label label, Target where, A&&... arguments) const {
    return (*this)(std::move(label), ResourcePolicy(where), std::forward<A>(arguments)...);
  }
  template <class... Given, class... A>
  auto operator()(Label label, ResourcePolicy<Once, Given...> const& policy,
                  A&&... arguments) const {
#ifdef __CUDACC__
    // nvcc's front end wrongly answers the question below with no, but it chooses among overloads
    // correctly.
    return OrWrongCall<Operation>::submit(label, policy, std::forward<A>(arguments)...);
#else
    if constexpr (requires { Operation::submit(label, policy, std::forward<A>(arguments)...); }) {
      return Operation::submit(label, policy, std::forward<A>(arguments)...);
    } else {
      static_assert(never<A...>, TRELLIS_WRONG_MPI_CALL);
      return Refused();
    }
#endif
  }

  template <GoesNowhere First, class... Rest>
    requires(!is_resource_policy_v<First>)
  Refused operator()(First const&, Rest const&...) const {
    static_assert(never<First>,
                  "Trellis: an MPI task takes the graph, a TaskScope or a ResourcePolicy first");
    return {};
  }
  template <class Base, class... Given, class... A>
    requires has_range_v<Base>
  Refused operator()(ResourcePolicy<Base, Given...> const&, A const&...) const {
    static_assert(never<Base>,
                  "Trellis: an MPI task has no range: ResourcePolicy(graph, priority(1), ...)");
    return {};
  }
};

/// (A class, so that the compiler's message has few lines.)
template <class V, bool is_written>
struct MessageViewMust {
  static constexpr bool is_writable = [] {
    if constexpr (is_written && Kokkos::is_view_v<V>)
      return !std::is_const_v<typename V::value_type>;
    else
      return true;
  }();
  static constexpr bool holds() {
    static_assert(Kokkos::is_view_v<V>, "Trellis: an MPI task sends and receives Kokkos Views");
    static_assert(is_writable, "Trellis: an MPI task cannot receive into a View of const elements");
    return Kokkos::is_view_v<V> && is_writable;
  }
};

template <class V>
void* data_of(V const& view) {
  return const_cast<void*>(static_cast<void const volatile*>(view.data()));
}

/// The side of a message that this rank sends or receives: a View as it is, or in a buffer. It
/// refers to the View, and exists while the message is submitted. The message keeps its `kept`.
template <class V>
class MessageSide {
 public:
  /// If this is false, no code for packing is compiled.
  static constexpr bool may_be_packed = !is_always_one_piece<V>;

  MessageSide(V const& view, WireOrder order) : m_view(view), m_resource(view) {
    if constexpr (may_be_packed)
      if (!goes_as_it_is(view, order)) m_packed.emplace(view, order);
  }
  [[nodiscard]] bool is_packed() const {
    if constexpr (may_be_packed)
      return m_packed.has_value();
    else
      return false;
  }
  [[nodiscard]] V const& view() const { return m_view; }
  [[nodiscard]] void* data() const {
    if constexpr (may_be_packed)
      if (is_packed()) return m_packed->data();
    return data_of(m_view);
  }
  /// Packs if necessary; called before `accesses`.
  template <class Policy>
  void pack(Label const& label, Policy const& policy) {
    if constexpr (may_be_packed)
      if (is_packed())
        m_before.tasks.push_back(FutureInternals::handle(m_packed->pack(label, policy, m_view)));
  }
  /// Unpacks. Requires `is_packed`.
  template <class Policy, class Over>
  Future<void> unpack(Label const& label, Policy const& policy, Future<Over> const& over) const {
    if constexpr (may_be_packed)
      return m_packed->unpack(label, policy, m_view, over);
    else
      return {};
  }
  /// Returns what the message declares for the View, which MPI reaches also where the host cannot.
  /// This is the access or, if the View goes through a buffer, the task to come after. `how` is a
  /// Mode or a ModeConstant.
  template <class How>
  [[nodiscard]] auto accesses(How how) const {
    if constexpr (may_be_packed) {
      Mode const mode = is_packed() ? Mode::none : Mode(how);
      return std::tuple<decltype(access(m_resource, mode)), AfterAll const&>(
          access(m_resource, mode), m_before);
    } else {
      return std::tuple(access(m_resource, how));
    }
  }
  [[nodiscard]] KeptMemory kept() const {
    if constexpr (may_be_packed)
      if (is_packed()) return KeptMemory(m_view, m_packed->home, m_packed->staging);
    return KeptMemory(m_view);
  }

 private:
  struct Nothing {};
  V const& m_view;
  ErasedView m_resource;
  [[no_unique_address]] std::conditional_t<may_be_packed, std::optional<Packed<V>>, Nothing>
      m_packed;
  struct NothingBefore {};
  [[no_unique_address]] std::conditional_t<may_be_packed, AfterAll, NothingBefore> m_before;
};
template <class V>
PointToPoint::Memory wire_memory(MessageSide<V> const& side, char const* what) {
  using Value = typename V::non_const_value_type;
  WireType const wire = wire_type<Value>();
  V const& view = side.view();
  auto const values = static_cast<std::int64_t>(view.size());
  // (The label is only for the error, as it is a new string.)
  bool const fits = values * wire.count <= std::numeric_limits<int>::max();
  return {side.data(),
          fits ? static_cast<int>(values * wire.count)
               : wire_count(values, wire.count, what, view.label()),
          wire.type,
          wire.count,
          view.size() * sizeof(Value) >= PointToPoint::long_bytes,
          side.kept()};
}

/// Returns the channel, after a check that no other graph uses it, see CommunicatorState. The
/// message that uses it is about to be submitted.
template <class Policy, class Channel>
Channel const& alone_on(Label const& label, Policy const& policy, CommunicatorState& comm,
                        Channel const& channel) {
  TaskGraph const* const graph = policy.target().graph();
  if (graph != nullptr && GraphInternals::is_recording(*graph))
    comm.is_used_by(GraphInternals::handle(*graph));
  else
    comm.require_alone(graph_of(policy.target()), area_of(channel),
                       [&] { return "task \"" + label.string() + "\" (" + label.place() + ")"; });
  return channel;
}

/// Submits the body of a message. `sides` has the accesses that MessageSide returns.
template <class Body, class... Given, class... Sides, class... Own>
auto submit_message(Label&& label, ResourcePolicy<Once, Given...> const& policy, Body&& body,
                    std::tuple<Sides...> const& sides, Own const&... own) {
  MainThread const where{{}, is_for_main_thread()};
  return std::apply(
      [&](auto const&... side) {
        return std::apply(
            [&](auto const&... given) {
              return host_task(std::move(label),
                               ResourcePolicy(policy.target(), side..., own..., where, given...),
                               std::forward<Body>(body));
            },
            policy.annotations());
      },
      sides);
}

}  // namespace trellis::Impl

#undef TRELLIS_WRONG_MPI_CALL

#endif
