// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_DEEPCOPY_HPP
#define TRELLIS_DEEPCOPY_HPP

#include <Trellis_Future.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_Submit.hpp>
#include <annotations/impl/Trellis_ViewArea.hpp>
#include <patterns/Trellis_WhenAll.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace trellis {

namespace Impl {

/// The execution space that a View's memory belongs to.
template <class V>
using HomeOf = typename V::memory_space::execution_space;

/// A copy runs on this space: the device, if one of the two Views lives there, else the host.
template <class Destination, class Source>
using CopySpace =
    std::conditional_t<std::is_same_v<HomeOf<Destination>, Kokkos::DefaultHostExecutionSpace>,
                       HomeOf<Source>, HomeOf<Destination>>;

template <class Space, class... V>
inline constexpr bool reaches_all =
    (Kokkos::SpaceAccessibility<Space, typename V::memory_space>::accessible && ...);

/// True if the elements can be copied as one piece of memory and Kokkos will do so.
template <class Destination, class Source>
bool copies_bytes(Destination const& destination, Source const& source) {
  if constexpr (!std::is_same_v<typename Destination::value_type,
                                typename Source::non_const_value_type>) {
    return false;
  } else if constexpr (Destination::rank() == 0) {
    return true;
  } else {
    if (Destination::rank() > 1 &&
        !std::is_same_v<typename Destination::array_layout, typename Source::array_layout>)
      return false;
    if (!lies_in_one_piece(destination) || !lies_in_one_piece(source)) return false;
    if (!kokkos_sees_one_piece(destination) || !kokkos_sees_one_piece(source)) return false;
    for (std::size_t k = 0; k < Destination::rank(); ++k)
      if (destination.stride(k) != source.stride(k)) return false;
    return true;
  }
}

/// Returns why the View cannot be filled; "" if it can. If Kokkos sees one piece, it writes all
/// memory between the first and the last element, also what does not belong to the View.
template <class Destination>
std::string reason_against_fill(Destination const& destination) {
  if (kokkos_sees_one_piece(destination) && !lies_in_one_piece(destination))
    return "its strides leave holes or interleave, and Kokkos would write beside its elements";
  return {};
}

/// Returns the first extents that differ; "" if none do.
template <class Destination, class Source>
std::string differing_extents(Destination const& destination, Source const& source) {
  for (std::size_t k = 0; k != Destination::rank(); ++k)
    if (destination.extent(k) != source.extent(k))
      return "extents " + std::to_string(k) + " are " + std::to_string(source.extent(k)) + " and " +
             std::to_string(destination.extent(k));
  return {};
}

/// Returns why the source cannot be copied to the destination; "" if it can. Requires equal
/// extents.
template <class Destination, class Source>
std::string reason_against_copy(Destination const& destination, Source const& source) {
  using Space = CopySpace<Destination, Source>;
  using Host = Kokkos::DefaultHostExecutionSpace;
  if constexpr (!reaches_all<Space, Destination, Source> && !reaches_all<Host, Destination, Source>)
    if (!copies_bytes(destination, source))
      return "they are not laid out alike in one piece, and no execution space reaches both; copy "
             "through a View that is like one of them and lives with the other";
  if (are_same_elements(destination, source)) return {};  // there is nothing to do
  // Kokkos would do nothing if both begin and end at the same addresses, and refuse if both are
  // contiguous. Otherwise it would write elements before it reads them.
  if (overlaps(area_of(destination), area_of(source)))
    return "they share memory, and an element of it has not the same index in both; copy through "
           "another View";
  if (!has_distinct_elements(destination)) return "the latter has one element for several indices";
  if (kokkos_sees_one_piece(source)) {
    auto const wrong = reason_against_fill(destination);
    if (!wrong.empty() && have_equal_strides(destination, source)) return "of the latter " + wrong;
  }
  return {};
}

/// The value of a future, to fill with. It is read when the copy runs.
template <class To, class From>
struct LaterValue {
  ResultPtr<From> result;
  operator To() const { return static_cast<To>(get()); }
  From const& get() const {
    if (auto const& missing = result->missing)
      throw make_error(missing->task, missing->task_text, *missing->failure);
    if (!result->value)
      throw Error(Error::Kind::bad_input,
                  "Trellis: deep_copy fills with the value of a future that has none yet");
    return *result->value;
  }
};
/// Fails on the host if there is no value: on a device that would be a failure of the device.
template <class Value>
struct AwaitBody {
  static constexpr BodyTraits traits{.pattern = "deep_copy"};
  Value value;
  void run(void*, Label const&) { (void)value.get(); }
};
template <class T>
inline constexpr bool is_later_v = false;
template <class To, class From>
inline constexpr bool is_later_v<LaterValue<To, From>> = true;

template <class Space, class Destination, class Source>
struct CopyBody {
  // A large functor cannot be launched again, see Trellis_LaunchPolicy.hpp. The functors of Kokkos'
  // copies hold the two Views and little else.
  static constexpr BodyTraits traits{
      .pattern = "deep_copy",
      .copies_between_spaces = true,
      .launches_only = !is_later_v<Source> && sizeof(Destination) + sizeof(Source) <= 128};
  Destination destination;
  Source source;
  void run(void* instance, Label const& label) {
    ToolsRegion const region(label);
    if (destination.size() == 0) return;  // Kokkos would wait for the instance
    Kokkos::deep_copy(*static_cast<Space const*>(instance), destination, source);
  }
};

template <class Space, class Destination, class Source>
using CopyBodyOn = typename RunOn<Space>::template copy_body<CopyBody<Space, Destination, Source>,
                                                             Destination, Source>;

template <class Space, class... A, class Destination, class Source>
Future<void> submit_copy(Label&& label, ResourcePolicy<Once, A...> const& policy,
                         Destination const& destination, Source const& source) {
  using Body = CopyBodyOn<Space, Destination, Source>;
  return FutureInternals::make(submit<Space>(std::move(label), policy, Body{destination, source},
                                             write(destination), read(source)));
}

template <class... A, class Destination, class Source>
Future<void> copy_view(Label&& label, ResourcePolicy<Once, A...> const& policy,
                       Destination const& destination, Source const& source) {
  std::string const extents = differing_extents(destination, source);
  std::string const reason =
      extents.empty() ? reason_against_copy(destination, source) : "their " + extents;
  if (!reason.empty())
    throw Error(Error::Kind::bad_input, "Trellis: task " + label.text() + " copies \"" +
                                            source.label() + "\" to \"" + destination.label() +
                                            "\", but " + reason);
  using Space = CopySpace<Destination, Source>;
  using Host = Kokkos::DefaultHostExecutionSpace;
  if constexpr (!reaches_all<Space, Destination, Source> &&
                reaches_all<Host, Destination, Source>) {
    if (!copies_bytes(destination, source))
      return submit_copy<Host>(std::move(label), policy, destination, source);
  }
  return submit_copy<Space>(std::move(label), policy, destination, source);
}

/// Throws if Kokkos would fill more than the View.
template <class Destination>
void require_fill(Label const& label, Destination const& destination) {
  std::string const reason = reason_against_fill(destination);
  if (!reason.empty())
    throw Error(Error::Kind::bad_input, "Trellis: task " + label.text() + " fills \"" +
                                            destination.label() + "\", but " + reason);
}

template <class... A, class Destination, class Value>
Future<void> fill_view(Label&& label, ResourcePolicy<Once, A...> const& policy,
                       Destination const& destination, Value const& source) {
  require_fill(label, destination);
  using Space = HomeOf<Destination>;
  typename Destination::non_const_value_type const value(source);
  using Body = CopyBodyOn<Space, Destination, std::remove_const_t<decltype(value)>>;
  return FutureInternals::make(
      submit<Space>(std::move(label), policy, Body{destination, value}, write(destination)));
}
template <class... A, class Destination, class T>
Future<void> fill_view(Label&& label, ResourcePolicy<Once, A...> const& policy,
                       Destination const& destination, Future<T> const& source) {
  require_fill(label, destination);
  using Space = HomeOf<Destination>;
  using Value = LaterValue<typename Destination::non_const_value_type, T>;
  using Body = CopyBodyOn<Space, Destination, Value>;
  Value const value{FutureInternals::result(source)};
  auto const submit_after = [&](auto const& before) {
    return FutureInternals::make(submit<Space>(std::move(label), policy, Body{destination, value},
                                               write(destination), before));
  };
  if (space_adapter<Space>().device() == nullptr) return submit_after(after(source));
  // Tasks on a device are launched ahead, but this one must not be launched before the host has the
  // value. In a plan the source of the next round must not run before the copy, so the source is
  // named, too.
  Future<void> const awaited = FutureInternals::make(submit<void>(
      Label(label), ResourcePolicy(policy.target(), after(source)), AwaitBody<Value>{value}));
  return submit_after(after(awaited, source));
}

/// Returns a View of a host variable, so that its address is an access like others.
template <class T>
auto view_of(T& variable) {
  return Kokkos::View<T, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&variable);
}

/// Submits a copy that CopyCheck has accepted. `destination` is a View, or a variable for the value
/// of a View of rank 0.
template <class... A, class Destination, class Source>
Future<void> submit_any_copy(Label&& label, ResourcePolicy<Once, A...> const& policy,
                             Destination& destination, Source const& source) {
  if constexpr (!Kokkos::is_view_v<Destination>)
    return copy_view(std::move(label), policy, view_of(destination), source);
  else if constexpr (Kokkos::is_view_v<Source>)
    return copy_view(std::move(label), policy, destination, source);
  else
    return fill_view(std::move(label), policy, destination, source);
}

/// True if the value, or the value of the future, can fill elements of type `To`.
template <class To, class Value>
inline constexpr bool fills_v = requires(Value const& value) { static_cast<To>(value); };
template <class To, class T>
inline constexpr bool fills_v<To, Future<T>> = requires(T const& value) { static_cast<To>(value); };
template <class To>
inline constexpr bool fills_v<To, Future<void>> = false;

/// Gives one sentence for a mistake in a call of deep_copy. Each overload checks it first, so that
/// few lines come before the sentence, and then compiles nothing else. `Asked` is the space of
/// `on<...>`, else void.
template <class Base, class Asked, class Destination, class Source>
struct CopyCheck {
  using D = std::remove_cvref_t<Destination>;
  static constexpr bool into_view = Kokkos::is_view_v<D>;
  static constexpr bool from_view = Kokkos::is_view_v<Source>;
  static constexpr bool has_no_range = std::is_same_v<Base, Once>;
  static constexpr bool has_no_space = std::is_void_v<Asked>;
  static constexpr bool has_destination =
      into_view || (from_view && std::is_lvalue_reference_v<Destination>);
  static constexpr bool fits_variable = [] {
    if constexpr (into_view || !has_destination)
      return true;
    else
      return Source::rank() == 0 && std::is_same_v<std::remove_reference_t<Destination>,
                                                   typename Source::non_const_value_type>;
  }();
  static constexpr bool is_writable = [] {
    if constexpr (into_view)
      return !std::is_const_v<typename D::value_type>;
    else
      return true;
  }();
  static constexpr bool has_its_rank = [] {
    if constexpr (into_view && from_view)
      return D::rank() == Source::rank();
    else
      return true;
  }();
  static constexpr bool has_value = [] {
    if constexpr (into_view && !from_view)
      return fills_v<typename D::non_const_value_type, Source>;
    else
      return true;
  }();
  static constexpr bool holds() {
    static_assert(has_no_range,
                  "Trellis: deep_copy takes a policy without a range: deep_copy(\"label\", "
                  "ResourcePolicy(graph, ...), destination, source)");
    static_assert(has_no_space,
                  "Trellis: deep_copy runs where its Views are, on<...> has no say in "
                  "it");
    static_assert(
        has_destination,
        "Trellis: deep_copy(graph, destination, source) copies into a View, or from a View "
        "of rank 0 into a variable");
    static_assert(fits_variable,
                  "Trellis: deep_copy copies into a variable from a View of rank 0 of its type");
    static_assert(is_writable, "Trellis: a View of const elements cannot be copied into");
    static_assert(has_its_rank, "Trellis: deep_copy needs Views of the same rank");
    static_assert(
        has_value,
        "Trellis: deep_copy(graph, view, value) fills a View with a value of its elements' "
        "type, or with that of a Future");
    return has_no_range && has_no_space && has_destination && fits_variable && is_writable &&
           has_its_rank && has_value;
  }
};

}  // namespace Impl

/// Submits a task that copies all elements, or fills with a value, like
/// `Kokkos::deep_copy(instance, destination, source)`; returns at once. The policy has the graph
/// and may have properties: `after`, `priority`, `tag`, `device`, further accesses. It has no base,
/// and no `on<...>`: the copy runs where the Views are.
///
/// - `destination` is a View, or a host variable if the source is a View of rank 0. The variable,
///   like the memory of an unmanaged View, must exist until the task is complete.
/// - `source` is a View with the same extents, a value, or a `Future<T>`. The copy runs after the
///   task of the future, with its value.
///
/// Throws `Error` in these cases:
/// - the extents differ;
/// - no execution space reaches both Views, and their layouts differ;
/// - the Views share memory but are not the same;
/// - the destination has one element for several indices;
/// - strides leave holes or interleave such that Kokkos takes a View for one piece of memory, and
///   would write beside its elements.
///
/// A copy between a device and the host runs on the device, and blocks no host thread if the host's
/// memory is pinned (`Kokkos::SharedHostPinnedSpace`). With ordinary host memory the device's
/// runtime may block the thread that launches the copy until it is done.
template <class Base, class... Annotations, class Destination, class Source>
Future<void> deep_copy(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                       Destination&& destination, Source const& source) {
  using Asked = typename Impl::TargetSpace<Annotations...>::type;
  if constexpr (!Impl::CopyCheck<Base, Asked, Destination, Source>::holds())
    return {};
  else
    return Impl::submit_any_copy(std::move(label), policy, destination, source);
}
/// Copies or fills with the label "deep_copy".
template <class Base, class... Annotations, class Destination, class Source>
Future<void> deep_copy(ResourcePolicy<Base, Annotations...> const& policy,
                       Destination&& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  using Asked = typename Impl::TargetSpace<Annotations...>::type;
  if constexpr (!Impl::CopyCheck<Base, Asked, Destination, Source>::holds())
    return {};
  else
    return Impl::submit_any_copy(Label(std::string("deep_copy"), site), policy, destination,
                                 source);
}

/// Copies or fills without properties: `target` is a TaskGraph, or the TaskScope of a running task.
template <class Target, class Destination, class Source>
  requires Impl::AnyTarget<Target>
Future<void> deep_copy(Label label, Target& target, Destination&& destination,
                       Source const& source) {
  if constexpr (!Impl::CopyCheck<Impl::Once, void, Destination, Source>::holds())
    return {};
  else
    return Impl::submit_any_copy(std::move(label), ResourcePolicy(target), destination, source);
}
template <class Target, class Destination, class Source>
  requires Impl::AnyTarget<Target>
Future<void> deep_copy(Target& target, Destination&& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  if constexpr (!Impl::CopyCheck<Impl::Once, void, Destination, Source>::holds())
    return {};
  else
    return Impl::submit_any_copy(Label(std::string("deep_copy"), site), ResourcePolicy(target),
                                 destination, source);
}

}  // namespace trellis

#endif
