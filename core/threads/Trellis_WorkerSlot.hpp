// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WORKERSLOT_HPP
#define TRELLIS_IMPL_WORKERSLOT_HPP

#include <Trellis_Space.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <base/Trellis_Reserve.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_CompletionLists.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskIds.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <threads/Trellis_Places.hpp>
#include <threads/Trellis_SpinLeader.hpp>
#include <threads/Trellis_TaskQueue.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

using Condition = FunctionRef<bool()>;

/// The search of a thread for a task, see Workers.
struct Search {
  bool is_on = false;         ///< the thread counts as searching
  bool has_launched = false;  ///< it has launched tasks for others since its last search
  bool has_slept = false;     ///< since it last found a task
  bool has_napped = false;    ///< it woke by itself, to poll
};

/// What a thread in `wait()` takes, see Until.
struct Wait {
  bool is_on = false;
  FunctionRef<bool(Task const&)> const* wants = nullptr;
};

/// The sleep of a thread, see Workers. The mutex of Workers guards it.
struct Sleep {
  std::condition_variable wakeup;
  bool is_over = false;                  ///< the thread has been woken
  Condition const* waits_for = nullptr;  ///< of a thread in wait()
};

/// What a worker has seen of the thread that submits, see `Workers::look_after_submitter`.
struct SubmitterSeen {
  std::uint64_t news = 0;
  std::chrono::steady_clock::time_point at{};
};

/// The numbers of tasks and edges. Only the slot's thread writes them, and any thread reads them. A
/// submitted task is counted before it can start. So a thread that reads the completed ones first
/// misses no task.
struct TaskCounts {
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> submitted{0};  ///< as children of tasks
  std::atomic<std::uint64_t> edges{0};      ///< to these
};

/// The data of one thread while it runs tasks: of a worker, or of a thread in `wait()`. Each room
/// has one member, which says what it is for and which thread uses it. Where nothing is said, only
/// the slot's thread uses it.
struct alignas(128) WorkerSlot : NewFromReserve {
  // The first line has what other threads read after each of their tasks, and what seldom changes.
  int number = 0;   ///< negative: of a thread that runs no tasks
  int permits = 0;  ///< of its thread while it runs tasks, see Workers
  bool is_main = false;
  bool is_guest = false;  ///< for threads of the user's, one at a time
  bool is_worker = false;
  Search search;
  Wait wait;
  TaskCounts counts;

  // The thread changes the lines that follow with each task.
  alignas(64) std::string name;
  CompletionLists completion;
  /// The ready tasks that the thread holds while it runs destructors of the user's, see Holding.
  Vector<Task**> holding;
  std::vector<std::pair<SpaceAdapter*, void*>> instances;
  BackOffCheck back_off;
  QueueTurns turns;
  SubmitterSeen submitter;
  // For the children that the thread submits. Cells that it has freed are used first.
  TaskSlab::Chain cells;
  TaskIds::Block ids;
  Vector<ScopePtr> scopes;  ///< of tasks that are over

  Sleep sleep;
  /// True while a guest or the main thread has it. It is given back with release order when nothing
  /// of it is read or written any more, and taken with acquire order.
  std::atomic<bool> in_use{false};
};

}  // namespace trellis::Impl

#endif
