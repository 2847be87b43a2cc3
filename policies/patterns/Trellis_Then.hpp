// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_THEN_HPP
#define TRELLIS_THEN_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Future.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_KnownValue.hpp>
#include <patterns/Trellis_HostTask.hpp>
#include <patterns/Trellis_WhenAll.hpp>

#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// With this header a task continues with the value of another one: `future.then(f)`. Futures join
/// with their values.
namespace trellis {

namespace Impl {

template <class T>
Target beside(Future<T> const& future) {
  return Target(FutureInternals::handle(future));
}

/// The check of a `then`. Each `then` names it, so that few lines come before its sentence.
template <class T, class F>
using ThenCheck =
    typename CallForms<void, F, decltype(value(std::declval<Future<T> const&>()))>::Check;
template <class Scope>
struct MustBeScope {
  static constexpr bool holds() {
    static_assert(is_target_v<Scope>,
                  "Trellis: then(\"label\", self, f) takes the TaskScope of the running task");
    return is_target_v<Scope>;
  }
};

}  // namespace Impl

template <class T>
template <Impl::Continuation F>
auto Future<T>::then(F&& f, std::source_location site) const {
  if constexpr (!Impl::ThenCheck<T, F>::holds()) {
    return Impl::Refused();
  } else {
    ResourcePolicy const policy(Impl::beside(*this), value(*this));
    return host_task(Label(std::string("then"), site), policy, std::forward<F>(f));
  }
}
template <class T>
template <class F>
auto Future<T>::then(Label label, F&& f) const {
  if constexpr (!Impl::ThenCheck<T, F>::holds()) {
    return Impl::Refused();
  } else {
    ResourcePolicy const policy(Impl::beside(*this), value(*this));
    return host_task(std::move(label), policy, std::forward<F>(f));
  }
}
template <class T>
template <class Scope, class F>
auto Future<T>::then(Label label, Scope& self, F&& f) const {
  if constexpr (!Impl::MustBeScope<Scope>::holds()) {
    return Impl::Refused();
  } else if constexpr (!Impl::ThenCheck<T, F>::holds()) {
    return Impl::Refused();
  } else {
    ResourcePolicy const policy(self, value(*this));
    return host_task(std::move(label), policy, std::forward<F>(f));
  }
}

template <Impl::Continuation F>
auto Future<void>::then(F&& f, std::source_location site) const {
  if constexpr (!Impl::ThenCheck<void, F>::holds()) {
    return Impl::Refused();
  } else {
    ResourcePolicy const policy(Impl::beside(*this), value(*this));
    return host_task(Label(std::string("then"), site), policy, std::forward<F>(f));
  }
}
template <class F>
auto Future<void>::then(Label label, F&& f) const {
  if constexpr (!Impl::ThenCheck<void, F>::holds()) {
    return Impl::Refused();
  } else {
    ResourcePolicy const policy(Impl::beside(*this), value(*this));
    return host_task(std::move(label), policy, std::forward<F>(f));
  }
}
template <class Scope, class F>
auto Future<void>::then(Label label, Scope& self, F&& f) const {
  if constexpr (!Impl::MustBeScope<Scope>::holds()) {
    return Impl::Refused();
  } else if constexpr (!Impl::ThenCheck<void, F>::holds()) {
    return Impl::Refused();
  } else {
    ResourcePolicy const policy(self, value(*this));
    return host_task(std::move(label), policy, std::forward<F>(f));
  }
}

namespace Impl {

/// Joins the values of several futures, as copies.
template <class... T>
struct JoinValues {
  std::tuple<T...> operator()(T const&... value) const { return std::tuple<T...>(value...); }
};
template <class T>
struct JoinRange {
  std::vector<ResultPtr<T>> futures;
  std::vector<T> operator()() const {
    std::vector<T> values;
    values.reserve(futures.size());
    for (ResultPtr<T> const& each : futures) values.push_back(value_of(each));
    return values;
  }
};

template <class F>
struct ValueOfFuture;
template <class T>
struct ValueOfFuture<Future<T>> {
  using type = T;
};
template <class R>
using ValueTypeOf = typename ValueOfFuture<ElementOf<R>>::type;

/// Joins the values of a range. A null `target` stands for the graph of the first future.
template <class R>
Future<std::vector<ValueTypeOf<R>>> join_values(Label&& label, Target const* target, R&& futures) {
  using T = ValueTypeOf<R>;
  static_assert(!std::is_void_v<T>, "Trellis: futures without values are joined by when_all");
  // Its type depends on R, so programs that do not call this need not compile it.
  std::enable_if_t<!std::is_void_v<R>, AfterAll> before;
  JoinRange<T> join;
  for (auto const& future : futures) {
    before.tasks.push_back(FutureInternals::handle(future));
    join.futures.push_back(FutureInternals::result(future));
  }
  if (target == nullptr && before.tasks.empty())
    throw Error(Error::Kind::bad_input, "Trellis: task " + label.text() +
                                            " is to come after no tasks, so nobody knows its "
                                            "graph: name that, too");
  Target const to = target != nullptr ? *target : Target(before.tasks.front());
  return host_task(std::move(label), ResourcePolicy(to, std::move(before)), std::move(join));
}
template <class... T>
auto join_values(Label&& label, Target target, Future<T> const&... futures) {
  static_assert((!std::is_void_v<T> && ...),
                "Trellis: futures without values are joined by when_all");
  return host_task(std::move(label), ResourcePolicy(target, value(futures)...), JoinValues<T...>());
}

}  // namespace Impl

/// Joins like `when_all`, with copies of the values. Returns a `Future<std::vector<T>>` for a range
/// of futures, and a `Future<std::tuple<T...>>` for single futures. Throws `Error` when the graph
/// is gone.
template <Impl::FutureRange R>
auto when_all_values(Label label, R&& futures) {
  return Impl::join_values(std::move(label), nullptr, std::forward<R>(futures));
}
template <class First, class... T>
auto when_all_values(Label label, Future<First> const& first, Future<T> const&... rest) {
  return Impl::join_values(std::move(label), Impl::beside(first), first, rest...);
}
/// Joins with the label "when_all_values".
template <Impl::FutureRange R>
auto when_all_values(R&& futures, std::source_location site = std::source_location::current()) {
  return when_all_values(Label(std::string("when_all_values"), site), std::forward<R>(futures));
}
/// Refuses single futures without a label: the parameters leave no place for the call site.
template <class First, class... T>
Impl::Refused when_all_values(Future<First> const&, Future<T> const&...) {
  static_assert(
      Impl::never<First>,
      "Trellis: several futures are joined by when_all_values(\"label\", f, g, ...), with "
      "a label");
  return {};
}
/// Joins with a given target: a TaskGraph, or the TaskScope of a running task, whose child the new
/// task becomes. There may be no futures.
template <class Target, Impl::FutureRange R>
  requires Impl::is_target_v<Target>
auto when_all_values(Label label, Target& target, R&& futures) {
  Impl::Target const named(target);
  return Impl::join_values(std::move(label), &named, std::forward<R>(futures));
}
template <class Target, class... T>
  requires Impl::is_target_v<Target>
auto when_all_values(Label label, Target& target, Future<T> const&... futures) {
  return Impl::join_values(std::move(label), Impl::Target(target), futures...);
}
template <Impl::FutureRange R>
auto when_all_values(Impl::Target target, R&& futures) {
  return Impl::join_values(Label(std::string("when_all_values"), target.site()), &target,
                           std::forward<R>(futures));
}
template <class... T>
auto when_all_values(Impl::Target target, Future<T> const&... futures) {
  return Impl::join_values(Label(std::string("when_all_values"), target.site()), target,
                           futures...);
}

}  // namespace trellis

#endif
