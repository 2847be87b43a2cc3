// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ANNOTATIONS_HPP
#define TRELLIS_ANNOTATIONS_HPP

#include <Trellis_Access.hpp>
#include <Trellis_Future.hpp>
#include <Trellis_Graph.hpp>  // before the names below, which its enumerators share
#include <Trellis_Tag.hpp>
#include <Trellis_Token.hpp>
#include <access/Trellis_AnyState.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header you say what a task touches and how: `read(x)`,
/// `write(Kokkos::subview(y, ...))`, `exclusive(token)`, `access(token, state)`, and which
/// properties it has: `priority(2)`, `main_thread`, `after(future)`, `tag(value)`.
///
/// An annotation refers to a View given by name and does not copy it: the View must live until the
/// call that submits the task returns. An unmanaged View's memory must live until the task is
/// complete; a managed View that the functor captures lives that long by itself.
namespace trellis {

namespace Impl {

template <class T>
struct IsToken : std::is_same<std::remove_cvref_t<T>, Token> {};

template <class... Held>
struct Group;
template <class T>
struct IsGroup : std::false_type {};
template <class... Held>
struct IsGroup<Group<Held...>> : std::true_type {};

/// May an annotation name it?
template <class T>
inline constexpr bool is_resource_v = Kokkos::is_view_v<std::remove_cvref_t<T>> ||
                                      IsToken<T>::value || IsGroup<std::remove_cvref_t<T>>::value;

template <class T>
struct IsConstView : std::false_type {};
template <class T>
  requires Kokkos::is_view_v<T>
struct IsConstView<T> : std::is_const<typename T::value_type> {};
template <class... Held>
struct IsConstView<Group<Held...>>
    : std::bool_constant<(IsConstView<std::remove_cvref_t<Held>>::value || ...)> {};

/// An access as annotated. `Held` is `R const&` for a resource given by name, `R` for a temporary.
template <Mode mode_, class Held>
struct Access {
  using resource_type = std::remove_cvref_t<Held>;
  static constexpr Mode mode = mode_;
  Held resource;
};

/// An access in a user-defined state, or in a mode that is only known at run time.
template <class Held>
struct StateAccess {
  using resource_type = std::remove_cvref_t<Held>;
  static constexpr Mode mode = Mode::write;  ///< as far as the types know
  Held resource;
  Mode mode_now;
  StatePtr state;  ///< null: `mode_now` says it all
};

/// Several resources named as one.
template <class... Held>
struct Group {
  std::tuple<Held...> members;
};

template <class State>
struct IsMatrixAccess : std::false_type {};
template <class Matrix>
struct IsMatrixAccess<MatrixAccess<Matrix>> : std::true_type {};

template <Mode mode, class R>
constexpr auto annotate(R&& resource) {
  using Named = std::remove_cvref_t<R>;
  static_assert(is_resource_v<Named>,
                "Trellis: an access names a Kokkos::View or a trellis::Token");
  static_assert(mode == Mode::read || mode == Mode::none || mode == Mode::exclusive ||
                    !IsConstView<Named>::value,
                "Trellis: a View of const elements can only be read");
  if constexpr (std::is_lvalue_reference_v<R>)
    return Access<mode, Named const&>{resource};
  else
    return Access<mode, Named>{std::forward<R>(resource)};
}

struct Property {};

}  // namespace Impl

/// The task reads. Any number of readers run at the same time.
template <class R>
constexpr auto read(R&& resource) {
  return Impl::annotate<Mode::read>(std::forward<R>(resource));
}
/// The task overwrites.
template <class R>
constexpr auto write(R&& resource) {
  return Impl::annotate<Mode::write>(std::forward<R>(resource));
}
/// The task reads and overwrites.
template <class R>
constexpr auto read_write(R&& resource) {
  return Impl::annotate<Mode::read_write>(std::forward<R>(resource));
}
/// The task adds atomically; tasks that do so run at the same time, in any order.
template <class R>
constexpr auto atomic_add(R&& resource) {
  return Impl::annotate<Mode::atomic_add>(std::forward<R>(resource));
}
/// The task multiplies atomically; tasks that do so run at the same time, in any order.
template <class R>
constexpr auto atomic_mul(R&& resource) {
  return Impl::annotate<Mode::atomic_mul>(std::forward<R>(resource));
}
/// The task reads and overwrites alone, but in any order with other exclusive tasks.
template <class R>
constexpr auto exclusive(R&& resource) {
  return Impl::annotate<Mode::exclusive>(std::forward<R>(resource));
}
/// The task does not touch it: no dependency, whatever others do.
template <class R>
constexpr auto none(R&& resource) {
  return Impl::annotate<Mode::none>(std::forward<R>(resource));
}

/// The task accesses the resource in this state: a `MatrixAccess` with a user-defined matrix, an
/// `AreaAccess` in user coordinates, several of these as a `CombinedAccess`, or any other type with
/// `is_dependent_of` and `is_superset_of`. States of different types, and a state and a mode,
/// cannot be compared: all tasks that touch one area of a resource should use one type, otherwise
/// they run one by one. A `MatrixAccess<IOMatrix>` is the same as the mode.
///
/// The call that submits the task throws `Error` when two states disagree on whether they depend on
/// each other.
template <class R, AccessState State>
auto access(R&& resource, State const& state) {
  using Named = std::remove_cvref_t<R>;
  static_assert(Kokkos::is_view_v<Named> || Impl::IsToken<Named>::value,
                "Trellis: an access names a Kokkos::View or a trellis::Token");
  using Held = std::conditional_t<std::is_lvalue_reference_v<R>, Named const&, Named>;
  if constexpr (std::is_same_v<State, MatrixAccess<IOMatrix>>) {
    return Impl::StateAccess<Held>{std::forward<R>(resource), state.entry(), nullptr};
  } else {
    Mode mode = Mode::write;
    if constexpr (Impl::IsMatrixAccess<State>::value)
      if (state == State()) mode = Mode::none;
    return Impl::StateAccess<Held>{std::forward<R>(resource), mode,
                                   Impl::make_shared_unlocked<Impl::StateOf<State>>(state)};
  }
}
/// The task accesses the resource in this mode, chosen at run time.
template <class R>
auto access(R&& resource, Mode mode) {
  return access(std::forward<R>(resource), MatrixAccess<IOMatrix>(mode));
}

/// Several Views and Tokens as one resource, of which they are the parts, e.g. the two arrays of a
/// double buffer: `write(group(front, back))` conflicts with `read(front)`.
template <class... R>
constexpr auto group(R&&... resources) {
  static_assert(sizeof...(R) > 0 && (Impl::is_resource_v<R> && ...),
                "Trellis: a group is made of Views, Tokens and groups");
  return Impl::Group<std::conditional_t<std::is_lvalue_reference_v<R>,
                                        std::remove_cvref_t<R> const&, std::remove_cvref_t<R>>...>{
      {std::forward<R>(resources)...}};
}

/// Larger is more urgent; 0 by default. A hint to the scheduling policy.
struct priority : Impl::Property {
  explicit constexpr priority(int value_) : value(value_) {}
  int value;
};

/// The task runs on the thread that made the graph, when that thread waits.
struct MainThread : Impl::Property {};
inline constexpr MainThread main_thread{};

/// All tasks before it are complete before it starts, and it is complete before any task after it
/// starts.
struct Synchronizing : Impl::Property {};
inline constexpr Synchronizing synchronizing{};

/// The execution space that the task runs on, if its policy does not say: `on<Kokkos::OpenMP>`.
template <class ExecutionSpace>
struct On : Impl::Property {
  static_assert(Kokkos::is_execution_space_v<ExecutionSpace>,
                "Trellis: on<...> takes a Kokkos execution space");
  using execution_space = ExecutionSpace;
};
template <class ExecutionSpace>
inline constexpr On<ExecutionSpace> on{};

/// The device that the task runs on, if its execution space has several: 0, 1, ... in the numbering
/// of the space. Default: the device that the space was initialised with, or that of the base
/// policy's instance. The Views must be reachable from it. The call that submits the task throws
/// `Error` when there is no such device.
struct device : Impl::Property {
  explicit constexpr device(int number_) : number(number_) {}
  int number;
};

/// Explicit dependencies on tasks of the same graph.
template <std::size_t N>
struct After : Impl::Property {
  std::array<Impl::TaskHandle, N> tasks;
};
/// The task runs after these tasks are complete.
template <class... T>
After<sizeof...(T)> after(Future<T> const&... futures) {
  return {{}, {Impl::FutureDoor::handle(futures)...}};
}

/// A user-defined property, see `TaskGraph::add_rule`.
template <TagValue T>
struct Tagged : Impl::Property {
  T value;
};
template <TagValue T>
Tagged<T> tag(T value) {
  return {{}, std::move(value)};
}

namespace Impl {

template <class T>
struct IsAccess : std::false_type {};
template <class Held>
struct IsAccess<StateAccess<Held>> : std::true_type {};
template <Mode mode, class Held>
struct IsAccess<Access<mode, Held>> : std::true_type {};
template <class T>
inline constexpr bool is_access_v = IsAccess<std::remove_cvref_t<T>>::value;
template <class T>
inline constexpr bool is_property_v = std::is_base_of_v<Property, std::remove_cvref_t<T>>;
template <class T>
inline constexpr bool is_annotation_v = is_access_v<T> || is_property_v<T>;

}  // namespace Impl

}  // namespace trellis

#endif
