// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_DEEPCOPY_HPP
#define TRELLIS_DEEPCOPY_HPP

#include <Trellis_Future.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <impl/Trellis_Submit.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace trellis {

namespace Impl {

/// A TaskGraph, or the TaskScope of a running task.
template <class T>
inline constexpr bool is_target_v = std::is_same_v<T, TaskGraph> || std::is_same_v<T, TaskScope>;

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

template <class Space, class Destination, class Source>
struct CopyBody {
  static constexpr std::string_view pattern = "deep_copy";
  static constexpr bool copies_between_spaces = true;
  // A large functor, see Trellis_LaunchPolicy.hpp. The functors of Kokkos' copies hold the two
  // Views and little else.
  static constexpr bool launches_only = sizeof(Destination) + sizeof(Source) <= 128;
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

template <class Space, class Target, class Destination, class Source>
Future<void> submit_copy(Label&& label, Target& target, Destination const& destination,
                         Source const& source) {
  using Body = CopyBodyOn<Space, Destination, Source>;
  return FutureDoor::make(submit<Space>(std::move(label),
                                        ResourcePolicy(target, write(destination)),
                                        Body{destination, source}, read(source)));
}

}  // namespace Impl

/// Submits a task that copies all elements, or fills with a value, like
/// `Kokkos::deep_copy(instance, destination, source)`; returns at once. `target` is a TaskGraph, or
/// the TaskScope of a running task. `source` is a View with the same extents, or a value. Throws
/// `Error` when the extents differ, and when no execution space reaches both Views and their
/// layouts differ.
///
/// A copy between a device and the host runs on the device and blocks no host thread, if the host's
/// memory is pinned (`Kokkos::SharedHostPinnedSpace`). With ordinary host memory the device's
/// runtime may block the thread that launches the copy until it is done.
template <class Target, class Destination, class Source>
  requires Impl::is_target_v<Target>
Future<void> deep_copy(Label label, Target& target, Destination const& destination,
                       Source const& source) {
  static_assert(Kokkos::is_view_v<Destination>,
                "Trellis: deep_copy(graph, destination, source) copies into a View");
  static_assert(!std::is_const_v<typename Destination::value_type>,
                "Trellis: a View of const elements cannot be copied into");
  if constexpr (Kokkos::is_view_v<Source>) {
    static_assert(Destination::rank() == Source::rank(),
                  "Trellis: deep_copy needs Views of the same rank");
    for (std::size_t k = 0; k != Destination::rank(); ++k)
      if (destination.extent(k) != source.extent(k))
        throw Error(Error::Kind::bad_input, "Trellis: task \"" + label.string() + "\" (" +
                                                label.place() + ") copies \"" + source.label() +
                                                "\" to \"" + destination.label() +
                                                "\", but their extents " + std::to_string(k) +
                                                " are " + std::to_string(source.extent(k)) +
                                                " and " + std::to_string(destination.extent(k)));
    using Host = Kokkos::DefaultHostExecutionSpace;
    using Space = Impl::CopySpace<Destination, Source>;
    if constexpr (!Impl::reaches_all<Space, Destination, Source>) {
      if (!Impl::copies_bytes(destination, source)) {
        if constexpr (Impl::reaches_all<Host, Destination, Source>)
          return Impl::submit_copy<Host>(std::move(label), target, destination, source);
        else
          throw Error(
              Error::Kind::bad_input,
              "Trellis: task \"" + label.string() + "\" (" + label.place() + ") copies \"" +
                  source.label() + "\" to \"" + destination.label() +
                  "\", which are not laid out alike in one piece, and no execution space reaches "
                  "both; copy through a View that is like one of them and lives with the other");
      }
    }
    return Impl::submit_copy<Space>(std::move(label), target, destination, source);
  } else {
    using Space = Impl::HomeOf<Destination>;
    typename Destination::non_const_value_type const value(source);
    using Body = Impl::CopyBodyOn<Space, Destination, std::remove_const_t<decltype(value)>>;
    return Impl::FutureDoor::make(Impl::submit<Space>(
        std::move(label), ResourcePolicy(target, write(destination)), Body{destination, value}));
  }
}

/// The same, labelled "deep_copy".
template <class Target, class Destination, class Source>
  requires Impl::is_target_v<Target>
Future<void> deep_copy(Target& target, Destination const& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  return deep_copy(Label(std::string("deep_copy"), site), target, destination, source);
}

}  // namespace trellis

#endif
