// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_WHENALL_HPP
#define TRELLIS_WHENALL_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Future.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_Submit.hpp>

#include <new>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// With this header several futures become one.
namespace trellis {

namespace Impl {

struct JoinBody {
  static constexpr BodyTraits traits{.pattern = "when_all"};
  void run(void*, Label const&) {}
};

Future<void> join(Label&& label, AfterAll const& before);
template <class Target, class Before>
Future<void> join(Label&& label, Target&& target, Before&& before) {
  return FutureInternals::make(submit<void>(
      std::move(label), ResourcePolicy(target, std::forward<Before>(before)), JoinBody{}));
}

/// A future, and the source location that named it.
struct SitedFuture {
  template <class T>
  SitedFuture(Future<T> const& future, std::source_location at = std::source_location::current())
      : task(FutureInternals::handle(future)), site(at) {}
  TaskHandle task;
  std::source_location site;
};

}  // namespace Impl

/// Returns a future that is complete when all of these are. Its task does nothing and comes after
/// theirs, so it fails when one of them fails. All must be of one graph, to which the new task
/// goes, too. Throws `Error` if they are not, or if there are none: then name the graph.
template <Impl::FutureRange R>
Future<void> when_all(Label label, R&& futures) {
  return Impl::join(std::move(label), after(std::forward<R>(futures)));
}
template <class First, class... T>
Future<void> when_all(Label label, Future<First> const& first, Future<T> const&... rest) {
  return Impl::join(std::move(label), Impl::AfterAll{{},
                                                     {Impl::FutureInternals::handle(first),
                                                      Impl::FutureInternals::handle(rest)...}});
}
/// Joins with the label "when_all".
template <Impl::FutureRange R>
Future<void> when_all(R&& futures, std::source_location site = std::source_location::current()) {
  return when_all(Label(std::string("when_all"), site), std::forward<R>(futures));
}
template <class... T>
Future<void> when_all(Impl::SitedFuture first, Future<T> const&... rest) {
  return Impl::join(Label(std::string("when_all"), first.site),
                    Impl::AfterAll{{}, {first.task, Impl::FutureInternals::handle(rest)...}});
}

/// Joins with a given target: a TaskGraph, or the TaskScope of a running task, whose child the new
/// task becomes. There may be no futures.
template <class Target, Impl::FutureRange R>
  requires Impl::is_target_v<Target>
Future<void> when_all(Label label, Target& target, R&& futures) {
  return Impl::join(std::move(label), target, after(std::forward<R>(futures)));
}
template <class Target, class... T>
  requires Impl::is_target_v<Target>
Future<void> when_all(Label label, Target& target, Future<T> const&... futures) {
  return Impl::join(std::move(label), target, after(futures...));
}
template <Impl::FutureRange R>
Future<void> when_all(Impl::Target target, R&& futures) {
  return Impl::join(Label(std::string("when_all"), target.site()), target,
                    after(std::forward<R>(futures)));
}
template <class... T>
Future<void> when_all(Impl::Target target, Future<T> const&... futures) {
  return Impl::join(Label(std::string("when_all"), target.site()), target, after(futures...));
}

}  // namespace trellis

#endif
