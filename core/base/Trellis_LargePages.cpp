// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <base/Trellis_LargePages.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace trellis::Impl {

namespace {

std::align_val_t aligned(std::size_t alignment) {
  return std::align_val_t(std::max(alignment, large_page));
}

}  // namespace

void* allocate_table(std::size_t bytes, std::size_t alignment) {
  if (bytes < large_page) return Reserve::allocate(bytes, alignment);
  void* const memory = ::operator new(bytes, aligned(alignment));
#if defined(MADV_HUGEPAGE)
  // Failure does not matter: the memory then has ordinary pages.
  ::madvise(memory, bytes / large_page * large_page, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_table(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes < large_page) return Reserve::free(memory, alignment);
  ::operator delete(memory, bytes, aligned(alignment));
}

}  // namespace trellis::Impl
