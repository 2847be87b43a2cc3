// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DIRECTLOOP_HPP
#define TRELLIS_IMPL_DIRECTLOOP_HPP

#include <common/Trellis_AdapterOf.hpp>
#include <common/Trellis_HostLoop.hpp>
#include <common/Trellis_KokkosInternals.hpp>
#include <annotations/impl/Trellis_RebindPolicy.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// This header runs a `parallel_for` on a host space. One over a range is a HostLoop. So is one
/// over a small index space of several dimensions on an instance of one thread. Larger index
/// spaces, whose tiles are for the caches, and teams go through Kokkos.
namespace trellis::Impl {

/// Returns a copy whose Views, and the Views made from them, count no references, as Kokkos gives
/// it to a kernel. Otherwise the counts of subviews made in the loop would go from core to core.
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

/// Runs the loop of a functor. The index type and the work tag end here.
template <class Index, class WorkTag, class Functor>
void loop_over(void const* functor, std::uint64_t begin, std::uint64_t count) {
  auto const& body = *static_cast<Functor const*>(functor);
  auto const end = static_cast<Index>(begin + count);
  for (auto i = static_cast<Index>(begin); i < end; ++i) call_with<WorkTag>(body, i);
}

/// Runs the loop of a policy, whose traits have the range in `Range`. `run` returns false and does
/// nothing if Kokkos must launch.
template <class Traits, class Policy = typename Traits::policy_type>
struct DirectLoop {
  static constexpr bool is_host_loop = false;
  static bool run(typename Traits::Range const&, auto const&) { return false; }
};

template <class Traits, class... P>
struct DirectLoop<Traits, Kokkos::RangePolicy<P...>> {
  using Space = typename Traits::execution_space;
  using Index = typename Traits::index_type;
  static constexpr bool is_host_loop = may_have_one_thread<Space>;

  /// Makes the loop. The functor is one for a kernel, see `uncounted`.
  template <class Functor>
  static HostLoop loop(typename Traits::Range const& range, Functor const& functor) {
    HostLoop made{0, 0, 0, &functor, &loop_over<Index, typename Traits::work_tag, Functor>};
    if constexpr (std::is_base_of_v<Count, typename Traits::Range>) {
      made.count = static_cast<std::uint64_t>(range.n);
    } else {
      made.begin = static_cast<std::uint64_t>(range.begin);
      if (range.begin < range.end) made.count = static_cast<std::uint64_t>(range.end) - made.begin;
      if constexpr (std::is_same_v<typename Traits::policy_type::schedule_type::type,
                                   Kokkos::Dynamic>)
        made.chunk = static_cast<std::uint64_t>(range.chunk_size > 0 ? range.chunk_size : 1);
    }
    return made;
  }
  template <class Functor>
  static bool run(typename Traits::Range const& range, Functor const& functor) {
    loop(range, uncounted(functor)).all();
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
  static constexpr bool is_host_loop = false;

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
  /// `index` has the indices of the slower dimensions.
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
