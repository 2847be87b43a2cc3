// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <kernel/Trellis_Frame.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

/// The back-off of workers that have caught up with a thread that submits short tasks.
///
/// Such workers slow all threads down. The cache lines of each task, of the queue, and of the
/// counts of searching threads then go back and forth between cores several times, and the
/// submitter waits for each of them. So workers back off until the submitter is some tasks ahead,
/// or does something else, and not for long. They do so only if tasks come faster than one in a
/// microsecond, as seen by this slot since it last checked; slower tasks lose little.
///
/// MEASURED. On 16 cores, 4, 8 and 16 workers took 321, 365 and 341 ns for a task when idle ones
/// began to back off behind one SpinLeader, and 943, 988 and 1006 ns before
/// (`./run perf micro --benchmark_filter='^independent/workers:(4|8|16)/'`). Beside a single worker
/// on a virtual machine a thousand empty tasks took 0.4 of the time (`./run perf taskbench --part
/// cost --pattern stencil_1d --kernel empty --width 8 --steps 125`). Two workers on two cores take
/// 126 ns for a task and not 196 (`^independent/workers:2/`, minima of 30 rounds in turn).
///
/// A worker checks every 64 tasks, and when it has found nothing to do. In the second case it
/// counts as searching, so no other thread is woken in its place. So it backs off only as long as
/// the submitter has a lent permit (`Workers::somebody_submits`), or, beside a single worker, a
/// core of its own. (The worker would otherwise go to sleep and be woken every few tasks, and to
/// wake it takes as long as to submit fifty.) Children do not count as submissions in either case,
/// as the thread that submits them may wait for them. Many idle workers share one `SpinLeader`, and
/// themselves check only how long it has been.
///
/// Each look at the submitter's progress takes a cache line away from it, and its next atomic
/// operation waits until it has the line back. So there is one such look in 8 us. Lines that change
/// seldom tell whether it still submits, and whether a thread sleeps; those are read all the time.
///
/// Ready tasks wait meanwhile: for some 50 us at most, and after the last submission until two
/// looks have passed, or the submitter waits. So no worker backs off in these cases:
/// - Enough tasks are in flight, as they may depend on each other: 32 for each worker, but not
///   fewer than 64, nor more than 256. (What is left when the submitter waits has to be run then:
///   with two workers and 256, a burst of 1000 empty tasks took 8 % longer than with 64.)
/// - A thread sleeps until something is done.
/// - A device or a function has to be polled.
/// - The worker has to stop.
/// - The worker has nothing to do, and threads have no core each.
namespace trellis::Impl {

namespace {
using std::chrono::nanoseconds;
constexpr int tasks_between = 64;  // a worker's own, between two looks
constexpr int fewest = 16;         // submitted, to tell how fast they come
constexpr nanoseconds short_task{1000};
constexpr nanoseconds between_looks{8000};
constexpr nanoseconds in_all{48000};
constexpr int pauses = 25;  // between two looks at the lines that change seldom
}  // namespace

inline bool Engine::enough_in_flight() const {
  return in_flight() >= static_cast<std::uint64_t>(std::clamp(32 * m_workers.permits(), 64, 256));
}

/// True if tasks have come fast since this slot last checked. False as long as they are few.
bool Engine::come_fast(WorkerSlot& slot, std::chrono::steady_clock::time_point now) const {
  std::uint64_t const seen = m_submission.submitted();
  auto const count = static_cast<std::int64_t>(seen - slot.back_off.submitted);
  auto const took = now - slot.back_off.at;
  if (count < fewest && took < fewest * short_task) return false;
  slot.back_off.at = now;
  slot.back_off.submitted = seen;
  return count >= fewest && took < count * short_task;
}

void Engine::back_off(WorkerSlot& slot) {
  slot.back_off.until_next = tasks_between;
  if (slot.wait.is_on) return;
  auto const now = std::chrono::steady_clock::now();
  m_workers.look_after_submitter(slot, now);
  if (come_fast(slot, now)) lead(now, false);
}

void Engine::found_nothing(WorkerSlot& slot) {
  idle(slot);
  if (!m_workers.submitter_has_core()) return;
  if (slot.wait.is_on || Frame::top != nullptr || polls() || m_workers.oversubscribed()) return;
  if (m_leader.follow(in_all)) return;
  auto const now = std::chrono::steady_clock::now();
  if (come_fast(slot, now)) lead(now, true);
}

void Engine::lead(std::chrono::steady_clock::time_point begin, bool is_idle) {
  if (!m_leader.begin()) return;
  bool const is_lent = m_workers.somebody_submits();
  auto const may_stay = [&] {
    return m_workers.somebody_submits() == is_lent && !m_workers.anyone_waits() && !polls() &&
           !m_workers.oversubscribed();
  };
  std::uint64_t seen = m_submission.submitted();
  for (auto now = begin; now - begin < in_all && !enough_in_flight();) {
    if (is_idle && !m_workers.submitter_has_core()) break;
    auto const looked = now;
    while (may_stay() && now - looked < between_looks) {
      for (int k = 0; k < pauses; ++k) cpu_relax();
      now = std::chrono::steady_clock::now();
    }
    std::uint64_t const news = m_submission.submitted();
    if (!may_stay() || std::exchange(seen, news) == news) break;
  }
  m_leader.end();
}

}  // namespace trellis::Impl
