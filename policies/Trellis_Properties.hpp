// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PROPERTIES_HPP
#define TRELLIS_PROPERTIES_HPP

#include <Trellis_Future.hpp>
#include <Trellis_Graph.hpp>  // before the names below, which its enumerators share
#include <Trellis_Tag.hpp>
#include <Trellis_TaskNumber.hpp>
#include <impl/Trellis_IsResource.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

/// What may stand among the annotations of a call beside accesses: what the task is like, and what
/// it comes after.
namespace trellis {

namespace Impl {

struct Property {};

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

/// In `threads(at_most(n))`: as many threads as the graph has, and `n` at most; `1 <= n`.
struct at_most {
  explicit constexpr at_most(int n) : count(n) {}
  int count;
};

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
///
/// `threads(at_most(n))` is valid for all graphs and spaces, with `1 <= n`: the task has as many of
/// the `n` as there are. On Serial that is one, and on a device it says nothing. For a task of a
/// plan it is found out for each replay, from the threads that the graph has by then.
struct threads : Impl::Property {
  explicit constexpr threads(int n) : count(n) {}
  explicit constexpr threads(at_most most) : count(most.count), is_most(true) {}
  int count;
  bool is_most = false;
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
inline constexpr bool is_property_v = std::is_base_of_v<Property, std::remove_cvref_t<T>>;
template <class T>
inline constexpr bool is_fusable_v = std::is_base_of_v<Fusable, std::remove_cvref_t<T>>;
/// Does it name tasks that the task comes after?
template <class A>
inline constexpr bool waits_for_tasks_v = requires(A const& annotation) { annotation.tasks; };
template <class A>
inline constexpr bool is_after_numbers_v =
    requires(A const& annotation) { annotation.numbers.data()->valid(); };
template <class T>
inline constexpr bool is_value_v = false;
template <class T>
inline constexpr bool is_value_v<ValueOf<T>> = true;

}  // namespace Impl

}  // namespace trellis

#endif
