// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MICRO_CPU_HPP
#define TRELLIS_MICRO_CPU_HPP

#include <sys/resource.h>

namespace micro {

/// Seconds of all threads, in the program and in the kernel of the operating system.
struct CpuTime {
  double user = 0;
  double system = 0;
  static CpuTime now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto const seconds = [](timeval const& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
  }
  [[nodiscard]] double all() const { return user + system; }
};

}  // namespace micro

#endif
