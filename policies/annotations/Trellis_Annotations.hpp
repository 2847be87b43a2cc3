// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ANNOTATIONS_HPP
#define TRELLIS_ANNOTATIONS_HPP

#include <Trellis_Access.hpp>
#include <annotations/Trellis_Properties.hpp>
#include <task/Trellis_AnyState.hpp>
#include <annotations/impl/Trellis_IsResource.hpp>

#include <Kokkos_Core.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

/// With this header you say what a task touches and how: `read(x)`, `write(Kokkos::subview(y,
/// ...))`, `exclusive(token)`, `access(token, state)`. You say which values of futures it takes:
/// `value(future)`. You also say which properties it has: `priority(2)`, `threads(4)`,
/// `main_thread`, `fusable`, `after(future)`, `number(k)`, `after(k)`, `tag(value)`.
///
/// An annotation refers to a View given by name and does not copy it: the View must live until the
/// call that submits the task returns. An unmanaged View's memory must live until the task is
/// complete; a managed View that the functor captures lives that long by itself.
///
/// In place of a View there may be a range of Views, whose number is known at run time:
/// `read(neighbours)` with a `std::vector`, a `std::span`, or `std::views::transform` that makes
/// subviews. An annotation refers to a range given by name, too. Other types are possible when
/// `ResourceTraits` says what they mean, see Trellis_Resource.hpp.
namespace trellis {

class AccessList;

namespace Impl {

/// Has the accesses of a list that is given by name.
struct ListAccess {
  ListAccess(AccessList const& of) : list(&of) {}
  AccessList const* list;
};

/// An access as annotated. `Held` is `R const&` for a resource given by name, `R` for a
/// temporary.
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
  static constexpr Mode mode = Mode::write;  ///< as far as the types tell
  Held resource;
  Mode mode_now;
  StatePtr state;  ///< null: only `mode_now` counts
};

/// An access whose Views the functor takes with these memory traits, `Kokkos::RandomAccess | ...`.
template <class Of, unsigned traits_>
struct TraitsAccess : Of {
  using access_type = Of;
  static constexpr unsigned traits = traits_;
};

/// A mode that the type has.
template <Mode mode>
using ModeConstant = std::integral_constant<Mode, mode>;

/// An access of a resource that `ResourceTraits` replaces when the task is submitted. `How` is a
/// `ModeConstant`, a `Mode`, or a state of the user's.
template <class How, class Held>
struct OpenAccess {
  using resource_type = std::remove_cvref_t<Held>;
  Held resource;
  How how;
};

template <class State>
struct IsMatrixAccess : std::false_type {};
template <class Matrix>
struct IsMatrixAccess<MatrixAccess<Matrix>> : std::true_type {};

/// True if the mode requires elements that can change. (An exclusive task may only read.)
template <Mode mode>
inline constexpr bool surely_writes =
    mode != Mode::read && mode != Mode::none && mode != Mode::exclusive;

/// True if the elements are const by themselves.
template <class R>
struct IsReadOnly : std::false_type {};
template <class R>
  requires requires { typename ResourceTraits<std::remove_cv_t<R>>::element_type; }
struct IsReadOnly<R> : std::is_const<typename ResourceTraits<std::remove_cv_t<R>>::element_type> {};
/// True if it owns its elements. Then they are const if it is const, and end with it.
template <class R>
inline constexpr bool owns_elements = false;
template <class R>
  requires requires { ResourceTraits<R>::is_const_if_container_is; }
inline constexpr bool owns_elements<R> = ResourceTraits<R>::is_const_if_container_is;
template <class T>
inline constexpr bool is_tuple_v = false;
template <class... T>
inline constexpr bool is_tuple_v<std::tuple<T...>> = true;

/// True if `ResourceTraits` has valid accesses. (Accesses that depend on a space are checked
/// later.)
template <class T, Mode mode>
struct SaysAccesses : std::true_type {};
template <class T>
struct IsAccess;

/// One of Kokkos' random pools, ScatterViews or UniqueTokens.
template <class T>
concept NumbersThreads = (requires(T const& pool) {
                           typename T::generator_type;
                           pool.get_state();
                         }) || (requires(T const& scatter) {
                           typename T::original_view_type;
                           scatter.access();
                         }) || (requires(T const& token) { token.release(token.acquire()); });

/// Checks whether an annotation may name it. This is a class so that the compiler's message has few
/// lines. `by_name` means as the user has written it, `write(x)`: then the types tell whether `x`
/// itself is const.
template <Mode mode, class R, bool by_name>
struct MayAnnotate {
  using Named = std::remove_reference_t<R>;
  using Plain = std::remove_cv_t<Named>;
  static constexpr bool has_threads = !is_resource_v<Named> && NumbersThreads<Named>;
  static constexpr bool is_resource = is_resource_v<Named> || has_threads;
  static constexpr bool is_open = HasOpen<Plain>::value;
  static constexpr bool is_owner = by_name && OpenResource<Named> && owns_elements<Plain>;
  static constexpr bool is_mutable =
      !surely_writes<mode> ||
      (is_open ? !IsReadOnly<Named>::value && !(is_owner && std::is_const_v<Named>)
               : !IsConstView<Plain>::value);
  static constexpr bool has_name = !is_owner || std::is_lvalue_reference_v<R>;
  static constexpr bool is_said = !is_open || SaysAccesses<Plain, mode>::value;
  static constexpr bool holds() {
    static_assert(
        !has_threads,
        "Trellis: Kokkos numbers the threads of a random pool, a ScatterView and a UniqueToken in "
        "each instance, so tasks that run at the same time would share them: use "
        "trellis::RandomPool, trellis::UniqueToken, which need no annotation, or "
        "trellis::ScatterView");
    static_assert(
        is_resource,
        "Trellis: an access names a Kokkos::View, a trellis::Token or another resource (see "
        "ResourceTraits), or a range of these");
    static_assert(is_mutable || !is_open, "Trellis: what is const can only be read");
    static_assert(is_mutable || is_open, "Trellis: a View of const elements can only be read");
    static_assert(
        has_name,
        "Trellis: a container that owns its elements must have a name, and live until the "
        "task is complete");
    static_assert(
        is_said,
        "Trellis: ResourceTraits<T>::accesses returns an access, a tuple of accesses or an "
        "AccessList");
    return !has_threads && is_resource && is_mutable && has_name && is_said;
  }
};

/// Returns the access of a valid resource.
template <Mode mode, class R>
constexpr auto access_in(R&& resource) {
  if constexpr (HasOpen<std::remove_cvref_t<R>>::value)
    return OpenAccess<ModeConstant<mode>, HeldOf<R>>{HeldAs<R>::get(std::forward<R>(resource)), {}};
  else
    return Access<mode, HeldOf<R>>{HeldAs<R>::get(std::forward<R>(resource))};
}
template <Mode mode, class R>
constexpr auto annotate(R&& resource) {
  if constexpr (MayAnnotate<mode, R, false>::holds())
    return access_in<mode>(std::forward<R>(resource));
  else
    return Property();  // so that there are no more errors
}
/// Returns the annotation for `write(x)` or `write(x, y)` as the user has written it. The
/// annotation of several resources is that of their group.
template <Mode mode, class... R>
constexpr auto annotate_named(R&&... resources);

/// True if these may be the arguments of one annotation. If the first of several is a number, or
/// none is a resource, the name means another visible function: `read(file, buffer, bytes)` of the
/// system, whose buffer may be an array, or `write(path, text)` of the program.
template <class First, class... More>
inline constexpr bool may_be_named_v =
    sizeof...(More) == 0 || (!std::is_integral_v<std::remove_cvref_t<First>> &&
                             (is_resource_v<First> || (is_resource_v<More> || ...)));

}  // namespace Impl

/// The task reads. Any number of readers may run at the same time. As with the other annotations,
/// several resources are possible: `read(x, y)` is `read(x), read(y)`.
template <class... R>
  requires Impl::may_be_named_v<R...>
constexpr auto read(R&&... resources) {
  return Impl::annotate_named<Mode::read>(std::forward<R>(resources)...);
}
/// The task overwrites.
template <class... R>
  requires Impl::may_be_named_v<R...>
constexpr auto write(R&&... resources) {
  return Impl::annotate_named<Mode::write>(std::forward<R>(resources)...);
}
/// The task reads and overwrites.
template <class... R>
  requires Impl::may_be_named_v<R...>
constexpr auto read_write(R&&... resources) {
  return Impl::annotate_named<Mode::read_write>(std::forward<R>(resources)...);
}
/// The task adds atomically; tasks that do so run at the same time, in any order. A View that the
/// functor captures stays as it is, see `atomic_view`.
template <class... R>
  requires Impl::may_be_named_v<R...>
constexpr auto atomic_add(R&&... resources) {
  return Impl::annotate_named<Mode::atomic_add>(std::forward<R>(resources)...);
}
/// The task multiplies atomically; tasks that do so run at the same time, in any order.
template <class... R>
  requires Impl::may_be_named_v<R...>
constexpr auto atomic_mul(R&&... resources) {
  return Impl::annotate_named<Mode::atomic_mul>(std::forward<R>(resources)...);
}
/// The task reads and overwrites, in any order with other exclusive tasks, but never at the same
/// time.
template <class... R>
  requires Impl::may_be_named_v<R...>
constexpr auto exclusive(R&&... resources) {
  return Impl::annotate_named<Mode::exclusive>(std::forward<R>(resources)...);
}
/// The task does not touch the resource, so there is no dependency.
template <class... R>
  requires Impl::may_be_named_v<R...>
constexpr auto none(R&&... resources) {
  return Impl::annotate_named<Mode::none>(std::forward<R>(resources)...);
}

/// The task accesses the resource in this state: a `MatrixAccess` with a user-defined matrix, an
/// `AreaAccess` in user coordinates, several of these as a `CombinedAccess`, or any other type with
/// `is_dependent_of` and `is_superset_of`. States of different types, and a state and a mode,
/// cannot be compared. So all tasks that touch one area of a resource should use one type;
/// otherwise they run one by one. A `MatrixAccess<IOMatrix>` is the same as the mode.
///
/// The call that submits the task throws `Error` when two states disagree on whether they depend on
/// each other.
template <class R, AccessState State>
auto access(R&& resource, State const& state) {
  static_assert(
      Impl::is_resource_v<R>,
      "Trellis: an access names a Kokkos::View, a trellis::Token or another resource (see "
      "ResourceTraits), or a range of these");
  using Hold = Impl::HeldAs<R>;
  using Held = Impl::HeldOf<R>;
  constexpr bool is_mode = std::is_same_v<State, MatrixAccess<IOMatrix>>;
  if constexpr (Impl::HasOpen<std::remove_cvref_t<R>>::value) {
    if constexpr (is_mode)
      return Impl::OpenAccess<Mode, Held>{Hold::get(std::forward<R>(resource)), state.entry()};
    else
      return Impl::OpenAccess<State, Held>{Hold::get(std::forward<R>(resource)), state};
  } else if constexpr (is_mode) {
    return Impl::StateAccess<Held>{Hold::get(std::forward<R>(resource)), state.entry(), nullptr};
  } else {
    Mode mode = Mode::write;
    if constexpr (Impl::IsMatrixAccess<State>::value)
      if (state == State()) mode = Mode::none;
    return Impl::StateAccess<Held>{Hold::get(std::forward<R>(resource)), mode,
                                   Impl::make_shared_unlocked<Impl::StateOf<State>>(state)};
  }
}
/// The task accesses the resource in this mode, chosen at run time.
template <class R>
auto access(R&& resource, Mode mode) {
  return access(std::forward<R>(resource), MatrixAccess<IOMatrix>(mode));
}
/// The task accesses the resource in a mode that the type has, as `ResourceTraits` get it for
/// `read(x)`, ...
template <class R, Mode mode>
constexpr auto access(R&& resource, std::integral_constant<Mode, mode>) {
  return Impl::annotate<mode>(std::forward<R>(resource));
}

namespace Impl {
/// The call `access(path, R_OK)` of POSIX, in a program with `using namespace trellis`.
template <class R, class State>
concept NamesFile =
    std::is_convertible_v<R, char const*> && std::is_integral_v<std::remove_cvref_t<State>>;
}  // namespace Impl

template <class R, class State>
  requires(!AccessState<State> && !std::is_convertible_v<State const&, Mode> &&
           !Impl::NamesFile<R, State>)
Impl::Property access(R&&, State const&) {
  static_assert(sizeof(State) == 0,
                "Trellis: an access state can be copied and has is_dependent_of(other) and "
                "is_superset_of(other), which return bool");
  return {};
}

/// Returns one resource whose parts are these Views and Tokens, e.g. the two arrays of a double
/// buffer: `write(group(front, back))` conflicts with `read(front)`. A range among them adds its
/// elements.
template <class... R>
constexpr auto group(R&&... resources) {
  static_assert(sizeof...(R) > 0 && (Impl::is_resource_v<R> && ...),
                "Trellis: a group is made of Views, Tokens and other resources, groups, and ranges "
                "of these");
  return Impl::Group<Impl::HeldOf<R>...>{{Impl::HeldAs<R>::get(std::forward<R>(resources))...}};
}
namespace Impl {

template <class T>
struct IsAccess : std::false_type {};
template <class Held>
struct IsAccess<StateAccess<Held>> : std::true_type {};
template <Mode mode, class Held>
struct IsAccess<Access<mode, Held>> : std::true_type {};
template <class Of, unsigned traits>
struct IsAccess<TraitsAccess<Of, traits>> : std::true_type {};
template <class How, class Held>
struct IsAccess<OpenAccess<How, Held>> : std::true_type {};
template <>
struct IsAccess<AccessList> : std::true_type {};
template <>
struct IsAccess<ListAccess> : std::true_type {};
template <class T>
inline constexpr bool is_access_v = IsAccess<std::remove_cvref_t<T>>::value;
template <class T>
inline constexpr bool is_open_access_v = false;
template <class How, class Held>
inline constexpr bool is_open_access_v<OpenAccess<How, Held>> = true;
template <class T>
inline constexpr bool is_list_v = std::is_same_v<std::remove_cvref_t<T>, AccessList> ||
                                  std::is_same_v<std::remove_cvref_t<T>, ListAccess>;
template <class T, Mode mode>
  requires(
      OpenResource<T> &&
      requires(T const& resource) { ResourceTraits<T>::accesses(resource, ModeConstant<mode>()); })
struct SaysAccesses<T, mode> {
  using Said =
      decltype(ResourceTraits<T>::accesses(std::declval<T const&>(), ModeConstant<mode>()));
  static constexpr bool value = is_tuple_v<Said> || is_access_v<Said>;
};
template <class T>
inline constexpr bool is_annotation_v = is_access_v<T> || is_property_v<T>;

template <Mode mode, class... R>
constexpr auto annotate_named(R&&... resources) {
  if constexpr (!(MayAnnotate<mode, R, true>::holds() && ...))
    return Property();  // so that there are no more errors
  else if constexpr (sizeof...(R) == 1)
    return access_in<mode>(std::forward<R>(resources)...);
  else
    return access_in<mode>(group(std::forward<R>(resources)...));
}

/// True for an access of Views. (Open resources say themselves what the functor gets.)
template <class A>
inline constexpr bool names_views_v = false;
template <class A>
  requires requires {
    typename A::resource_type;
    A::mode;
  }
inline constexpr bool names_views_v<A> =
    !IsToken<typename LeafOf<typename A::resource_type>::type>::value;

}  // namespace Impl

}  // namespace trellis

#endif
