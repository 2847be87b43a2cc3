// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SUBMISSION_HPP
#define TRELLIS_IMPL_SUBMISSION_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Tag.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <task/Trellis_FoundEntries.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_Task.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <task/Trellis_TaskIds.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <threads/Trellis_Workers.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace trellis::Impl {

class FailureLog;
struct Features;
struct Frame;
class Kernel;
class MainQueue;
class Recorder;
struct WorkerSlot;
class TaskSlab;
class Waiting;
class Warnings;

/// Takes a task from a call of `parallel_for` to a node with its edges. Gives it its cell, its id,
/// its entries in the table of its scope, and its place in the order of submission.
class Submission {
 public:
  Submission(Kernel& kernel, Features& features, MainQueue& main, Waiting& waiting);
  Submission(Submission const&) = delete;
  Submission& operator=(Submission const&) = delete;

  /// Adds a task. May run other tasks first, when too many are in flight.
  /// `frame`: the calling thread's.
  TaskHandle submit(TaskSpec&& spec, Frame* frame);
  /// Returns, as text, a task that is a child of none, is not complete, and accesses some of this
  /// area; or nothing. Code outside of the graph that is about to use the area calls this, too.
  [[nodiscard]] std::string user_of(Area const& area);
  /// Throws when a task has been submitted.
  void add_rule(TagRule&& rule);

  // Returns the number of tasks that the graph counts. A thread that submits children may count
  // them itself.
  [[nodiscard]] std::uint64_t submitted() const {
    return m_submitted.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t edges() const { return m_edges.load(std::memory_order_relaxed); }
  [[nodiscard]] std::atomic<int> const& waiting_for_room() const { return m_waiting_for_room; }

  /// Returns the scope of the tasks that are children of none. Guarded by the graph's lock.
  [[nodiscard]] Scope& root() { return m_root; }
  [[nodiscard]] std::deque<TagRule> const& rules() const { return m_rules; }
  /// Takes so many ids in a row, for runs of recorded tasks. Returns the one before them. The
  /// caller holds the graph's lock.
  TaskId take_ids(std::uint64_t count) { return m_all_ids.take_row(m_ids, count); }
  /// Returns the id of the next task of the root scope. The caller holds the graph's lock.
  [[nodiscard]] TaskId next_id() { return m_all_ids.peek(m_ids, m_root.newest); }
  TaskId take_id() {
    m_root.newest = next_id();
    ++m_ids.next;
    return m_root.newest;
  }
  /// The caller holds the graph's lock.
  void count_submitted(std::uint64_t tasks) {
    m_submitted.store(m_submitted.load(std::memory_order_relaxed) + tasks,
                      std::memory_order_release);
  }

  /// Called by a thread that submits, outside of all tasks of this graph. It holds no lock.
  void has_news() { m_workers.submits(); }
  // The caller holds the lock of the scope in those from make_room on.
  void publish(Task& task, std::int32_t rest, Frame* frame);
  void make_room(std::unique_lock<SubmissionLock::WhileDeferring>& lock) {
    if (m_submitted.load(std::memory_order_relaxed) >= m_room_until) look_for_room(lock);
  }
  struct Admitted {
    Task* task = nullptr;
    std::int32_t rest = 0;  ///< what has to be taken off its count
  };
  Admitted admit(TaskSpec& spec, Scope& scope, Frame const* frame, WorkerSlot* slot = nullptr);
  /// `found` has room for all accesses.
  void find_entries(TaskSpec const& spec, Scope& scope, TaskId last, FoundEntries& found);
  Task& make_task(TaskSpec& spec);
  void unmake_task(Task& task);
  std::int32_t connect(Task& task, TaskSpec const& spec, Scope& scope, FoundEntries const* found,
                       WorkerSlot* slot = nullptr);

 private:
  // The caller holds the lock of the scope in those from record_edge on.
  TaskHandle take(TaskSpec&& spec, Frame* frame);
  TaskHandle take_warned(TaskSpec&& spec, Frame* frame);
  TaskHandle take_other(TaskSpec&& spec, Frame* frame);
  TaskHandle submit_root(TaskSpec&& spec, Frame* frame);
  TaskHandle submit_child(TaskSpec& spec, Frame* frame);
  TaskHandle submit_checked(TaskSpec& spec, Frame* frame);
  TaskHandle run_at_once(TaskSpec& spec);
  TaskHandle admit_and_publish(TaskSpec& spec, Frame* frame);
  Admitted admit_root(TaskSpec& spec, Frame const* frame);
  Admitted admit_behind(TaskSpec& spec, Frame const* frame);
  void look_for_room(std::unique_lock<SubmissionLock::WhileDeferring>& lock);
  void wait_for_room(Until const& until);
  Admitted admit_child(TaskSpec& spec, Frame const* frame);
  void publish_new(Task& task, std::int32_t rest, Frame* frame);
  void connect_accesses(Task& task, TaskSpec const& spec, Scope& scope, FoundEntries const& found,
                        std::int32_t& edges);
  void connect_noted(Task& task, TaskSpec const& spec, Scope& scope, FoundEntries const& found,
                     std::int32_t& edges);
  [[nodiscard]] Task& take_cell(WorkerSlot* slot);
  void make_task_here(Task& task, TaskSpec& spec);
  bool record_edge(LiveAccess before, Task const& task, EdgeReason reason);
  void synchronize(Task& task, Scope& scope, std::int32_t& edges);
  bool order_after(LiveAccess before, Task& task, EdgeReason reason, std::int32_t& edges,
                   Heard const& heard = {});
  bool inherit_from(TaskId before, Task& task, Heard const& heard);

  Kernel& m_kernel;
  Features& m_features;
  SubmissionLock& m_submission;
  TaskSlab& m_slab;
  FailureLog& m_failures;
  Recorder* const m_recorder;  ///< null: the graph does not record
  Warnings* const m_warnings;  ///< null: the program asks for no warnings
  MainQueue& m_main;
  Workers& m_workers;
  Waiting& m_waiting;
  bool const m_tells_policy;  ///< of each task that is submitted
  bool const m_serial;
  std::deque<TagRule> m_rules;  ///< does not change once there are tasks

  // These are in other cache lines than the data that a thread that submits children only reads.
  alignas(64) TaskIds m_all_ids;
  alignas(64) Scope m_root;  ///< guarded by m_submission: the tasks that are children of none
  // The tasks that the graph counts, see above; written under m_submission.
  std::atomic<std::uint64_t> m_submitted{0};
  std::atomic<std::uint64_t> m_edges{0};
  TaskIds::Block m_ids;            ///< guarded by m_submission
  std::uint64_t m_room_until = 0;  ///< guarded by m_submission: m_submitted has room up to this
  std::atomic<int> m_waiting_for_room{0};
};

}  // namespace trellis::Impl

#endif
