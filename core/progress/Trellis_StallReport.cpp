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

/// A task in flight, as it was at the moment of the look.
struct Seen {
  LiveAccess task;
  std::string text;
  TaskState state = TaskState::pending;
  bool is_recorded = false;
  bool bound = false;
  bool on_device = false;
  bool exclusive = false;
  std::vector<TaskId> before;  ///< predecessors that are not complete
  int children = 0;            ///< children that are not complete
  int completions = 0;         ///< open
};

void append_ids(std::ostream& out, std::vector<TaskId> const& ids) {
  constexpr std::size_t most = 8;
  for (std::size_t k = 0; k < std::min(ids.size(), most); ++k)
    out << (k == 0 ? " #" : ", #") << ids[k];
  if (ids.size() > most) out << " and " << ids.size() - most << " more";
}

void append_state(std::ostream& out, Seen const& seen) {
  switch (seen.state) {
    case TaskState::pending:
      if (seen.before.empty()) {
        out << "pending";
      } else {
        out << "waits for";
        append_ids(out, seen.before);
      }
      break;
    case TaskState::ready:
      out << (seen.bound       ? "ready; bound to the main thread"
              : seen.exclusive ? "ready; waits for its turn, or for a worker"
                               : "ready; waits for a worker");
      break;
    default:
      out << (seen.on_device ? "launched on its device" : "under way");
      if (seen.children > 0) out << "; " << seen.children << " of its children are not complete";
      if (seen.completions > 0)
        out << "; nobody has said yet that it is over (Completion"
            << (seen.completions > 1 ? "s: " + std::to_string(seen.completions) + ")" : ")");
      break;
  }
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

std::string StallReport::report() const {
  std::vector<LiveAccess> live;
  m_kernel.slab().for_each([&](Task& task) {
    if (TaskId const id = task.live_id.load(std::memory_order_acquire); id != 0)
      live.push_back({&task, id});
  });
  std::vector<Seen> all;
  std::map<TaskId, std::vector<TaskId>> before;
  for (LiveAccess const& each : live) {
    Seen seen;
    seen.task = each;
    bool const is_live = look_at(each, m_kernel.lock(), [&](Task const& task) {
      seen.text = describe(task);
      seen.state = task.state.load(std::memory_order_relaxed);
      seen.is_recorded = task.is_recorded();
      seen.bound = task.marks.main_thread;
      seen.on_device = task.runs_on_device() || task.offloaded() != nullptr;
      seen.exclusive = task.exclusive;
      if (!seen.is_recorded)
        task.for_each_successor([&](Task* successor) {
          before[successor->live_id.load(std::memory_order_acquire)].push_back(each.id);
        });
    });
    // Tasks of a plan are live all the time.
    bool const continues = seen.state == TaskState::ready || seen.state == TaskState::running;
    if (!is_live || (seen.is_recorded && !continues)) continue;
    ChildrenHold const lock(*each.task, m_kernel.lock(), ChildrenHold::nested);
    if (each.task->live_id.load(std::memory_order_acquire) == each.id &&
        each.task->inner != nullptr) {
      Scope const& scope = *each.task->inner;
      seen.completions = scope.open_completions.load(std::memory_order_relaxed);
      for (LiveAccess const child : scope.children)
        seen.children += child.task->live_id.load(std::memory_order_acquire) == child.id;
    }
    all.push_back(std::move(seen));
  }
  std::sort(all.begin(), all.end(),
            [](Seen const& a, Seen const& b) { return a.task.id < b.task.id; });
  constexpr std::size_t most = 100;
  std::ostringstream out;
  out << "Trellis: no task of " << m_kernel.options().name << " has been completed for "
      << m_seconds << " s; " << all.size() << (all.size() == 1 ? " is" : " are")
      << " in flight (TRELLIS_WATCHDOG)\n";
  for (std::size_t k = 0; k < std::min(all.size(), most); ++k) {
    if (auto const found = before.find(all[k].task.id); found != before.end()) {
      all[k].before = found->second;
      std::sort(all[k].before.begin(), all[k].before.end());
    }
    out << "  " << all[k].text << ": ";
    append_state(out, all[k]);
    out << '\n';
  }
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
