// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_UNLOCKED_HPP
#define TRELLIS_IMPL_UNLOCKED_HPP

#include <task/Trellis_OneForAll.hpp>
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

/// Calls `passed(mark)` when this thread has destroyed what it has put aside so far. Requires that
/// there is something; false when nothing has been added since this mark.
bool mark_put_aside(void* mark, void (*passed)(void* mark) noexcept) noexcept;
/// How many of these the calling thread has not passed yet.
[[nodiscard]] int marks_put_aside(void const* mark) noexcept;
/// The thread will pass them without a call.
void forget_marks_put_aside(void const* mark) noexcept;

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
  /// For a thread that keeps destructors off for longer, see Quiet: it need not be said twice.
  [[nodiscard]] Mutex& while_quiet() { return m_mutex; }

 private:
  Mutex m_mutex;
};

/// The locks under which the calling thread submits something, as a list on its stack. Some of the
/// user's code runs under them: the copy or move of a functor into its task, comparisons of tags
/// and states, rules. When that uses the graph again, the thread might wait for itself, so the
/// graph asks here first.
class Submitting {
 public:
  explicit Submitting(void const* graph) : m_graph(graph) {}
  Submitting(Submitting const&) = delete;
  Submitting& operator=(Submitting const&) = delete;

  void begin() { m_outer = std::exchange(t_innermost, this); }
  void end() { t_innermost = m_outer; }
  /// Does the thread hold any?
  [[nodiscard]] static bool any() { return t_innermost != nullptr; }
  /// Such a lock of this graph?
  [[nodiscard]] static bool to(void const* graph) {
    Submitting const* each = t_innermost;
    while (each != nullptr && each->m_graph != graph) each = each->m_outer;
    return each != nullptr;
  }
  /// Has the thread begun this one, and not ended it?
  [[nodiscard]] bool is_here() const {
    Submitting const* each = t_innermost;
    while (each != nullptr && each != this) each = each->m_outer;
    return each != nullptr;
  }
  /// Throws the `Error` for code of the user's that uses the graph.
  [[noreturn]] static void refuse();

 private:
  TRELLIS_IMPL_ONE_FOR_ALL static constinit inline thread_local Submitting const* t_innermost =
      nullptr;
  void const* const m_graph;
  Submitting const* m_outer = nullptr;
};

/// The lock of a graph: of its root region, its plans and passes. It stands for the graph in
/// `Submitting`.
class SubmissionLock {
 public:
  /// Throws when the thread submits to the graph already.
  void lock() {
    if (is_held_here()) Submitting::refuse();
    lock_nested();
  }
  /// The same for the engine, below the locks of regions. The thread must not hold this one.
  void lock_nested() {
    m_lock.lock();
    m_submitting.begin();
  }
  void unlock() {
    m_submitting.end();
    m_lock.unlock();
  }
  /// This lock, or that of a region of the graph.
  [[nodiscard]] bool is_held_here() const { return Submitting::to(this); }
  [[nodiscard]] bool is_locked_here() const { return m_submitting.is_here(); }

  /// The same lock, for a thread that is in a `Quiet` for longer than it has this.
  class WhileQuiet {
   public:
    explicit WhileQuiet(SubmissionLock& lock) : m_lock(lock) {}
    void lock() {
      if (m_lock.is_held_here()) Submitting::refuse();
      m_lock.m_lock.while_quiet().lock();
      m_lock.m_submitting.begin();
    }
    void unlock() {
      m_lock.m_submitting.end();
      m_lock.m_lock.while_quiet().unlock();
    }

   private:
    SubmissionLock& m_lock;
  };

 private:
  QuietLock<SpinLock> m_lock;
  Submitting m_submitting{this};
};

/// Holds the lock of a graph below those of its regions, unless the thread has it already.
class NestedHold {
 public:
  explicit NestedHold(SubmissionLock& graph, bool wanted = true)
      : m_graph(wanted && !graph.is_locked_here() ? &graph : nullptr) {
    if (m_graph != nullptr) m_graph->lock_nested();
  }
  NestedHold(NestedHold const&) = delete;
  NestedHold& operator=(NestedHold const&) = delete;
  ~NestedHold() {
    if (m_graph != nullptr) m_graph->unlock();
  }

 private:
  SubmissionLock* const m_graph;
};

}  // namespace trellis::Impl

#endif
