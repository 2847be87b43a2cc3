// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RUNON_HPP
#define TRELLIS_RUNON_HPP

#include <Trellis_Label.hpp>

#include <Kokkos_Core.hpp>

#include <type_traits>

/// A space decides these things about the tasks that run on it. Spaces that are not part of Kokkos
/// specialise the templates.
namespace trellis::Impl {

/// Runs a task's body with the instance that the engine chose.
template <class Space>
struct RunOn {
  /// The Kokkos space whose instance a body gets.
  using body_space = Space;
  /// `Written`: the space that the body is written for, which a user's policy may name.
  template <class Written, class Body>
  static void run(Body& body, void* instance, Label const& label) {
    body.run(instance, label);
  }
  /// The body that copies between Views. If it has `space()`, this names the device.
  template <class Default, class Destination, class Source>
  using copy_body = Default;
};

/// True when bodies run on the instances of a space other than the one that they target.
template <class Space>
inline constexpr bool is_foreign_v = !std::is_same_v<typename RunOn<Space>::body_space, Space>;

/// True if code that runs on `Space` may touch this memory.
template <class Space, class MemorySpace>
struct CanTouch : std::bool_constant<Kokkos::SpaceAccessibility<Space, MemorySpace>::accessible> {};

}  // namespace trellis::Impl

#endif
