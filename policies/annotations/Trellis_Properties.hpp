// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PROPERTIES_HPP
#define TRELLIS_PROPERTIES_HPP

#include <Trellis_Future.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_TaskNumber.hpp>
#include <annotations/impl/Trellis_IsResource.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

/// This header has the annotations that are no accesses: properties of the task, and the tasks that
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
/// The types that may stand in `after(...)`.
template <class T>
concept NamesNumber = std::is_same_v<T, TaskNumber> || NumberRange<T const&>;
template <class T>
concept NamesTask = NamesNumber<T> || IsFuture<T>::value || FutureRange<T const&>;

/// The type of `main_thread`.
struct MainThread : Property {
  bool is_bound = true;  ///< decided at run time; false: it runs on any thread
};
struct Synchronizing : Property {};
struct Fusable : Property {};
template <class ExecutionSpace>
struct FusableOn : Fusable {
  static_assert(Kokkos::is_execution_space_v<ExecutionSpace>,
                "Trellis: fusable_on<...> takes a Kokkos execution space");
  using offload_space = ExecutionSpace;
};

/// Has explicit dependencies on tasks of the same graph.
template <std::size_t N>
struct After : Property {
  std::array<TaskHandle, N> tasks;
};
/// Has dependencies whose number is known at run time.
struct AfterAll : Property {
  std::vector<TaskHandle> tasks;
};
/// Has dependencies, some of which may be named by numbers.
struct AfterNumbers : Property {
  std::vector<TaskHandle> tasks;
  std::vector<TaskNumber> numbers;
};
/// Has dependencies that the call names one by one by numbers.
template <std::size_t N>
struct AfterEach : Property {
  static constexpr std::array<TaskHandle, 0> tasks{};
  std::array<TaskNumber, N> numbers;
};
/// Has the value of a future.
template <class T>
struct ValueOf : Property {
  using value_type = T;
  std::array<TaskHandle, 1> tasks;
  ResultPtr<T> result;
};

// The header of a topic makes these names public.

/// See Trellis_Numbers.hpp.
struct number : Property {
  explicit constexpr number(TaskNumber const& k) : value(k) {}
  TaskNumber value;
};
/// See Trellis_Scheduling.hpp.
template <TagValue T>
struct Tagged : Property {
  T value;
};

}  // namespace Impl

/// A hint to the scheduling policy: larger is more urgent; 0 by default.
struct priority : Impl::Property {
  explicit constexpr priority(int value_) : value(value_) {}
  int value;
};

/// The task runs on the thread that made the graph, when that thread waits.
inline constexpr Impl::MainThread main_thread{};

/// All tasks before it are complete before it starts, and it is complete before any task after it
/// starts.
inline constexpr Impl::Synchronizing synchronizing{};

/// Means, in `threads(at_most(n))`, as many threads as the graph has, and at most `n`; `1 <= n`.
struct at_most {
  explicit constexpr at_most(int n) : count(n) {}
  int count;
};

/// The task has `n` host threads: its functor is launched on an instance with a pool of `n`, which
/// each worker makes once. `1 <= n <= workers() * threads_per_worker()` of the graph; by default a
/// task has the threads of one worker. The body begins when as many workers have stopped as it
/// needs threads from, so no more threads run than the graph has.
///
///     parallel_for("solve", ResourcePolicy(graph, n, threads(4), read_write(x)), functor);
///
/// A `host_task` has no instance. It may open a parallel region of `n` threads of its own, or call
/// a library that does. On Serial, tasks of other patterns can have only one thread. The call that
/// submits the task throws `Error` for another `n`, and for a task on a device.
///
/// `threads(at_most(n))` is valid for all graphs and spaces, with `1 <= n`: the task has as many of
/// the `n` as there are. On Serial that is one, and on a device it has no meaning. For a task of a
/// plan it is determined for each replay, from the threads that the graph has by then.
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
/// of the space. The default is the device that the space was initialised with, or that of the base
/// policy's instance. The Views must be reachable from it. The call that submits the task throws
/// `Error` when there is no such device.
struct device : Impl::Property {
  explicit constexpr device(int number_) : number(number_) {}
  int number;
};

/// The task runs after these tasks are complete.
template <class... T>
Impl::After<sizeof...(T)> after(Future<T> const&... futures) {
  return {{}, {Impl::FutureInternals::handle(futures)...}};
}
/// The task runs after the tasks of a range of futures, which may be empty.
template <Impl::FutureRange R>
Impl::AfterAll after(R&& futures) {
  // Its type depends on R, so programs that do not call this need not compile it.
  std::enable_if_t<!std::is_void_v<R>, Impl::AfterAll> all;
  if constexpr (Impl::SizedRange<R>) all.tasks.reserve(std::size(futures));
  for (auto const& future : futures) all.tasks.push_back(Impl::FutureInternals::handle(future));
  return all;
}

namespace Impl {

template <class... Before>
AfterNumbers after_some(Before const&... before) {
  AfterNumbers all;
  auto const add = [&]<class One>(One const& one) {
    if constexpr (std::is_same_v<One, TaskNumber>)
      all.numbers.push_back(one);
    else
      all.tasks.push_back(Impl::FutureInternals::handle(one));
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

/// The task runs after the tasks that have these numbers, see Trellis_Numbers.hpp, and after
/// those of these futures and ranges of futures, in any mixture: `after(k, k + 1, future, futures,
/// set_of_numbers)`. The call that submits the task throws `Error` when no task has been spawned
/// with one of the numbers.
template <class... Before>
  requires((Impl::NamesTask<Before> && ...) &&
           ((Impl::NamesNumber<Before> || ...) ||
            (sizeof...(Before) > 1 && (Impl::FutureRange<Before const&> || ...))))
auto after(Before const&... before) {
  if constexpr ((std::is_same_v<Before, TaskNumber> && ...))
    return Impl::AfterEach<sizeof...(Before)>{{}, {before...}};
  else
    return Impl::after_some(before...);
}

namespace Impl {
template <class... Before>
inline constexpr bool name_tasks_v =
    ((NamesTask<std::remove_cvref_t<Before>> || FutureRange<Before>) && ...);
}  // namespace Impl

/// Refuses all other arguments.
template <class... Before>
  requires(!Impl::name_tasks_v<Before...>)
Impl::AfterAll after(Before&&...) {
  static_assert(Impl::name_tasks_v<Before...>,
                "Trellis: after(...) takes futures, numbers of tasks, and ranges of these; on what "
                "a task touches, annotations say: read(x), write(x), ...");
  return {};
}

/// The task runs after the task of this future is complete, and its functor takes the value as a `T
/// const&`, in the place of the annotation among the Views. When that task fails, this one is
/// cancelled, or fails as `get()` would if the failure no longer cancels. The value of a
/// `Future<void>` is no argument: it means `after(future)`.
///
/// A kernel on a device gets a copy, so for it the value must be trivially copyable.
template <class T>
Impl::ValueOf<T> value(Future<T> const& future) {
  return {{}, {Impl::FutureInternals::handle(future)}, Impl::FutureInternals::result(future)};
}
inline Impl::After<1> value(Future<void> const& future) {
  return after(future);
}

namespace Impl {

template <class T>
inline constexpr bool is_property_v = std::is_base_of_v<Property, std::remove_cvref_t<T>>;
template <class T>
inline constexpr bool is_fusable_v = std::is_base_of_v<Fusable, std::remove_cvref_t<T>>;
/// True if it names tasks that the task comes after.
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
