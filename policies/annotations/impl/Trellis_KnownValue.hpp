// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KNOWNVALUE_HPP
#define TRELLIS_IMPL_KNOWNVALUE_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <common/Trellis_BodyTraits.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Label.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header binds arguments of functors late, when the task is launched: values of futures, and
/// Views of resources that have no memory before (see `ResourceTraits`). It also binds ranges, see
/// Trellis_LateCount.hpp.
///
/// A functor is made before there is a value. So it has a place for the value among its Views: a
/// type with `is_late_place`, `seen_type`, `set` and `get`, such as KnownValue. The body of the
/// task also has the sources from which the places are filled, in the same order. A source is the
/// result of a future, or what `ResourceTraits<T>::late` returns, which has `resolve()`. The task
/// is launched after the tasks that make the values. Then the places are filled, and the body runs
/// as usual. A place is plain memory, as the functor may be copied to a device.
namespace trellis::Impl {

/// True if the value is copied to the place, so that a device can read it: a plain value that is
/// not large. For other values the place has the address in the future's result, which the body
/// keeps.
template <class T>
inline constexpr bool is_copied_value_v = std::is_trivially_copyable_v<T> && sizeof(T) <= 1024;

template <class T, bool is_copied = is_copied_value_v<T>>
class KnownValue {
 public:
  using is_late_place = void;
  using seen_type = T const;
  KnownValue(ValueOf<T> const&) {}
  void set(T const& value) { std::memcpy(m_bytes, &value, sizeof(T)); }
  KOKKOS_FUNCTION T const& get() const { return *reinterpret_cast<T const*>(m_bytes); }

 private:
  alignas(T) unsigned char m_bytes[sizeof(T)] = {};
};
template <class T>
class KnownValue<T, false> {
 public:
  using is_late_place = void;
  using seen_type = T const;
  KnownValue(ValueOf<T> const&) {}
  void set(T const& value) { m_value = &value; }
  KOKKOS_FUNCTION T const& get() const { return *m_value; }

 private:
  T const* m_value = nullptr;
};

template <class T>
inline constexpr bool is_late_place_v = requires { typename T::is_late_place; };

/// Gives the type of an argument that a functor sees: that of the value, not of its place.
template <class T>
struct SeenAs {
  using type = T;
};
template <class T>
  requires is_late_place_v<T>
struct SeenAs<T> {
  using type = typename T::seen_type;
};

/// Returns the argument itself.
template <class A>
KOKKOS_INLINE_FUNCTION decltype(auto) seen(A& argument) {
  if constexpr (is_late_place_v<std::remove_const_t<A>>)
    return argument.get();
  else
    return (argument);
}

/// Returns the future's value. Throws as its `get()` would, but does not wait.
template <class T>
T const& value_of(ResultPtr<T> const& result) {
  if (auto const& missing = result->missing)
    throw make_error(missing->task, missing->task_text, *missing->failure);
  if (!result->value)
    throw Error(Error::Kind::bad_input,
                "Trellis: the task takes the value of a future that has none yet");
  return *result->value;
}

/// Returns the value that a place is filled from.
template <class T>
T const& resolve(ResultPtr<T> const& result) {
  return value_of(result);
}
template <class Source>
  requires requires(Source const& source) { source.resolve(); }
decltype(auto) resolve(Source const& source) {
  return source.resolve();
}

/// Fills the places among these arguments, in order.
template <std::size_t argument, std::size_t source, class Arguments, class... Sources>
void fill_places(Arguments& arguments, std::tuple<Sources...> const& sources) {
  if constexpr (argument < std::tuple_size_v<Arguments>) {
    auto& place = std::get<argument>(arguments);
    if constexpr (is_late_place_v<std::remove_reference_t<decltype(place)>>) {
      place.set(resolve(std::get<source>(sources)));
      fill_places<argument + 1, source + 1>(arguments, sources);
    } else {
      fill_places<argument + 1, source>(arguments, sources);
    }
  }
}

/// Returns the arguments that a functor has been bound to; BoundFunctor has an overload.
template <class Functor>
std::tuple<> bound_arguments(Functor&) {
  return {};
}
/// Returns the arguments that a body calls its functor with. If it has none, there is nothing to
/// fill.
template <class Body>
decltype(auto) arguments_in(Body& body) {
  if constexpr (requires { body.functor; })
    return bound_arguments(body.functor);
  else if constexpr (requires { body.views; })
    return (body.views);
  else
    return std::tuple<>();
}

/// Returns what a body puts its results into, some of which may be places as well; `std::tuple<>`
/// if it has none.
template <class Body>
decltype(auto) results_in(Body& body) {
  if constexpr (requires { body.results; })
    return (body.results);
  else
    return std::tuple<>();
}

template <class Arguments>
consteval std::size_t count_places() {
  return []<class... A>(std::type_identity<std::tuple<A...>>) {
    return (std::size_t{is_late_place_v<A>} + ... + 0);
  }(std::type_identity<Arguments>{});
}

template <class Body>
consteval bool body_ends_without_user() {
  if constexpr (requires { Body::ends_without_user; })
    return Body::ends_without_user;
  else
    return std::is_trivially_destructible_v<Body>;
}

/// These say whether destroying a source runs no user code, and whether the value that it gives may
/// keep Views.
template <class Source>
inline constexpr bool source_ends_without_user = Source::ends_without_user;
template <class T>
inline constexpr bool source_ends_without_user<ResultPtr<T>> = std::is_trivially_destructible_v<T>;
template <class Source>
inline constexpr bool source_may_have_views = false;
template <class T>
inline constexpr bool source_may_have_views<ResultPtr<T>> =
    !(std::is_arithmetic_v<T> || std::is_enum_v<T>);

/// True if a source gives the same value in each replay of a recorded iteration of a model.
template <class Source>
inline constexpr bool source_stays = requires { requires Source::stays_in_an_iteration; };

/// True if the source may be for children only. A task with children also names what these touch.
/// If it takes no Views itself, such a source is not resolved, as its children may make the value.
template <class Body, class Source>
consteval bool is_for_children() {
  return Body::traits.may_give_up && requires { requires Source::may_come_later; };
}

/// True if the range of the body is a place.
template <class Body>
consteval bool range_is_late() {
  if constexpr (requires(Body& body) { body.range; })
    return is_late_place_v<decltype(Body::range)>;
  else
    return false;
}

/// A body with arguments, or a range, that are bound late. It adds this to the bodies of all
/// patterns.
template <class Body, class... Sources>
struct WithLate : Body {
  using plain_body = Body;
  std::tuple<Sources...> sources;

  static constexpr BodyTraits traits = [] {
    BodyTraits of = Body::traits;
    of.launches_only = false;  // the arguments differ from launch to launch
    of.hides_captures = (source_may_have_views<Sources> || ...);
    return of;
  }();
  static constexpr bool stays_in_an_iteration = (source_stays<Sources> && ...);
  static constexpr bool ends_without_user =
      body_ends_without_user<Body>() && (source_ends_without_user<Sources> && ...);

  /// Binds, on the host, when the task is launched. The source of the range comes before those of
  /// arguments, and these before those of results. The label is for errors.
  void bind(Label const& label) {
    if constexpr (requires(Body& body) { body.bind(label); }) Body::bind(label);  // its own values
    constexpr std::size_t of_range = range_is_late<Body>() ? 1 : 0;
    if constexpr (of_range == 1) this->range.set(resolve(std::get<0>(sources)), label);
    auto&& arguments = arguments_in(static_cast<Body&>(*this));
    auto&& late_results = results_in(static_cast<Body&>(*this));
    constexpr std::size_t places = count_places<std::remove_cvref_t<decltype(arguments)>>();
    constexpr std::size_t of_results = count_places<std::remove_cvref_t<decltype(late_results)>>();
    constexpr std::size_t of_arguments = sizeof...(Sources) - of_results - of_range;
    static_assert(places == of_arguments || places == 0);  // 0: the functor takes no Views
    if constexpr (places == 0)
      look_at<of_range>(std::make_index_sequence<of_arguments>());
    else
      fill_places<0, of_range>(arguments, sources);
    fill_places<0, of_range + of_arguments>(late_results, sources);
  }

 private:
  template <std::size_t first, std::size_t... k>
  void look_at(std::index_sequence<k...>) const {
    [[maybe_unused]] auto const look = []<class Source>(Source const& source) {
      if constexpr (!is_for_children<Body, Source>()) static_cast<void>(resolve(source));
    };
    (look(std::get<first + k>(sources)), ...);
  }
};
template <class Body>
inline constexpr bool is_bound_late_v =
    requires(Body& body, Label const& label) { body.bind(label); };

/// Fails on the host if there is no value: on a device that would be a failure of the device.
template <class... Sources>
struct AwaitValues {
  static constexpr BodyTraits traits{.pattern = "value"};
  std::tuple<Sources...> sources;
  void run(void*, Label const&) {
    std::apply([](auto const&... each) { (static_cast<void>(resolve(each)), ...); }, sources);
  }
};

/// Makes a body by `make()`, with arguments that are bound late.
template <class Make, class... Sources>
auto make_with_late(Make& make, std::tuple<Sources...> const& sources) {
  return WithLate<decltype(make()), Sources...>{make(), sources};
}
template <class... Sources>
AwaitValues<Sources...> make_await(std::tuple<Sources...> const& sources) {
  return {sources};
}

/// Returns the results of those annotations that are values.
template <class... Annotations>
auto futures_in(std::tuple<Annotations...> const& annotations) {
  auto const result_in = []<class A>(A const& annotation) {
    if constexpr (is_value_v<A>)
      return std::tuple(annotation.result);
    else
      return std::tuple<>();
  };
  return std::apply([&](auto const&... each) { return std::tuple_cat(result_in(each)...); },
                    annotations);
}

}  // namespace trellis::Impl

#endif
