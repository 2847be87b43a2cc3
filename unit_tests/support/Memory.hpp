// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_MEMORY_HPP
#define TRELLIS_TEST_MEMORY_HPP

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

#include "Sanitized.hpp"

/// What the operating system says about this process (Linux).
namespace trellis::Test {

/// 0 under the sanitizers, which keep freed memory.
inline std::size_t resident_bytes() {
  if (sanitized) return 0;
  std::size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

inline int thread_count() {
  using Entries = std::filesystem::directory_iterator;
  return static_cast<int>(std::distance(Entries("/proc/self/task"), Entries()));
}

/// The system counts a thread that has been joined for a moment longer.
inline bool thread_count_comes_down_to(int count) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (thread_count() > count) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace trellis::Test

#endif
