// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <base/Trellis_TouchedPages.hpp>

#include <algorithm>
#include <cstddef>

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace trellis::Impl {

#ifdef __linux__

namespace {

std::uintptr_t page_size() {
  static std::uintptr_t const size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/// True if this process has touched none of these pages. The file has 8 bytes for each. Bit 63 is
/// set for a page in memory, bit 62 for one that is swapped out, bit 61 for one of a file, which
/// other processes may have written.
bool is_untouched(std::uintptr_t first, std::uintptr_t last) {
  constexpr std::size_t at_once = 512;
  constexpr std::uint64_t touched = std::uint64_t{7} << 61;
  struct File {
    int const number = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    ~File() {
      if (number >= 0) close(number);
    }
  } const file;
  if (file.number < 0) return false;
  std::uint64_t entries[at_once];
  for (std::uintptr_t page = first; page < last;) {
    std::size_t const count = std::min<std::size_t>(at_once, last - page);
    auto const bytes = static_cast<ssize_t>(count * sizeof entries[0]);
    auto const from = static_cast<off_t>(page * sizeof entries[0]);
    if (pread(file.number, entries, static_cast<std::size_t>(bytes), from) != bytes) return false;
    for (std::size_t k = 0; k < count; ++k)
      if ((entries[k] & touched) != 0) return false;
    page += count;
  }
  return true;
}

}  // namespace

bool never_touched(std::uintptr_t begin, std::uintptr_t end) {
  std::uintptr_t const first = (begin + page_size() - 1) / page_size();
  std::uintptr_t const last = end / page_size();
  return first < last && is_untouched(first, last);
}

bool may_be_mapped(std::uintptr_t address) {
  unsigned char is_in_memory = 0;
  void* const page = reinterpret_cast<void*>(address / page_size() * page_size());
  return mincore(page, 1, &is_in_memory) == 0 || errno != ENOMEM;
}

#else

bool never_touched(std::uintptr_t, std::uintptr_t) {
  return false;
}
bool may_be_mapped(std::uintptr_t) {
  return true;
}

#endif

}  // namespace trellis::Impl
