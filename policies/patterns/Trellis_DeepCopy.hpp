// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_DEEPCOPY_HPP
#define TRELLIS_DEEPCOPY_HPP

#include <Trellis_Future.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <impl/Trellis_Submit.hpp>
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

/// Where a copy runs: on the device, if one of the two Views lives there, else on the host.
template <class Destination, class Source>
using CopySpace =
    std::conditional_t<std::is_same_v<HomeOf<Destination>, Kokkos::DefaultHostExecutionSpace>,
                       HomeOf<Source>, HomeOf<Destination>>;

template <class Space, class... V>
inline constexpr bool reaches_all =
    (Kokkos::SpaceAccessibility<Space, typename V::memory_space>::accessible && ...);

/// Can the elements be copied as one piece of memory? The same test as in Kokkos::deep_copy.
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
    if (!destination.span_is_contiguous() || !source.span_is_contiguous()) return false;
    for (std::size_t k = 0; k < Destination::rank(); ++k)
      if (destination.stride(k) != source.stride(k)) return false;
    return true;
  }
}

/// What a future will have, as a value to fill with: asked when the copy runs.
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
/// Fails on the host where there is no value: on a device that would be a failure of the device.
template <class Value>
struct AwaitBody {
  static constexpr std::string_view pattern = "deep_copy";
  Value value;
  void run(void*, Label const&) { (void)value.get(); }
};
template <class T>
inline constexpr bool is_later_v = false;
template <class To, class From>
inline constexpr bool is_later_v<LaterValue<To, From>> = true;

template <class Space, class Destination, class Source>
struct CopyBody {
  static constexpr std::string_view pattern = "deep_copy";
  static constexpr bool copies_between_spaces = true;
  // A large functor, see Trellis_LaunchPolicy.hpp. The functors of Kokkos' copies hold the two
  // Views and little else.
  static constexpr bool launches_only =
      !is_later_v<Source> && sizeof(Destination) + sizeof(Source) <= 128;
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
  return FutureDoor::make(submit<Space>(std::move(label), policy, Body{destination, source},
                                        write(destination), read(source)));
}

template <class... A, class Destination, class Source>
Future<void> copy_view(Label&& label, ResourcePolicy<Once, A...> const& policy,
                       Destination const& destination, Source const& source) {
  static_assert(Destination::rank() == Source::rank(),
                "Trellis: deep_copy needs Views of the same rank");
  for (std::size_t k = 0; k != Destination::rank(); ++k)
    if (destination.extent(k) != source.extent(k))
      throw Error(Error::Kind::bad_input,
                  "Trellis: task \"" + label.string() + "\" (" + label.place() + ") copies \"" +
                      source.label() + "\" to \"" + destination.label() + "\", but their extents " +
                      std::to_string(k) + " are " + std::to_string(source.extent(k)) + " and " +
                      std::to_string(destination.extent(k)));
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Space = CopySpace<Destination, Source>;
  if constexpr (!reaches_all<Space, Destination, Source>) {
    if (!copies_bytes(destination, source)) {
      if constexpr (reaches_all<Host, Destination, Source>)
        return submit_copy<Host>(std::move(label), policy, destination, source);
      else
        throw Error(
            Error::Kind::bad_input,
            "Trellis: task \"" + label.string() + "\" (" + label.place() + ") copies \"" +
                source.label() + "\" to \"" + destination.label() +
                "\", which are not laid out alike in one piece, and no execution space reaches "
                "both; copy through a View that is like one of them and lives with the other");
    }
  }
  return submit_copy<Space>(std::move(label), policy, destination, source);
}

template <class... A, class Destination, class Value>
Future<void> fill_view(Label&& label, ResourcePolicy<Once, A...> const& policy,
                       Destination const& destination, Value const& source) {
  using Space = HomeOf<Destination>;
  typename Destination::non_const_value_type const value(source);
  using Body = CopyBodyOn<Space, Destination, std::remove_const_t<decltype(value)>>;
  return FutureDoor::make(
      submit<Space>(std::move(label), policy, Body{destination, value}, write(destination)));
}
template <class... A, class Destination, class T>
Future<void> fill_view(Label&& label, ResourcePolicy<Once, A...> const& policy,
                       Destination const& destination, Future<T> const& source) {
  static_assert(!std::is_void_v<T>, "Trellis: a Future<void> has no value to fill a View with");
  using Space = HomeOf<Destination>;
  using Value = LaterValue<typename Destination::non_const_value_type, T>;
  using Body = CopyBodyOn<Space, Destination, Value>;
  Value const value{FutureDoor::result(source)};
  auto const submit_after = [&](auto const& before) {
    return FutureDoor::make(submit<Space>(std::move(label), policy, Body{destination, value},
                                          write(destination), before));
  };
  if (space_adapter<Space>().device() == nullptr) return submit_after(after(source));
  // A device launches ahead: its tasks must not be launched before the host has the value. In a
  // plan, the source of the next round must not be before the copy: so that is named, too.
  Future<void> const awaited = FutureDoor::make(submit<void>(
      Label(label), ResourcePolicy(policy.target(), after(source)), AwaitBody<Value>{value}));
  return submit_after(after(awaited, source));
}

/// A variable of the host as a View, so that its address is an access like others.
template <class T>
auto view_of(T& variable) {
  return Kokkos::View<T, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&variable);
}

}  // namespace Impl

/// Submits a task that copies all elements, or fills with a value, like
/// `Kokkos::deep_copy(instance, destination, source)`; returns at once. The policy says where the
/// task goes, and what else there is to say: `after`, `priority`, `tag`, `device`, further
/// accesses. It has no base, and no `on<...>`: the copy runs where the Views are.
///
/// - `destination` is a View; or a variable on the host, when the source is a View of rank 0. Like
///   the memory of an unmanaged View it must be there until the task is complete.
/// - `source` is a View with the same extents; a value; or a `Future<T>`, after whose task the copy
///   runs, with its value.
///
/// Throws `Error` when the extents differ, and when no execution space reaches both Views and their
/// layouts differ.
///
/// A copy between a device and the host runs on the device and blocks no host thread, if the host's
/// memory is pinned (`Kokkos::SharedHostPinnedSpace`). With ordinary host memory the device's
/// runtime may block the thread that launches the copy until it is done.
template <class Base, class... Annotations, class Destination, class Source>
Future<void> deep_copy(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                       Destination&& destination, Source const& source) {
  using D = std::remove_reference_t<Destination>;
  static_assert(std::is_same_v<Base, Impl::Once>,
                "Trellis: deep_copy takes a policy without a range: ResourcePolicy(graph, ...)");
  static_assert(std::is_void_v<typename Impl::TargetSpace<Annotations...>::type>,
                "Trellis: deep_copy runs where its Views are, on<...> has no say in it");
  if constexpr (!Kokkos::is_view_v<D>) {
    static_assert(Kokkos::is_view_v<Source> && std::is_lvalue_reference_v<Destination>,
                  "Trellis: deep_copy(graph, destination, source) copies into a View, or from a "
                  "View of rank 0 into a variable");
    if constexpr (Kokkos::is_view_v<Source> && std::is_lvalue_reference_v<Destination>) {
      static_assert(Source::rank() == 0 && std::is_same_v<D, typename Source::non_const_value_type>,
                    "Trellis: deep_copy copies into a variable from a View of rank 0 of its type");
      return Impl::copy_view(std::move(label), policy, Impl::view_of(destination), source);
    }
  } else {
    static_assert(!std::is_const_v<typename D::value_type>,
                  "Trellis: a View of const elements cannot be copied into");
    if constexpr (Kokkos::is_view_v<Source>)
      return Impl::copy_view(std::move(label), policy, destination, source);
    else
      return Impl::fill_view(std::move(label), policy, destination, source);
  }
}
/// The same, labelled "deep_copy".
template <class Base, class... Annotations, class Destination, class Source>
Future<void> deep_copy(ResourcePolicy<Base, Annotations...> const& policy,
                       Destination&& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  return deep_copy(Label(std::string("deep_copy"), site), policy,
                   std::forward<Destination>(destination), source);
}

/// The same with a TaskGraph, or the TaskScope of a running task, and nothing else to say.
template <class Target, class Destination, class Source>
  requires Impl::is_target_v<Target>
Future<void> deep_copy(Label label, Target& target, Destination&& destination,
                       Source const& source) {
  return deep_copy(std::move(label), ResourcePolicy(target), std::forward<Destination>(destination),
                   source);
}
template <class Target, class Destination, class Source>
  requires Impl::is_target_v<Target>
Future<void> deep_copy(Target& target, Destination&& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  return deep_copy(Label(std::string("deep_copy"), site), target,
                   std::forward<Destination>(destination), source);
}

}  // namespace trellis

#endif
