// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_DEEPCOPY_HPP
#define TRELLIS_DEEPCOPY_HPP

#include <Trellis_Future.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <impl/Trellis_Submit.hpp>

#include <Kokkos_Core.hpp>

#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

namespace trellis {

namespace Impl {

template <class V>
inline constexpr bool is_on_host =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename V::memory_space>::accessible;

/// A TaskGraph, or the TaskScope of a running task.
template <class T>
inline constexpr bool is_target_v = std::is_same_v<T, TaskGraph> || std::is_same_v<T, TaskScope>;

template <class Space, class Destination, class Source>
struct CopyBody {
  static constexpr std::string_view pattern = "deep_copy";
  Destination destination;
  Source source;
  void run(void* instance, Label const& label) {
    ToolsRegion const region(label);
    Kokkos::deep_copy(*static_cast<Space const*>(instance), destination, source);
  }
};

}  // namespace Impl

/// Submits a task that copies all elements, or fills with a value, as `Kokkos::deep_copy(instance,
/// destination, source)`; returns at once. `target` is a TaskGraph, or the TaskScope of a running task.
/// `source` is a View with the same extents, or a value. Throws `Error` when the extents differ.
template <class Target, class Destination, class Source>
  requires Impl::is_target_v<Target>
Future<void> deep_copy(Label label, Target& target, Destination const& destination, Source const& source) {
  static_assert(Kokkos::is_view_v<Destination>,
                "Trellis: deep_copy(graph, destination, source) copies into a View");
  static_assert(!std::is_const_v<typename Destination::value_type>,
                "Trellis: a View of const elements cannot be copied into");
  if constexpr (Kokkos::is_view_v<Source>) {
    static_assert(Destination::rank() == Source::rank(), "Trellis: deep_copy needs Views of the same rank");
    for (std::size_t k = 0; k < Destination::rank(); ++k)
      if (destination.extent(k) != source.extent(k))
        throw Error(Error::Kind::bad_input,
                    "Trellis: task \"" + label.string() + "\" (" + label.site().file_name() + ":" +
                        std::to_string(label.site().line()) + ") copies \"" + source.label() + "\" to \"" +
                        destination.label() + "\", but their extents " + std::to_string(k) + " are " +
                        std::to_string(source.extent(k)) + " and " + std::to_string(destination.extent(k)));
    constexpr bool on_host = Impl::is_on_host<Destination> && Impl::is_on_host<Source>;
    using Space =
        std::conditional_t<on_host, Kokkos::DefaultHostExecutionSpace, Kokkos::DefaultExecutionSpace>;
    auto const policy = ResourcePolicy(target, write(destination));
    using Body = Impl::CopyBody<Space, Destination, Source>;
    return Impl::FutureAccess::make(
        Impl::submit<Space>(std::move(label), policy, Body{destination, source}, read(source)));
  } else {
    using Space = std::conditional_t<Impl::is_on_host<Destination>, Kokkos::DefaultHostExecutionSpace,
                                     Kokkos::DefaultExecutionSpace>;
    typename Destination::non_const_value_type const value(source);
    using Body = Impl::CopyBody<Space, Destination, std::remove_const_t<decltype(value)>>;
    return Impl::FutureAccess::make(Impl::submit<Space>(
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
