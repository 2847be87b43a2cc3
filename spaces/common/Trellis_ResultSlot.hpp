// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RESULTSLOT_HPP
#define TRELLIS_RESULTSLOT_HPP

#include <common/Trellis_AdapterOf.hpp>
#include <common/Trellis_FinalizeHook.hpp>

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// A reduction on a device puts the value for a Future into memory that host and device reach, so
/// that the host does not have to wait for it.
namespace trellis::Impl {

/// True if the space has such memory: its AdapterOf names the memory space as `result_space`.
template <class ExecutionSpace>
inline constexpr bool has_result_space =
    requires { typename AdapterOf<ExecutionSpace>::result_space; };

/// Hands out pieces of memory, cut from few large blocks, because allocating such memory stops a
/// device. The pool grows to what has been needed at one time, and ends with Kokkos. Any thread may
/// use it.
template <class MemorySpace>
class ResultPool {
 public:
  static constexpr std::size_t smallest = 64;
  static constexpr std::size_t block = 64 * 1024;

  static ResultPool& get() {
    static auto& pool = *new ResultPool;  // tasks may outlive static objects
    return pool;
  }
  void* take(std::size_t bytes) {
    std::lock_guard const lock(m_mutex);
    std::vector<void*>& free = m_free[size_class(bytes)];
    if (free.empty()) {
      std::size_t const size = smallest << size_class(bytes);
      std::size_t const count = size < block ? block / size : 1;
      auto* const begin =
          static_cast<std::byte*>(m_space.allocate("trellis results", count * size));
      m_blocks.push_back({begin, count * size});
      for (std::size_t k = count; k-- > 0;) free.push_back(begin + k * size);
    }
    void* const piece = free.back();
    free.pop_back();
    ++m_taken;
    return piece;
  }
  void put(void* piece, std::size_t bytes) noexcept {
    std::lock_guard const lock(m_mutex);
    m_free[size_class(bytes)].push_back(piece);
    if (--m_taken == 0 && m_over) give_back();
  }

 private:
  struct Block {
    void* begin;
    std::size_t bytes;
  };
  ResultPool() : m_free(48) {
    push_finalize_hook([this] {
      std::lock_guard const lock(m_mutex);
      m_over = true;  // graphs may still end after this
      if (m_taken == 0) give_back();
    });
  }
  static std::size_t size_class(std::size_t bytes) {
    return bytes <= smallest ? 0 : static_cast<std::size_t>(std::bit_width((bytes - 1) / smallest));
  }
  void give_back() {
    for (std::vector<void*>& free : m_free) free.clear();
    for (Block const& each : m_blocks)
      m_space.deallocate("trellis results", each.begin, each.bytes);
    m_blocks.clear();
  }

  std::mutex m_mutex;
  MemorySpace m_space;
  std::vector<std::vector<void*>> m_free;  ///< by size: `smallest` times a power of two
  std::vector<Block> m_blocks;
  std::size_t m_taken = 0;
  bool m_over = false;
};

/// Holds one value in such memory. A copy of a slot is empty: each body has its own.
template <class T, class MemorySpace>
class ResultSlot {
 public:
  static_assert(std::is_trivially_destructible_v<T>,
                "Trellis: a device cannot reduce into such a value");

  ResultSlot() = default;
  ResultSlot(ResultSlot const& /*other*/) noexcept {}
  ResultSlot(ResultSlot&& other) noexcept : m_place(std::exchange(other.m_place, nullptr)) {}
  ResultSlot& operator=(ResultSlot const&) = delete;
  ~ResultSlot() {
    if (m_place != nullptr) ResultPool<MemorySpace>::get().put(m_place, sizeof(T));
  }

  /// Prepares for the next launch; the last one must be over. The value is set, as Kokkos does not
  /// write it when there is nothing to scan.
  T& renew() {
    if (m_place == nullptr) m_place = ResultPool<MemorySpace>::get().take(sizeof(T));
    return *::new (m_place) T();
  }
  [[nodiscard]] T const& value() const { return *static_cast<T const*>(m_place); }

 private:
  void* m_place = nullptr;
};

/// Holds values next to each other; their number is known at run time. A copy is empty, too.
template <class T, class MemorySpace>
class ArraySlot {
 public:
  static_assert(std::is_trivially_destructible_v<T>,
                "Trellis: a device cannot reduce into such a value");

  ArraySlot() = default;
  ArraySlot(ArraySlot const& /*other*/) noexcept {}
  ArraySlot(ArraySlot&& other) noexcept
      : m_place(std::exchange(other.m_place, nullptr)), m_count(std::exchange(other.m_count, 0)) {}
  ArraySlot& operator=(ArraySlot const&) = delete;
  ~ArraySlot() { free(); }

  /// Prepares for the next launch; the last one must be over.
  T* renew(std::size_t count) {
    if (m_place == nullptr || count != m_count) {
      free();
      m_place = ResultPool<MemorySpace>::get().take(count * sizeof(T));
      m_count = count;
    }
    T* const first = static_cast<T*>(m_place);
    std::uninitialized_value_construct_n(first, count);
    return first;
  }
  [[nodiscard]] std::span<T const> value() const {
    return {static_cast<T const*>(m_place), m_count};
  }

 private:
  void free() noexcept {
    if (m_place != nullptr) ResultPool<MemorySpace>::get().put(m_place, m_count * sizeof(T));
    m_place = nullptr;
  }
  void* m_place = nullptr;
  std::size_t m_count = 0;
};

}  // namespace trellis::Impl

#endif
