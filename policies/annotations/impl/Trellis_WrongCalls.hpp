// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WRONGCALLS_HPP
#define TRELLIS_IMPL_WRONGCALLS_HPP

#include <Trellis_Future.hpp>
#include <Trellis_Label.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_KokkosCalls.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

/// This header has calls that must not compile. The compiler's message for one must be a single
/// sentence: each pattern has overloads for common mistakes, and code that depends on the mistake
/// is not compiled. `unit_tests/compile_fail` counts the lines.
namespace trellis {

namespace Impl {

/// Takes the place of the ResourcePolicy in a call that has Kokkos' form. The argument is converted
/// to it, so a call that Kokkos takes goes to Kokkos if the names of both are visible.
struct PlainPolicy {
  template <class T>
    requires(std::is_convertible_v<T const&, std::size_t> || Kokkos::is_execution_policy_v<T> ||
             std::is_same_v<T, TaskGraph> || std::is_same_v<T, TaskScope>)
  PlainPolicy(T const&) {}
};
template <class Base>
inline constexpr bool has_range_v = !std::is_same_v<Base, Once>;

/// Text that may be a label, which must not stand after the policy.
template <class T>
concept LabelText = std::convertible_to<T, Label>;

/// The result of a call that must not compile. It has the members that the rest of the line may
/// use.
struct Refused {
  template <class T>
  operator T() const;
  Refused get() const;
  void wait() const;
};

/// The compiler's message contains the name of this class, and so the signature.
template <bool is_callable, class Signature>
struct FunctorMustTake {
  static constexpr bool holds() {
    static_assert(
        is_callable,
        "Trellis: the functor's call operator must take what stands in FunctorMustTake<...> "
        "above, or that without the Views, and must be const");
    return is_callable;
  }
};
template <bool is_callable, class Signature>
struct CallableMustTake {
  static constexpr bool holds() {
    static_assert(
        is_callable,
        "Trellis: the callable must take what stands in CallableMustTake<...> above, or that "
        "without the Views; that of a host_task may take a TaskScope& or a Completion<T> before "
        "them");
    return is_callable;
  }
};
template <bool fits>
struct MayFuse {
  static constexpr bool holds() {
    static_assert(fits,
                  "Trellis: fusable goes with parallel_for over a number, a RangePolicy or an "
                  "MDRangePolicy, and with host_task without a TaskScope or Completion");
    return fits;
  }
};
template <bool fits>
struct MustTakeAtomicViews {
  static constexpr bool holds() {
    static_assert(fits,
                  "Trellis: a View annotated with atomic_add or atomic_mul is taken as an "
                  "atomic_view<V>: updates through a plain View would be lost");
    return fits;
  }
};
template <class Body>
struct ForkJoinMustReturnNothing {
  static constexpr bool returns_nothing = [] {
    if constexpr (std::is_invocable_v<Body&, TaskScope&>)
      return std::is_void_v<std::invoke_result_t<Body&, TaskScope&>>;
    else
      return true;
  }();
  static constexpr bool holds() {
    static_assert(returns_nothing, "Trellis: the body of a fork_join returns nothing");
    return returns_nothing;
  }
};
template <bool fits>
struct LateMustReturnNothing {
  static constexpr bool holds() {
    static_assert(
        fits,
        "Trellis: a callable that takes a Completion<T> returns nothing: the Future holds "
        "what done(value) is told");
    return fits;
  }
};

}  // namespace Impl

template <class... Rest>
Future<void> parallel_for(Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: parallel_for("
                "ResourcePolicy(graph, n or a Kokkos policy, read(x), ...), functor)");
  return {};
}
template <class... Rest>
Future<void> parallel_for(Label, Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: parallel_for(\"label\", "
                "ResourcePolicy(graph, n or a Kokkos policy, read(x), ...), functor)");
  return {};
}
template <class Base, class... Annotations, Impl::LabelText Text, class... Rest>
Future<void> parallel_for(ResourcePolicy<Base, Annotations...> const&, Text&&, Rest const&...) {
  static_assert(Impl::never<Text>,
                "Trellis: the label comes first: parallel_for(\"label\", ResourcePolicy(graph, n, "
                "read(x), ...), functor)");
  return {};
}

template <class... Rest>
Impl::Refused parallel_reduce(Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: parallel_reduce("
                "ResourcePolicy(graph, n or a Kokkos policy, read(x), ...), functor)");
  return {};
}
template <class... Rest>
Impl::Refused parallel_reduce(Label, Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: parallel_reduce(\"label\", "
                "ResourcePolicy(graph, n or a Kokkos policy, read(x), ...), functor)");
  return {};
}
template <class Base, class... Annotations, Impl::LabelText Text, class... Rest>
Impl::Refused parallel_reduce(ResourcePolicy<Base, Annotations...> const&, Text&&, Rest const&...) {
  static_assert(Impl::never<Text>,
                "Trellis: the label comes first: parallel_reduce(\"label\", ResourcePolicy(graph, "
                "n, read(x), ...), functor)");
  return {};
}

template <class... Rest>
Impl::Refused parallel_scan(Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: parallel_scan("
                "ResourcePolicy(graph, n or a Kokkos policy, read(x), ...), functor)");
  return {};
}
template <class... Rest>
Impl::Refused parallel_scan(Label, Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: parallel_scan(\"label\", "
                "ResourcePolicy(graph, n or a Kokkos policy, read(x), ...), functor)");
  return {};
}
template <class Base, class... Annotations, Impl::LabelText Text, class... Rest>
Impl::Refused parallel_scan(ResourcePolicy<Base, Annotations...> const&, Text&&, Rest const&...) {
  static_assert(Impl::never<Text>,
                "Trellis: the label comes first: parallel_scan(\"label\", ResourcePolicy(graph, n, "
                "read(x), ...), functor)");
  return {};
}

template <class... Rest>
Impl::Refused host_task(Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: host_task("
                "ResourcePolicy(graph, read(x), ...), callable)");
  return {};
}
template <class... Rest>
Impl::Refused host_task(Label, Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: host_task(\"label\", "
                "ResourcePolicy(graph, read(x), ...), callable)");
  return {};
}
template <class Base, class... Annotations, class Callable>
  requires Impl::has_range_v<Base>
Impl::Refused host_task(Label, ResourcePolicy<Base, Annotations...> const&, Callable const&) {
  static_assert(Impl::never<Base>,
                "Trellis: a host_task has no range: host_task(\"label\", ResourcePolicy(graph, "
                "read(x), ...), callable)");
  return {};
}
template <class Base, class... Annotations, Impl::LabelText Text, class... Rest>
Impl::Refused host_task(ResourcePolicy<Base, Annotations...> const&, Text&&, Rest const&...) {
  static_assert(Impl::never<Text>,
                "Trellis: the label comes first: host_task(\"label\", ResourcePolicy(graph, "
                "read(x), ...), callable)");
  return {};
}

template <class... Rest>
void fork_join(Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: fork_join("
                "ResourcePolicy(graph, read(x), ...), body)");
}
template <class... Rest>
void fork_join(Label, Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: fork_join(\"label\", "
                "ResourcePolicy(graph, read(x), ...), body)");
}
template <class Base, class... Annotations, class Body>
  requires Impl::has_range_v<Base>
void fork_join(Label, ResourcePolicy<Base, Annotations...> const&, Body const&) {
  static_assert(Impl::never<Base>,
                "Trellis: a fork-join has no range: fork_join(\"label\", ResourcePolicy(graph, "
                "read(x), ...), body)");
}
template <class Base, class... Annotations, Impl::LabelText Text, class... Rest>
void fork_join(ResourcePolicy<Base, Annotations...> const&, Text&&, Rest const&...) {
  static_assert(Impl::never<Text>,
                "Trellis: the label comes first: fork_join(\"label\", ResourcePolicy(graph, "
                "read(x), ...), body)");
}

template <class... Rest>
Impl::Refused space_task(Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: space_task("
                "ResourcePolicy(graph, read(x), ...), callable)");
  return {};
}
template <class... Rest>
Impl::Refused space_task(Label, Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph and which Views: space_task(\"label\", "
                "ResourcePolicy(graph, read(x), ...), callable)");
  return {};
}
template <class Base, class... Annotations, class Callable>
  requires Impl::has_range_v<Base>
Impl::Refused space_task(Label, ResourcePolicy<Base, Annotations...> const&, Callable const&) {
  static_assert(Impl::never<Base>,
                "Trellis: a space_task has no range: space_task(\"label\", ResourcePolicy(graph, "
                "read(x), ...), callable)");
  return {};
}
template <class Base, class... Annotations, Impl::LabelText Text, class... Rest>
Impl::Refused space_task(ResourcePolicy<Base, Annotations...> const&, Text&&, Rest const&...) {
  static_assert(Impl::never<Text>,
                "Trellis: the label comes first: space_task(\"label\", ResourcePolicy(graph, "
                "read(x), ...), callable)");
  return {};
}

template <class Base, class... Annotations, Impl::LabelText Text, class Destination, class Source>
Future<void> deep_copy(ResourcePolicy<Base, Annotations...> const&, Text&&, Destination&&,
                       Source const&) {
  static_assert(Impl::never<Text>,
                "Trellis: the label comes first: deep_copy(\"label\", ResourcePolicy(graph, ...), "
                "destination, source)");
  return {};
}
template <Impl::AnyTarget Target, Impl::LabelText Text, class Destination, class Source>
Future<void> deep_copy(Target&, Text&&, Destination&&, Source const&) {
  static_assert(Impl::never<Text>,
                "Trellis: the label comes first: deep_copy(\"label\", graph, destination, source)");
  return {};
}

template <class T, class Split>
  requires(!std::is_void_v<T>)
bool refine(Future<T> const&, Split const&) {
  static_assert(Impl::never<T>,
                "Trellis: refine(task, split) replaces the body of a task without a result, a "
                "Future<void>: nothing else would give that result");
  return false;
}

}  // namespace trellis

#endif
