// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MICRO_MEMORY_HPP
#define TRELLIS_MICRO_MEMORY_HPP

#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

/// What a process holds. Empty where the platform does not tell (told by glibc and Linux).
namespace micro {

/// Bytes that the program has asked for and not given back.
inline std::optional<std::int64_t> allocated_bytes() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  struct mallinfo2 const info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#else
  return std::nullopt;
#endif
}

/// From here on `peak_resident_bytes` counts anew. False where that is not possible.
inline bool restart_peak() {
#if defined(__GLIBC__)
  malloc_trim(0);  // what others have freed would hide what is taken now
#endif
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  return file.good();
}

/// The most memory the process had resident.
inline std::optional<std::int64_t> peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && file >> kilobytes) return 1024 * kilobytes;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

}  // namespace micro

#endif
