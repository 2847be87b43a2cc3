// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <task/Trellis_Task.hpp>
#include <policy/Trellis_TaskDeque.hpp>
#include <base/Trellis_Reserve.hpp>
#include <task/Trellis_PlanNode.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

namespace trellis {

namespace {

using Impl::TaskDeque;

/// Returns `task.priority()` without a call.
int priority_of(ReadyTask task) {
  return task.impl()->priority;
}

/// True if the first task comes before the second in the order of submission. That is the order of
/// ids within one scope (ids of children come in blocks), and of rounds within one plan. False
/// where the order is unknown.
bool is_older(ReadyTask first, ReadyTask second) {
  Impl::Task const& a = *first.impl();
  Impl::Task const& b = *second.impl();
  Impl::ScopeKind const kind = a.scope_kind;
  if (kind != b.scope_kind) return false;
  // `scope` is read last, as it lies in a cache line that is not used otherwise.
  if (kind == Impl::ScopeKind::graph) return a.id < b.id;
  if (!a.is_recorded()) return a.scope == b.scope && a.id < b.id;
  if (a.node->plan != b.node->plan) return false;
  return a.node->round != b.node->round ? a.node->round < b.node->round
                                        : a.node->index < b.node->index;
}

/// Holds tasks by priority, then in order of arrival.
class PriorityQueue {
 public:
  void push(ReadyTask task) {
    std::lock_guard const lock(m_mutex);
    m_tasks.emplace(-task.priority(), task);
    m_size.store(m_tasks.size(), std::memory_order_seq_cst);
  }
  ReadyTask pop() {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_mutex);
    if (m_tasks.empty()) return {};
    ReadyTask const task = m_tasks.begin()->second;
    m_tasks.erase(m_tasks.begin());
    m_size.store(m_tasks.size(), std::memory_order_relaxed);
    return task;
  }
  [[nodiscard]] bool empty() const { return m_size.load(std::memory_order_seq_cst) == 0; }
  [[nodiscard]] std::size_t size() const { return m_size.load(std::memory_order_relaxed); }

 private:
  std::mutex m_mutex;
  Impl::MultiMap<int, ReadyTask> m_tasks;
  std::atomic<std::size_t> m_size{0};
};

/// After a task a thread goes on with its first successor, whose data is near. It leaves the others
/// in its own queue. Where there is no successor it takes its next task from the back of that
/// queue. A thread with an empty queue takes the oldest task elsewhere.
///
/// TURNS. A thread that always went on with what it has made ready last would be at the end of one
/// chain of tasks while others have not begun. Then, when few are left, there is nothing for the
/// other threads: of three chains on two threads the third would run alone. So after a few tasks
/// another task gets a turn, if it was submitted before the thread's next one. It is the first in
/// the shared queue, or else in the thread's own.
///
/// MEASURED. Three chains of 40 tasks that sleep for 4 ms took two workers 61 to 64 times that long
/// with turns, and 82 to 127 times without (the fastest and the median of 15 graphs, twice; 60 is
/// the least). `./run perf micro --benchmark_filter=^chains` has such a row.
///
/// Where many tasks wait there are no turns, as there is enough for all threads. So a tree whose
/// joins are tasks is not expanded breadth-first: its deep tasks are newer than the halves that
/// wait, but only a few of these begin early.
class WorkStealing final : public SchedulingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "work_stealing"; }

  void start(int slots) override { m_own = std::vector<Own>(static_cast<std::size_t>(slots)); }

  void push(ReadyTask task, int slot) override {
    if (int const priority = priority_of(task); priority != 0)
      (priority > 0 ? m_urgent : m_last).push(task);
    else
      queue(slot).push_back(task);
  }

  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    // The queue is last in, first out, and the first successor has to be on top.
    for (ReadyTask const task : ready)
      if (priority_of(task) != 0) return finished_some_urgent(ready, slot);
    bool const keeps_first = m_urgent.empty();
    if (auto const others = ready.subspan(keeps_first ? 1 : 0); !others.empty())
      queue(slot).push_back_reversed(others);
    return keeps_first ? it_or_older(ready[0], slot) : ReadyTask();
  }

  ReadyTask pop(int slot) override {
    if (ReadyTask const task = m_urgent.pop()) return task;
    if (ReadyTask const task = own(slot).pop_back()) return it_or_older(task, slot);
    own(slot).since_turn = 0;
    return pop_elsewhere(slot);
  }

  /// Looks at the tasks that were made ready last on this slot, then at its first ones, as a body
  /// waits for several tasks in their order. Elsewhere it takes the oldest, which have the most
  /// work behind them. Tasks with a priority are left to other threads.
  ReadyTask pop_wanted(int slot, Impl::FunctionRef<bool(ReadyTask)> wanted) override {
    constexpr std::size_t most = 256;
    if (slot >= 0) own(slot).since_turn = 0;  // no turns: the thread waits for these
    TaskDeque& here = slot < 0 ? m_shared : own(slot);
    if (ReadyTask const task = here.pop_wanted_back(wanted, most)) return task;
    return pop_oldest_wanted(slot, here, wanted);
  }

  [[nodiscard]] bool empty() const override {
    int const slots = m_highest.load(std::memory_order_seq_cst) + 1;
    // A reliable answer takes the lock of each queue, which disturbs its users. So a look without
    // locks comes first.
    if (!m_shared.looks_empty()) return false;
    for (int k = 0; k < slots; ++k)
      if (!m_own[static_cast<std::size_t>(k)].looks_empty()) return false;
    for (int k = 0; k < slots; ++k)
      if (!m_own[static_cast<std::size_t>(k)].empty()) return false;
    return m_shared.empty() && m_urgent.empty() && m_last.empty();
  }

  [[nodiscard]] std::size_t backlog() const override {
    std::size_t tasks = m_shared.size() + m_urgent.size() + m_last.size();
    int const slots = m_highest.load(std::memory_order_relaxed) + 1;
    for (int k = 0; k < slots; ++k) tasks += m_own[static_cast<std::size_t>(k)].size();
    return tasks;
  }

 private:
  /// Does the work of `finished` where priorities are not all the same.
  [[gnu::noinline]] ReadyTask finished_some_urgent(std::span<ReadyTask const> ready, int slot) {
    ReadyTask next;
    for (std::size_t k = ready.size(); k-- > 0;) {
      if (priority_of(ready[k]) != 0) {
        push(ready[k], slot);
      } else {
        if (next) queue(slot).push_back(next);
        next = ready[k];
      }
    }
    if (!next) return {};
    if (m_urgent.empty()) return it_or_older(next, slot);
    queue(slot).push_back(next);
    return {};
  }
  static constexpr std::size_t near = 16;  ///< tasks
  static constexpr int most_in_row = 4;    ///< tasks
  static constexpr std::size_t few = 16;   ///< tasks; turns are taken while no more than these wait

  struct Own : TaskDeque {
    /// The number of tasks that its thread has taken since the last turn. Only that thread uses it,
    /// so it is in a cache line of its own.
    alignas(128) int since_turn = 0;
  };
  Own& own(int slot) { return m_own[static_cast<std::size_t>(slot)]; }

  /// Returns the task that the thread runs next: `next`, which is in no queue, or one that gets a
  /// turn. A task that has got its exclusive areas gives no turn away.
  ReadyTask it_or_older(ReadyTask next, int slot) {
    Own& here = own(slot);
    if (++here.since_turn < most_in_row || next.impl()->exclusive) return next;
    here.since_turn = 0;
    std::size_t const waiting = here.size() + m_shared.size();
    return waiting == 0 || waiting > few ? next : take_turn(next, slot);
  }
  /// Between two holds of locks `next` may be in no queue. The engine treats a `finished` that
  /// returns another task than the first one as a push, and so each `pop`.
  [[gnu::noinline]] ReadyTask take_turn(ReadyTask next, int slot) {
    auto const goes_first = [&](ReadyTask other) { return is_older(other, next); };
    if (ReadyTask const older = m_shared.try_pop_front_if(goes_first)) {
      queue(slot).push_back(next);
      return older;
    }
    ReadyTask const older = own(slot).exchange_front_if(goes_first, next);
    return older ? older : next;
  }
  /// Does the rest of `pop`, out of line to keep `pop` short.
  [[gnu::noinline]] ReadyTask pop_elsewhere(int slot) {
    // A batch takes the shared queue's lock rarely, and keeps neighbours in submission order on one
    // core.
    constexpr std::size_t most = 16;
    alignas(ReadyTask) std::byte memory[most * sizeof(ReadyTask)];  // not cleared each time
    auto* const batch = reinterpret_cast<ReadyTask*>(memory);
    if (std::size_t const count = m_shared.pop_front(batch, most, 4); count > 0) {
      if (count > 1) queue(slot).push_back_reversed({batch + 1, count - 1});
      return batch[0];
    }
    int const slots = m_highest.load(std::memory_order_relaxed) + 1;
    for (int k = slot + 1; k < slots; ++k)
      if (ReadyTask const task = m_own[static_cast<std::size_t>(k)].pop_front()) return task;
    for (int k = 0; k < std::min(slot, slots); ++k)
      if (ReadyTask const task = m_own[static_cast<std::size_t>(k)].pop_front()) return task;
    return m_last.pop();
  }
  /// Does the rest of `pop_wanted`.
  [[gnu::noinline]] ReadyTask pop_oldest_wanted(int slot, TaskDeque& here,
                                                Impl::FunctionRef<bool(ReadyTask)> wanted) {
    if (ReadyTask const task = here.pop_wanted_front(wanted, near)) return task;
    int const slots = m_highest.load(std::memory_order_relaxed) + 1;
    for (int k = 0; k < slots; ++k) {
      TaskDeque& other = m_own[static_cast<std::size_t>((slot + k) % slots)];
      if (&other == &here) continue;
      if (ReadyTask const task = other.pop_wanted_front(wanted, near)) return task;
    }
    // These may be tasks that this thread has just submitted itself.
    return slot < 0 ? ReadyTask() : m_shared.pop_wanted_back(wanted, near);
  }
  /// Returns the calling thread's own queue, or the shared one. From then on thieves and `empty`
  /// look at it.
  TaskDeque& queue(int slot) {
    if (slot < 0) return m_shared;
    if (m_highest.load(std::memory_order_relaxed) < slot) raise_highest(slot);
    return m_own[static_cast<std::size_t>(slot)];
  }
  void raise_highest(int slot) {
    int highest = m_highest.load(std::memory_order_relaxed);
    while (highest < slot &&
           !m_highest.compare_exchange_weak(highest, slot, std::memory_order_seq_cst)) {
    }
  }

  std::vector<Own> m_own;
  TaskDeque m_shared;
  PriorityQueue m_urgent;
  PriorityQueue m_last;
  std::atomic<int> m_highest{-1};
};

}  // namespace

std::shared_ptr<SchedulingPolicy> make_work_stealing_policy() {
  return std::make_shared<WorkStealing>();
}

}  // namespace trellis
