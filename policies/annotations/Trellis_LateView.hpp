// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_LATEVIEW_HPP
#define TRELLIS_LATEVIEW_HPP

#include <common/Trellis_BodyTraits.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Label.hpp>
#include <annotations/Trellis_Resource.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <Trellis_Token.hpp>
#include <annotations/impl/Trellis_LateCount.hpp>
#include <annotations/impl/Trellis_LatePlace.hpp>
#include <annotations/impl/Trellis_OpenAccess.hpp>
#include <annotations/impl/Trellis_Submit.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header a task allocates an array whose extents the program does not know yet. The
/// tasks after it can be submitted all the same:
///
///     trellis::LateView<int*> found("found");
///     trellis::Future<int> const count = trellis::parallel_scan("scan", ...);
///     trellis::allocate("make room", trellis::ResourcePolicy(graph), found, count);
///     trellis::parallel_for("fill",
///         trellis::ResourcePolicy(graph, n, trellis::read(x), trellis::write(found)), functor);
///     trellis::parallel_for("use",
///         trellis::ResourcePolicy(graph, count, trellis::read(found)), ...);
namespace trellis {

namespace Impl {

[[noreturn]] void refuse_unallocated(std::string const& label);
[[noreturn]] void refuse_extent(std::string const& label, std::size_t direction, std::int64_t n);

/// The copies of a LateView share this. `V` is the managed View.
///
/// INVARIANT. `m_view` changes in tasks that write both tokens. All other tasks that look at it
/// read at least `shape`, so they are ordered with those. The mutex is for the program, which may
/// ask at any time.
template <class V>
class LateMemory {
 public:
  using Extents = std::array<std::size_t, V::rank() + 1>;  // (never of length 0)
  LateMemory(std::string label, typename V::memory_space const& space)
      : shape("shape of " + label), data(std::move(label)), m_space(space) {}

  Token const shape;
  Token const data;  ///< with the label

  /// Returns the View, for tasks. Throws `Error` when there is none.
  [[nodiscard]] V const& in_task() const {
    if (!m_is_allocated) refuse_unallocated(data.label());
    return m_view;
  }
  [[nodiscard]] V managed() const {
    std::lock_guard const lock(m_mutex);
    if (!m_is_allocated) refuse_unallocated(data.label());
    return m_view;
  }
  [[nodiscard]] std::size_t extent(std::size_t direction) const {
    std::lock_guard const lock(m_mutex);
    if (!m_is_allocated) refuse_unallocated(data.label());
    return m_view.extent(direction);
  }
  [[nodiscard]] bool is_allocated() const {
    std::lock_guard const lock(m_mutex);
    return m_is_allocated;
  }

  /// Allocates; called by a task. Memory that already has these extents is kept, unless the program
  /// has a copy of the View: then the program keeps that memory. The old memory is dropped before
  /// the new one is made.
  void allocate(Extents const& extents) {
    require_addresses(extents);
    V old;  // destroyed without a lock: freeing memory may take long
    {
      std::lock_guard const lock(m_mutex);
      bool is_same = m_is_allocated && m_view.use_count() == 1;
      for (std::size_t k = 0; k < V::rank(); ++k)
        is_same = is_same && static_cast<std::size_t>(m_view.extent(k)) == extents[k];
      if (is_same) return;
      std::swap(old, m_view);
      m_is_allocated = false;
    }
    old = V();
    V made = make(extents, std::make_index_sequence<V::rank_dynamic>());
    std::lock_guard const lock(m_mutex);
    std::swap(m_view, made);
    m_is_allocated = true;
  }

 private:
  void require_addresses(Extents const& extents) const {
    std::size_t most = std::numeric_limits<std::int64_t>::max() / sizeof(typename V::value_type);
    for (std::size_t k = 0; k < V::rank(); ++k) {
      if (extents[k] > most) refuse_extent(data.label(), k, static_cast<std::int64_t>(extents[k]));
      if (extents[k] > 0) most /= extents[k];
    }
  }
  template <std::size_t... k>
  [[nodiscard]] V make([[maybe_unused]] Extents const& extents, std::index_sequence<k...>) const {
    return V(Kokkos::view_alloc(Kokkos::WithoutInitializing, data.label(), m_space), extents[k]...);
  }

  typename V::memory_space const m_space;
  mutable std::mutex m_mutex;
  V m_view;
  bool m_is_allocated = false;
};

/// Fills the place of a LateView among the arguments.
template <class Seen, class V>
struct LateViewSource {
  static constexpr bool ends_without_user = true;
  static constexpr bool may_come_later = true;  ///< see is_for_children
  std::shared_ptr<LateMemory<V> const> memory;
  bool is_touched;  ///< the task touches it; otherwise it is not ordered

  [[nodiscard]] Seen resolve() const {
    if (!is_touched) return Seen();
    return Seen(memory->in_task());
  }
};

/// The extent of a LateView as a number of indices.
template <class V>
struct LateViewCount {
  static constexpr bool ends_without_user = true;
  std::shared_ptr<LateMemory<V> const> memory;
  std::size_t direction;

  [[nodiscard]] std::int64_t resolve() const {
    return static_cast<std::int64_t>(memory->in_task().extent(direction));
  }
  [[nodiscard]] auto annotations() const { return std::tuple(read(Token(memory->shape))); }
};

}  // namespace Impl

/// An array whose memory a task makes, see `allocate`: `LateView<double**>`. It is a handle: copies
/// stand for the same array.
///
/// Tasks name it as they name a View: `read(v)`, `write(v)`, `atomic_add(v)`, ... A functor takes
/// it as `v`'s `view`, or as its `read_view` if the task only reads, wherever the task runs. Its
/// memory is that of the array at the launch of the task. A task that comes before the first
/// allocation fails. Results of reductions and scans may go into one of rank 0.
///
/// Tasks depend on two things of the array: its shape, which an allocation changes and other tasks
/// read, and its contents. So a task that needs only the extents does not wait for the task that
/// computes the contents. Such a task has this number of indices (`ResourcePolicy(graph, extent(v),
/// ...)`), or allocates another array of this length.
///
/// The program gets the memory after a wait, by `managed()`. While tasks that name the handle are
/// in flight, the program must not touch the memory. Such a View names the same elements, but
/// Trellis does not know that.
template <class D, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space,
          class Layout = typename MemorySpace::execution_space::array_layout>
class LateView {
  static_assert(Kokkos::is_memory_space_v<MemorySpace>,
                "Trellis: LateView<D, MemorySpace, Layout> takes a Kokkos memory space");

 public:
  using data_type = D;
  using memory_space = MemorySpace;
  using array_layout = Layout;
  using managed_view = Kokkos::View<D, Layout, MemorySpace>;
  using view = Kokkos::View<D, Layout, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using read_view = typename view::const_type;
  static constexpr std::size_t rank = managed_view::rank();
  static_assert(!std::is_const_v<typename managed_view::value_type>,
                "Trellis: the elements of a LateView are not const; say read(v)");

  /// Makes an array without memory. `space` is the one for the memory, if there are several of this
  /// type.
  explicit LateView(std::string label, MemorySpace const& space = MemorySpace())
      : m_memory(std::make_shared<Impl::LateMemory<managed_view>>(std::move(label), space)) {}

  [[nodiscard]] std::string const& label() const { return m_memory->data.label(); }
  /// True if there is memory: not while an allocation runs, nor after one that found no memory. Any
  /// thread may call it.
  [[nodiscard]] bool is_allocated() const { return m_memory->is_allocated(); }
  /// Returns an extent, as of the last complete allocation. Throws `Error` when there is none.
  [[nodiscard]] std::size_t extent(std::size_t direction) const {
    return m_memory->extent(direction);
  }
  /// Returns the memory, for the program, after a wait for the tasks that touch it. The View keeps
  /// the memory, also when a later allocation gives the array another one. Throws `Error` when
  /// there is none.
  [[nodiscard]] managed_view managed() const { return m_memory->managed(); }
  /// Returns the token that allocations change. For a task with children, `write(v.shape())`
  /// besides `write(v)` says that its children may allocate. (Its own callable then takes the
  /// TaskScope and no Views, as Views are looked up at the launch.)
  [[nodiscard]] Token const& shape() const { return m_memory->shape; }

  [[nodiscard]] std::shared_ptr<Impl::LateMemory<managed_view>> const& memory() const {
    return m_memory;
  }
  friend bool operator==(LateView const&, LateView const&) = default;

 private:
  std::shared_ptr<Impl::LateMemory<managed_view>> m_memory;
};

/// Returns an extent of a LateView as a number of indices, or as an extent to allocate:
/// `ResourcePolicy(graph, extent(v), read(v))`. It is looked up when the task is launched. The task
/// waits for the allocation, but not for the tasks that compute the contents. Throws `Error` if the
/// array has no such direction.
template <class D, class M, class L>
[[nodiscard]] auto extent(LateView<D, M, L> const& array, std::size_t direction = 0) {
  using V = typename LateView<D, M, L>::managed_view;
  if (std::size_t const rank = V::rank(); direction >= rank)
    throw Error(Error::Kind::bad_input,
                "Trellis: the LateView \"" + array.label() + "\" has " + std::to_string(rank) +
                    " extents, and none with the number " + std::to_string(direction));
  return Impl::LateCount<Impl::LateViewCount<V>>{{array.memory(), direction}};
}

template <class D, class M, class L>
struct ResourceTraits<LateView<D, M, L>> {
  using A = LateView<D, M, L>;
  using V = typename A::managed_view;
  using memory_space = M;
  template <class How>
  using Seen = typename Impl::LateArgumentAs<How, typename A::view>::type;

  static auto accesses(A const& array, auto how) {
    return std::tuple(access(array.memory()->data, how), read(array.shape()));
  }
  template <class How>
  static auto argument(A const&, How) {
    return Impl::LatePlace<Seen<How>>();
  }
  template <class How>
  static auto late(A const& array, How how, Impl::Target const&) {
    return Impl::LateViewSource<Seen<How>, V>{array.memory(), Impl::mode_of(how) != Mode::none};
  }
  template <class How>
  static auto list_argument(How) {
    return Impl::LateListPlace<Seen<How>>();
  }
  template <class Range, class How>
  static auto late_list(Range const& range, How how, Impl::Target const& target) {
    return Impl::make_list_source<ResourceTraits, Seen<How>>(range, how, target);
  }
};

namespace Impl {

/// An extent that is known.
struct KnownCount {
  static constexpr bool ends_without_user = true;
  static constexpr bool stays_in_an_iteration = true;
  std::int64_t number;
  [[nodiscard]] std::int64_t resolve() const { return number; }
  [[nodiscard]] static std::tuple<> annotations() { return {}; }
};
template <class N>
inline constexpr bool is_extent_v = std::integral<N> || is_late_count_v<N>;
template <std::integral T>
inline constexpr bool is_extent_v<Future<T>> = true;
template <class N>
auto extent_source(N const& n) {
  if constexpr (std::integral<N>)
    return KnownCount{static_cast<std::int64_t>(n)};
  else if constexpr (is_late_count_v<N>)
    return n.source;
  else
    return late_count(n).source;
}

/// Returns the extent, or 0 if it is not known.
template <class N>
std::int64_t known_extent(N const& n) {
  if constexpr (std::integral<N>)
    return static_cast<std::int64_t>(n);
  else
    return 0;
}

template <class V, class... Sources>
struct AllocateBody {
  static constexpr BodyTraits traits{.pattern = "allocate"};
  static constexpr bool ends_without_user = true;
  using Numbers = std::array<std::int64_t, sizeof...(Sources) + 1>;
  std::shared_ptr<LateMemory<V>> memory;
  std::tuple<Sources...> extents;

  void run(void*, Label const& label) {
    ToolsRegion const region(label);
    auto const numbers =
        std::apply([](Sources const&... each) { return Numbers{each.resolve()..., 0}; }, extents);
    require_positive(*memory, numbers);
    typename LateMemory<V>::Extents all{};
    for (std::size_t k = 0; k < V::rank(); ++k)
      all[k] = k < V::rank_dynamic ? static_cast<std::size_t>(numbers[k]) : V::static_extent(k);
    memory->allocate(all);
  }
  static void require_positive(LateMemory<V> const& memory, Numbers const& numbers) {
    for (std::size_t k = 0; k < sizeof...(Sources); ++k)
      if (numbers[k] < 0) refuse_extent(memory.data.label(), k, numbers[k]);
  }
};

template <class Base, class V, class... N>
struct AllocateCheck {
  static constexpr bool has_no_range = std::is_same_v<Base, Once>;
  static constexpr bool are_extents = (is_extent_v<N> && ...);
  static constexpr bool are_as_many = sizeof...(N) == V::rank_dynamic;
  static constexpr bool holds() {
    static_assert(has_no_range,
                  "Trellis: allocate takes a policy without a range: allocate(\"label\", "
                  "ResourcePolicy(graph, ...), array, extents...)");
    static_assert(are_extents,
                  "Trellis: an extent to allocate is a whole number, the Future of one, or "
                  "extent(array, direction)");
    static_assert(are_as_many,
                  "Trellis: allocate takes as many extents as the LateView has that its type does "
                  "not say");
    return has_no_range && are_extents && are_as_many;
  }
};

}  // namespace Impl

/// Submits a host task that gives the array memory with these extents, as soon as no task uses its
/// present memory; returns at once. An extent is a whole number, the Future of one, or
/// `extent(other, direction)`. The tasks after this one have the new memory.
///
/// Memory that already has these extents is kept, with its contents, if the program has no copy of
/// its View. Otherwise the array drops its memory, and the task allocates anew. The contents are
/// not initialised: fill them by a task, or by `deep_copy`. So the elements should be of a type
/// that needs no constructor. The host allocates device memory, and may have to wait for the
/// device.
///
/// Throws `Error` for a negative number. If a number is known later and is negative, or if there is
/// not enough memory, the task fails.
template <class Base, class... Annotations, class D, class M, class L, class... N>
Future<void> allocate(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                      LateView<D, M, L> const& array, N const&... extents) {
  using V = typename LateView<D, M, L>::managed_view;
  if constexpr (Impl::AllocateCheck<Base, V, N...>::holds()) {
    using Body = Impl::AllocateBody<V, decltype(Impl::extent_source(extents))...>;
    auto const& memory = array.memory();
    Body::require_positive(*memory, {Impl::known_extent(extents)..., 0});
    auto const make = [&] { return Body{memory, {Impl::extent_source(extents)...}}; };
    return std::apply(
        [&](auto const&... of_extents) {
          return Impl::FutureInternals::make(
              Impl::submit_made<void>(std::move(label), policy, make, nullptr, write(memory->data),
                                      write(memory->shape), of_extents...));
        },
        std::tuple_cat(Impl::extent_source(extents).annotations()...));
  } else {
    return {};
  }
}
/// Allocates without a label: the task is named by the file and line where its policy was made.
template <class Base, class... Annotations, class D, class M, class L, class... N>
Future<void> allocate(ResourcePolicy<Base, Annotations...> const& policy,
                      LateView<D, M, L> const& array, N const&... extents) {
  return allocate(Label::of(policy.target().site()), policy, array, extents...);
}

}  // namespace trellis

#endif
