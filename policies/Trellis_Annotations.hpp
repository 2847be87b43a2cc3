// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ANNOTATIONS_HPP
#define TRELLIS_ANNOTATIONS_HPP

#include <Trellis_Access.hpp>
#include <Trellis_Future.hpp>
#include <Trellis_Token.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <type_traits>
#include <utility>

/// With this header a user says what a task touches and how: `read(x)`, `write(Kokkos::subview(y, ...))`,
/// `exclusive(token)`, and which properties it has: `priority(2)`, `main_thread`, `after(future)`.
///
/// A View given by name is referred to, not copied: it must live until the call that submits the task
/// returns. An unmanaged View's memory must live until the task is complete; a managed View that the functor
/// captures lives as long by itself.
namespace trellis {

namespace Impl {

template <class T>
struct IsToken : std::is_same<std::remove_cvref_t<T>, Token> {};

/// An access as annotated. `Held` is `R const&` for a resource given by name, `R` for a temporary.
template <Mode mode_, class Held>
struct Access {
  using resource_type = std::remove_cvref_t<Held>;
  static constexpr Mode mode = mode_;
  Held resource;
};

template <Mode mode, class R>
constexpr auto annotate(R&& resource) {
  using Named = std::remove_cvref_t<R>;
  static_assert(Kokkos::is_view_v<Named> || IsToken<Named>::value,
                "Trellis: an access names a Kokkos::View or a trellis::Token");
  if constexpr (Kokkos::is_view_v<Named>)
    static_assert(mode == Mode::read || mode == Mode::none || mode == Mode::exclusive ||
                      !std::is_const_v<typename Named::value_type>,
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
/// The task reads and overwrites, alone, but in any order with other exclusive tasks.
template <class R>
constexpr auto exclusive(R&& resource) {
  return Impl::annotate<Mode::exclusive>(std::forward<R>(resource));
}
/// The task does not touch it: no dependency, whatever others do.
template <class R>
constexpr auto none(R&& resource) {
  return Impl::annotate<Mode::none>(std::forward<R>(resource));
}

/// Larger is more urgent; 0 by default. A hint to the scheduling policy.
struct priority : Impl::Property {
  explicit constexpr priority(int value_) : value(value_) {}
  int value;
};

/// The task runs on the thread that made the graph, when that waits.
struct MainThread : Impl::Property {};
inline constexpr MainThread main_thread{};

/// All tasks before it are complete before it starts, and it is complete before any task after it starts.
struct Synchronizing : Impl::Property {};
inline constexpr Synchronizing synchronizing{};

/// The execution space that the task runs on, where its policy does not say: `on<Kokkos::OpenMP>`.
template <class ExecutionSpace>
struct On : Impl::Property {
  static_assert(Kokkos::is_execution_space_v<ExecutionSpace>,
                "Trellis: on<...> takes a Kokkos execution space");
  using execution_space = ExecutionSpace;
};
template <class ExecutionSpace>
inline constexpr On<ExecutionSpace> on{};

/// Explicit dependencies on tasks of the same graph.
template <std::size_t N>
struct After : Impl::Property {
  std::array<Impl::TaskHandle, N> tasks;
};
/// The task runs after these tasks are complete.
template <class... T>
After<sizeof...(T)> after(Future<T> const&... futures) {
  return {{}, {Impl::FutureAccess::handle(futures)...}};
}

namespace Impl {

template <class T>
struct IsAccess : std::false_type {};
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
