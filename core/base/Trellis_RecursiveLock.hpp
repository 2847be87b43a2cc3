// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RECURSIVELOCK_HPP
#define TRELLIS_IMPL_RECURSIVELOCK_HPP

#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_ThisThread.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace trellis::Impl {

/// A recursive lock that is mostly held for microseconds, and mostly free. It costs a fraction of
/// std::recursive_mutex, which calls the operating system's library three times for each use. A
/// thread that waits for long (a launch is code of the user's) sleeps between two tries.
///
/// Memory order: a thread that gets the lock acquires what the last holder released. `m_owner`
/// equals the calling thread only if that thread has stored it and not cleared it since, so it may
/// be read relaxed. `m_depth` belongs to the holder.
class RecursiveLock {
 public:
  bool try_lock() noexcept {
    void const* const here = ThisThread::id();
    if (m_owner.load(std::memory_order_relaxed) == here) {
      ++m_depth;
      return true;
    }
    void const* nobody = nullptr;
    return m_owner.load(std::memory_order_relaxed) == nullptr &&
           m_owner.compare_exchange_strong(nobody, here, std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }
  void lock() {
    constexpr int spins = 200;  // about as long as it would take to be woken
    constexpr int yields = 50;
    constexpr std::chrono::microseconds nap{50};
    for (int k = 0; !try_lock(); ++k) {
      if (k < spins)
        cpu_relax();
      else if (k < spins + yields)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(nap);
    }
  }
  void unlock() noexcept {
    if (m_depth > 0)
      --m_depth;
    else
      m_owner.store(nullptr, std::memory_order_release);
  }

 private:
  std::atomic<void const*> m_owner{nullptr};
  int m_depth = 0;  ///< how often the owner has locked it again
};

}  // namespace trellis::Impl

#endif
