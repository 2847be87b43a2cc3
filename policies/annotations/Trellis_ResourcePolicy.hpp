// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RESOURCEPOLICY_HPP
#define TRELLIS_RESOURCEPOLICY_HPP

#include <annotations/Trellis_AccessList.hpp>
#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_TaskGraph.hpp>
#include <annotations/impl/Trellis_LateCount.hpp>
#include <annotations/impl/Trellis_Target.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header you combine an execution policy, the graph that the task goes to, and the
/// task's accesses.
namespace trellis {

template <class Base, class... Annotations>
class ResourcePolicy;

namespace Impl {

/// True for a TaskGraph, or the TaskScope of a running task.
template <class T>
inline constexpr bool is_target_v = std::is_same_v<std::remove_const_t<T>, TaskGraph> ||
                                    std::is_same_v<std::remove_const_t<T>, TaskScope>;
template <class T>
concept AnyTarget = is_target_v<T>;

/// Means no range: the body runs once (host_task, space_task).
struct Once {};

template <class B>
struct BaseOf {
  // The constructor reports a wrong base. With this type the compiler reports nothing more.
  using type = std::conditional_t<Kokkos::is_execution_policy_v<B>, B,
                                  std::conditional_t<is_resource_v<B>, Once, Count>>;
};
template <std::integral B>
struct BaseOf<B> {
  using type = Count;
};
template <std::integral T>
struct BaseOf<Future<T>> {
  using type = LateCount<FutureCount<T>>;
};
template <class Source>
struct BaseOf<LateCount<Source>> {
  using type = LateCount<Source>;
};
/// If there is no base, the other guide is meant. (Clang looks at the result of a guide before its
/// constraint.)
template <class B>
  requires is_annotation_v<B>
struct BaseOf<B> {};

template <class>
inline constexpr bool is_policy_v = false;
template <class Base, class... Annotations>
inline constexpr bool is_policy_v<ResourcePolicy<Base, Annotations...>> = true;
template <class First>
inline constexpr bool is_no_target_v =
    !std::is_convertible_v<First&, Target> && !is_policy_v<std::remove_cv_t<First>>;
/// The first argument is no graph, so it is taken for the base here.
template <class First>
using BaseOfNoTarget = std::conditional_t<is_annotation_v<First>, Once, Count>;

/// Says how a policy keeps an annotation. It keeps the annotation itself, but only refers to a list
/// of accesses that was given by name.
template <class A>
using AnnotationAs = std::conditional_t<std::is_lvalue_reference_v<A> &&
                                            std::is_same_v<std::remove_cvref_t<A>, AccessList>,
                                        ListAccess, std::remove_cvref_t<A>>;

}  // namespace Impl

/// A Kokkos policy with the graph that the task goes to, its accesses and its properties.
/// Annotations may come in any order:
///
///     ResourcePolicy(graph, n, read(x), write(y))
///     ResourcePolicy(graph, Kokkos::MDRangePolicy({0, 0}, {n, m}), read_write(a), priority(1))
///     ResourcePolicy(graph, write(result))           // for host_task and space_task
///     ResourcePolicy(graph, n, write(y), list)       // and what an AccessList has
///     ResourcePolicy(graph, count, write(y))         // count: the Future of a number
///
/// The number of indices may be unknown when the task is submitted. Then `n` is a `Future` of a
/// whole number, or the `extent` of an array that another task allocates, see Trellis_LateView.hpp.
/// It is looked up on the host when the task is launched. The task waits for a future as with
/// `value(future)`. If the number is negative or too large, the task fails.
///
/// Inside a task that takes a `TaskScope& self`, `self` in place of the graph makes the new task a
/// child of that task.
///
/// On a host space the instance of the worker that runs the task replaces the policy's own
/// execution space instance, whatever threads that has. `threads(n)` sets the number of threads of
/// the task. On a device an instance other than the default one is respected: the task is launched
/// on its stream, in order with the user's own launches there. The policy refers to Views (see
/// Trellis_Annotations.hpp): use it only in the call that submits the task.
template <class Base, class... Annotations>
class ResourcePolicy {
  static_assert(
      (Impl::is_annotation_v<Annotations> && ...),
      "Trellis: after the base policy come accesses (read, write, ...) and properties (priority, "
      "after, ...) only");

 public:
  using base_type = Base;

  template <class B>
    requires(!Impl::is_annotation_v<B>)
  ResourcePolicy(Impl::Target target, B const& base, Annotations... annotations)
      : m_target(target), m_base(make_base(base)), m_annotations(std::move(annotations)...) {}

  ResourcePolicy(Impl::Target target, Annotations... annotations)
    requires std::same_as<Base, Impl::Once>
      : m_target(target), m_annotations(std::move(annotations)...) {}

  /// Does not compile, as there is no graph.
  template <class First, class... Rest>
    requires Impl::is_no_target_v<First>
  ResourcePolicy(First const&, Rest const&...) : m_target(Impl::TaskHandle()) {
    static_assert(!Impl::is_no_target_v<First>,
                  "Trellis: a policy begins with the graph that the task goes to, or with the "
                  "TaskScope whose child it is: ResourcePolicy(graph, n, read(x), ...)");
  }

  [[nodiscard]] Impl::Target const& target() const { return m_target; }
  [[nodiscard]] Base const& base() const { return m_base; }
  [[nodiscard]] std::tuple<Annotations...> const& annotations() const { return m_annotations; }

 private:
  template <class B>
  static Base make_base(B const& base) {
    if constexpr (std::integral<B>)
      return {Impl::Count::of(base)};
    else if constexpr (std::same_as<B, Base>)
      return base;
    else if constexpr (requires { Impl::late_count(base); })
      return Impl::late_count(base);
    else
      return no_base<B>();
  }
  template <class B>
  static Base no_base() {
    static_assert(
        !Impl::is_resource_v<B>,
        "Trellis: ResourcePolicy(graph, base, accesses...) is to know how a View or Token is "
        "accessed: read(x), write(x), ...");
    static_assert(
        Impl::is_resource_v<B>,
        "Trellis: ResourcePolicy(graph, base, accesses...) takes as base a whole number or a "
        "Kokkos RangePolicy, MDRangePolicy or TeamPolicy, or the Future of a whole number");
    return {};
  }

  Impl::Target m_target;
  Base m_base;
  std::tuple<Annotations...> m_annotations;
};

template <class B, class... A>
  requires(!Impl::is_annotation_v<B>)
ResourcePolicy(Impl::Target, B const&, A&&...)
    -> ResourcePolicy<typename Impl::BaseOf<B>::type, Impl::AnnotationAs<A>...>;
template <class... A>
  requires(Impl::is_annotation_v<A> && ...)
ResourcePolicy(Impl::Target, A&&...) -> ResourcePolicy<Impl::Once, Impl::AnnotationAs<A>...>;
template <class First, class... Rest>
  requires Impl::is_no_target_v<First>
ResourcePolicy(First const&, Rest const&...) -> ResourcePolicy<Impl::BaseOfNoTarget<First>>;

}  // namespace trellis

#endif
