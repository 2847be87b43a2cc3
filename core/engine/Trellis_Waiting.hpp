// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WAITING_HPP
#define TRELLIS_IMPL_WAITING_HPP

#include <Trellis_TaskNumber.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <scope/Trellis_Scope.hpp>
#include <kernel/Trellis_ForkJoinGate.hpp>
#include <task/Trellis_Task.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <threads/Trellis_Workers.hpp>

#include <mutex>
#include <span>
#include <string>

namespace trellis {
class SchedulingPolicy;
}

namespace trellis::Impl {

class FailureLog;
struct Features;
class Kernel;
class MainQueue;
class Polling;
class SerialTurn;

/// Handles threads that wait for tasks of a graph, outside of its tasks and inside. Decides what
/// they run meanwhile, and which waits are hopeless.
class Waiting {
 public:
  Waiting(Kernel& kernel, Features& features, MainQueue& main, SerialTurn& serial_turn,
          Polling& polling);
  Waiting(Waiting const&) = delete;
  Waiting& operator=(Waiting const&) = delete;

  void wait();
  /// Waits for one task; does not throw when it failed. `frame`: the calling thread's. `lets_go`:
  /// inside a task it releases tasks that have been held back.
  void wait_for(TaskHandle const& handle, Frame* frame, bool lets_go = true) {
    wait_for_gated(handle, frame, lets_go, nullptr);
  }
  /// Waits for all of these, then throws the error of the first one whose error `wait()` has not
  /// reported. `hint`: what is known of them; it does not change the result.
  void wait_for_all(std::span<TaskHandle const> handles, Awaited hint);
  [[nodiscard]] bool are_done(std::span<TaskHandle const> handles);
  /// True if this one is done. Does not look at what it has left.
  [[nodiscard]] bool is_done_now(TaskHandle const& handle);
  /// Called when the program knows that the task is complete; see FailureLog.
  void note_known(TaskHandle const& handle);
  /// True if it is done, and no longer matters to tasks that name it. (It may have failed, and
  /// cancel these.) A recorded task is not over before its plan is gone.
  [[nodiscard]] bool is_over(TaskHandle const& handle) const;
  /// Throws the error of a task that is done, if it has one.
  void rethrow(TaskHandle const& handle) const;
  void wait_outside(Until const& until);
  /// Runs tasks in a serial graph while it has the turn, until `until` is done. A task of another
  /// graph may call it.
  void wait_serially(Until const& until);
  /// Called by a thread that waits for another graph, see HelpedGraphs. It does not wait.
  void help();
  void wait_for_children(TaskHandle const& self, TaskHandle const& running, Frame* frame);
  /// Waits for children of which none is held, see ForkJoins.
  void wait_for_started_children(TaskHandle const& self, TaskHandle const& running, Frame* frame);
  /// Throws where no wait of this thread is allowed, whatever it is for.
  void require_may_wait() const;
  /// Called by a thread, outside of tasks or within one, that has called `fork_join`. The gate
  /// opens when the wait can end, and cannot throw any more.
  void wait_for_fork_join(TaskHandle const& fork_join, ForkJoinGate& gate);

  void main_looks_again();

 private:
  void require_no_recording() const;
  [[nodiscard]] bool tell_when_done(TaskHandle const& handle);
  void wait_and_help(Until const& until, FunctionRef<void(Until const&)> wait);
  void help_serially();
  void refuse_in_progress_function() const;
  [[noreturn]] void refuse_wait_of_progress_function() const;
  [[nodiscard]] std::string whose_code(Frame const& frame) const;
  /// True if the task, which is not complete, is a child of the other one, or of a child of it. The
  /// tasks that it is a child of are not complete either, so none of these cells is reused
  /// meanwhile.
  [[nodiscard]] static bool is_within(Task const& task, LiveAccess whole) {
    Task const* parent = enclosing(task);
    // The task that another one is a child of has a smaller id, unless it is a recorded task.
    while (parent != nullptr && (parent != whole.task || parent->id != whole.id))
      parent =
          parent->id < whole.id && whole.id < PlanNode::recorded ? nullptr : enclosing(*parent);
    return parent != nullptr;
  }
  [[nodiscard]] static bool is_or_within(Task const& task, LiveAccess whole) {
    return (&task == whole.task && task.id == whole.id) || is_within(task, whole);
  }
  [[nodiscard]] bool may_run_above(Frame const& frame) const;
  template <class Needed, class Done>
  bool run_needed(Frame& frame, Needed const& needed, Done const& done);
  template <class Needed, class Done>
  bool run_needed_for_long(Frame& frame, Needed const& needed, Done const& done);
  bool run_needed_for(Frame& frame, TaskHandle const& handle);
  void wait_for_children_here(TaskHandle const& self, TaskHandle const& running, Frame* frame);
  void wait_for_gated(TaskHandle const& handle, Frame* frame, bool lets_go, ForkJoinGate* gate);
  void wait_inside(Frame& frame, TaskHandle const& handle, ForkJoinGate* gate);
  void wait_gated(Frame& frame, TaskHandle const& handle, bool is_child, ForkJoinGate& gate);
  void wait_long(Frame& frame, TaskHandle const& handle);
  [[noreturn]] void refuse_while_launched(Frame const& frame) const;
  void sleep_inside(Frame& frame, TaskHandle const& handle, ForkJoinGate* gate = nullptr);
  void push_held(WorkerSlot& slot);
  class AbsenceElsewhere;
  void check_no_cycle(Frame::HeldUp const& held, LiveAccess awaited);
  void look_for_cycle_again(Frame const& frame, LiveAccess awaited);
  bool leads_to(Task& task, TaskHandle const& awaited);

  Kernel& m_kernel;
  Features& m_features;
  SubmissionLock& m_submission;
  FailureLog& m_failures;
  SchedulingPolicy& m_policy;
  Workers& m_workers;
  bool const m_serial;
  MainQueue& m_main;
  SerialTurn& m_serial_turn;
  Polling& m_polling;
};

}  // namespace trellis::Impl

#endif
