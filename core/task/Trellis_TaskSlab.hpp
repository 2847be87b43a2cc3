// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKSLAB_HPP
#define TRELLIS_IMPL_TASKSLAB_HPP

#include <task/Trellis_Task.hpp>

#include <atomic>
#include <cstddef>
#include <vector>

namespace trellis::Impl {

/// Memory for tasks: grows by blocks, never shrinks, reuses the task freed last. `acquire` is
/// called by one thread at a time (under the submission lock), `recycle_chain` by any.
class TaskSlab {
 public:
  static constexpr int block_size = 64;

  TaskSlab() = default;
  TaskSlab(TaskSlab const&) = delete;
  TaskSlab& operator=(TaskSlab const&) = delete;
  ~TaskSlab();

  [[nodiscard]] Task& acquire();
  /// Gives back tasks linked by `next` from `first` to `last`.
  void recycle_chain(Task* first, Task* last) noexcept;
  /// Visits every task ever made, live or not. Requires the submission lock.
  template <class F>
  void for_each(F&& f) {
    for (Task* block : m_blocks)
      for (int k = 0; k < block_size; ++k) f(block[k]);
  }
  [[nodiscard]] std::size_t allocated() const { return m_blocks.size() * block_size; }

 private:
  Task* m_available = nullptr;                      ///< for the submitting thread alone
  alignas(64) std::atomic<Task*> m_freed{nullptr};  ///< pushed by many, taken whole by one: no ABA
  std::vector<Task*> m_blocks;
};

}  // namespace trellis::Impl

#endif
