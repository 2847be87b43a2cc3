// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_KERNEL_HPP
#define TRELLIS_KERNEL_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <annotations/Trellis_Resource.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/Trellis_TaskScope.hpp>
#include <annotations/impl/Trellis_Target.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>
#include <annotations/impl/Trellis_WrongCalls.hpp>
#include <patterns/Trellis_HostTask.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header a library function that takes an execution space instance becomes a task. One
/// line says how it uses its arguments:
///
///     using namespace trellis::kernels;
///     TRELLIS_KERNEL(reciprocal, ::KokkosBlas::reciprocal, Takes<out, in>);
///     ...
///     reciprocal(graph, y, x);      // a space_task with write(y) and read(x)
///
/// Trellis_Blas.hpp, Trellis_Lapack.hpp and Trellis_Sparse.hpp are made in this way. (This header
/// needs no Kokkos Kernels.)
namespace trellis::kernels {

/// Says how a kernel uses an argument that is a resource: a View, a matrix, ...
enum class Use {
  in,      ///< `read`
  out,     ///< `write`
  in_out,  ///< `read_write`
  /// `read_write`, or `write` if the argument before it is the number zero: the y of `axpby(a, x,
  /// b, y)`. If that argument is a Future, it is `read_write`, as the value is not known when the
  /// task is submitted.
  accumulate,
};
using enum Use;

/// Says how a kernel uses its arguments after the execution space, one by one. The entry of an
/// argument that is no resource does not matter.
template <Use... uses>
struct Takes {
  static constexpr std::size_t size = sizeof...(uses);
  static constexpr std::array<Use, size> all{uses...};
};

/// Returns the resource for a library's handle, which kernels take as a pointer and change:
/// `read_write(handle(&h))` for a task that has such kernels as its children. The handle must live
/// until the tasks that use it are complete.
template <class H>
HostMemory handle(H* pointer) {
  return HostMemory("handle", pointer);
}

}  // namespace trellis::kernels

namespace trellis::Impl {

using kernels::Use;

template <class A>
inline constexpr bool is_text_v = std::is_convertible_v<A const&, std::string_view>;
template <class A>
inline constexpr bool is_handle_v = std::is_pointer_v<A> && !is_text_v<A>;
/// True if the task gets the argument from its annotations, not from the callable.
template <class A>
inline constexpr bool is_annotated_v =
    !is_text_v<A> && (is_resource_v<A const> || IsFuture<A>::value);
template <class A>
inline constexpr bool is_number_v =
    !is_text_v<A> && !is_handle_v<A> && !is_annotated_v<A> && requires(A const& a) {
      { a == A() } -> std::convertible_to<bool>;
    };

/// Takes the place, in the callable, of an argument that is passed when it runs.
struct Handed {};
template <class A>
auto kept_of(A const& argument) {
  if constexpr (is_annotated_v<A>)
    return Handed();
  else if constexpr (is_text_v<A>)
    return std::string(std::string_view(argument));
  else
    return argument;
}

/// Returns the annotations that an argument adds to the policy. Modes are passed as values, so that
/// a kernel gets Views of exactly the types that it was called with: libraries compare these types
/// with those of a handle.
template <class A>
auto annotations_for(A const& argument, Mode mode) {
  if constexpr (IsFuture<A>::value)
    return std::tuple(trellis::value(argument));
  else if constexpr (is_annotated_v<A>)
    return std::tuple(trellis::access(argument, mode));
  else if constexpr (is_handle_v<A>)
    return std::tuple(trellis::access(kernels::handle(argument), Mode::read_write));
  else
    return std::tuple<>();
}

template <Use use, std::size_t k, class Arguments>
Mode mode_for([[maybe_unused]] Arguments const& arguments) {
  if constexpr (use == Use::in) {
    return Mode::read;
  } else if constexpr (use == Use::out) {
    return Mode::write;
  } else {
    if constexpr (use == Use::accumulate && k > 0) {
      auto const& before = std::get<k - 1>(arguments);
      using Before = std::remove_cvref_t<decltype(before)>;
      if constexpr (is_number_v<Before>)
        if (before == Before()) return Mode::write;
    }
    return Mode::read_write;
  }
}

/// Calls the library with the arguments in their order: those that were kept, and those that the
/// task gets for its annotations.
template <class Function, class... Kept>
class KernelCall {
 public:
  explicit KernelCall(Kept... kept) : m_kept(std::move(kept)...) {}

  template <class Space, class... Seen>
  decltype(auto) operator()(Space const& space, Seen&... seen) const {
    return call(space, std::tie(seen...), std::index_sequence_for<Kept...>());
  }

 private:
  template <class Space, class Seen, std::size_t... k>
  decltype(auto) call(Space const& space, Seen const& seen, std::index_sequence<k...>) const {
    return Function()(space, argument<k>(seen)...);
  }
  template <std::size_t k, class Seen>
  decltype(auto) argument(Seen const& seen) const {
    using K = std::tuple_element_t<k, std::tuple<Kept...>>;
    if constexpr (std::is_same_v<K, Handed>)
      return std::as_const(std::get<handed_before<k>()>(seen));
    else if constexpr (std::is_same_v<K, std::string>)
      return std::get<k>(m_kept).c_str();
    else
      return (std::get<k>(m_kept));
  }
  template <std::size_t k>
  static consteval std::size_t handed_before() {
    constexpr std::array<bool, sizeof...(Kept)> is_handed{std::is_same_v<Kept, Handed>...};
    std::size_t count = 0;
    for (std::size_t j = 0; j < k; ++j) count += is_handed[j];
    return count;
  }

  std::tuple<Kept...> m_kept;
};

/// Gives the kernel's form that takes this number of arguments, else void.
template <std::size_t count, class... Forms>
struct FormOf {
  using type = void;
};
template <std::size_t count, class First, class... Rest>
struct FormOf<count, First, Rest...>
    : std::conditional_t<First::size == count, std::type_identity<First>, FormOf<count, Rest...>> {
};

/// (This is a class so that the compiler's message has few lines, and shows the kernel's
/// arguments.)
template <class Form, class... A>
struct KernelMayTake;
template <class... A>
struct KernelMayTake<void, A...> {
  static constexpr bool holds() {
    static_assert(
        never<A...>,
        "Trellis: behind the graph a kernel takes as many arguments as the function of the "
        "library takes behind the execution space");
    return false;
  }
};
template <Use... uses, class... A>
struct KernelMayTake<kernels::Takes<uses...>, A...> {
  static constexpr bool are_bare = (!is_annotation_v<A> && ...);
  static constexpr bool have_values = (!std::is_same_v<A, Future<void>> && ...);
  static constexpr bool are_mutable = ((uses == Use::in || !IsConstView<A>::value) && ...);
  static constexpr bool holds() {
    static_assert(are_bare,
                  "Trellis: a kernel knows how it uses its arguments: x, not read(x). Further "
                  "annotations stand in a ResourcePolicy in place of the graph");
    static_assert(have_values,
                  "Trellis: a Future<void> has no value for a kernel; after(future) in a "
                  "ResourcePolicy in place of the graph makes the kernel wait for it");
    static_assert(are_mutable, "Trellis: a View of const elements can only be read");
    return are_bare && have_values && are_mutable;
  }
};

/// Gives the execution space of the last argument that has one: as a rule that of the result.
template <class... A>
struct SpaceOfLast {
  using type = void;
};
template <class First, class... Rest>
struct SpaceOfLast<First, Rest...> {
  using OfRest = typename SpaceOfLast<Rest...>::type;
  static consteval auto of_first() {
    if constexpr (is_annotated_v<First> && requires { typename First::execution_space; })
      return std::type_identity<typename First::execution_space>();
    else
      return std::type_identity<void>();
  }
  using type = typename std::conditional_t<std::is_void_v<OfRest>, decltype(of_first()),
                                           std::type_identity<OfRest>>::type;
};
/// Returns the `on<...>` for the space that a kernel without an instance would choose; nothing if
/// the user or Kokkos' default gives that space.
template <class Asked, class... A>
auto space_annotation() {
  using Space = typename SpaceOfLast<A...>::type;
  if constexpr (!std::is_void_v<Asked> || std::is_void_v<Space> ||
                std::is_same_v<Space, Kokkos::DefaultExecutionSpace>)
    return std::tuple<>();
  else
    return std::tuple(on<Space>);
}

template <class Function, class Form, class... Given, class... A>
auto submit_kernel(Label&& label, ResourcePolicy<Once, Given...> const& policy,
                   A const&... arguments) {
  auto const submit_with = [&]<std::size_t... k>(std::index_sequence<k...>) {
    [[maybe_unused]] auto const all = std::tie(arguments...);
    // The kernel's own annotations come first: a callable gets Views in this order, and takes the
    // first.
    auto const annotations =
        std::tuple_cat(annotations_for(arguments, mode_for<Form::all[k], k>(all))...,
                       space_annotation<typename TargetSpace<Given...>::type, A...>());
    return std::apply(
        [&](auto const&... own) {
          return std::apply(
              [&](auto const&... given) {
                return space_task(
                    std::move(label), ResourcePolicy(policy.target(), own..., given...),
                    KernelCall<Function, decltype(kept_of(arguments))...>(kept_of(arguments)...));
              },
              policy.annotations());
        },
        annotations);
  };
  return submit_with(std::index_sequence_for<A...>());
}

/// A type that does not say where a task goes. (Text is a label; nvcc's front end must not be asked
/// for the conversion, which is consteval.)
template <class T>
concept NoTarget = !std::is_array_v<T> && !std::is_convertible_v<T&, Target> &&
                   !std::is_convertible_v<T const&, Label>;

}  // namespace trellis::Impl

namespace trellis::kernels {

/// A library function as a task. `Function` has the function and its name. `Forms` are a `Takes`
/// for each number of arguments that it can be called with. See TRELLIS_KERNEL.
///
///     axpby(graph, a, x, b, y);                      // where KokkosBlas takes the execution space
///     axpby(self, a, x, b, y);                       // a child of a running task
///     axpby(ResourcePolicy(graph, after(f), priority(1), on<Kokkos::Serial>), a, x, b, y);
///     axpby("update", graph, a, x, b, y);            // with a label
///
/// Submits a `space_task` that calls the function with the task's own instance as soon as its
/// accesses allow; returns at once. The Future holds the return value. An argument may be
///
/// - a View, a matrix or another resource: the task accesses it as the kernel uses it, and keeps
///   it;
/// - a `Future<T>` in place of a value, e.g. what `dot` has returned;
/// - a pointer to a handle: the task reads and writes the handle, see `handle`;
/// - anything else (numbers, flags, `"N"`), which is copied.
///
/// The task runs on the execution space of its last View, unless the policy says `on<Space>`.
///
/// `axpby.function(space, a, x, b, y)` is the function itself: it submits no task, but calls the
/// function on an instance, for bodies that have one.
template <class Function, class... Forms>
class Kernel {
 public:
  static constexpr Function function{};

  template <class... A>
  auto operator()(Impl::Target where, A const&... arguments) const {
    return (*this)(ResourcePolicy(where), arguments...);
  }
  template <class... Given, class... A>
  auto operator()(ResourcePolicy<Impl::Once, Given...> const& policy, A const&... arguments) const {
    return (*this)(Label(std::string(Function::name), policy.target().site()), policy,
                   arguments...);
  }
  template <class... A>
  auto operator()(Label label, Impl::Target where, A const&... arguments) const {
    return (*this)(std::move(label), ResourcePolicy(where), arguments...);
  }
  template <class... Given, class... A>
  auto operator()(Label label, ResourcePolicy<Impl::Once, Given...> const& policy,
                  A const&... arguments) const {
    using Form = typename Impl::FormOf<sizeof...(A), Forms...>::type;
    if constexpr (!Impl::KernelMayTake<Form, A...>::holds())
      return Impl::Refused();
    else
      return Impl::submit_kernel<Function, Form>(std::move(label), policy, arguments...);
  }

  template <Impl::NoTarget First, class... Rest>
    requires(!Impl::is_policy_v<First>)
  Impl::Refused operator()(First const&, Rest const&...) const {
    static_assert(Impl::never<First>,
                  "Trellis: a kernel takes the graph, a TaskScope or a ResourcePolicy where the "
                  "function of the library takes the execution space");
    return {};
  }
  template <class Base, class... Given, class... A>
    requires Impl::has_range_v<Base>
  Impl::Refused operator()(ResourcePolicy<Base, Given...> const&, A const&...) const {
    static_assert(Impl::never<Base>,
                  "Trellis: a kernel has no range: ResourcePolicy(graph, priority(1), ...)");
    return {};
  }
};

}  // namespace trellis::kernels

/// Defines `name`, a `Kernel` for the function or overload set `function`, at namespace scope. The
/// third argument and those after it are a `Takes` for each number of arguments.
#define TRELLIS_KERNEL(name_, function_, ...)                \
  struct name_##_kernel {                                    \
    static constexpr ::std::string_view name = #name_;       \
    template <class... A>                                    \
    decltype(auto) operator()(A const&... arguments) const { \
      return function_(arguments...);                        \
    }                                                        \
  };                                                         \
  inline constexpr ::trellis::kernels::Kernel<name_##_kernel, __VA_ARGS__> name_ {}

#endif
