// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_LATECOPY_HPP
#define TRELLIS_LATECOPY_HPP

#include <annotations/Trellis_LateView.hpp>
#include <patterns/Trellis_DeepCopy.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header `deep_copy` takes LateViews as it takes Views: `deep_copy(graph, kept, found)`,
/// `deep_copy(graph, found, 0)`.
namespace trellis {

namespace Impl {

template <class T>
inline constexpr bool is_late_view_v = false;
template <class D, class M, class L>
inline constexpr bool is_late_view_v<LateView<D, M, L>> = true;

/// Describes one side of a copy, in the form in which Kokkos gets it.
struct NotLate {};
template <class T>
struct CopySide {
  using type = T;
  using Late = NotLate;
  static T const& now(T const& side) { return side; }
  static Late late(T const&) { return {}; }
  template <Mode mode>
  static auto accesses(T const& side) {
    if constexpr (Kokkos::is_view_v<T>)
      return std::tuple(access(side, ModeConstant<mode>()));
    else
      return std::tuple<>();
  }
};
template <class D, class M, class L>
struct CopySide<LateView<D, M, L>> {
  using A = LateView<D, M, L>;
  using type = typename A::view;
  using Late = LateViewSource<type, typename A::managed_view>;
  static type now(A const&) { return {}; }
  static Late late(A const& side) { return {side.memory(), true}; }
  template <Mode mode>
  static auto accesses(A const& side) {
    return std::tuple(access(side.memory()->data, ModeConstant<mode>()), read(side.shape()));
  }
};

/// Copies between Views, some of which get their memory when the copy is launched.
template <class Space, class To, class From, class LateTo, class LateFrom>
struct LateCopyBody : CopyBodyOn<Space, To, From> {
  static constexpr BodyTraits traits{.pattern = "deep_copy", .copies_between_spaces = true};
  LateTo late_to;
  LateFrom late_from;

  void bind(Label const& label) {
    if constexpr (!std::is_same_v<LateTo, NotLate>) this->destination = late_to.resolve();
    if constexpr (!std::is_same_v<LateFrom, NotLate>) this->source = late_from.resolve();
    if constexpr (Kokkos::is_view_v<From>) {
      auto const extents = differing_extents(this->destination, this->source);
      if (!extents.empty()) refuse_base(label, "copies between arrays whose " + extents);
      auto const reason = reason_against_copy(this->destination, this->source);
      if (!reason.empty()) refuse_base(label, "copies between arrays, but " + reason);
    } else {
      auto const reason = reason_against_fill(this->destination);
      if (!reason.empty()) refuse_base(label, "fills an array, but " + reason);
    }
  }
};

/// Gives the LaterValue of a future, to fill with.
template <class To, class F>
struct LaterOf;
template <class To, class T>
struct LaterOf<To, Future<T>> {
  using type = LaterValue<To, T>;
};

template <class... A, class Destination, class Source>
Future<void> submit_late_copy(Label&& label, ResourcePolicy<Once, A...> const& policy,
                              Destination const& destination, Source const& source) {
  using To = CopySide<Destination>;
  using D = typename To::type;
  auto const submit_as = [&]<class Space, class From>(std::type_identity<Space>, From from,
                                                      auto late, auto const&... annotations) {
    using Body = LateCopyBody<Space, D, From, typename To::Late, decltype(late)>;
    return FutureInternals::make(submit<Space>(
        std::move(label), policy,
        Body{{To::now(destination), std::move(from)}, To::late(destination), std::move(late)},
        annotations...));
  };
  if constexpr (Kokkos::is_view_v<typename CopySide<Source>::type>) {
    using From = CopySide<Source>;
    return std::apply(
        [&](auto const&... accesses) {
          return submit_as(std::type_identity<CopySpace<D, typename From::type>>(),
                           From::now(source), From::late(source), accesses...);
        },
        std::tuple_cat(To::template accesses<Mode::write>(destination),
                       From::template accesses<Mode::read>(source)));
  } else {
    using Space = HomeOf<D>;
    return std::apply(
        [&](auto const&... accesses) {
          using Value = typename D::non_const_value_type;
          if constexpr (IsFuture<Source>::value) {
            using Later = typename LaterOf<Value, Source>::type;
            Later const value{FutureInternals::result(source)};
            if (space_adapter<Space>().device() == nullptr)
              return submit_as(std::type_identity<Space>(), value, NotLate(), accesses...,
                               after(source));
            // The reason is that of a View, see fill_view.
            Future<void> const awaited = FutureInternals::make(
                submit<void>(Label(label), ResourcePolicy(policy.target(), after(source)),
                             AwaitBody<Later>{value}));
            return submit_as(std::type_identity<Space>(), value, NotLate(), accesses...,
                             after(awaited, source));
          } else {
            return submit_as(std::type_identity<Space>(), static_cast<Value>(source), NotLate(),
                             accesses...);
          }
        },
        To::template accesses<Mode::write>(destination));
  }
}

template <class Destination, class Source>
inline constexpr bool copies_late_v =
    is_late_view_v<std::remove_cvref_t<Destination>> || is_late_view_v<Source>;
template <class Base, class Asked, class Destination, class Source>
using LateCopyCheck =
    CopyCheck<Base, Asked, typename CopySide<std::remove_cvref_t<Destination>>::type,
              typename CopySide<Source>::type>;

}  // namespace Impl

/// Copies or fills if one or both are LateViews. These get their memory and extents before the copy
/// runs, so different extents are a failure of the task.
template <class Base, class... Annotations, class Destination, class Source>
  requires(Impl::copies_late_v<Destination, Source>)
Future<void> deep_copy(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                       Destination&& destination, Source const& source) {
  using Asked = typename Impl::TargetSpace<Annotations...>::type;
  if constexpr (Impl::LateCopyCheck<Base, Asked, Destination, Source>::holds())
    return Impl::submit_late_copy(std::move(label), policy, destination, source);
  else
    return {};
}
/// Copies or fills with the label "deep_copy".
template <class Base, class... Annotations, class Destination, class Source>
  requires(Impl::copies_late_v<Destination, Source>)
Future<void> deep_copy(ResourcePolicy<Base, Annotations...> const& policy,
                       Destination&& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  return deep_copy(Label(std::string("deep_copy"), site), policy, destination, source);
}
/// Copies or fills without properties: `target` is a TaskGraph, or the TaskScope of a running task.
template <class Target, class Destination, class Source>
  requires(Impl::AnyTarget<Target> && Impl::copies_late_v<Destination, Source>)
Future<void> deep_copy(Label label, Target& target, Destination&& destination,
                       Source const& source) {
  return deep_copy(std::move(label), ResourcePolicy(target), destination, source);
}
template <class Target, class Destination, class Source>
  requires(Impl::AnyTarget<Target> && Impl::copies_late_v<Destination, Source>)
Future<void> deep_copy(Target& target, Destination&& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  return deep_copy(Label(std::string("deep_copy"), site), ResourcePolicy(target), destination,
                   source);
}

}  // namespace trellis

#endif
