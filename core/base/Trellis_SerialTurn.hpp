// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SERIALTURN_HPP
#define TRELLIS_IMPL_SERIALTURN_HPP

#include <atomic>
#include <mutex>
#include <thread>

namespace trellis::Impl {

/// In a serial graph one thread at a time runs tasks: the one that has the turn.
///
/// INVARIANT. No thread sleeps while it has the turn, whatever it waits for: a Completion, room
/// below the cap, another graph. It gives the turn back, sleeps a little, and looks again. So no
/// thread relies on being woken, and every other thread may run tasks meanwhile. A submission needs
/// no turn, only the run that follows it.
class SerialTurn {
 public:
  /// Holds the turn for the calling thread. A Hold within another has no effect.
  class Hold {
   public:
    explicit Hold(SerialTurn& turn) : m_turn(turn), m_is_new(!turn.is_here()) {
      if (!m_is_new) return;
      m_turn.m_mutex.lock();
      m_turn.m_thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    /// Takes the turn only if no other thread has it.
    Hold(SerialTurn& turn, std::try_to_lock_t)
        : m_turn(turn), m_is_new(!turn.is_here() && turn.m_mutex.try_lock()) {
      if (m_is_new) m_turn.m_thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    Hold(Hold const&) = delete;
    Hold& operator=(Hold const&) = delete;
    ~Hold() {
      if (!m_is_new) return;
      m_turn.m_thread.store(std::thread::id(), std::memory_order_relaxed);
      m_turn.m_mutex.unlock();
    }

    /// True if the thread has got the turn by this Hold.
    [[nodiscard]] bool is_new() const { return m_is_new; }

   private:
    SerialTurn& m_turn;
    bool const m_is_new;
  };
  /// Gives up the calling thread's turn, if it has it, while this object exists.
  class Release {
   public:
    explicit Release(SerialTurn& turn) : m_turn(turn), m_was_here(turn.is_here()) {
      if (!m_was_here) return;
      m_turn.m_away.fetch_add(1, std::memory_order_relaxed);
      m_turn.m_thread.store(std::thread::id(), std::memory_order_relaxed);
      m_turn.m_mutex.unlock();
    }
    Release(Release const&) = delete;
    Release& operator=(Release const&) = delete;
    ~Release() {
      if (!m_was_here) return;
      m_turn.m_mutex.lock();
      m_turn.m_thread.store(std::this_thread::get_id(), std::memory_order_relaxed);
      m_turn.m_away.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    SerialTurn& m_turn;
    bool const m_was_here;
  };
  /// True if some thread has released the turn in the middle of a task, and will go on. The thread
  /// that has the turn asks; through the mutex it knows of all threads that have released it.
  [[nodiscard]] bool any_away() const { return m_away.load(std::memory_order_relaxed) > 0; }

 private:
  /// True if the calling thread has the turn: only the thread itself finds its own id.
  [[nodiscard]] bool is_here() const {
    return m_thread.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  std::mutex m_mutex;
  std::atomic<std::thread::id> m_thread{};
  std::atomic<int> m_away{0};  ///< written by a thread that has the turn
};

}  // namespace trellis::Impl

#endif
