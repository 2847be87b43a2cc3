// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LATECOUNT_HPP
#define TRELLIS_IMPL_LATECOUNT_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Future.hpp>
#include <annotations/impl/Trellis_KnownValue.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header has numbers of indices, and extents, that are known when a task is launched.
namespace trellis::Impl {

/// A range `[0, n)` whose execution space is not fixed yet.
struct Count {
  /// Stands for this number and all larger ones, which no range can have.
  static constexpr std::int64_t too_large = std::numeric_limits<std::int64_t>::max();
  std::int64_t n;
  template <std::integral T>
  static constexpr std::int64_t of(T number) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) >= sizeof(std::int64_t))
      if (number > static_cast<T>(too_large)) return too_large;
    return static_cast<std::int64_t>(number);
  }
};

/// The source of such a number.
///
/// `resolve()` is called on the host when the task is launched. The task comes after the tasks that
/// `annotations()` names, and is ordered by their accesses. What `resolve()` throws is the failure
/// of the task. It may be called again: in each round of a plan and, on a device, in an earlier
/// task that waits on the host for the tasks among the annotations (`after(...)`). `annotations()`
/// is a `std::tuple`, and none of them becomes an argument of the functor.
///
/// `ends_without_user`: destroying it runs no user code, see TaskOps::End. A source whose number is
/// the same in each replay of a recorded iteration of a model has `stays_in_an_iteration`.
template <class S>
concept CountSource = std::copy_constructible<S> && requires(S const& source) {
  { source.resolve() } -> std::same_as<std::int64_t>;
  source.annotations();
  { S::ends_without_user } -> std::convertible_to<bool>;
};

/// A range `[0, n)` like Count, whose n comes from the source. It is also an extent of an
/// allocation.
template <CountSource Source>
struct LateCount {
  Source source;
};
template <class Base>
inline constexpr bool is_late_count_v = false;
template <class Source>
inline constexpr bool is_late_count_v<LateCount<Source>> = true;

/// A source that is the value of a future.
template <std::integral T>
struct FutureCount {
  static constexpr bool ends_without_user = true;
  TaskHandle task;
  ResultPtr<T> result;

  [[nodiscard]] std::int64_t resolve() const { return Count::of(value_of(result)); }
  [[nodiscard]] std::tuple<After<1>> annotations() const { return {After<1>{{}, {task}}}; }
};
template <std::integral T>
LateCount<FutureCount<T>> late_count(Future<T> const& future) {
  return {{FutureInternals::handle(future), FutureInternals::result(future)}};
}

/// Return what a base adds: sources of its places, and annotations. A range that is already known
/// adds nothing.
template <class Base>
std::tuple<> sources_of_base(Base const&) {
  return {};
}
template <class Source>
std::tuple<Source> sources_of_base(LateCount<Source> const& base) {
  return {base.source};
}
template <class Base>
std::tuple<> annotations_of_base(Base const&) {
  return {};
}
template <class Source>
auto annotations_of_base(LateCount<Source> const& base) {
  return base.source.annotations();
}

}  // namespace trellis::Impl

#endif
