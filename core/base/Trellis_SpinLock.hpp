// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SPINLOCK_HPP
#define TRELLIS_IMPL_SPINLOCK_HPP

#include <atomic>
#include <thread>

namespace trellis::Impl {

/// Fetches the cache line at this address, which another core has probably written, to write it
/// soon. It is only a hint: the address need not be valid.
inline void prefetch_to_write(void const* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<char const*>(address)));
#elif defined(__GNUC__)
  __builtin_prefetch(address, 1);
#else
  (void)address;
#endif
}

/// Fetches the cache line at this address to read it soon.
inline void prefetch_to_read(void const* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address, 0);
#else
  (void)address;
#endif
}

/// Tells the core that this thread spins. `_mm_pause` is not used, as the header that declares it
/// takes a second to compile.
inline void cpu_relax() noexcept {
#if defined(TRELLIS_IMPL_MODEL)
  std::this_thread::yield();  // the model checker of unit_tests/core/models sees this call
#elif defined(__x86_64__) || defined(__i386__)
  asm volatile("pause" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A lock of one byte, for sections of a few dozen instructions. After a short spin it yields, so
/// that a holder that the kernel took off its core can finish.
///
/// Memory order: `lock` acquires what the last `unlock` released. All operations that take the lock
/// are in the single order of sequentially consistent operations: TaskDeque relies on that. (With
/// an exchange that costs nothing on x86 and on ARM.)
class SpinLock {
 public:
  [[gnu::always_inline]] void lock() noexcept {
    if (m_locked.exchange(true, std::memory_order_seq_cst)) lock_later();
  }
  bool try_lock() noexcept {
    return !m_locked.load(std::memory_order_relaxed) &&
           !m_locked.exchange(true, std::memory_order_seq_cst);
  }
  void unlock() noexcept { m_locked.store(false, std::memory_order_release); }

 private:
#if defined(__GNUC__)
  __attribute__((noinline, cold))
#endif
  void
  lock_later() noexcept {
    int spins = 0;
    do {
      while (m_locked.load(std::memory_order_relaxed)) {
        if (++spins < 64)
          cpu_relax();
        else
          std::this_thread::yield();
      }
    } while (m_locked.exchange(true, std::memory_order_seq_cst));
  }

  std::atomic<bool> m_locked{false};
};

}  // namespace trellis::Impl

#endif
