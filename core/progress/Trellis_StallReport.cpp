// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kernel/Trellis_Waiters.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <progress/Trellis_Polling.hpp>
#include <progress/Trellis_StallReport.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

namespace {

using Clock = std::chrono::steady_clock;

/// The beginning of each line of a report. It is never destroyed, as a report may be under way.
struct LineBegin {
  std::mutex mutex;
  std::string text;  ///< guarded by the mutex

  static LineBegin& get() {
    static auto* const instance = new LineBegin;
    return *instance;
  }
};

/// Writes all at once: output of several processes is mixed only line by line.
void tell(std::string const& text) {
  std::string all;
  {
    std::lock_guard const lock(LineBegin::get().mutex);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all += LineBegin::get().text + line + '\n';
  }
  std::cerr << all << std::flush;
}

}  // namespace

StallReport::StallReport(Kernel& kernel, Polling& polling, Waiters& waiters,
                         std::atomic<int> const& waiting_for_room, double seconds)
    : m_kernel(kernel),
      m_polling(polling),
      m_waiters(waiters),
      m_waiting_for_room(waiting_for_room),
      m_seconds(seconds),
      m_thread([this] { watch(); }) {}

StallReport::~StallReport() {
  {
    std::lock_guard const lock(m_mutex);
    m_is_over = true;
  }
  m_end.notify_one();
  m_thread.join();
}

void StallReport::begin_lines_with(std::string text) {
  std::lock_guard const lock(LineBegin::get().mutex);
  LineBegin::get().text = std::move(text);
}

void StallReport::watch() {
  auto const limit = std::chrono::duration<double>(m_seconds);
  std::uint64_t seen = 0;
  auto since = Clock::now();
  bool reported = false;
  std::unique_lock lock(m_mutex);
  while (!m_end.wait_for(lock, limit / 8, [&] { return m_is_over; })) {
    std::uint64_t const now = m_kernel.completed();
    if (now != seen || m_kernel.in_flight() == 0) {
      seen = now;
      since = Clock::now();
      reported = false;
    } else if (!reported && Clock::now() - since >= limit) {
      reported = true;
      try {
        tell(report());
      } catch (std::exception const& error) {
        std::cerr << "Trellis: no task has been completed for long; " << error.what() << std::endl;
      }
    }
  }
}

/// Describes a task in flight as it is now. Empty: it is over, or one of a plan that does not run.
/// `before`: its predecessors.
std::string StallReport::line_of(LiveAccess task, std::vector<TaskId> const& before) const {
  constexpr std::size_t most = 8;
  std::ostringstream out;
  TaskState state = TaskState::pending;
  bool is_recorded = false;
  bool const is_live = look_at(task, m_kernel.lock(), [&](Task const& seen) {
    state = seen.state.load(std::memory_order_relaxed);
    is_recorded = seen.is_recorded();
    bool const on_device = seen.runs_on_device() || seen.offloaded() != nullptr;
    out << describe(seen) << ": ";
    if (state == TaskState::pending)
      out << (before.empty() ? "pending" : "waits for");
    else if (state != TaskState::ready)
      out << (on_device ? "launched on its device" : "under way");
    else
      out << (seen.marks.main_thread ? "ready; bound to the main thread"
              : seen.exclusive       ? "ready; waits for its turn, or for a worker"
                                     : "ready; waits for a worker");
  });
  // Tasks of a plan are live all the time.
  bool const continues = state == TaskState::ready || state == TaskState::running;
  if (!is_live || (is_recorded && !continues)) return {};
  if (state == TaskState::ready) return out.str();
  if (state == TaskState::pending) {
    for (std::size_t k = 0; k < std::min(before.size(), most); ++k)
      out << (k == 0 ? " #" : ", #") << before[k];
    if (before.size() > most) out << " and " << before.size() - most << " more";
    return out.str();
  }
  ChildrenHold const lock(*task.task, m_kernel.lock(), ChildrenHold::nested);
  if (task.task->live_id.load(std::memory_order_acquire) != task.id || task.task->inner == nullptr)
    return out.str();
  Scope const& scope = *task.task->inner;
  int children = 0;
  for (LiveAccess const child : scope.children)
    children += child.task->live_id.load(std::memory_order_acquire) == child.id;
  int const completions = scope.open_completions.load(std::memory_order_relaxed);
  if (children > 0) out << "; " << children << " of its children are not complete";
  if (completions > 0)
    out << "; nobody has said yet that it is over (Completion"
        << (completions > 1 ? "s: " + std::to_string(completions) + ")" : ")");
  return out.str();
}

std::string StallReport::report() const {
  std::map<TaskId, Task*> live;
  m_kernel.slab().for_each([&](Task& task) {
    if (TaskId const id = task.live_id.load(std::memory_order_acquire); id != 0) live[id] = &task;
  });
  std::map<TaskId, std::vector<TaskId>> before;
  for (auto const& each : live)
    look_at({each.second, each.first}, m_kernel.lock(), [&](Task const& task) {
      if (task.is_recorded()) return;
      task.for_each_successor([&](Task* successor) {
        before[successor->live_id.load(std::memory_order_acquire)].push_back(each.first);
      });
    });
  std::vector<std::string> all;
  for (auto const& [id, task] : live)
    if (std::string line = line_of({task, id}, before[id]); !line.empty())
      all.push_back(std::move(line));
  constexpr std::size_t most = 100;
  std::ostringstream out;
  out << "Trellis: no task of " << m_kernel.options().name << " has been completed for "
      << m_seconds << " s; " << all.size() << (all.size() == 1 ? " is" : " are")
      << " in flight (TRELLIS_WATCHDOG)\n";
  for (std::size_t k = 0; k < std::min(all.size(), most); ++k) out << "  " << all[k] << '\n';
  if (all.size() > most) out << "  and " << all.size() - most << " more\n";
  for (auto const& [task, awaited] : m_waiters.all())
    out << "  task #" << task << " waits inside its body for task #" << awaited << '\n';
  if (int const threads = m_waiting_for_room.load(std::memory_order_relaxed); threads > 0)
    out << "  " << threads
        << (threads == 1 ? " thread that submits waits" : " threads that submit wait")
        << " for room: in_flight is " << *m_kernel.options().in_flight << " (TRELLIS_IN_FLIGHT)\n";
  if (int const asked = m_polling.asked(); asked > 0)
    out << "  " << asked << (asked == 1 ? " progress function is" : " progress functions are")
        << " asked again and again\n";
  out << m_polling.report();
  return out.str();
}

}  // namespace trellis::Impl
