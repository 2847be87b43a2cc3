// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKSLAB_HPP
#define TRELLIS_IMPL_TASKSLAB_HPP

#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <cstddef>
#include <vector>

namespace trellis::Impl {

/// Memory for tasks: it grows by blocks, never shrinks, and reuses freed cells. One thread at a
/// time calls `acquire` and `acquire_last_chain` (under the graph's lock); any thread may call the
/// others.
///
/// INVARIANT. There is a new block only when the lists `m_available`, `m_freed` and `m_kept` are
/// all empty. So memory is that of the most tasks that there were at a time, and of the chains that
/// threads had then.
class TaskSlab {
 public:
  static constexpr int block_size = 64;

  /// `with_extras`: all tasks are going to use their extras.
  explicit TaskSlab(bool with_extras = false) : m_with_extras(with_extras) {}
  TaskSlab(TaskSlab const&) = delete;
  TaskSlab& operator=(TaskSlab const&) = delete;
  ~TaskSlab();

  [[nodiscard]] Task& acquire();
  /// Tasks linked by `next`, for a thread that keeps them to itself.
  struct Chain {
    Task* first = nullptr;
    Task* last = nullptr;
    int count = 0;
  };
  /// Returns a chain, which is empty if the only free tasks are those of `acquire`.
  [[nodiscard]] Chain acquire_chain();
  /// Returns a chain, if need be of the tasks of `acquire`, or of a new block.
  [[nodiscard]] Chain acquire_last_chain();
  /// Gives back tasks linked by `next` from `first` to `last`.
  void recycle_chain(Task* first, Task* last) noexcept;
  /// Visits every task that there was when the call began, live or not.
  template <class F>
  void for_each(F&& f) {
    for (Task* block : blocks())
      for (int k = 0; k < block_size; ++k) f(block[k]);
  }
  [[nodiscard]] std::size_t allocated() const { return blocks().size() * block_size; }

 private:
  [[nodiscard]] Vector<Task*> blocks() const;
  [[nodiscard]] Task* new_block();
  [[nodiscard]] Task* take_kept();
  [[nodiscard]] static Chain cut(Task*& list);

  bool const m_with_extras;
  Task* m_available = nullptr;                      ///< under the graph's lock
  alignas(64) std::atomic<Task*> m_freed{nullptr};  ///< pushed by many, taken whole: no ABA
  mutable SpinLock m_lock;
  Task* m_kept = nullptr;  ///< guarded by m_lock: for chains
  Vector<Task*> m_blocks;  ///< guarded by m_lock
};

}  // namespace trellis::Impl

#endif
