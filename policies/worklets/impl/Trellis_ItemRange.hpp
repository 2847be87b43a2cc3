// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ITEMRANGE_HPP
#define TRELLIS_IMPL_ITEMRANGE_HPP

#include <Trellis_Label.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <common/Trellis_RunOn.hpp>
#include <annotations/impl/Trellis_LateCount.hpp>
#include <annotations/impl/Trellis_RebindPolicy.hpp>
#include <patterns/Trellis_ParallelScan.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// The base of a worklet's task. It is like a whole number, but has 64-bit indices on every space.
/// Unlike a RangePolicy it has no instance, whose reference count all submitting threads would
/// share.
namespace trellis {

namespace worklets::Impl {
struct Items {
  std::int64_t n;
};
/// The base class of numbers of items that are known when a task is launched, see LateCount.
struct ItemCount {
  static constexpr bool ends_without_user = true;
};
}  // namespace worklets::Impl

namespace Impl {

template <>
struct BaseOf<worklets::Impl::Items> {
  using type = worklets::Impl::Items;
};

template <class Space>
struct PolicyTraits<worklets::Impl::Items, Space> {
  using execution_space = std::conditional_t<std::is_void_v<Space>, Kokkos::DefaultExecutionSpace,
                                             typename RunOn<Space>::body_space>;
  using policy_type = Kokkos::RangePolicy<execution_space, Kokkos::IndexType<std::int64_t>>;
  using work_tag = void;
  using index_type = std::int64_t;
  static constexpr std::size_t index_count = 1;
  struct Range {
    static constexpr index_type begin = 0;
    index_type end;
  };
  static Range keep(worklets::Impl::Items const& base) { return {base.n}; }
  static policy_type on(Range const& range, execution_space const& instance) {
    return range_of<policy_type>(instance, 0, range.end);
  }
};
template <class Source, class Space>
  requires std::is_base_of_v<worklets::Impl::ItemCount, Source>
struct PolicyTraits<LateCount<Source>, Space> : PolicyTraits<worklets::Impl::Items, Space> {
  struct Range : PolicyTraits<worklets::Impl::Items, Space>::Range {
    using is_late_place = void;
    void set(std::int64_t number, Label const& label) {
      require_range<std::int64_t>(label, number);
      this->end = number;
    }
  };
  static Range keep(LateCount<Source> const&) { return {}; }
};
template <>
inline constexpr bool is_one_dimensional<worklets::Impl::Items> = true;

}  // namespace Impl
}  // namespace trellis

#endif
