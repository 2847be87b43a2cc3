// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_UNLOCKED_HPP
#define TRELLIS_IMPL_UNLOCKED_HPP

#include <task/Trellis_SharedObject.hpp>
#include <threads/Trellis_SpinLock.hpp>

#include <utility>

/// Destructors of the user's run under no lock of the engine.
///
/// Tags, states of accesses and exceptions are shared, and the last reference to one may go while a
/// table is being tidied up under a lock. Their destructors are user code, which may submit a task,
/// or be slow. So objects made by `make_shared_unlocked` that lose their last reference on a thread
/// that holds a `QuietLock` are put aside, and destroyed when that thread gives up the last such
/// lock.
///
/// INVARIANT. All of it belongs to one thread, so it needs no order in memory: `t_quiet_locks`
/// counts the quiet locks that the thread holds; its list is empty when the count is 0, but for the
/// time in which `destroy_put_aside` works on it.
namespace trellis::Impl {

inline constinit thread_local int t_quiet_locks = 0;
inline constinit thread_local bool t_any_put_aside = false;

void destroy_put_aside() noexcept;

/// A mutex under which nothing of the user's is destroyed.
template <class Mutex>
class QuietLock {
 public:
  void lock() {
    m_mutex.lock();
    ++t_quiet_locks;
  }
  void unlock() {
    m_mutex.unlock();
    if (--t_quiet_locks == 0 && t_any_put_aside) destroy_put_aside();
  }

 private:
  Mutex m_mutex;
};

/// The lock of a graph's submissions. Some of the user's code runs under it: the copy or move of a
/// functor into its task, comparisons of tags and states, rules. When that uses the graph again,
/// the thread would wait for itself; `lock` throws an `Error` that says so.
class SubmissionLock {
 public:
  void lock() {
    if (is_held_here()) refuse();
    m_lock.lock();
    m_outer = std::exchange(t_held, this);
  }
  void unlock() {
    t_held = m_outer;
    m_lock.unlock();
  }
  [[nodiscard]] bool is_held_here() const {
    for (SubmissionLock const* held = t_held; held != nullptr; held = held->m_outer)
      if (held == this) return true;
    return false;
  }
  [[noreturn]] static void refuse();

 private:
  static constinit inline thread_local SubmissionLock const* t_held = nullptr;
  QuietLock<SpinLock> m_lock;
  SubmissionLock const* m_outer = nullptr;  ///< of another graph, held by the same thread
};

}  // namespace trellis::Impl

#endif
