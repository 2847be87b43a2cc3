// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_VERB_HPP
#define TRELLIS_IMPL_VERB_HPP

#include <resources/Trellis_HostRange.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <impl/Trellis_WrongCalls.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <mpi/Trellis_Datatype.hpp>
#include <mpi/impl/Trellis_CommunicatorState.hpp>
#include <mpi/impl/Trellis_Message.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <mpi/impl/Trellis_Packing.hpp>
#include <patterns/Trellis_HostTask.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace trellis::Impl {

/// What is none of those that say where a task goes.
template <class T>
concept GoesNowhere = !std::is_convertible_v<T&, Target> && !std::is_convertible_v<T const&, Label>;
template <class T>
inline constexpr bool is_resource_policy_v = false;
template <class Base, class... A>
inline constexpr bool is_resource_policy_v<ResourcePolicy<Base, A...>> = true;

/// An MPI operation as it is called: with the graph, or a TaskScope, or a policy without a range
/// in front, and a label before that. `Operation::submit(label, policy, arguments...)` does it.
template <class Operation>
class MpiVerb {
 public:
  template <class... A>
  auto operator()(Target where, A&&... arguments) const {
    return (*this)(ResourcePolicy(where), std::forward<A>(arguments)...);
  }
  template <class... Given, class... A>
  auto operator()(ResourcePolicy<Once, Given...> const& policy, A&&... arguments) const {
    return (*this)(Label::lasting(Operation::label, policy.target().site()), policy,
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
    // nvcc's front end answers the question below with no where there is one.
    return Operation::submit(label, policy, std::forward<A>(arguments)...);
#else
    if constexpr (requires { Operation::submit(label, policy, std::forward<A>(arguments)...); }) {
      return Operation::submit(label, policy, std::forward<A>(arguments)...);
    } else {
      static_assert(never<A...>,
                    "Trellis: behind the graph an MPI task takes a communicator, Views, and what "
                    "the operation is to know; see the operation's documentation");
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
  static_assert(Kokkos::is_view_v<V>, "Trellis: an MPI task sends and receives Kokkos Views");
  static constexpr bool is_writable = [] {
    if constexpr (is_written && Kokkos::is_view_v<V>)
      return !std::is_const_v<typename V::value_type>;
    else
      return true;
  }();
  static_assert(is_writable, "Trellis: an MPI task cannot receive into a View of const elements");
  static constexpr bool value = Kokkos::is_view_v<V> && is_writable;
};

/// What a host task says of a View that MPI reads or writes. MPI takes memory that the host cannot
/// touch, too.
template <class V>
decltype(auto) memory_of(V const& view) {
  if constexpr (is_host_memory_v<V>)
    return (view);
  else
    return HostMemory(view.label(), reinterpret_cast<unsigned char const*>(view.data()),
                      view.span() * sizeof(typename V::value_type));
}

template <class V>
void* data_of(V const& view) {
  return const_cast<void*>(static_cast<void const volatile*>(view.data()));
}

/// The side of a message that this rank gives, or gets: a View as it is, or in a buffer. The message
/// itself has one, so that its memory is there, and its buffer nobody else's, until it is over.
template <class V>
class MessageSide {
 public:
  explicit MessageSide(V const& view) : m_view(view) {
    if (!goes_as_it_is(view)) m_packed.emplace(view);
  }
  [[nodiscard]] bool is_packed() const { return m_packed.has_value(); }
  [[nodiscard]] V const& view() const { return m_view; }
  [[nodiscard]] void* data() const { return is_packed() ? m_packed->data() : data_of(m_view); }
  template <class Policy>
  void pack(Label const& label, Policy const& policy) const {
    if (is_packed()) m_packed->pack(label, policy, m_view);
  }
  template <class Policy, class... Received>
  Future<void> unpack(Label const& label, Policy const& policy, Received const&... received) const {
    return m_packed->unpack(label, policy, m_view, received...);
  }
  /// Calls `f(memory)` with the resource that the message reads or writes.
  template <class F>
  decltype(auto) with_memory(F&& f) const {
    if (!is_packed()) return f(memory_of(m_view));
    if (m_packed->is_staged) return f(memory_of(m_packed->staging));
    return f(memory_of(m_packed->home));
  }

 private:
  V m_view;
  std::optional<Packed<V>> m_packed;
};
template <class V>
PointToPoint::Memory wire_memory(MessageSide<V> const& side, char const* what) {
  using Value = typename V::non_const_value_type;
  WireType const wire = wire_type<Value>();
  V const& view = side.view();
  return {side.data(),
          wire_count(static_cast<std::int64_t>(view.size()), wire.count, what, view.label()),
          wire.type, wire.count, view.size() * sizeof(Value) >= PointToPoint::long_bytes};
}

/// Submits the body of a message.
template <class Body, class... Given, class... Own>
auto submit_message(Label&& label, ResourcePolicy<Once, Given...> const& policy, Body&& body,
                    Own const&... own) {
  MainThread const where{{}, is_for_main_thread()};
  return std::apply(
      [&](auto const&... given) {
        return host_task(std::move(label), ResourcePolicy(policy.target(), own..., where, given...),
                         std::forward<Body>(body));
      },
      policy.annotations());
}

}  // namespace trellis::Impl

#endif
