// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LARGEPAGES_HPP
#define TRELLIS_IMPL_LARGEPAGES_HPP

#include <cstddef>

namespace trellis::Impl {

inline constexpr std::size_t large_page = std::size_t{1} << 21;

/// Allocates memory for tables with scattered look-ups. From the size of a large page on it asks
/// the system for such pages. If entries are spread over thousands of small pages, translating an
/// address takes longer than the access itself, above all in a virtual machine.
[[nodiscard]] void* allocate_table(std::size_t bytes, std::size_t alignment);
void free_table(void* memory, std::size_t bytes, std::size_t alignment) noexcept;

/// An allocator of such memory for a std::vector.
template <class T>
struct TableAllocator {
  using value_type = T;

  TableAllocator() = default;
  template <class U>
  TableAllocator(TableAllocator<U> const&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(allocate_table(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    free_table(memory, count * sizeof(T), alignof(T));
  }
  bool operator==(TableAllocator const&) const = default;
};

}  // namespace trellis::Impl

#endif
