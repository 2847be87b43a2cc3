// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_VIEWLIST_HPP
#define TRELLIS_VIEWLIST_HPP

#include <common/Trellis_KokkosInternals.hpp>
#include <common/Trellis_ResultSlot.hpp>
#include <Trellis_Spaces.hpp>
#include <base/Trellis_OneForAll.hpp>

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

/// With this header you name the types in which a functor takes its Views: `read_view<V>`, and
/// `view_list<V>` for those of a range.
namespace trellis {

namespace Impl {

template <class R, std::size_t... member>
struct ViewsOf;

/// Holds the Views of a long list. Copies of the list share it.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) ListBlock {
  std::atomic<long> uses{1};
  void (*destroy)(ListBlock*) noexcept;
  ListBlock* (*copy)(ListBlock const*);
  void const* counted = nullptr;    ///< Views that count as references, for the host
  void const* uncounted = nullptr;  ///< Views that do not, for kernels
};

/// While it exists, copies of lists on this thread share nothing. So the references that a functor
/// holds can be counted: a copy adds as many.
class ListsAreCopied {
 public:
  ListsAreCopied() : m_before(std::exchange(t_copied, true)) {}
  ListsAreCopied(ListsAreCopied const&) = delete;
  ListsAreCopied& operator=(ListsAreCopied const&) = delete;
  ~ListsAreCopied() { t_copied = m_before; }
  TRELLIS_IMPL_ONE_FOR_ALL static inline constinit thread_local bool t_copied = false;

 private:
  bool const m_before;
};

/// Keeps a block, as a View keeps its allocation: copies that Kokkos makes for a kernel, and copies
/// of these, do not count.
class ListHold {
 public:
  KOKKOS_DEFAULTED_FUNCTION ListHold() = default;
  explicit ListHold(ListBlock* block) : m_block(block) {}
  KOKKOS_FUNCTION ListHold(ListHold const& other) {
    KOKKOS_IF_ON_HOST((m_block = copy_of(other.m_block);))
    KOKKOS_IF_ON_DEVICE((static_cast<void>(other);))
  }
  KOKKOS_FUNCTION ListHold& operator=(ListHold const& other) {
    if (this == &other) return *this;
    KOKKOS_IF_ON_HOST((ListHold old(m_block); m_block = copy_of(other.m_block);))
    return *this;
  }
  KOKKOS_FUNCTION ~ListHold() { KOKKOS_IF_ON_HOST((release(m_block);)) }
  [[nodiscard]] KOKKOS_FUNCTION ListBlock const* block() const { return m_block; }

 private:
  static ListBlock* copy_of(ListBlock* block) {
    if (block == nullptr || !counts_references()) return nullptr;
    if (ListsAreCopied::t_copied) return block->copy(block);
    block->uses.fetch_add(1, std::memory_order_relaxed);
    return block;
  }
  static void release(ListBlock* block) noexcept {
    if (block != nullptr && block->uses.fetch_sub(1, std::memory_order_acq_rel) == 1)
      block->destroy(block);
  }

  ListBlock* m_block = nullptr;
};

/// The execution space whose device may reach such memory.
template <class MemorySpace>
using DeviceOf =
    std::conditional_t<has_result_space<typename MemorySpace::execution_space>,
                       typename MemorySpace::execution_space, Kokkos::DefaultExecutionSpace>;

/// Says in which memory a kernel finds the Views of a long list. For Views of the host it is the
/// list's own memory, else memory that device and host reach.
template <class MemorySpace>
struct ListMemory {
  static constexpr bool is_own = true;
};
template <class MemorySpace>
  requires(!std::is_same_v<MemorySpace, Kokkos::HostSpace> &&
           has_result_space<DeviceOf<MemorySpace>>)
struct ListMemory<MemorySpace> {
  static constexpr bool is_own = false;
  using Pool = ResultPool<typename AdapterOf<DeviceOf<MemorySpace>>::result_space>;
};

/// The block of a long list. The Views follow it in one piece of memory.
template <class V>
class ViewBlock final : public ListBlock {
 public:
  /// `add_all(add)` calls `add(view)` `size` times.
  template <class AddAll>
  static ViewBlock* make(std::size_t size, AddAll&& add_all) {
    void* const memory = ::operator new(sizeof(ViewBlock) + (is_own ? 2 : 1) * size * sizeof(V));
    struct Freed {
      void operator()(void* what) const { ::operator delete(what); }
    };
    std::unique_ptr<void, Freed> until_made(memory);
    V* uncounted = nullptr;
    if constexpr (!is_own) uncounted = static_cast<V*>(Memory::Pool::get().take(size * sizeof(V)));
    auto* const block = ::new (memory) ViewBlock(size, uncounted);
    static_cast<void>(until_made.release());
    add_all([&](auto const& view) { block->add(view); });
    return block;
  }

 private:
  using Memory = ListMemory<typename V::memory_space>;
  static constexpr bool is_own = Memory::is_own;
  static_assert(alignof(V) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  ViewBlock(std::size_t size, V* kernel_memory) noexcept : m_room(size) {
    destroy = [](ListBlock* block) noexcept { static_cast<ViewBlock*>(block)->end(); };
    copy = [](ListBlock const* block) -> ListBlock* {
      auto const& from = *static_cast<ViewBlock const*>(block);
      return make(from.m_room, [&](auto const& add) {
        for (std::size_t k = 0; k < from.m_size; ++k) add(from.m_counted[k]);
      });
    };
    m_counted = reinterpret_cast<V*>(this + 1);
    m_uncounted = is_own ? m_counted + size : kernel_memory;
    counted = m_counted;
    uncounted = m_uncounted;
  }
  /// Adds a View. Nothing here throws.
  template <class Given>
  void add(Given const& view) noexcept {
    ::new (m_counted + m_size) V(view);
    ::new (m_uncounted + m_size) V(uncounted_copy<V>(view));
    ++m_size;
  }
  void end() noexcept {
    std::destroy_n(m_counted, m_size);
    std::destroy_n(m_uncounted, m_size);
    if constexpr (!is_own) Memory::Pool::get().put(m_uncounted, m_room * sizeof(V));
    this->~ViewBlock();
    ::operator delete(static_cast<void*>(this));
  }

  std::size_t const m_room;
  std::size_t m_size = 0;
  V* m_counted;
  V* m_uncounted;
};

/// The number of Views that a list has in place. For Views that a device may have to reach it is
/// not 0, as a kernel's arguments are near.
template <class V>
inline constexpr std::size_t views_in_place =
    std::is_same_v<typename V::memory_space, Kokkos::HostSpace> ? 0 : 8;

template <class V, std::size_t most>
struct ViewsInPlace {
  V views[most];
  [[nodiscard]] KOKKOS_FUNCTION V const* first() const { return views; }
  [[nodiscard]] KOKKOS_FUNCTION V* first() { return views; }
};
template <class V>
struct ViewsInPlace<V, 0> {
  [[nodiscard]] KOKKOS_FUNCTION V* first() const { return nullptr; }
};

template <class MemoryTraits>
inline constexpr unsigned trait_bits = 0;
template <unsigned bits>
inline constexpr unsigned trait_bits<Kokkos::MemoryTraits<bits>> = bits;
template <class V, unsigned extra>
using WithTrait =
    Kokkos::View<typename V::data_type, typename V::array_layout, typename V::device_type,
                 Kokkos::MemoryTraits<trait_bits<typename V::memory_traits> | extra>>;

}  // namespace Impl

/// The Views of an annotated range, as a functor takes them. With a `std::vector<V> views` a
/// functor gets a `read_view_list<V>` for `read(views)`, a `view_list<V>` for `write(views)`, and
/// an `atomic_view_list<V>` for `atomic_add(views)`. For a range of groups it gets a list for each
/// member of the groups. The Views are in the order of the range:
///
///     KOKKOS_LAMBDA(int i, read_view_list<V> const& in, V out) {
///       for (auto const& x : in) out(i) += x(i);
///     }
///
/// Take it by reference: it may hold some Views in place. It keeps its Views, as a View keeps its
/// allocation, so they live until the task is done, whatever happens to the range.
template <class V>
class view_list : Impl::ViewsInPlace<V, Impl::views_in_place<V>> {
 public:
  using value_type = V;
  using const_iterator = V const*;
  using iterator = const_iterator;

  KOKKOS_DEFAULTED_FUNCTION view_list() = default;
  KOKKOS_FUNCTION view_list(view_list const& other)
      : Few(other), m_many(other.m_many), m_size(other.m_size), m_hold(other.m_hold) {
    KOKKOS_IF_ON_HOST((find(other);))
  }
  KOKKOS_FUNCTION view_list& operator=(view_list const& other) {
    Few::operator=(other);
    m_many = other.m_many;
    m_size = other.m_size;
    m_hold = other.m_hold;
    KOKKOS_IF_ON_HOST((find(other);))
    return *this;
  }
  KOKKOS_DEFAULTED_FUNCTION ~view_list() = default;

  template <class R, std::size_t... member>
  view_list(Impl::ViewsOf<R, member...> const& views) : m_size(views.size()) {
    if (m_size <= in_place) {
      std::size_t k = 0;
      views.for_each([&](auto const& view) { Few::first()[k++] = view; });
    } else {
      m_hold = Impl::ListHold(
          Impl::ViewBlock<V>::make(m_size, [&](auto const& add) { views.for_each(add); }));
      m_many = static_cast<V const*>(m_hold.block()->counted);
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION std::size_t size() const { return m_size; }
  [[nodiscard]] KOKKOS_FUNCTION bool empty() const { return m_size == 0; }
  [[nodiscard]] KOKKOS_FUNCTION V const& operator[](std::size_t k) const { return data()[k]; }
  [[nodiscard]] KOKKOS_FUNCTION V const* data() const {
    return m_many != nullptr ? m_many : Few::first();
  }
  [[nodiscard]] KOKKOS_FUNCTION V const* begin() const { return data(); }
  [[nodiscard]] KOKKOS_FUNCTION V const* end() const { return data() + m_size; }

 private:
  static constexpr std::size_t in_place = Impl::views_in_place<V>;
  /// This is a base, so that it takes no room if it is empty. Since CUDA 12.9 a
  /// [[no_unique_address]] member would make nvcc lay out the list differently on a device.
  using Few = Impl::ViewsInPlace<V, in_place>;

  /// Finds its Views after a copy.
  void find(view_list const& from) {
    if (from.m_hold.block() == nullptr) return;
    m_many = static_cast<V const*>(m_hold.block() != nullptr ? m_hold.block()->counted
                                                             : from.m_hold.block()->uncounted);
  }

  V const* m_many = nullptr;  ///< null: in place
  std::size_t m_size = 0;
  Impl::ListHold m_hold;  ///< keeps those at m_many
};

/// The type in which a functor takes a View annotated with `read`: its elements are const.
template <class V>
using read_view = typename V::const_type;
/// The type in which a functor takes a View annotated with `atomic_add` or `atomic_mul`: its
/// element operations are atomic.
template <class V>
using atomic_view = Impl::WithTrait<V, Kokkos::Atomic>;
/// The type in which a functor takes a range of Views annotated with `read`.
template <class V>
using read_view_list = view_list<read_view<V>>;
/// The type in which a functor takes a range of Views annotated with `atomic_add` or `atomic_mul`.
template <class V>
using atomic_view_list = view_list<atomic_view<V>>;

}  // namespace trellis

#endif
