// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HOSTLOOP_HPP
#define TRELLIS_HOSTLOOP_HPP

#include <common/Trellis_AdapterOf.hpp>
#include <Trellis_Label.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// A `parallel_for` over a range on a host space is a loop, which each thread of the instance runs
/// for a block of the indices. The types of the functor and of its policy end at that loop: the
/// launch itself, which Kokkos makes, is compiled once for each space, and not for each functor.
namespace trellis::Impl {

/// A loop over `count` indices from `begin` on. The numbers are those of the index type, made
/// unsigned. Arithmetic wraps around, so negative indices are allowed.
struct HostLoop {
  std::uint64_t begin;
  std::uint64_t count;
  std::uint64_t chunk;  ///< indices that a thread takes at a time; 0: one block each
  void const* functor;
  void (*run)(void const* functor, std::uint64_t begin, std::uint64_t count);

  void all() const { run(functor, begin, count); }
};

/// True for a host space. The adapter of a host space runs loops as well, see AdapterOf.
template <class Space>
inline constexpr bool may_have_one_thread =
    requires(Space const& instance) { AdapterOf<Space>::has_one_thread(instance); };

/// True if a launch on the instance may be a loop. While a tool listens, the launch goes through
/// Kokkos, which reports to the tool as usual.
template <class Space>
[[nodiscard]] bool may_loop(Space const& instance) {
  return AdapterOf<Space>::has_one_thread(instance) && !Kokkos::Profiling::profileLibraryLoaded();
}

}  // namespace trellis::Impl

#endif
