// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <base/Trellis_Reserve.hpp>

#include <cstdint>
#include <mutex>

namespace trellis::Impl {

namespace {

constexpr std::size_t reserve_size = std::size_t{1} << 20;

/// The bytes behind it are handed out one after the other, until all of them have come back.
struct alignas(std::max_align_t) Arena {
  Arena* next = nullptr;  ///< filled before this one
  std::size_t used = sizeof(Arena);
  std::size_t live = 0;  ///< blocks that have not come back
  [[nodiscard]] bool contains(void const* memory) const {
    auto const begin = reinterpret_cast<std::uintptr_t>(this);
    auto const at = reinterpret_cast<std::uintptr_t>(memory);
    return begin <= at && at < begin + reserve_size;
  }
};

// Never destroyed: threads and objects with static lifetime may still free something.
constinit std::mutex s_mutex;
constinit Arena* s_arenas = nullptr;  ///< guarded by s_mutex; the first is handed out

}  // namespace

void* Reserve::allocate(std::size_t bytes, std::size_t alignment) {
  void* const memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                           ? ::operator new(bytes, std::nothrow)
                           : ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  if (memory != nullptr) [[likely]]
    return memory;
  return take(bytes, alignment);
}

void* Reserve::take(std::size_t bytes, std::size_t alignment) {
  std::lock_guard const lock(s_mutex);
  m_is_short.store(true, std::memory_order_relaxed);
  for (Arena* arena = s_arenas; arena != nullptr; arena = arena->next) {
    auto const base = reinterpret_cast<std::uintptr_t>(arena);
    std::uintptr_t const at = (base + arena->used + alignment - 1) / alignment * alignment;
    if (at - base > reserve_size || bytes > reserve_size - (at - base)) continue;
    m_is_used.store(true, std::memory_order_relaxed);
    arena->used = at - base + bytes;
    ++arena->live;
    return reinterpret_cast<void*>(at);
  }
  throw std::bad_alloc();
}

void Reserve::free(void* memory, std::size_t alignment) noexcept {
  if (m_is_used.load(std::memory_order_relaxed)) [[unlikely]]
    if (give_back(memory)) return;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__)
    ::operator delete(memory);
  else
    ::operator delete(memory, std::align_val_t(alignment));
}

bool Reserve::give_back(void* memory) noexcept {
  Arena* empty = nullptr;
  {
    std::lock_guard const lock(s_mutex);
    Arena** link = &s_arenas;
    while (*link != nullptr && !(*link)->contains(memory)) link = &(*link)->next;
    Arena* const arena = *link;
    if (arena == nullptr) return false;
    if (--arena->live > 0) return true;
    arena->used = sizeof(Arena);
    if (arena != s_arenas) {
      *link = arena->next;
      empty = arena;
    }
    bool any = false;
    for (Arena const* each = s_arenas; each != nullptr; each = each->next)
      any = any || each->live > 0;
    if (!any) {
      m_is_used.store(false, std::memory_order_relaxed);
      m_is_short.store(false, std::memory_order_relaxed);
    }
  }
  ::operator delete(empty);
  return true;
}

void Reserve::fill() {
  std::lock_guard const lock(s_mutex);
  if (!m_is_short.load(std::memory_order_relaxed)) return;
  Arena* const before = s_arenas;
  if (before == nullptr || before->live > 0) {
    s_arenas = ::new (::operator new(reserve_size)) Arena;
    s_arenas->next = before;
  }
  m_is_short.store(false, std::memory_order_relaxed);
}

}  // namespace trellis::Impl
