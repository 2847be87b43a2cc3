// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FUSED_HPP
#define TRELLIS_IMPL_FUSED_HPP

#include <common/Trellis_AdapterOf.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <common/Trellis_KernelName.hpp>
#include <common/Trellis_KokkosInternals.hpp>
#include <Trellis_Label.hpp>
#include <common/Trellis_ResultSlot.hpp>
#include <common/Trellis_RunOn.hpp>
#include <Trellis_Spaces.hpp>
#include <impl/Trellis_FusionOps.hpp>
#include <annotations/impl/Trellis_DirectLoop.hpp>
#include <annotations/impl/Trellis_KnownValue.hpp>
#include <annotations/impl/Trellis_LaunchPolicy.hpp>
#include <annotations/impl/Trellis_LinearRange.hpp>
#include <annotations/impl/Trellis_RebindPolicy.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

/// This header launches several `parallel_for` bodies of one type as one kernel: a range over the
/// indices of all of them. An index of the range finds its member by a division if all have the
/// same number of indices, else by a search. Then it finds its own index there.
namespace trellis::Impl {

/// Finds the member that has an index. `begin(k)` is the first index of member k.
struct MemberSearch {
  int count = 0;
  int each = 0;  ///< number of indices of each; 0: the numbers differ

  template <class Begins>
  KOKKOS_FUNCTION int find(int index, Begins const& begins) const {
    if (each > 0) return index / each;
    int low = 0;
    for (int high = count; high - low > 1;) {
      int const middle = low + (high - low) / 2;
      (begins[middle] <= index ? low : high) = middle;
    }
    return low;
  }
};

/// The data of a member that a kernel needs. Nothing more of a body goes to a device: since CUDA
/// 12.9 nvcc lays out structures with [[no_unique_address]] members, such as the ranges of bodies,
/// differently there.
template <class Body>
struct Member {
  using Linear = LinearRange<typename Body::fusable_traits>;
  typename Body::functor_type functor;
  typename Linear::Place place;

  KOKKOS_FUNCTION void operator()(int k) const { Linear::call(functor, place, k); }
};

/// Returns a copy whose Views count no references, like the copy that Kokkos makes for a kernel.
template <class Body>
Member<Body> uncounted_member(Body const& body) {
  using Functor = typename Body::functor_type;
  using Linear = typename Member<Body>::Linear;
  if constexpr (std::is_trivially_copyable_v<Functor>)
    return {body.functor, Linear::place(body.range)};
  else
    return {uncounted_copy<Functor>(body.functor), Linear::place(body.range)};
}

/// A kernel over members in memory that it reaches.
template <class Body>
struct MembersInMemory {
  Member<Body> const* members;
  int const* begins;
  MemberSearch search;
  std::size_t* at;  ///< null, or where a kernel of one thread notes its current member

  KOKKOS_FUNCTION void operator()(int index) const {
    int const k = search.find(index, begins);
    if (at != nullptr) *at = static_cast<std::size_t>(k);
    members[k](index - begins[k]);
  }
};

/// A kernel with the members in its argument, as bytes: copies that count no references need no
/// destructor.
template <class Body, int room>
struct MembersInArgument {
  alignas(Member<Body>) std::byte members[room * sizeof(Member<Body>)];
  int begins[room];
  MemberSearch search;

  KOKKOS_FUNCTION void operator()(int index) const {
    int const k = search.find(index, begins);
    reinterpret_cast<Member<Body> const*>(members)[k](index - begins[k]);
  }
};

/// Computes where each member's indices begin, and how many there are.
struct MemberBegins {
  std::vector<int> begins;
  std::int64_t total = 0;
  MemberSearch search;

  template <class Body>
  explicit MemberBegins(std::span<Body const* const> bodies) {
    search.count = static_cast<int>(bodies.size());
    std::int64_t const first = count_of(*bodies.front());
    bool are_equal = true;
    for (Body const* const body : bodies) {
      std::int64_t const count = count_of(*body);
      are_equal = are_equal && count == first;
      begins.push_back(fits() ? static_cast<int>(total) : 0);
      total += count;
    }
    if (are_equal && fits()) search.each = static_cast<int>(first);
  }
  /// True if the indices fit into one launch. If not, each member is large enough for a launch of
  /// its own.
  [[nodiscard]] bool fits() const { return total < std::numeric_limits<int>::max(); }

 private:
  template <class Body>
  static std::int64_t count_of(Body const& body) {
    return LinearRange<typename Body::fusable_traits>::count(body.range);
  }
};

/// Copies the bytes of the members one after the other, for a device.
template <class Body>
void copy_bytes(std::span<Body const* const> bodies, std::byte* to) {
  for (Body const* const body : bodies) {
    Member<Body> const member = uncounted_member(*body);
    std::memcpy(to, static_cast<void const*>(&member), sizeof member);
    to += sizeof member;
  }
}

template <class Space>
using FusedPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>;

/// Runs the bodies on a host space: one loop after the other if a launch is a loop, else with one
/// launch.
template <class Body>
void run_fused_on_host(std::span<Body const* const> bodies, void* instance, Label const& label,
                       std::size_t& at) {
  using Traits = typename Body::fusable_traits;
  using Space = typename Traits::execution_space;
  Space const& here = *static_cast<Space const*>(instance);
  bool one_thread = false;
  bool loops = false;
  if constexpr (may_have_one_thread<Space>) {
    one_thread = AdapterOf<Space>::has_one_thread(here);
    loops = may_loop(here);
  }
  MemberBegins const members(bodies);
  if (loops || !members.fits()) {
    for (at = 0; at < bodies.size(); ++at) {
      if (loops && DirectLoop<Traits>::run(bodies[at]->range, bodies[at]->functor)) continue;
      Kokkos::parallel_for(kernel_name(label), launched(Traits::on(bodies[at]->range, here)),
                           bodies[at]->functor);
    }
    return;
  }
  using M = Member<Body>;
  struct Copies {
    explicit Copies(std::size_t count)
        : memory(static_cast<M*>(::operator new(count * sizeof(M), std::align_val_t(alignof(M))))) {
    }
    Copies(Copies const&) = delete;
    Copies& operator=(Copies const&) = delete;
    ~Copies() {
      for (std::size_t k = 0; k < made; ++k) memory[k].~M();
      ::operator delete(memory, std::align_val_t(alignof(M)));
    }
    M* const memory;
    std::size_t made = 0;
  } copies(bodies.size());
  for (; copies.made < bodies.size(); ++copies.made)
    ::new (static_cast<void*>(copies.memory + copies.made))
        M(uncounted_member(*bodies[copies.made]));
  if (one_thread) at = 0;
  Kokkos::parallel_for(kernel_name(label),
                       FusedPolicy<Space>(here, 0, static_cast<int>(members.total)),
                       MembersInMemory<Body>{copies.memory, members.begins.data(), members.search,
                                             one_thread ? &at : nullptr});
  // On these spaces a launch returns when all is done, so the copies live long enough.
}

/// Pieces of pooled memory, for a batch whose members do not fit into a kernel's argument.
template <class OnHost, class OnDevice>
class BatchMemory {
 public:
  explicit BatchMemory(std::size_t bytes)
      : m_bytes(bytes),
        m_on_host(ResultPool<OnHost>::get().take(bytes)),
        m_on_device(ResultPool<OnDevice>::get().take(bytes)) {}
  BatchMemory(BatchMemory const&) = delete;
  BatchMemory& operator=(BatchMemory const&) = delete;
  ~BatchMemory() {
    ResultPool<OnHost>::get().put(m_on_host, m_bytes);
    ResultPool<OnDevice>::get().put(m_on_device, m_bytes);
  }
  [[nodiscard]] std::byte* on_host() const { return static_cast<std::byte*>(m_on_host); }
  [[nodiscard]] std::byte* on_device() const { return static_cast<std::byte*>(m_on_device); }
  /// Copies on the instance, before kernels that are launched there later.
  template <class Space>
  void copy(Space const& instance) const {
    using Traits = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    Kokkos::deep_copy(instance,
                      Kokkos::View<unsigned char*, OnDevice, Traits>(
                          static_cast<unsigned char*>(m_on_device), m_bytes),
                      Kokkos::View<unsigned char const*, OnHost, Traits>(
                          static_cast<unsigned char const*>(m_on_host), m_bytes));
  }

 private:
  std::size_t const m_bytes;
  void* const m_on_host;
  void* const m_on_device;
};

/// Runs the bodies on a device with one launch. The members are in its argument if they fit, else
/// in device memory, to which they are copied on the stream. Returns an object that must live until
/// the launch is done. `argument` is the number of bytes available in the argument.
template <class Space, class OnHost, class OnDevice, std::size_t argument, class Body>
std::shared_ptr<void> launch_fused(std::span<Body const* const> bodies, Space const& instance,
                                   Label const& label, std::size_t& at) {
  MemberBegins const members(bodies);
  if (!members.fits()) {
    if constexpr (std::is_same_v<typename Body::fusable_traits::execution_space, Space>) {
      for (at = 0; at < bodies.size(); ++at)
        Kokkos::parallel_for(kernel_name(label),
                             launched(Body::fusable_traits::on(bodies[at]->range, instance)),
                             bodies[at]->functor);
      return nullptr;
    } else {
      throw Error(Error::Kind::bad_input, "Trellis: a batch has too many indices for a launch");
    }
  }
  FusedPolicy<Space> const policy(instance, 0, static_cast<int>(members.total));
  constexpr int room = static_cast<int>(argument / (sizeof(Member<Body>) + sizeof(int)));
  if constexpr (room >= 2) {
    if (bodies.size() <= static_cast<std::size_t>(room)) {
      MembersInArgument<Body, room> kernel;
      kernel.search = members.search;
      copy_bytes(bodies, kernel.members);
      std::copy(members.begins.begin(), members.begins.end(), kernel.begins);
      Kokkos::parallel_for(kernel_name(label), launched(policy), kernel);
      return nullptr;
    }
  }
  std::size_t const bytes = bodies.size() * sizeof(Member<Body>);
  auto const memory =
      std::make_shared<BatchMemory<OnHost, OnDevice>>(bytes + bodies.size() * sizeof(int));
  copy_bytes(bodies, memory->on_host());
  std::memcpy(memory->on_host() + bytes, members.begins.data(), bodies.size() * sizeof(int));
  memory->copy(instance);
  auto const* const there = reinterpret_cast<Member<Body> const*>(memory->on_device());
  Kokkos::parallel_for(
      kernel_name(label), launched(policy),
      MembersInMemory<Body>{there, reinterpret_cast<int const*>(there + bodies.size()),
                            members.search, nullptr});
  return memory;
}

/// The body of a fusable task that may be launched on a device as one with others. The last body of
/// a batch owns what the batch needs until it is done.
template <class B>
struct FusableBody : B {
  static constexpr bool ends_without_user = body_ends_without_user<B>();
  std::shared_ptr<void> batch;
  void finish() { batch.reset(); }
};

/// A batch as a body of its own, for a device whose kernels are host code.
template <class Body>
struct FusedBody {
  struct {
    std::int64_t n;
  } range;
  std::vector<Body const*> bodies;
  void run(void* instance, Label const& label) {
    std::size_t at = 0;
    run_fused_on_host<Body>(bodies, instance, label, at);
  }
};

template <class B>
struct PlainBodyOf {
  using type = B;
};
template <class B>
  requires requires { typename B::plain_body; }
struct PlainBodyOf<B> {
  using type = typename B::plain_body;
};

template <class B>
inline constexpr bool has_kernel_form = [] {
  if constexpr (requires { typename B::fusable_traits; })
    return LinearRange<typename B::fusable_traits>::exists;
  else
    return false;
}();
/// True for a host task whose body only calls the callable.
template <class B>
inline constexpr bool is_plain_call = B::traits.has_callable && !B::traits.may_give_up;

/// The functions of FusionOps. `Body` is the type of the body in the task. It is written for
/// `Space` and runs on `RunsOn`, or as a batch on `Offloads`, if that is not void.
template <class Body, class Space, class RunsOn, class Offloads = void>
struct FusionOf {
  using Plain = typename PlainBodyOf<Body>::type;

  /// Binds the bodies. If one cannot be bound, it fails later, when it is run by itself with its
  /// own label. (`at` is still past the last one, as none has begun.)
  static std::vector<Plain const*> members(std::span<void* const> bodies, Label const& label) {
    std::vector<Plain const*> plain;
    for (void* const each : bodies) {
      Body* const body = static_cast<Body*>(each);
      if constexpr (is_bound_late_v<Body>) body->bind(label);
      plain.push_back(static_cast<Plain const*>(body));
    }
    return plain;
  }
  static void run(std::span<void* const> bodies, void* instance, Label const& label,
                  std::size_t& at) {
    run_as<RunsOn>(bodies, instance, label, at);
  }
  static void offload(std::span<void* const> bodies, void* instance, Label const& label) {
    if constexpr (!std::is_void_v<Offloads>) {
      std::size_t at = bodies.size();
      run_as<Offloads>(bodies, instance, label, at);
    }
  }
  template <class There>
  static void run_as(std::span<void* const> bodies, void* instance, Label const& label,
                     std::size_t& at) {
    std::vector<Plain const*> plain = members(bodies, label);
    if constexpr (is_foreign_v<There>) {
      std::int64_t total = 0;
      for (Plain const* const each : plain)
        total += LinearRange<typename Plain::fusable_traits>::count(each->range);
      auto const fused = std::make_shared<FusedBody<Plain>>();
      fused->range.n = total;
      fused->bodies = std::move(plain);
      static_cast<Body*>(bodies.back())->batch = fused;
      RunOn<There>::template run<Space>(*fused, instance, label);
    } else if constexpr (DeviceSpace<There>) {
      using Pinned = typename AdapterOf<There>::result_space;
      constexpr std::size_t room = largest_argument - 128;
      static_cast<Body*>(bodies.back())->batch =
          launch_fused<There, Pinned, typename There::memory_space, room, Plain>(
              plain, *static_cast<There const*>(instance), label, at);
    } else {
      run_fused_on_host<Plain>(plain, instance, label, at);
    }
  }
  static bool loops(void* instance) {
    if constexpr (!is_foreign_v<RunsOn> && may_have_one_thread<RunsOn>)
      return may_loop(*static_cast<RunsOn const*>(instance));
    else
      return false;
  }
  static std::string name() { return readable_name(typeid(typename Plain::functor_type)); }
  static constexpr bool is_on_device = is_foreign_v<RunsOn> || DeviceSpace<RunsOn>;
  static constexpr bool may_go = !std::is_void_v<Offloads>;
  static DeviceAdapter* device([[maybe_unused]] int number) {
    if constexpr (is_on_device || may_go) {
      try {
        return &AdapterOf<std::conditional_t<may_go, Offloads, RunsOn>>::get(number);
      } catch (Error const&) {
      }
    }
    return nullptr;
  }
  static constexpr FusionOps ops{&name, &run, &loops, is_on_device || may_go ? &device : nullptr,
                                 may_go ? &offload : nullptr};
};

/// Runs a batch of host tasks: one after the other, or by the callable's own `fused`.
template <class Body>
struct FusionOfCalls {
  using Callable = std::remove_cvref_t<decltype(std::declval<Body&>().callable)>;
  static constexpr bool has_own =
      requires(std::span<Callable* const> all, std::size_t& at) { Callable::fused(all, at); };
  static void run(std::span<void* const> bodies, void*, [[maybe_unused]] Label const& label,
                  std::size_t& at) {
    if constexpr (has_own) {
      std::vector<Callable*> all;
      for (void* const each : bodies) {
        if constexpr (is_bound_late_v<Body>) static_cast<Body*>(each)->bind(label);
        all.push_back(&static_cast<Body*>(each)->callable);
      }
      Callable::fused(std::span<Callable* const>(all), at);
    }
  }
  static std::string name() { return readable_name(typeid(Callable)); }
  static constexpr FusionOps ops{&name, has_own ? &run : nullptr, nullptr};
};

}  // namespace trellis::Impl

#endif
