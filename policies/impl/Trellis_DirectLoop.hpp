// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DIRECTLOOP_HPP
#define TRELLIS_IMPL_DIRECTLOOP_HPP

#include <Trellis_AdapterOf.hpp>
#include <Trellis_KokkosInternals.hpp>
#include <impl/Trellis_RebindPolicy.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <type_traits>

/// A `parallel_for` on a host space's instance of one thread is a loop. Kokkos makes more of it: it
/// takes the instance's mutex, and on OpenMP opens a parallel region, which takes as long as all the
/// rest of a task. Here it is the loop alone, in the order of the indices.
///
/// When a tool listens the launch goes through Kokkos, which tells the tool what it always does.
/// Teams go through Kokkos as well. So do the larger index spaces of several dimensions, whose
/// tiles are for the caches; there a launch costs little beside the work.
namespace trellis::Impl {

template <class Space>
inline constexpr bool may_have_one_thread =
    requires(Space const& instance) { AdapterOf<Space>::has_one_thread(instance); };

/// May a launch on the instance be a loop?
template <class Space>
[[nodiscard]] bool may_loop(Space const& instance) {
  return AdapterOf<Space>::has_one_thread(instance) && !Kokkos::Profiling::profileLibraryLoaded();
}

/// A copy that does not count its Views, nor those that are made from them, as Kokkos gives to a
/// kernel: counts of subviews that are made in the loop would go from core to core.
template <class Functor>
decltype(auto) uncounted(Functor const& functor) {
  if constexpr (std::is_trivially_copyable_v<Functor>)
    return (functor);
  else
    return uncounted_copy<Functor>(functor);
}

template <class WorkTag, class Functor, class... Index>
void call_with(Functor const& functor, Index... index) {
  if constexpr (std::is_void_v<WorkTag>)
    functor(index...);
  else
    functor(WorkTag(), index...);
}

/// Of a policy's traits, which have the range in `Range`. Not for all policies: `run` returns false
/// and does nothing where Kokkos is to launch.
template <class Traits, class Policy = typename Traits::policy_type>
struct DirectLoop {
  static bool run(typename Traits::Range const&, auto const&) { return false; }
};

template <class Traits, class... P>
struct DirectLoop<Traits, Kokkos::RangePolicy<P...>> {
  template <class Functor>
  static bool run(typename Traits::Range const& range, Functor const& functor) {
    using Index = typename Traits::index_type;
    Index begin = 0, end = 0;
    if constexpr (std::is_base_of_v<Count, typename Traits::Range>) {
      end = static_cast<Index>(range.n);
    } else {
      begin = range.begin;
      end = range.end;
    }
    auto const& body = uncounted(functor);
    for (Index i = begin; i < end; ++i) call_with<typename Traits::work_tag>(body, i);
    return true;
  }
};

template <class Traits, class... P>
struct DirectLoop<Traits, Kokkos::MDRangePolicy<P...>> {
  using Policy = Kokkos::MDRangePolicy<P...>;
  using Range = typename Traits::Range;
  using Index = typename Policy::index_type;
  static constexpr std::size_t rank = Policy::rank;
  static constexpr bool leftmost_is_fastest = Policy::inner_direction == Kokkos::Iterate::Left;
  static constexpr std::size_t few = 4096;  // indices

  template <class Functor>
  static bool run(Range const& range, Functor const& functor) {
    std::size_t count = 1;
    for (std::size_t k = 0; k < rank; ++k) {
      if (range.upper[k] <= range.lower[k]) return true;
      std::size_t const extent =
          static_cast<std::size_t>(range.upper[k]) - static_cast<std::size_t>(range.lower[k]);
      if (extent > few) return false;
      count *= extent;
      if (count > few) return false;
    }
    nest(range, uncounted(functor));
    return true;
  }

 private:
  /// `index`: those of the slower dimensions.
  template <class Functor, class... Slower>
  static void nest(Range const& range, Functor const& functor, Slower... index) {
    constexpr std::size_t fixed = sizeof...(Slower);
    if constexpr (fixed == rank) {
      call_with<typename Traits::work_tag>(functor, index...);
    } else {
      constexpr std::size_t k = leftmost_is_fastest ? rank - 1 - fixed : fixed;
      auto const begin = static_cast<Index>(range.lower[k]);
      auto const end = static_cast<Index>(range.upper[k]);
      for (Index i = begin; i < end; ++i)
        if constexpr (leftmost_is_fastest)
          nest(range, functor, i, index...);
        else
          nest(range, functor, index..., i);
    }
  }
};

}  // namespace trellis::Impl

#endif
