// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_UNLOCKED_HPP
#define TRELLIS_IMPL_UNLOCKED_HPP

#include <base/Trellis_OneForAll.hpp>
#include <base/Trellis_SharedObject.hpp>
#include <base/Trellis_SpinLock.hpp>

#include <utility>

/// Destructors of the user's run under no lock of the engine.
///
/// Tags, states of accesses and exceptions are shared, and the last reference to one may go while a
/// table is being tidied up under a lock. Their destructors are user code, which may submit a task,
/// or be slow. So the destruction of an object made by `make_shared_unlocked` is deferred if it
/// loses its last reference on a thread that holds a `DeferringLock`. It is destroyed when that
/// thread gives up the last such lock.
///
/// INVARIANT. All of this state belongs to one thread, so it needs no memory order.
/// `t_deferring_locks` counts the deferring locks that the thread holds. The thread's list of
/// deferred destructions is empty when the count is 0, except while `destroy_deferred_objects`
/// works on it.
namespace trellis::Impl {

inline constinit thread_local int t_deferring_locks = 0;
inline constinit thread_local bool t_any_deferred_objects = false;

void destroy_deferred_objects() noexcept;

/// Calls `passed(mark)` when this thread has run the destructions that it has deferred so far.
/// Requires that there is one. False: none has been added since this mark.
bool mark_deferred_objects(void* mark, void (*passed)(void* mark) noexcept) noexcept;
/// Returns how many entries of this mark the calling thread has not passed yet.
[[nodiscard]] int marks_deferred_objects(void const* mark) noexcept;
/// Lets the thread pass the entries of this mark without a call.
void forget_marks_of_deferred(void const* mark) noexcept;

/// A mutex under which no object of the user's is destroyed.
template <class Mutex>
class DeferringLock {
 public:
  void lock() {
    m_mutex.lock();
    ++t_deferring_locks;
  }
  void unlock() {
    m_mutex.unlock();
    if (--t_deferring_locks == 0 && t_any_deferred_objects) destroy_deferred_objects();
  }
  /// For a thread that is in a DeferDestructors for longer, which defers destructors already.
  [[nodiscard]] Mutex& while_deferring() { return m_mutex; }

 private:
  Mutex m_mutex;
};

/// The locks under which the calling thread submits something, as a list on its stack. Some user
/// code runs under them: the copy or move of a functor into its task, comparisons of tags and
/// states, rules. If that code used the graph again, the thread might wait for itself; so the graph
/// asks here first.
class Submitting {
 public:
  explicit Submitting(void const* graph) : m_graph(graph) {}
  Submitting(Submitting const&) = delete;
  Submitting& operator=(Submitting const&) = delete;

  void begin() { m_outer = std::exchange(t_innermost, this); }
  void end() { t_innermost = m_outer; }
  /// True if the thread holds any such lock.
  [[nodiscard]] static bool any() { return t_innermost != nullptr; }
  /// True if the thread holds such a lock of this graph.
  [[nodiscard]] static bool to(void const* graph) {
    Submitting const* each = t_innermost;
    while (each != nullptr && each->m_graph != graph) each = each->m_outer;
    return each != nullptr;
  }
  /// True if the thread has begun this submission, and not ended it.
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

/// The lock of a graph, which guards its root scope, its plans and iterations. Its address stands
/// for the graph in `Submitting`.
class SubmissionLock {
 public:
  /// Throws when the thread submits to the graph already.
  void lock() {
    if (is_held_here()) Submitting::refuse();
    lock_nested();
  }
  /// Takes the lock for the engine, below the locks of scopes. The thread must not hold it.
  void lock_nested() {
    m_lock.lock();
    m_submitting.begin();
  }
  void unlock() {
    m_submitting.end();
    m_lock.unlock();
  }
  /// True if the thread holds this lock, or that of a scope of the graph.
  [[nodiscard]] bool is_held_here() const { return Submitting::to(this); }
  [[nodiscard]] bool is_locked_here() const { return m_submitting.is_here(); }

  /// Locks the same lock, for a thread that is in a `DeferDestructors` for longer than it holds
  /// this.
  class WhileDeferring {
   public:
    explicit WhileDeferring(SubmissionLock& lock) : m_lock(lock) {}
    void lock() {
      if (m_lock.is_held_here()) Submitting::refuse();
      m_lock.m_lock.while_deferring().lock();
      m_lock.m_submitting.begin();
    }
    void unlock() {
      m_lock.m_submitting.end();
      m_lock.m_lock.while_deferring().unlock();
    }

   private:
    SubmissionLock& m_lock;
  };

 private:
  DeferringLock<SpinLock> m_lock;
  Submitting m_submitting{this};
};

/// Holds the lock of a graph below those of its scopes, unless the thread has it already.
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
