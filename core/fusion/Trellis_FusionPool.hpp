// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FUSIONPOOL_HPP
#define TRELLIS_IMPL_FUSIONPOOL_HPP

#include <Trellis_Orchestration.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>
#include <trace/Trellis_TaskCounters.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace trellis::Impl {

class Cancellation;
class Kernel;
struct WorkerSlot;

/// Holds fusable tasks back while they are ready, and forms the batches in which they run.
///
/// A BATCH is a chain of ready tasks of one kind, linked by `Task::next`. Its first task stands for
/// all of them in the scheduling policy, and on the way to a device. The thread that runs that task
/// runs the batch. Each member keeps its id, states, future and failure, and is completed by
/// itself.
///
/// INVARIANT (the place of a task). A fusable task that has become ready is in exactly one place:
/// in here; with the policy, alone or in a chain; with a thread that runs it; or on a device.
/// `next` is null except for members of a chain. (A task that is over uses it for the free list.)
/// It is written under the mutex while the task is in here, then by the thread that has the chain.
/// It passes from one thread to the next with the first task: through the policy, or
/// `WorkerSlot::holding`.
///
/// INVARIANT (offloaded). A fusable host task whose batch goes to a device has `offloaded` from the
/// forming of the batch until the batch is given up, or the device is done with it. The thread that
/// has the task writes it under `Task::lock`, for other threads that demote the task. In all else
/// the task remains a host task: all its edges are satisfied on completion.
///
/// INVARIANT (free choice). Tasks in here are ready and granted, so no path of the scheduling graph
/// leads from one to another. No edge changes when some run as one, in any order. A batch on a
/// device waits there for the predecessors of all its members.
///
/// INVARIANT (liveness). Tasks in here count as ready for a thread with nothing else to do. It
/// takes them after the policy's tasks, and asks `may_be_taken` before it sleeps. `hold` informs
/// the workers as a push does. The advice may ask to wait for the end of a fork-join (`deferred`).
/// Such a wait ends in these cases:
/// - no fork-join is under way;
/// - no thread runs a task;
/// - a body that runs again and again is about to run;
/// - a thread waits inside a task for something else than its fork-join;
/// - nothing has been completed for a while. The thread that waits in place of all others notices
///   this, as it naps instead of sleeping while anything is deferred.
///
/// So deferral delays tasks and cannot stop the program, whatever the advice says.
///
/// The advice is user code, and is asked without locks. An exception from it ends the program: all
/// functions that ask it are noexcept.
///
/// Memory order. `m_held`, `m_deferred` and `m_fork_joins` are sequentially consistent. A task is
/// counted before the workers are informed, and a thread that goes to sleep asks after it has given
/// its permit back, as for the policy's tasks, see Workers.
class FusionPool {
 public:
  FusionPool(Kernel& kernel, std::shared_ptr<Orchestration> advice, Cancellation& cancellation);
  FusionPool(FusionPool const&) = delete;
  FusionPool& operator=(FusionPool const&) = delete;

  /// The advice that the graph follows, never null. It may be exchanged at any time: a thread that
  /// asks keeps the object until it has followed its answer.
  [[nodiscard]] std::shared_ptr<Orchestration> advice() const {
    std::lock_guard const lock(m_advice_mutex);
    return m_advice;
  }
  /// Replaces the advice, and returns the one before.
  std::shared_ptr<Orchestration> follow(std::shared_ptr<Orchestration> next) noexcept;

  /// Takes fusable tasks that have become ready, in this order. Calls `release` for each that goes
  /// to the policy, or the device, instead: alone, or as the first task of a batch. If some are
  /// held back, workers are informed.
  void hold(std::span<Task* const> tasks, FunctionRef<void(Task&)> release) noexcept;
  [[nodiscard]] static TaskKind kind_of(Task const& task);
  [[nodiscard]] bool any() const { return m_held.load(std::memory_order_relaxed) != 0; }
  /// True if a thread with nothing else to do would get a task.
  [[nodiscard]] bool may_be_taken() const;
  /// True if there are tasks that it would not get yet.
  [[nodiscard]] bool any_deferred() const {
    return m_deferred.load(std::memory_order_seq_cst) != 0;
  }
  /// For a thread with nothing else to do: returns a task of a host space, alone or the first of a
  /// batch. Tasks for devices are launched on the way. `only_rests`: the thread would otherwise run
  /// a body that runs again.
  [[nodiscard]] Task* pop(WorkerSlot& slot, bool only_rests) noexcept;
  /// Releases tasks as the advice says, in batches and one by one, because a thread waits: those
  /// that are needed, oldest kinds first, until no more than `may_stay` tasks are left.
  void release(WorkerSlot& slot, FunctionRef<bool(Task const&)> needed = all,
               std::size_t may_stay = 0) noexcept;

  void fork_join_starts() { m_fork_joins.fetch_add(1, std::memory_order_seq_cst); }
  /// `may_stay`: this many tasks of all kinds may remain held back; the others are released.
  void fork_join_over(std::size_t may_stay, WorkerSlot& slot);
  /// Counts that a thread waits for a task by its number, and whether the task is already done.
  void awaited(bool is_done) {
    m_awaited.fetch_add(1, std::memory_order_relaxed);
    if (is_done) m_awaited_done.fetch_add(1, std::memory_order_relaxed);
  }

  // At the stations, see Features.
  void made(Task& task) {
    if (!task.marks.is_fusable) [[likely]]
      return;
    task.next = nullptr;
    m_statistics.fusable();
  }
  /// Runs a task that is the first of a batch on a host space, or completes one whose batch has
  /// run; else returns false.
  [[nodiscard]] bool run(Task& task, WorkerSlot& slot, Task*& next);
  /// Splits a batch into its tasks, no longer linked.
  static Vector<Task*> unlink(Task& first);
  /// Pushes tasks that have not begun after all.
  void give_back(std::span<Task* const> tasks, WorkerSlot& slot);
  /// Ends the offload of a task whose batch was to go to a device, or was there.
  static void stay_home(Task& task);

 private:
  using When = FuseInstruction::When;
  static constexpr auto all = [](Task const&) { return true; };
  /// The held tasks of one kind, first in, first out.
  struct Kind {
    explicit Kind(TaskKind its_kind) : kind(its_kind) {}
    TaskKind const kind;
    Task* first = nullptr;
    Task** end = &first;  ///< the last `next`
    std::size_t count = 0;
    bool is_deferred = false;
    double mean_held = 0;  ///< moving average over its batches
  };
  /// What has been taken. Without `is_batch` there were too few for a batch.
  struct Taken {
    Task* first = nullptr;
    FusionSample sample{};
    bool is_batch = false;
  };

  [[nodiscard]] Kind* find(TaskKind kind) noexcept;
  [[nodiscard]] Kind* kind_at(std::ptrdiff_t k);
  void defer(Kind& kind, bool is_deferred);
  void count(Kind& kind, std::size_t by);
  [[nodiscard]] Taken take(Kind& kind, std::size_t batch);
  Taken form(Orchestration& advice, Kind& kind, FuseInstruction const& how, bool forced,
             std::size_t most = FuseInstruction::never);
  [[nodiscard]] std::size_t bring_forward(Kind& kind, FunctionRef<bool(Task const&)> needed);
  void note(Orchestration& advice, TaskKind kind, Taken& taken, int device);
  [[nodiscard]] bool is_overdue();
  void linger(Kind const& kind, std::size_t enough);
  [[nodiscard]] FusionSample sample(Kind const& kind, std::size_t batch) const;
  [[nodiscard]] Task* run_batch(std::span<Task* const> tasks, WorkerSlot& slot);
  [[nodiscard]] Task* run_fused(std::span<Task* const> tasks, void* instance, WorkerSlot& slot);
  [[nodiscard]] Task* complete_all(std::span<Task* const> tasks, WorkerSlot& slot);
  [[nodiscard]] Task* one_by_one(std::span<Task* const> tasks, WorkerSlot& slot,
                                 FunctionRef<Task*(Task&)> run);

  Kernel& m_kernel;
  Cancellation& m_cancellation;
  TaskCounters& m_statistics;

  mutable std::mutex m_advice_mutex;
  std::shared_ptr<Orchestration> m_advice;
  std::mutex m_mutex;  ///< the last of all locks but the policy's
  List<Kind> m_kinds;  ///< guarded by m_mutex; none is removed
  std::atomic<std::size_t> m_held{0};
  std::atomic<std::size_t> m_deferred{0};
  std::atomic<int> m_fork_joins{0};  ///< under way
  std::atomic<std::uint64_t> m_awaited{0};
  std::atomic<std::uint64_t> m_awaited_done{0};
  // Used by the thread that looks for overdue tasks; guarded by m_mutex.
  std::uint64_t m_seen_completed = ~std::uint64_t{0};
  std::chrono::steady_clock::time_point m_seen_at{};
};

}  // namespace trellis::Impl

#endif
