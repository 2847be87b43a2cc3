// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_REBINDPOLICY_HPP
#define TRELLIS_IMPL_REBINDPOLICY_HPP

#include <Trellis_Error.hpp>
#include <common/Trellis_KokkosInternals.hpp>
#include <Trellis_Label.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <common/Trellis_RunOn.hpp>
#include <Trellis_Spaces.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

/// This header says what a task keeps of its policy, makes the same policy on a worker's instance,
/// and says what a functor is called with.
namespace trellis::Impl {

[[noreturn]] void refuse_base(Label const& label, std::string const& why);
[[noreturn]] void refuse_range(Label const& label, std::int64_t n);
/// Throws if the graph has got workers with fewer threads since the task was made. Kokkos would end
/// the program.
[[noreturn]] void refuse_team_on_worker(int size, int threads);
/// Throws at the call; Kokkos would end the program, on the worker.
[[noreturn]] void refuse_team(Label const& label, int size, int threads);
template <class Index>
void require_range(Label const& label, std::int64_t n) {
  constexpr auto too_large = static_cast<std::uint64_t>(Count::too_large);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
  // As an unsigned number, a negative one is among the largest.
  if (static_cast<std::uint64_t>(n) > (most < too_large ? most : too_large - 1))
    refuse_range(label, n);
}

/// A bound of a range that has been checked when its task was submitted. Kokkos checks each bound
/// that is of another type than the index type. Kokkos 4.5 makes the text of its message, with
/// allocations, before it knows whether there is an error.
template <class Index>
struct CheckedBound {
  Index value;
  KOKKOS_INLINE_FUNCTION constexpr operator Index() const { return value; }
};
template <class Policy>
Policy range_of(typename Policy::execution_space const& instance, typename Policy::index_type begin,
                typename Policy::index_type end, auto const&... chunk_size) {
  using Bound = CheckedBound<typename Policy::index_type>;
  return {instance, Bound{begin}, Bound{end}, chunk_size...};
}

/// The request of a policy at run time: `prefer(policy, DesiredOccupancy(50))`. (The request of
/// `require(policy, WorkItemProperty...)` is in the type.)
struct NoOccupancy {
  template <class Policy>
  static NoOccupancy of(Policy const&) {
    return {};
  }
  template <class Policy>
  void ask(Policy&) const {}
};
struct AskedOccupancy {
  Kokkos::Experimental::DesiredOccupancy value;
  template <class Policy>
  static AskedOccupancy of(Policy const& policy) {
    return {asked_occupancy(policy)};
  }
  template <class Policy>
  void ask(Policy& policy) const {
    ask_for_occupancy(policy, value);
  }
};
template <class Policy>
using OccupancyOf = std::conditional_t<asks_for_occupancy<Policy>, AskedOccupancy, NoOccupancy>;

/// Has these members for a base policy and the space given with `on<...>` (or void):
/// - `execution_space`;
/// - `Range`, the policy without its instance, and `keep(base)`, which makes it;
/// - `on(range, instance)`, which makes the policy again;
/// - `index_count` and `index_type` of the index arguments of a functor.
///
/// `Range` has no instance, as tasks of many threads should not share its reference count. The
/// index arguments come after the work tag, if there is one.
template <class Base, class Space>
struct PolicyTraits;

template <class Space>
struct PolicyTraits<Count, Space> {
  using execution_space = std::conditional_t<std::is_void_v<Space>, Kokkos::DefaultExecutionSpace,
                                             typename RunOn<Space>::body_space>;
  using policy_type = Kokkos::RangePolicy<execution_space>;
  using work_tag = void;
  using index_type = typename policy_type::index_type;
  static constexpr std::size_t index_count = 1;
  using Range = Count;
  static Range keep(Count const& base) { return base; }
  static policy_type on(Range const& range, execution_space const& instance) {
    return range_of<policy_type>(instance, 0, static_cast<index_type>(range.n));
  }
};

/// A range whose number is set when the task is launched, see Trellis_KnownValue.hpp.
template <class Index>
struct LateRange : Count {
  using is_late_place = void;
  void set(std::int64_t number, Label const& label) {
    require_range<Index>(label, number);
    n = number;
  }
};
template <class Source, class Space>
struct PolicyTraits<LateCount<Source>, Space> : PolicyTraits<Count, Space> {
  using Range = LateRange<typename PolicyTraits<Count, Space>::index_type>;
  static Range keep(LateCount<Source> const&) { return {}; }
};

template <class... P, class Space>
struct PolicyTraits<Kokkos::RangePolicy<P...>, Space> {
  using policy_type = Kokkos::RangePolicy<P...>;
  using execution_space = typename policy_type::execution_space;
  using work_tag = typename policy_type::work_tag;
  using index_type = typename policy_type::member_type;
  static constexpr std::size_t index_count = 1;
  struct Range {
    index_type begin, end;
    int chunk_size;
    [[no_unique_address]] OccupancyOf<policy_type> occupancy;
  };
  static Range keep(policy_type const& base) {
    return {base.begin(), base.end(), static_cast<int>(base.chunk_size()),
            OccupancyOf<policy_type>::of(base)};
  }
  static policy_type on(Range const& range, execution_space const& instance) {
    auto policy = range_of<policy_type>(instance, range.begin, range.end,
                                        Kokkos::ChunkSize(range.chunk_size));
    range.occupancy.ask(policy);
    return policy;
  }
};

template <class... P, class Space>
struct PolicyTraits<Kokkos::MDRangePolicy<P...>, Space> {
  using policy_type = Kokkos::MDRangePolicy<P...>;
  using execution_space = typename policy_type::execution_space;
  using work_tag = typename policy_type::work_tag;
  using index_type = typename policy_type::index_type;
  static constexpr std::size_t index_count = policy_type::rank;
  struct Range {
    typename policy_type::point_type lower, upper;
    typename policy_type::tile_type tile;
    [[no_unique_address]] OccupancyOf<policy_type> occupancy;
  };
  static Range keep(policy_type const& base) {
    return {lower_bounds(base), upper_bounds(base), tile_sizes(base),
            OccupancyOf<policy_type>::of(base)};
  }
  static policy_type on(Range const& range, execution_space const& instance) {
    policy_type policy(instance, range.lower, range.upper, range.tile);
    range.occupancy.ask(policy);
    return policy;
  }
};

template <class... P, class Space>
struct PolicyTraits<Kokkos::TeamPolicy<P...>, Space> {
  using policy_type = Kokkos::TeamPolicy<P...>;
  using execution_space = typename policy_type::execution_space;
  using work_tag = typename policy_type::work_tag;
  using index_type = typename policy_type::member_type;
  static constexpr std::size_t index_count = 1;
  struct Range {
    int league_size;
    int team_size;      // 0: Kokkos chooses
    int vector_length;  // 0: Kokkos chooses
    int chunk_size;
    int scratch_per_team[2];
    int scratch_per_thread[2];
    [[no_unique_address]] OccupancyOf<policy_type> occupancy;
  };
  static Range keep(policy_type const& base) {
    Range range{static_cast<int>(base.league_size()),
                has_auto_team_size(base) ? 0 : static_cast<int>(base.team_size()),
                has_auto_vector_length(base) ? 0 : vector_length(base),
                static_cast<int>(base.chunk_size()),
                {},
                {},
                OccupancyOf<policy_type>::of(base)};
    for (int const level : {0, 1}) {  // the scratch of a team of no threads is that per team
      range.scratch_per_team[level] = static_cast<int>(base.scratch_size(level, 0));
      range.scratch_per_thread[level] =
          static_cast<int>(base.scratch_size(level, 1)) - range.scratch_per_team[level];
    }
    return range;
  }
  static policy_type on(Range const& range, execution_space const& instance) {
    if constexpr (!DeviceSpace<execution_space>)
      if (range.team_size > concurrency_of(instance))
        refuse_team_on_worker(range.team_size, concurrency_of(instance));
    policy_type policy = make(range, instance);
    policy.set_chunk_size(range.chunk_size);
    for (int const level : {0, 1})
      policy.set_scratch_size(level, Kokkos::PerTeam(range.scratch_per_team[level]),
                              Kokkos::PerThread(range.scratch_per_thread[level]));
    range.occupancy.ask(policy);
    return policy;
  }

 private:
  static policy_type make(Range const& range, execution_space const& instance) {
    if (range.team_size == 0 && range.vector_length == 0)
      return policy_type(instance, range.league_size, Kokkos::AUTO, Kokkos::AUTO);
    if (range.team_size == 0)
      return policy_type(instance, range.league_size, Kokkos::AUTO, range.vector_length);
    if (range.vector_length == 0)
      return policy_type(instance, range.league_size, range.team_size, Kokkos::AUTO);
    return policy_type(instance, range.league_size, range.team_size, range.vector_length);
  }
};

}  // namespace trellis::Impl

#endif
