// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RUNON_HPP
#define TRELLIS_RUNON_HPP

#include <Trellis_Label.hpp>

#include <Kokkos_Core.hpp>

#include <type_traits>

/// What a space decides about the tasks that run on it. Spaces that are not Kokkos' own specialise
/// these.
namespace trellis::Impl {

/// How a task's body is run, given the instance that the engine chose.
template <class Space>
struct RunOn {
  /// The Kokkos space whose instance a body gets.
  using body_space = Space;
  /// `Written`: the space that the body is written for, which a user's policy may have named.
  template <class Written, class Body>
  static void run(Body& body, void* instance, Label const& label) {
    body.run(instance, label);
  }
  /// What copies between Views. A body with `space()` says on which device.
  template <class Default, class Destination, class Source>
  using copy_body = Default;
};

/// True when bodies run on another space's instances than the one that they target.
template <class Space>
inline constexpr bool is_foreign_v = !std::is_same_v<typename RunOn<Space>::body_space, Space>;

/// May code that runs on `Space` touch this memory?
template <class Space, class MemorySpace>
struct CanTouch : std::bool_constant<Kokkos::SpaceAccessibility<Space, MemorySpace>::accessible> {};

}  // namespace trellis::Impl

#endif
