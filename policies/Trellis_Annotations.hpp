// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ANNOTATIONS_HPP
#define TRELLIS_ANNOTATIONS_HPP

#include <Trellis_Access.hpp>
#include <Trellis_Future.hpp>
#include <Trellis_IndexSpace.hpp>
#include <Trellis_Graph.hpp>  // before the names below, which its enumerators share
#include <Trellis_Tag.hpp>
#include <Trellis_TaskNumber.hpp>
#include <Trellis_Token.hpp>
#include <access/Trellis_AnyState.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <iterator>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// With this header you say what a task touches and how: `read(x)`,
/// `write(Kokkos::subview(y, ...))`, `exclusive(token)`, `access(token, state)`, which values of
/// futures it takes: `value(future)`, and which properties it has: `priority(2)`, `threads(4)`,
/// `main_thread`, `fusable`, `after(future)`, `number(k)`, `after(k)`, `tag(value)`.
///
/// An annotation refers to a View given by name and does not copy it: the View must live until the
/// call that submits the task returns. An unmanaged View's memory must live until the task is
/// complete; a managed View that the functor captures lives that long by itself.
///
/// Where a View may stand, so may a range of Views, whose number is known at run time:
/// `read(neighbours)` with a `std::vector`, a `std::span`, or `std::views::transform` that makes
/// subviews. A range given by name is referred to, too. Other types may stand there when
/// `ResourceTraits` says what they mean, see Trellis_Resource.hpp.
namespace trellis {

class AccessList;
class HostMemory;

/// Says what an annotation of a type means. See Trellis_Resource.hpp for how to specialise it.
template <class T>
struct ResourceTraits {
  using is_no_resource = void;
};

namespace Impl {

class ErasedView;
class FieldArea;

/// The accesses of a list that has been given by name.
struct ListAccess {
  ListAccess(AccessList const& of) : list(&of) {}
  AccessList const* list;
};

template <class T>
struct IsToken : std::is_same<std::remove_cvref_t<T>, Token> {};

template <class... Held>
struct Group;
template <class T>
struct IsGroup : std::false_type {};
template <class... Held>
struct IsGroup<Group<Held...>> : std::true_type {};

/// What the engine can compare: it has an area and a label.
template <class T>
inline constexpr bool is_piece_v = Kokkos::is_view_v<std::remove_cvref_t<T>> || IsToken<T>::value ||
                                   std::is_same_v<std::remove_cvref_t<T>, IndexBox> ||
                                   std::is_same_v<std::remove_cvref_t<T>, HostMemory> ||
                                   std::is_same_v<std::remove_cvref_t<T>, ErasedView> ||
                                   std::is_same_v<std::remove_cvref_t<T>, FieldArea>;
/// One resource, or a group of them.
template <class T>
inline constexpr bool is_single_v = is_piece_v<T> || IsGroup<std::remove_cvref_t<T>>::value;

/// `ResourceTraits` says which accesses an annotation of it stands for.
template <class T>
concept OpenResource = !is_single_v<T> && !requires {
  typename ResourceTraits<std::remove_cvref_t<T>>::is_no_resource;
};

// (The header <ranges> takes long to compile. A range-based `for` also finds functions beside the
// class; here only those of Kokkos 4.5 for its arrays count: it has some for an OffsetView, too.)
template <class R>
auto begin_of(R& range) -> decltype(std::begin(range));
template <class T, std::size_t n>
T* begin_of(Kokkos::Array<T, n>& array);
template <class T, std::size_t n>
T const* begin_of(Kokkos::Array<T, n> const& array);
template <class T>
inline constexpr bool is_kokkos_array = false;
template <class T, std::size_t n>
inline constexpr bool is_kokkos_array<Kokkos::Array<T, n>> = true;

template <class R>
using IteratorOf = decltype(begin_of(std::declval<R&>()));
template <class R>
concept AnyRange =
    (is_kokkos_array<std::remove_cvref_t<R>> || requires(R& range) { std::end(range); }) &&
    std::input_iterator<IteratorOf<R>>;
template <class R>
concept SizedRange = AnyRange<R> && requires(R& range) { std::size(range); };
template <class R>
using ElementOf = std::remove_cvref_t<std::iter_reference_t<IteratorOf<R>>>;

/// (A path, whose elements are paths, is a range of nothing.)
template <class T>
concept RangeOfOthers = !is_single_v<T> && !OpenResource<T> && AnyRange<T> &&
                        !std::is_same_v<ElementOf<T>, std::remove_cvref_t<T>>;

template <class T>
struct IsResource : std::bool_constant<is_single_v<T> || OpenResource<T>> {};
template <RangeOfOthers T>
struct IsResource<T> : IsResource<ElementOf<T>> {};
/// May an annotation name it? As the type that the user gave: some ranges are none when const.
template <class T>
inline constexpr bool is_resource_v = IsResource<std::remove_reference_t<T>>::value;

/// Views, Tokens, groups, or ranges of these, as many as there are at run time.
template <class T>
concept ResourceRange = RangeOfOthers<T> && is_resource_v<T>;

/// What a range consists of in the end, else the type itself.
template <class R>
struct LeafOf : std::type_identity<R> {};
template <ResourceRange R>
struct LeafOf<R> : LeafOf<ElementOf<R>> {};

template <class T>
struct IsConstView : std::false_type {};
template <class T>
  requires Kokkos::is_view_v<T>
struct IsConstView<T> : std::is_const<typename T::value_type> {};
template <class... Held>
struct IsConstView<Group<Held...>>
    : std::bool_constant<(IsConstView<std::remove_cvref_t<Held>>::value || ...)> {};
template <ResourceRange R>
struct IsConstView<R> : IsConstView<typename LeafOf<R>::type> {};

/// Is there a resource in it that `ResourceTraits` has to explain?
template <class T>
struct HasOpen : std::bool_constant<OpenResource<T>> {};
template <class... Held>
struct HasOpen<Group<Held...>>
    : std::bool_constant<(HasOpen<std::remove_cvref_t<Held>>::value || ...)> {};
template <ResourceRange R>
struct HasOpen<R> : HasOpen<typename LeafOf<R>::type> {};

/// Is the number of resources known when it is compiled?
template <class R>
struct IsFixed : std::bool_constant<!ResourceRange<R>> {};
template <class... Held>
struct IsFixed<Group<Held...>>
    : std::bool_constant<(IsFixed<std::remove_cvref_t<Held>>::value && ...)> {};

/// Are the elements there as long as the range is, also when that is const?
template <class R>
inline constexpr bool has_lasting_elements = false;
template <class R>
  requires AnyRange<R const> && std::forward_iterator<IteratorOf<R const>>
inline constexpr bool has_lasting_elements<R> =
    std::is_lvalue_reference_v<std::iter_reference_t<IteratorOf<R const>>>;

/// The same of theirs, where they are ranges.
template <class R>
inline constexpr bool lasts = false;
template <class R>
  requires(has_lasting_elements<R>)
inline constexpr bool lasts<R> = !RangeOfOthers<ElementOf<R const>> || lasts<ElementOf<R const>>;

/// A range with elements that last, for one that makes them when it is asked for them.
template <class R>
struct KeptAs {
  using type = R;
  template <class From>
  static type make(From&& from) {
    return static_cast<From&&>(from);
  }
};
template <RangeOfOthers R>
  requires(!lasts<R>)
struct KeptAs<R> {
  using Element = KeptAs<ElementOf<R>>;
  using type = std::vector<typename Element::type>;
  template <class From>
  static type make(From&& from) {
    if constexpr (!AnyRange<std::remove_reference_t<From>>) {  // it is none when const
      return make(R(from));
    } else {
      type elements;
      if constexpr (SizedRange<std::remove_reference_t<From>>) elements.reserve(std::size(from));
      for (auto&& element : from)
        elements.push_back(Element::make(static_cast<decltype(element)>(element)));
      return elements;
    }
  }
};

/// How an annotation holds what it names: something given by name by reference, a temporary as it
/// is. Elements that a range makes when it is asked for them (`std::views::transform`) are made
/// once, and kept.
template <class R>
struct HeldAs {
  using Named = std::remove_cvref_t<R>;
  using type = std::conditional_t<std::is_lvalue_reference_v<R>, Named const&, Named>;
  static constexpr R&& get(R&& resource) { return static_cast<R&&>(resource); }
};
template <class R>
  requires(ResourceRange<std::remove_reference_t<R>> && !lasts<std::remove_cvref_t<R>>)
struct HeldAs<R> {
  using Kept = KeptAs<std::remove_cvref_t<R>>;
  using type = typename Kept::type;
  static type get(R&& range) { return Kept::make(range); }
};
template <class R>
using HeldOf = typename HeldAs<R>::type;

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

/// An access whose Views the functor takes with these memory traits, `Kokkos::RandomAccess | ...`.
template <class Of, unsigned traits_>
struct TraitsAccess : Of {
  using access_type = Of;
  static constexpr unsigned traits = traits_;
};

/// A mode that the type knows.
template <Mode mode>
using ModeConstant = std::integral_constant<Mode, mode>;

/// An access of a resource that `ResourceTraits` explains when the task is submitted. `How`: a
/// `ModeConstant`, a `Mode`, or a state of the user's.
template <class How, class Held>
struct OpenAccess {
  using resource_type = std::remove_cvref_t<Held>;
  Held resource;
  How how;
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

struct Property {};

/// Does the mode ask for something that may change? (An exclusive task may only read.)
template <Mode mode>
inline constexpr bool surely_writes =
    mode != Mode::read && mode != Mode::none && mode != Mode::exclusive;

/// Are the elements const by themselves?
template <class R>
struct IsReadOnly : std::false_type {};
template <class R>
  requires requires { typename ResourceTraits<std::remove_cv_t<R>>::element_type; }
struct IsReadOnly<R> : std::is_const<typename ResourceTraits<std::remove_cv_t<R>>::element_type> {};
/// Does it own its elements? Then they are const as it is, and gone when it is.
template <class R>
inline constexpr bool owns_elements = false;
template <class R>
  requires requires { ResourceTraits<R>::is_const_if_container_is; }
inline constexpr bool owns_elements<R> = ResourceTraits<R>::is_const_if_container_is;
/// What the user has written, `write(x)`: there the types tell whether `x` itself is const.
template <Mode mode, class R>
constexpr auto annotate_named(R&& resource);

template <class T>
inline constexpr bool is_tuple_v = false;
template <class... T>
inline constexpr bool is_tuple_v<std::tuple<T...>> = true;

/// Does `ResourceTraits` say what it should? (What it says of a space is seen later.)
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

template <Mode mode, class R>
constexpr auto annotate(R&& resource) {
  using Named = std::remove_reference_t<R>;
  static_assert(
      is_resource_v<Named> || !NumbersThreads<Named>,
      "Trellis: Kokkos numbers the threads of a random pool, a ScatterView and a UniqueToken in "
      "each instance, so tasks that run at the same time would share them: use "
      "trellis::RandomPool, trellis::UniqueToken, which need no annotation, or "
      "trellis::ScatterView");
  static_assert(
      is_resource_v<Named> || NumbersThreads<Named>,
      "Trellis: an access names a Kokkos::View, a trellis::Token or another resource (see "
      "ResourceTraits), or a range of these");
  if constexpr (HasOpen<std::remove_cv_t<Named>>::value) {
    constexpr bool is_mutable = !surely_writes<mode> || !IsReadOnly<Named>::value;
    static_assert(is_mutable, "Trellis: what is const can only be read");
    constexpr bool is_said = SaysAccesses<std::remove_cv_t<Named>, mode>::value;
    static_assert(
        is_said,
        "Trellis: ResourceTraits<T>::accesses returns an access, a tuple of accesses or an "
        "AccessList");
    if constexpr (is_mutable && is_said)
      return OpenAccess<ModeConstant<mode>, HeldOf<R>>{HeldAs<R>::get(std::forward<R>(resource)),
                                                       {}};
    else
      return Property();  // so that nothing more is said
  } else if constexpr (is_resource_v<Named>) {
    constexpr bool is_mutable =
        !surely_writes<mode> || !IsConstView<std::remove_cv_t<Named>>::value;
    static_assert(is_mutable, "Trellis: a View of const elements can only be read");
    return Access<mode, HeldOf<R>>{HeldAs<R>::get(std::forward<R>(resource))};
  } else {
    return Property();  // so that nothing more is said
  }
}

template <Mode mode, class R>
constexpr auto annotate_named(R&& resource) {
  using Named = std::remove_reference_t<R>;
  if constexpr (OpenResource<Named>) {
    constexpr bool is_owner = owns_elements<std::remove_cv_t<Named>>;
    constexpr bool is_const = is_owner && surely_writes<mode> && std::is_const_v<Named>;
    static_assert(!is_const, "Trellis: what is const can only be read");
    constexpr bool is_temporary = is_owner && !std::is_lvalue_reference_v<R>;
    static_assert(!is_temporary,
                  "Trellis: a container that owns its elements must have a name, and live until "
                  "the task is complete");
    if constexpr (is_const || is_temporary)
      return Property();  // so that nothing more is said
    else
      return annotate<mode>(std::forward<R>(resource));
  } else {
    return annotate<mode>(std::forward<R>(resource));
  }
}

template <class T>
struct IsFuture : std::false_type {};
template <class T>
struct IsFuture<Future<T>> : std::true_type {};
template <class R>
concept FutureRange = AnyRange<R> && IsFuture<ElementOf<R>>::value;
/// What may stand in `after(...)` beside numbers.
template <class T>
concept NamesNumber = std::is_same_v<T, TaskNumber> || NumberRange<T const&>;
template <class T>
concept NamesTask = NamesNumber<T> || IsFuture<T>::value || FutureRange<T const&>;

}  // namespace Impl

/// The task reads. Any number of readers run at the same time.
template <class R>
constexpr auto read(R&& resource) {
  return Impl::annotate_named<Mode::read>(std::forward<R>(resource));
}
/// The task overwrites.
template <class R>
constexpr auto write(R&& resource) {
  return Impl::annotate_named<Mode::write>(std::forward<R>(resource));
}
/// The task reads and overwrites.
template <class R>
constexpr auto read_write(R&& resource) {
  return Impl::annotate_named<Mode::read_write>(std::forward<R>(resource));
}
/// The task adds atomically; tasks that do so run at the same time, in any order.
template <class R>
constexpr auto atomic_add(R&& resource) {
  return Impl::annotate_named<Mode::atomic_add>(std::forward<R>(resource));
}
/// The task multiplies atomically; tasks that do so run at the same time, in any order.
template <class R>
constexpr auto atomic_mul(R&& resource) {
  return Impl::annotate_named<Mode::atomic_mul>(std::forward<R>(resource));
}
/// The task reads and overwrites alone, but in any order with other exclusive tasks.
template <class R>
constexpr auto exclusive(R&& resource) {
  return Impl::annotate_named<Mode::exclusive>(std::forward<R>(resource));
}
/// The task does not touch it: no dependency, whatever others do.
template <class R>
constexpr auto none(R&& resource) {
  return Impl::annotate_named<Mode::none>(std::forward<R>(resource));
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
/// The same for a mode that the type knows: what `ResourceTraits` are given for `read(x)`, ...
template <class R, Mode mode>
constexpr auto access(R&& resource, std::integral_constant<Mode, mode>) {
  return Impl::annotate<mode>(std::forward<R>(resource));
}

template <class R, class State>
  requires(!AccessState<State> && !std::is_convertible_v<State const&, Mode>)
Impl::Property access(R&&, State const&) {
  static_assert(sizeof(State) == 0,
                "Trellis: an access state can be copied and has is_dependent_of(other) and "
                "is_superset_of(other), which return bool");
  return {};
}

/// Several Views and Tokens as one resource, of which they are the parts, e.g. the two arrays of a
/// double buffer: `write(group(front, back))` conflicts with `read(front)`. A range among them
/// brings its elements.
template <class... R>
constexpr auto group(R&&... resources) {
  static_assert(sizeof...(R) > 0 && (Impl::is_resource_v<R> && ...),
                "Trellis: a group is made of Views, Tokens and other resources, groups, and ranges "
                "of these");
  return Impl::Group<Impl::HeldOf<R>...>{{Impl::HeldAs<R>::get(std::forward<R>(resources))...}};
}

/// Larger is more urgent; 0 by default. A hint to the scheduling policy.
struct priority : Impl::Property {
  explicit constexpr priority(int value_) : value(value_) {}
  int value;
};

/// The task runs on the thread that made the graph, when that thread waits.
struct MainThread : Impl::Property {
  bool is_bound = true;  ///< false, where that is known at run time: it runs on any
};
inline constexpr MainThread main_thread{};

/// All tasks before it are complete before it starts, and it is complete before any task after it
/// starts.
struct Synchronizing : Impl::Property {};
inline constexpr Synchronizing synchronizing{};

/// When it is ready, the task may be held back, and run as one with others that have the same
/// functor type and space: as the graph's `Orchestration` advises, see there. It stays a task of its
/// own, with its accesses, future and failure. For `parallel_for` over a number, a `RangePolicy` or
/// an `MDRangePolicy`: such a batch is one launch, and a functor must not wait for other tasks. For
/// a `host_task` whose callable takes no `TaskScope` and no `Completion`: one thread runs the batch,
/// or the callable's class does, if it has
///
///     static void fused(std::span<Callable* const> all, std::size_t& at);
///
/// which runs all of them, and keeps `at` at the one that it runs: what it throws is the failure of
/// that one, those before it are done, and those behind it run by themselves.
///
/// Tasks that exclude others, are bound to the main thread, are synchronizing, or have `threads(n)`
/// are never held back.
struct Fusable : Impl::Property {};
inline constexpr Fusable fusable{};

/// The same for a `parallel_for` on a space of the host, whose functor is compiled for the devices
/// of `Space` as well: where the advice says so, a batch goes to one of them, as one launch there.
/// Its members are complete when the device is done with it. A launch that cannot be made there is
/// made at home.
///
///     parallel_for("cell", ResourcePolicy(graph, Kokkos::RangePolicy<Kokkos::Serial>(0, n),
///                                         fusable_on<Kokkos::Cuda>, read_write(x)), Cell{x});
///
/// Host and device touch the Views at the same time, so these are in memory that both can access,
/// such as `Kokkos::SharedSpace` or `Kokkos::SharedHostPinnedSpace`; those that are annotated are
/// checked when it is compiled. The functor is host-device code. What is no device, or the space on
/// which the task runs anyway, says no more than `fusable`.
template <class ExecutionSpace>
struct FusableOn : Fusable {
  static_assert(Kokkos::is_execution_space_v<ExecutionSpace>,
                "Trellis: fusable_on<...> takes a Kokkos execution space");
  using deploy_space = ExecutionSpace;
};
template <class ExecutionSpace>
inline constexpr FusableOn<ExecutionSpace> fusable_on{};

/// The task has so many threads of the host: its functor is launched on an instance with a pool of
/// `n`, which each worker makes once. `1 <= n <= workers() * threads_per_worker()` of the graph;
/// by default a task has the threads of one worker. The body begins when so many workers have
/// stopped as it takes, so no more threads run than the graph has.
///
///     parallel_for("solve", ResourcePolicy(graph, n, threads(4), read_write(x)), functor);
///
/// A `host_task` has no instance. It may open a parallel region of `n` threads of its own, or call
/// a library that does. On Serial other tasks can have one thread only. The call that submits the
/// task throws `Error` for another `n`, and for a task on a device.
struct threads : Impl::Property {
  explicit constexpr threads(int n) : count(n) {}
  int count;
};

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
/// The same, as many as there are at run time.
struct AfterAll : Impl::Property {
  std::vector<Impl::TaskHandle> tasks;
};
/// The task runs after these tasks are complete.
template <class... T>
After<sizeof...(T)> after(Future<T> const&... futures) {
  return {{}, {Impl::FutureDoor::handle(futures)...}};
}
/// The same for a range of futures, which may be empty.
template <Impl::FutureRange R>
AfterAll after(R&& futures) {
  AfterAll all;
  if constexpr (Impl::SizedRange<R>) all.tasks.reserve(std::size(futures));
  for (auto const& future : futures) all.tasks.push_back(Impl::FutureDoor::handle(future));
  return all;
}

/// Explicit dependencies on tasks of the same graph, of which some may be named by numbers.
struct AfterNumbers : Impl::Property {
  std::vector<Impl::TaskHandle> tasks;
  std::vector<TaskNumber> numbers;
};
/// The same, where all are numbers that the call names one by one.
template <std::size_t N>
struct AfterEach : Impl::Property {
  static constexpr std::array<Impl::TaskHandle, 0> tasks{};
  std::array<TaskNumber, N> numbers;
};
namespace Impl {

template <class... Before>
AfterNumbers after_some(Before const&... before) {
  AfterNumbers all;
  auto const add = [&]<class One>(One const& one) {
    if constexpr (std::is_same_v<One, TaskNumber>)
      all.numbers.push_back(one);
    else
      all.tasks.push_back(Impl::FutureDoor::handle(one));
  };
  auto const take = [&]<class One>(One const& one) {
    if constexpr (std::is_same_v<One, TaskNumber> || Impl::IsFuture<One>::value)
      add(one);
    else
      for (auto const& each : one) add(each);
  };
  (take(before), ...);
  return all;
}

}  // namespace Impl

/// The task runs after the tasks that have these numbers, see Trellis_TaskNumbers.hpp, and after
/// those of these futures and ranges of futures, in any mixture: `after(k, k + 1, future, futures,
/// set_of_numbers)`. The call that submits the task throws `Error` when no task has been spawned
/// with one of the numbers.
template <class... Before>
  requires((Impl::NamesTask<Before> && ...) &&
           ((Impl::NamesNumber<Before> || ...) ||
            (sizeof...(Before) > 1 && (Impl::FutureRange<Before const&> || ...))))
auto after(Before const&... before) {
  if constexpr ((std::is_same_v<Before, TaskNumber> && ...))
    return AfterEach<sizeof...(Before)>{{}, {before...}};
  else
    return Impl::after_some(before...);
}

namespace Impl {
template <class... Before>
inline constexpr bool name_tasks_v =
    ((NamesTask<std::remove_cvref_t<Before>> || FutureRange<Before>) && ...);
}  // namespace Impl

/// Whatever else stands there is refused.
template <class... Before>
  requires(!Impl::name_tasks_v<Before...>)
AfterAll after(Before&&...) {
  static_assert(Impl::name_tasks_v<Before...>,
                "Trellis: after(...) takes futures, numbers of tasks, and ranges of these; on what "
                "a task touches, annotations say: read(x), write(x), ...");
  return {};
}

/// The task has this number from now on, see Trellis_TaskNumbers.hpp. The call that submits it
/// throws `Error` when another task has it, when it is not reserved, or when it is of another
/// graph; if the call throws, the number is as it was. `number(TaskNumber())` gives it none.
struct number : Impl::Property {
  explicit constexpr number(TaskNumber const& k) : value(k) {}
  TaskNumber value;
};

/// The value of a future, see `value`.
template <class T>
struct ValueOf : Impl::Property {
  using value_type = T;
  std::array<Impl::TaskHandle, 1> tasks;
  Impl::ResultPtr<T> result;
};
/// The task runs after the task of this future is complete, and its functor takes the value as a
/// `T const&`, in the place of the annotation among the Views. When that task fails, this one is
/// cancelled, or fails as `get()` would where the failure cancels no more. The value of a
/// `Future<void>` is no argument: it is `after(future)`.
///
/// A kernel on a device gets a copy, so there the value must be trivially copyable.
template <class T>
ValueOf<T> value(Future<T> const& future) {
  return {{}, {Impl::FutureDoor::handle(future)}, Impl::FutureDoor::result(future)};
}
inline After<1> value(Future<void> const& future) {
  return after(future);
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
template <class T>
  requires(!TagValue<T>)
Impl::Property tag(T const&) {
  static_assert(sizeof(T) == 0,
                "Trellis: the type of a tag has a default value, can be copied, and is compared "
                "with ==");
  return {};
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
inline constexpr bool is_property_v = std::is_base_of_v<Property, std::remove_cvref_t<T>>;
template <class T>
inline constexpr bool is_fusable_v = std::is_base_of_v<Fusable, std::remove_cvref_t<T>>;
template <class T>
inline constexpr bool is_annotation_v = is_access_v<T> || is_property_v<T>;

/// Is it an access of Views? (What `ResourceTraits` explains says itself what the functor gets.)
template <class A>
inline constexpr bool names_views_v = false;
template <class A>
  requires requires {
    typename A::resource_type;
    A::mode;
  }
inline constexpr bool names_views_v<A> =
    !IsToken<typename LeafOf<typename A::resource_type>::type>::value;
template <class T>
inline constexpr bool is_value_v = false;
template <class T>
inline constexpr bool is_value_v<ValueOf<T>> = true;

}  // namespace Impl

/// The functor takes the Views of this access with further memory traits, in the type
/// `view_with<V, traits>`: `with_traits<Kokkos::Aligned>(write(x))`. It changes nothing in what the
/// task depends on.
template <unsigned traits, class A>
constexpr auto with_traits(A access) {
  static_assert(Impl::names_views_v<A>,
                "Trellis: memory traits belong to an access of Views: with_traits<...>(read(x))");
  if constexpr (Impl::names_views_v<A>)
    return Impl::TraitsAccess<A, traits>{std::move(access)};
  else
    return Impl::Property();
}
/// The task reads here and there: a GPU loads through its read-only cache. The functor takes a
/// `random_access_view<V>`.
template <class A>
constexpr auto random_access(A access) {
  constexpr bool reads = [] {
    if constexpr (Impl::names_views_v<A>)
      return A::mode == Mode::read;
    else
      return false;
  }();
  static_assert(reads, "Trellis: random access is a way to read: random_access(read(x))");
  if constexpr (reads)
    return with_traits<Kokkos::RandomAccess>(std::move(access));
  else
    return Impl::Property();
}
/// The functor reaches these elements through no other pointer, so the compiler need not load them
/// again after a store elsewhere. It is a promise, like `__restrict__`. The functor takes a
/// `restrict_view<V>`.
template <class A>
constexpr auto restricted(A access) {
  return with_traits<Kokkos::Restrict>(std::move(access));
}

}  // namespace trellis

#endif
