// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_REBINDPOLICY_HPP
#define TRELLIS_IMPL_REBINDPOLICY_HPP

#include <Trellis_ResourcePolicy.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <type_traits>

/// The same policy on another instance of its space, and what a functor is called with.
namespace trellis::Impl {

/// `execution_space`; `rebind(base, instance)`; `index_count` arguments of type `index_type` (after the work tag, if any).
template <class Base, class Space>
struct PolicyTraits;

template <class Space>
struct PolicyTraits<Count, Space> {
  using execution_space = std::conditional_t<std::is_void_v<Space>, Kokkos::DefaultExecutionSpace, Space>;
  using policy_type = Kokkos::RangePolicy<execution_space>;
  using work_tag = void;
  using index_type = typename policy_type::index_type;
  static constexpr std::size_t index_count = 1;
  static policy_type rebind(Count const& base, execution_space const& instance) { return {instance, 0, base.n}; }
};

template <class... P, class Space>
struct PolicyTraits<Kokkos::RangePolicy<P...>, Space> {
  using policy_type = Kokkos::RangePolicy<P...>;
  using execution_space = typename policy_type::execution_space;
  using work_tag = typename policy_type::work_tag;
  using index_type = typename policy_type::member_type;
  static constexpr std::size_t index_count = 1;
  static policy_type rebind(policy_type const& base, execution_space const& instance) {
    return {instance, base.begin(), base.end(), Kokkos::ChunkSize(static_cast<int>(base.chunk_size()))};
  }
};

template <class... P, class Space>
struct PolicyTraits<Kokkos::MDRangePolicy<P...>, Space> {
  using policy_type = Kokkos::MDRangePolicy<P...>;
  using execution_space = typename policy_type::execution_space;
  using work_tag = typename policy_type::work_tag;
  using index_type = typename policy_type::index_type;
  static constexpr std::size_t index_count = policy_type::rank;
  static policy_type rebind(policy_type const& base, execution_space const& instance) {
    return {instance, base.m_lower, base.m_upper, base.m_tile};
  }
};

template <class... P, class Space>
struct PolicyTraits<Kokkos::TeamPolicy<P...>, Space> {
  using policy_type = Kokkos::TeamPolicy<P...>;
  using execution_space = typename policy_type::execution_space;
  using work_tag = typename policy_type::work_tag;
  using index_type = typename policy_type::member_type;
  static constexpr std::size_t index_count = 1;
  static policy_type rebind(policy_type const& base, execution_space const& instance) {
    auto policy = make(base, instance);
    policy.set_chunk_size(base.chunk_size());
    for (int const level : {0, 1}) {  // what a team of no threads asks for is per team
      int const per_team = static_cast<int>(base.scratch_size(level, 0));
      int const per_thread = static_cast<int>(base.scratch_size(level, 1)) - per_team;
      policy.set_scratch_size(level, Kokkos::PerTeam(per_team), Kokkos::PerThread(per_thread));
    }
    return policy;
  }

 private:
  static policy_type make(policy_type const& base, execution_space const& instance) {
    int const length = static_cast<int>(base.impl_vector_length());
    if (base.impl_auto_team_size() && base.impl_auto_vector_length())
      return policy_type(instance, base.league_size(), Kokkos::AUTO, Kokkos::AUTO);
    if (base.impl_auto_team_size()) return policy_type(instance, base.league_size(), Kokkos::AUTO, length);
    if (base.impl_auto_vector_length())
      return policy_type(instance, base.league_size(), base.team_size(), Kokkos::AUTO);
    return policy_type(instance, base.league_size(), base.team_size(), length);
  }
};

}  // namespace trellis::Impl

#endif
