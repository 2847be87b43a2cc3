// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RESERVEMEMORY_HPP
#define TRELLIS_IMPL_RESERVEMEMORY_HPP

#include <base/Trellis_OneForAll.hpp>

#include <atomic>
#include <cstddef>
#include <limits>
#include <new>

namespace trellis::Impl {

/// Memory to end what has begun: edges, queues, turns, failures, wake-ups.
///
/// As long as `operator new` has memory, it is used. When it has none, memory comes from a reserve
/// of one mebibyte, which was allocated before. From then on the reserve is short. An operation
/// that begins something new (`require`) then first tries to allocate another reserve. If that
/// fails, it throws `std::bad_alloc`, before it has changed anything. So a call that cannot be
/// carried out reports this. Tasks submitted before are completed, as long as that needs no more
/// than the reserve.
///
/// INVARIANT. `m_is_used` is set under the mutex before the first block of a reserve is handed out,
/// and reset under it when no block is left. The thread that frees a block has it from the thread
/// that allocated it, so it sees the flag. Where the flag is not set, no block is one of a reserve.
class Reserve {
 public:
  /// Throws `std::bad_alloc` when the reserve is exhausted, too.
  [[nodiscard]] static void* allocate(std::size_t bytes, std::size_t alignment);
  static void free(void* memory, std::size_t alignment) noexcept;
  /// Called by an operation that begins something new. Throws `std::bad_alloc` when the reserve
  /// cannot be filled.
  static void require() {
    if (m_is_short.load(std::memory_order_relaxed)) [[unlikely]]
      fill();
  }

 private:
  static void fill();
  [[nodiscard]] static void* take(std::size_t bytes, std::size_t alignment);
  [[nodiscard]] static bool give_back(void* memory) noexcept;

  TRELLIS_IMPL_ONE_FOR_ALL static constinit inline std::atomic<bool> m_is_short{true};
  TRELLIS_IMPL_ONE_FOR_ALL static constinit inline std::atomic<bool> m_is_used{false};
};

/// An allocator that uses the reserve.
template <class T>
struct FromReserve {
  using value_type = T;

  FromReserve() = default;
  template <class U>
  FromReserve(FromReserve<U> const&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(Reserve::allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { Reserve::free(memory, alignof(T)); }
  template <class U>
  bool operator==(FromReserve<U> const&) const noexcept {
    return true;
  }
};

/// A base of classes whose objects are made with `new`.
struct NewFromReserve {
  static void* operator new(std::size_t bytes) {
    return Reserve::allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  }
  static void operator delete(void* memory) noexcept {
    Reserve::free(memory, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  }
  static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return Reserve::allocate(bytes, static_cast<std::size_t>(alignment));
  }
  static void operator delete(void* memory, std::align_val_t alignment) noexcept {
    Reserve::free(memory, static_cast<std::size_t>(alignment));
  }
  static void* operator new(std::size_t, void* place) noexcept { return place; }
};

}  // namespace trellis::Impl

#endif
