// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GPU_STAMPS_HPP
#define TRELLIS_GPU_STAMPS_HPP

#include "Gpu.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gpu {

/// Nanoseconds, by one clock for the whole device.
KOKKOS_INLINE_FUNCTION unsigned long long device_now() {
#if defined(__CUDA_ARCH__)
  unsigned long long time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
#else
  KOKKOS_IF_ON_HOST((return static_cast<unsigned long long>(now() * 1e9);))
  KOKKOS_IF_ON_DEVICE((return 0;))
#endif
}

/// Where a kernel notes when it began and ended. Null: it does not.
struct Stamp {
  unsigned long long* begin = nullptr;
  unsigned long long* end = nullptr;

  /// For some of the work items, so that it costs little.
  KOKKOS_FUNCTION void start(bool here) const {
    if (begin != nullptr && here) Kokkos::atomic_min(begin, device_now());
  }
  KOKKOS_FUNCTION void stop(bool here) const {
    if (begin != nullptr && here) Kokkos::atomic_max(end, device_now());
  }
};

/// How busy the device was, from the times that the kernels themselves have noted.
struct Utilisation {
  double busy = 0;  ///< part of the time from the first kernel to the last in which any was running
  double side_by_side = 0;  ///< how many ran at a time, on average
};

/// Stamps for a fixed number of kernels.
class Stamps {
 public:
  explicit Stamps(std::size_t kernels) : m_times("times", kernels, 2) { clear(); }
  void clear() const {
    auto const begins = Kokkos::subview(m_times, Kokkos::ALL, 0);
    auto const ends = Kokkos::subview(m_times, Kokkos::ALL, 1);
    Kokkos::deep_copy(begins, ~0ULL);
    Kokkos::deep_copy(ends, 0ULL);
    Kokkos::fence();
  }
  /// Addresses only: the host does not reach what is there.
  [[nodiscard]] Stamp at(std::size_t kernel) const {
    unsigned long long* const times = m_times.data() + 2 * kernel;
    return {times, times + 1};
  }
  /// From the first kernel's begin to the last one's end; 0: none has noted any.
  [[nodiscard]] double seconds() const {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_times);
    unsigned long long begin = ~0ULL, end = 0;
    for (std::size_t k = 0; k < host.extent(0); ++k) {
      begin = std::min(begin, host(k, 0));
      end = std::max(end, host(k, 1));
    }
    return begin > end ? 0 : static_cast<double>(end - begin) * 1e-9;
  }
  [[nodiscard]] Utilisation utilisation() const {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_times);
    std::vector<std::pair<unsigned long long, unsigned long long>> intervals;
    for (std::size_t k = 0; k < host.extent(0); ++k)
      if (host(k, 0) <= host(k, 1)) intervals.emplace_back(host(k, 0), host(k, 1));
    if (intervals.empty()) return {};
    std::sort(intervals.begin(), intervals.end());
    double busy = 0, sum = 0;
    unsigned long long const first = intervals.front().first;
    unsigned long long reached = first;
    for (auto const& [begin, end] : intervals) {
      sum += static_cast<double>(end - begin);
      if (end > reached) busy += static_cast<double>(end - std::max(begin, reached));
      reached = std::max(reached, end);
    }
    double const whole = static_cast<double>(reached - first);
    return whole == 0 ? Utilisation{} : Utilisation{busy / whole, sum / whole};
  }

 private:
  Kokkos::View<unsigned long long**, Kokkos::LayoutRight, Memory> m_times;
};

}  // namespace gpu

#endif
