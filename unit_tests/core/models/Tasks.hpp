// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_TASKS_HPP
#define TRELLIS_TEST_TASKS_HPP

#include <task/Trellis_Task.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace trellis::model {

/// The library's tasks, with what a model needs of a submission.
class Tasks {
 public:
  explicit Tasks(std::size_t count) : m_tasks(new Impl::Task[count]) {}
  Impl::Task& operator[](std::size_t k) { return m_tasks[k]; }

  /// As Submission::admit does: from here on other tasks may be put behind it.
  static void admit(Impl::Task& task, TaskId id) {
    task.begin_submission();
    task.has_waiter = false;
    task.clear_successors();
    task.id = id;
    task.live_id.store(id, std::memory_order_release);
  }

 private:
  std::unique_ptr<Impl::Task[]> m_tasks;
};

}  // namespace trellis::model

#endif
