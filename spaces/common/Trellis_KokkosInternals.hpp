// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_KOKKOSINTERNALS_HPP
#define TRELLIS_KOKKOSINTERNALS_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>

/// This header has all that Trellis uses of Kokkos though Kokkos does not promise it: names of
/// `Kokkos::Impl`, members called `impl_...`, and members that its documentation does not name. No
/// other file of core, spaces and policies uses these (`.ci/run` checks that).
///
/// Each entry names the public hook that would replace it. Kokkos 4.5 to 5.2 have been read for
/// these entries.
namespace trellis::Impl {

// --- the memory of a View

/// Keeps the memory of a View, whatever the View's type.
///
/// Hook: a public handle of an allocation that can be copied and kept. In 5.x `View::data_handle()`
/// gives one, but its type stays in `Kokkos::Impl` (on purpose, see pull request 7345).
using MemoryHold = Kokkos::Impl::SharedAllocationTracker;
template <class V>
MemoryHold const& memory_of(V const& view) {
  return view.impl_track();
}

/// Returns the record of the whole allocation (begin, size, label); null if there is none.
///
/// Hook: the same handle, with `data()`, `size()` and `label()`. `View::label()` and
/// `View::use_count()` are public. The begin of a subview's allocation and its size with padding
/// are not (issue 2182 asks for the size).
inline auto const* record_in(MemoryHold const& memory) {
  return memory.get_record<void>();
}
/// Returns null if the View holds no reference to an allocation. (Before 5.0 an unmanaged View may
/// have a record all the same, but does not keep it.)
template <class V>
auto const* record_of(V const& view) {
  return record_in(memory_of(view));
}

/// True if the View belongs to an allocation.
///
/// Hook: the same. (`View::is_allocated()` tells whether there is a pointer.)
template <class V>
bool has_record(V const& view) {
  return memory_of(view).has_record();
}

// --- copies that count no references

/// True if copies of Views count references on this thread. They do not while Kokkos copies a
/// functor for a kernel.
///
/// Hook: a public `bool`, or a customisation point "this type counts references".
inline bool counts_references() {
  return Kokkos::Impl::SharedAllocationRecord<void, void>::tracking_enabled() != 0;
}

/// Returns a copy whose Views count no references, as Kokkos makes it for a kernel.
///
/// Hook: a public function, or a guard, that does so. (Kokkos thought of a guard in pull request
/// 6289, but kept it in `Impl`.)
template <class T>
T uncounted_copy(T const& original) {
  return Kokkos::Impl::construct_with_shared_allocation_tracking_disabled<T>(original);
}

// --- execution policies

/// Return the bounds of an MDRangePolicy and its tiles.
///
/// Hook: `lower(k)` and `upper(k)`, which `TileMDRangePolicy` has (pull request 9485, after 5.2),
/// and `tile(k)`. This section serves to make a policy again for another instance: one constructor
/// `Policy(policy, instance)` would replace all of it. Since 5.0 there is one (pull request 8387),
/// but it takes `Kokkos::Impl::PolicyUpdate`.
template <class Policy>
auto const& lower_bounds(Policy const& policy) {
  return policy.m_lower;
}
template <class Policy>
auto const& upper_bounds(Policy const& policy) {
  return policy.m_upper;
}
template <class Policy>
auto const& tile_sizes(Policy const& policy) {
  return policy.m_tile;
}
/// True if Kokkos has chosen the tiles.
///
/// Hook: none. `tile_size_recommended()` (since 4.3) says what Kokkos would choose. It does not say
/// whether Kokkos has done so.
template <class Policy>
bool has_chosen_tiles(Policy const& policy) {
  return policy.impl_tune_tile_size();
}

/// True if Kokkos chooses the team size of a TeamPolicy, and its vector length.
///
/// Hook: the constructor from a policy and an instance, or `is_auto_team_size()` and the like.
template <class Policy>
bool has_auto_team_size(Policy const& policy) {
  return policy.impl_auto_team_size();
}
template <class Policy>
bool has_auto_vector_length(Policy const& policy) {
  return policy.impl_auto_vector_length();
}
/// Hook: `vector_length()`, like `team_size()`.
template <class Policy>
int vector_length(Policy const& policy) {
  return static_cast<int>(policy.impl_vector_length());
}

/// Returns what `prefer(policy, DesiredOccupancy(50))` has asked for.
///
/// Hook: the constructor from a policy and an instance. `prefer` itself is public but experimental,
/// and makes a policy of another type.
template <class Policy>
inline constexpr bool asks_for_occupancy = Policy::experimental_contains_desired_occupancy;
template <class Policy>
auto asked_occupancy(Policy const& policy) {
  return policy.impl_get_desired_occupancy();
}
template <class Policy>
void ask_for_occupancy(Policy& policy, Kokkos::Experimental::DesiredOccupancy occupancy) {
  policy.impl_set_desired_occupancy(occupancy);
}

/// Returns how many threads an instance has.
///
/// Hook: `instance.concurrency()`, from 5.0 on. If 4.x is built with its deprecated code, as by
/// default, that function is static. It then returns the value of the default OpenMP instance
/// unless another one is passed.
template <class Space>
int concurrency_of(Space const& instance) {
  if constexpr (requires { Space::concurrency(instance); })
    return static_cast<int>(Space::concurrency(instance));
  else
    return static_cast<int>(instance.concurrency());
}

// --- containers

struct ContainerInternals;

// --- GPUs

/// Returns the addresses of the scratch memory that kernels on an instance of Cuda or HIP use. A
/// recorded graph is stale when the instance has got larger scratch memory.
///
/// Hook: a number that changes when an instance's scratch memory does; or `Kokkos::Graph` that owns
/// the scratch memory of its kernels.
template <class Space>
auto scratch_addresses(Space const& space) {
  auto const& internal = *space.impl_internal_space_instance();
  constexpr std::size_t teams =
      std::extent_v<std::remove_reference_t<decltype(internal.m_team_scratch_ptr)>>;
  std::array<void const*, 4 + teams> scratch{internal.m_scratchSpace, internal.m_scratchFlags,
                                             internal.m_scratchFunctor, nullptr};
  if constexpr (requires { internal.m_scratchUnified; }) scratch[3] = internal.m_scratchUnified;
  std::copy(std::begin(internal.m_team_scratch_ptr), std::end(internal.m_team_scratch_ptr),
            scratch.begin() + 4);
  return scratch;
}

// --- spaces of one's own

/// A Kokkos space made by Trellis specialises this to say what Kokkos is to do for it:
///
/// | an execution space | a memory space |
/// |---|---|
/// | `AtOnce`: exists while host code does what the space would do | `host_may_touch`: whether Kokkos lets host code use its memory |
/// | `Host`: the space of the host that runs loops of several dimensions | `copy(to, from, bytes)`: to it, from it, or inside it |
///
/// Hook: a documented way to add a space. Kokkos describes what its spaces have in common
/// (ExecutionSpaceConcept, MemorySpaceConcept), but each backend, the newest one included (pull
/// request 8998), specialises the templates below.
template <class Space>
struct OwnSpace;

template <class Space>
concept OwnExecutionSpace = requires { typename OwnSpace<Space>::AtOnce; };
template <class Space>
concept OwnMemorySpace = requires { OwnSpace<Space>::host_may_touch; };
template <class To, class From>
concept OwnMemoryOrHost = (OwnMemorySpace<To> || std::same_as<To, Kokkos::HostSpace>) &&
                          (OwnMemorySpace<From> || std::same_as<From, Kokkos::HostSpace>) &&
                          (OwnMemorySpace<To> || OwnMemorySpace<From>);

template <class Space>
constexpr bool host_may_touch() {
  if constexpr (OwnMemorySpace<Space>)
    return OwnSpace<Space>::host_may_touch;
  else
    return true;
}

/// Has the members that Kokkos calls of every execution space, for a space that never launches
/// anything on an instance.
struct IdleExecutionSpace {
  static void impl_static_fence(std::string const&) {}
  static bool impl_is_initialized() { return Kokkos::is_initialized(); }
  [[nodiscard]] std::uint32_t impl_instance_id() const noexcept { return 1; }
};

}  // namespace trellis::Impl

namespace Kokkos {

// --- containers: they have no public name for their memory, but let all specialisations of these
// two see it. Hook: `UnorderedMap::use_count()` and the like, as the Views have them, or the Views.

namespace Impl {

template <typename UMap>
struct UnorderedMapErase;
template <>
struct UnorderedMapErase<trellis::Impl::ContainerInternals> {
  template <class Map>
  static auto const& memory(Map const& map) {
    return map.m_hash_lists;
  }
};
template <typename Bitset>
struct BitsetCount;
template <>
struct BitsetCount<trellis::Impl::ContainerInternals> {
  template <class Set>
  static auto const& memory(Set const& set) {
    return set.m_blocks;
  }
};

// --- spaces of one's own

/// `assignable` means an implicit conversion, as a View in pinned memory becomes a host View.
template <class To, class From>
  requires trellis::Impl::OwnMemoryOrHost<To, From> && (!std::is_same_v<To, From>)
struct MemorySpaceAccess<To, From> {
  enum : bool {
    accessible = trellis::Impl::host_may_touch<From>(),
    assignable = accessible && std::is_same_v<To, HostSpace>,
    deepcopy = true
  };
};

template <trellis::Impl::OwnExecutionSpace Space>
struct ZeroMemset<Space> {
  ZeroMemset(Space const&, void* to, std::size_t bytes) {
    typename trellis::Impl::OwnSpace<Space>::AtOnce const here;
    std::memset(to, 0, bytes);
  }
};

/// Initialises Views.
template <class Functor, class... Properties, trellis::Impl::OwnExecutionSpace Space>
class ParallelFor<Functor, RangePolicy<Properties...>, Space> {
 public:
  using Policy = RangePolicy<Properties...>;
  ParallelFor(Functor const& functor, Policy const& policy)
      : m_functor(functor), m_policy(policy) {}
  void execute() const {
    typename trellis::Impl::OwnSpace<Space>::AtOnce const here;
    for (auto k = m_policy.begin(); k < m_policy.end(); ++k)
      if constexpr (std::is_void_v<typename Policy::work_tag>)
        m_functor(k);
      else
        m_functor(typename Policy::work_tag{}, k);
  }

 private:
  Functor m_functor;
  Policy m_policy;
};

/// Copies Views of several dimensions.
template <class Functor, class... Properties, trellis::Impl::OwnExecutionSpace Space>
class ParallelFor<Functor, MDRangePolicy<Properties...>, Space> {
 public:
  using Policy = MDRangePolicy<Properties...>;
  ParallelFor(Functor const& functor, Policy const& policy)
      : m_functor(functor), m_policy(policy) {}
  void execute() const {
    using Host = typename trellis::Impl::OwnSpace<Space>::Host;
    using Index = IndexType<typename Policy::index_type>;
    using Tag = typename Policy::work_tag;
    using HostPolicy =
        std::conditional_t<std::is_void_v<Tag>,
                           MDRangePolicy<Host, typename Policy::iteration_pattern, Index>,
                           MDRangePolicy<Host, typename Policy::iteration_pattern, Index, Tag>>;
    typename trellis::Impl::OwnSpace<Space>::AtOnce const here;
    Kokkos::parallel_for(HostPolicy(m_policy.m_lower, m_policy.m_upper, m_policy.m_tile),
                         m_functor);
  }

 private:
  Functor m_functor;
  Policy m_policy;
};

template <class To, class From, class ExecutionSpace>
  requires trellis::Impl::OwnMemoryOrHost<To, From>
struct DeepCopy<To, From, ExecutionSpace> {
  using Own =
      trellis::Impl::OwnSpace<std::conditional_t<trellis::Impl::OwnMemorySpace<To>, To, From>>;
  DeepCopy(void* to, void const* from, std::size_t bytes) { Own::copy(to, from, bytes); }
  DeepCopy(ExecutionSpace const&, void* to, void const* from, std::size_t bytes)
      : DeepCopy(to, from, bytes) {}
};

}  // namespace Impl

template <trellis::Impl::OwnExecutionSpace Space>
struct Tools::Experimental::DeviceTypeTraits<Space> {
  static constexpr DeviceType id = DeviceType::Unknown;
  static int device_id(Space const&) { return 0; }
};

}  // namespace Kokkos

/// These macros say how Kokkos allocates in a memory space. They stand after its class, at the
/// outermost level: one for a space that the host does not touch, one for a space that it does.
#define TRELLIS_IMPL_DEVICE_MEMORY_SPACE(Space) \
  KOKKOS_IMPL_HOST_INACCESSIBLE_SHARED_ALLOCATION_SPECIALIZATION(Space)
#define TRELLIS_IMPL_HOST_MEMORY_SPACE(Space) KOKKOS_IMPL_SHARED_ALLOCATION_SPECIALIZATION(Space)

namespace trellis::Impl {

/// Return what a map or a bit set has in place of a View: the lists of its hash values, or its
/// words.
template <class Map>
auto const& memory_of_map(Map const& map) {
  return Kokkos::Impl::UnorderedMapErase<ContainerInternals>::memory(map);
}
template <class Set>
auto const& memory_of_bitset(Set const& set) {
  return Kokkos::Impl::BitsetCount<ContainerInternals>::memory(set);
}

}  // namespace trellis::Impl

#endif

// These two macros are for the one source that makes memory spaces. It defines the name below
// before it includes this header, perhaps after another source of its batch has done so.
#if defined(TRELLIS_IMPL_MAKES_MEMORY_SPACES) && !defined(TRELLIS_IMPL_MAKE_DEVICE_MEMORY_SPACE)
#define KOKKOS_IMPL_PUBLIC_INCLUDE
#include <impl/Kokkos_SharedAlloc_timpl.hpp>
#undef KOKKOS_IMPL_PUBLIC_INCLUDE
#define TRELLIS_IMPL_MAKE_DEVICE_MEMORY_SPACE(Space) \
  KOKKOS_IMPL_HOST_INACCESSIBLE_SHARED_ALLOCATION_RECORD_EXPLICIT_INSTANTIATION(Space)
#define TRELLIS_IMPL_MAKE_HOST_MEMORY_SPACE(Space) \
  KOKKOS_IMPL_SHARED_ALLOCATION_RECORD_EXPLICIT_INSTANTIATION(Space)
#endif
