// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <kernel/Trellis_HelpedGraphs.hpp>
#include <engine/Trellis_Features.hpp>
#include <engine/Trellis_Waiting.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <task/Trellis_Provisional.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <progress/Trellis_Polling.hpp>
#include <threads/Trellis_MainQueue.hpp>
#include <policy/Trellis_SerialOrder.hpp>
#include <base/Trellis_AtEnd.hpp>
#include <base/Trellis_SerialTurn.hpp>
#include <base/Trellis_Reserve.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

/// Handles threads that wait, outside of tasks and inside.
namespace trellis::Impl {

namespace {
constexpr std::chrono::microseconds turn_of_others{50};
constexpr std::chrono::milliseconds first_without_look{2};
constexpr std::chrono::milliseconds longest_without_look{256};
}  // namespace

Waiting::Waiting(Kernel& kernel, Features& features, MainQueue& main, SerialTurn& serial_turn,
                 Polling& polling)
    : m_kernel(kernel),
      m_features(features),
      m_submission(kernel.lock()),
      m_failures(kernel.failures()),
      m_policy(kernel.policy()),
      m_workers(kernel.workers()),
      m_serial(kernel.is_serial()),
      m_main(main),
      m_serial_turn(serial_turn),
      m_polling(polling) {}

/// Throws if the thread records: it cannot wait for tasks that it records, as they do not run.
void Waiting::require_no_recording() const {
  if (m_submission.is_held_here()) Submitting::refuse();
  if (PlanRecording::top == nullptr) return;
  PlanRecording const* const recording = PlanRecording::of(m_kernel);
  if (recording != nullptr && recording->iteration == nullptr)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + m_kernel.options().name +
                    " is recording a plan on this thread; nothing runs before it is "
                    "replayed, so there is nothing to wait for");
}

void Waiting::wait() {
  require_no_recording();
  m_features.iterations.admit_all();
  if (Frame const* const frame = Frame::of(m_kernel))
    throw Error(Error::Kind::deadlock,
                "Trellis: " + whose_code(*frame) + " waits for its own graph, and so for itself");
  m_features.destructors.drain();
  FailureLog::Report report = m_failures.report();
  // Tasks that are submitted by destructors that run only now are waited for as well.
  for (m_kernel.drop_objects(false); !m_kernel.all_done(); m_kernel.drop_objects(false)) {
    m_features.destructors.drain();
    report.add(m_failures.report());
  }
  if (report.origins.empty()) return;
  Failure const& first = *report.origins.front();
  std::string text = first.origin_text + " failed: " + first.what;
  if (report.origin_count > 1)
    text += "; " + std::to_string(report.origin_count - 1) + " more failed";
  if (report.cancelled_count > 0)
    text += "; " + std::to_string(report.cancelled_count) + " that depend on them were cancelled";
  throw Error(Error::Kind::task_failed, text, first.cause);
}

void Waiting::rethrow(TaskHandle const& handle) const {
  if ((handle.id & PlanNode::recorded) != 0) return m_features.plans.rethrow_recorded(handle);
  if (auto const found = m_failures.find(handle.id); found.failure != nullptr)
    throw make_error(found.shown_as, found.task_text, *found.failure);
}

/// Lets the task wake threads that wait when it is complete. False: it is.
bool Waiting::tell_when_done(TaskHandle const& handle) {
  std::lock_guard const lock(handle.task->lock);
  if (m_kernel.is_done(handle)) return false;
  handle.task->has_waiter = true;
  return true;
}

/// The thread may be in a task of another graph, above one of this graph that waits. It gives its
/// permits back in that graph, too, for a task there may need them before this wait can end.
class Waiting::AbsenceElsewhere {
 public:
  [[gnu::always_inline]] explicit AbsenceElsewhere(Kernel const& kernel) {
    Frame* const top = Frame::top;
    if (top != nullptr && &top->kernel != &kernel) [[unlikely]]
      begin(*top, top->kernel.waiting());
  }

 private:
  [[gnu::noinline]] void begin(Frame& top, Waiting& there) {
    there.push_held(top.slot);
    ForkJoins::start_rests();
    m_children_run = there.m_features.fork_joins.end_phase(top);
    m_absence.emplace(there.m_workers, top.slot);
    m_turn.emplace(there.m_serial_turn);
  }
  ForkJoins::HeldStarted m_children_run;
  std::optional<Workers::Absence> m_absence;
  std::optional<SerialTurn::Release> m_turn;  ///< of that graph, if it is serial
};

/// Waits outside of this graph's tasks, and runs some meanwhile; but not on the stack of another
/// graph's task, which could not go on before the one above it is over, whatever that waits for.
/// The main thread does it there, too, as no other thread may run the tasks that are bound to it.
void Waiting::wait_outside(Until const& until) {
  refuse_in_progress_function();
  if (m_serial) return wait_serially(until);
  if (until.done()) return;
  AbsenceElsewhere const absence(m_kernel);
  if (Frame::top == nullptr || m_workers.on_main_thread())
    return wait_and_help(until, [&](Until const& asked) { m_workers.work_until(asked); });
  wait_and_help(until, [&](Until const& asked) {
    if (asked.rather_than_sleep == nullptr || !(*asked.rather_than_sleep)())
      m_workers.sleep_until(asked);
  });
}

/// Waits by `wait`, and helps other graphs. `wait` returns where `until` says so, or instead of a
/// sleep when other graphs have to be helped.
void Waiting::wait_and_help(Until const& until, FunctionRef<void(Until const&)> wait) {
  if (!HelpedGraphs::may_come(m_kernel)) return wait(until);
  auto const continues = [&] {
    return until.rather_than_sleep != nullptr && (*until.rather_than_sleep)();
  };
  auto const rather = [&] { return continues() || HelpedGraphs::any_but(m_kernel); };
  Condition const rather_than_sleep = rather;
  Until const asked{until.done, &rather_than_sleep, until.then_submits};
  wait(asked);
  auto since = std::chrono::steady_clock::now();
  for (std::uint64_t seen = m_kernel.completed();; wait(asked)) {
    if (until.done() || continues()) return;
    bool const any = HelpedGraphs::help_all_but(m_kernel);
    std::uint64_t const now = m_kernel.completed();
    if (any || std::exchange(seen, now) != now) since = std::chrono::steady_clock::now();
    std::chrono::nanoseconds const nap = m_polling.nap(since);
    if (nap.count() > 0)
      std::this_thread::sleep_for(nap);
    else
      std::this_thread::yield();
  }
}

/// Runs tasks that are bound to the main thread; workers run all others.
void Waiting::help() {
  if (m_serial) return help_serially();
  if (!m_workers.on_main_thread()) return;
  if (Frame::of(m_kernel) != nullptr || ProgressSource::is_calling()) return;
  if (m_workers.slot(0).in_use.load(std::memory_order_relaxed)) return;  // by this thread
  m_polling.call_all(m_kernel.own_slot(), true);
  auto const done = [&] { return m_main.empty(); };
  auto const none = [](Task const&) { return false; };
  FunctionRef<bool(Task const&)> const wants = none;
  m_workers.work_until({done, &always, false, &wants});
}

inline void Waiting::refuse_in_progress_function() const {
  if (ProgressSource::is_calling()) [[unlikely]]
    refuse_wait_of_progress_function();
}

void Waiting::refuse_wait_of_progress_function() const {
  throw Error(Error::Kind::deadlock, "Trellis: a progress function waits for " +
                                         m_kernel.options().name +
                                         "; it is called by threads that this graph waits for");
}

/// Runs tasks serially, see SerialTurn. The longer the thread has waited, the longer it sleeps, see
/// Polling::nap. It asks `rather_than_sleep` while it has the turn. For if another thread has the
/// turn, that one is in the middle of a task, which is no longer ready, and not complete.
void Waiting::wait_serially(Until const& until) {
  AbsenceElsewhere const absence(m_kernel);
  auto since = std::chrono::steady_clock::now();
  auto const done = [&] { return until.done() || m_kernel.has_only_open_completions(); };
  while (!until.done()) {
    {
      SerialTurn::Hold const turn(m_serial_turn);
      m_workers.work_until({done, &always, until.then_submits});
      if (until.done()) return;
      m_polling.call_all(m_kernel.own_slot(), m_workers.on_main_thread());
      if (m_features.completions.any_said()) {
        since = std::chrono::steady_clock::now();
        continue;
      }
      if (until.rather_than_sleep != nullptr && (*until.rather_than_sleep)()) return;
    }
    if (HelpedGraphs::help_all_but(m_kernel)) since = std::chrono::steady_clock::now();
    std::chrono::nanoseconds const nap = m_polling.nap(since);
    std::this_thread::sleep_for(std::max<std::chrono::nanoseconds>(nap, turn_of_others));
  }
}

/// Stops polling, and gives away the tasks that the thread holds, see Holding. (Polling a device
/// leaves the thread with one task at most; another thread polls for the rest.)
[[gnu::always_inline]] inline void Waiting::push_held(WorkerSlot& slot) {
  m_polling.stop(slot);
  for (Task** held : slot.holding)
    if (Task* const task = std::exchange(*held, nullptr)) m_kernel.push(*task, &slot);
}

/// Helps a serial graph. A program may ask whether a task is done until it is, or wait for another
/// graph. No worker of a serial graph completes tasks whose Completions are resolved, so the asking
/// thread does. If another thread has the turn, that one waits for this graph, and goes on with it.
void Waiting::help_serially() {
  if (Frame::of(m_kernel) != nullptr || ProgressSource::is_calling()) return;
  SerialTurn::Hold const turn(m_serial_turn, std::try_to_lock);
  if (!turn.is_new()) return;
  auto const run = [&] { m_workers.work_until({[] { return false; }, &always}); };
  run();
  m_polling.call_all(m_kernel.own_slot(), m_workers.on_main_thread());
  if (m_features.completions.any_said()) run();
}

/// True if the thread may run tasks on top of the one that waits. Serial graphs have their own
/// order.
inline bool Waiting::may_run_above(Frame const& frame) const {
  return !m_serial && frame.slot.number >= 0 && frame.what == Frame::What::runs;
}

/// Runs, on the stack of a task that waits, ready tasks without which the wait cannot end, as
/// `needed` says, until it is `done`, or none is found. Returns whether it is done.
///
/// INVARIANT (what is on the stack of a waiting task). The task beneath goes on when what it waits
/// for is complete, and when what has been run above it is over. Only tasks are run there without
/// which the first condition cannot hold. So the second condition adds nothing: no wait can hang
/// that would not hang without it. That holds for any number of tasks on top of each other. A body
/// that runs again is not run there: it may do so until a task has run that the wait does not need.
/// Only the first task of a batch is run there.
template <class Needed, class Done>
[[gnu::always_inline]] inline bool Waiting::run_needed(Frame& frame, Needed const& needed,
                                                       Done const& done) {
  if (!may_run_above(frame)) return done();
  auto const wanted = [&](ReadyTask ready) { return needed(*ready.impl()); };
  for (;;) {
    Task* const task = m_kernel.any_awaited()
                           ? m_kernel.pop_wanted(frame.slot, needed)
                           : m_policy.pop_wanted(frame.slot.number, wanted).impl();
    if (task == nullptr) return done();
    if (task->marks.is_fusable && task->next != nullptr) [[unlikely]]
      m_kernel.push(*std::exchange(task->next, nullptr), &frame.slot);
    if (Task* const next = m_kernel.run_deferring(*task, frame.slot))
      m_kernel.push(*next, &frame.slot);
    if (done()) return true;
  }
}

/// Works like `run_needed`, but tries again for a while, as what is left runs elsewhere or is not
/// ready.
template <class Needed, class Done>
bool Waiting::run_needed_for_long(Frame& frame, Needed const& needed, Done const& done) {
  // In all this takes about as long as to put a thread to sleep and wake another. The policy looks
  // through tasks, and may hold locks while it does.
  constexpr int times = 20;
  constexpr int between = 25;
  if (!may_run_above(frame)) return done();
  for (int time = 0; time < times; ++time) {
    if (run_needed(frame, needed, done)) return true;
    for (int k = 0; k < between && !done(); ++k) cpu_relax();
  }
  return done();
}

/// Lets a task wait for another. Its thread cannot simply run any tasks meanwhile: one of these
/// might wait for something that depends on the task beneath it. It runs what it waits for, see
/// `run_needed`, and tasks bound to the main thread, which no other thread may run. If there is
/// none it sleeps, and another thread takes its place.
inline void Waiting::wait_inside(Frame& frame, TaskHandle const& handle, ForkJoinGate* gate) {
  if (frame.is_launch()) refuse_while_launched(frame);
  push_held(frame.slot);
  // A ready task is not complete. So no task on the way from it up to the awaited one, and on to
  // the waiting one, is complete.
  LiveAccess const awaited{handle.task, handle.id};
  LiveAccess const waiter{&frame.task, frame.task.id};
  auto const leads_to_child = [&](Task const& task) {
    return is_or_within(task, awaited) && is_within(*awaited.task, waiter);
  };
  auto const done = [awaited] {  // it is not recorded
    return awaited.task->live_id.load(std::memory_order_acquire) != awaited.id;
  };
  AbsenceElsewhere const absence(m_kernel);
  Workers::Narrowed const narrowed(m_workers, frame.slot);
  if (gate != nullptr) [[unlikely]]
    return wait_gated(frame, handle, is_within(*awaited.task, waiter), *gate);
  if (!run_needed(frame, leads_to_child, done)) wait_long(frame, handle);
}

/// Waits for a fork-join that no thread can have begun. If it is a child of the waiting task and
/// has no predecessors, it runs here at once, as that wait cannot be hopeless. Any other fork-join
/// may be begun by other threads once the search for circles knows of the wait.
void Waiting::wait_gated(Frame& frame, TaskHandle const& handle, bool is_child,
                         ForkJoinGate& gate) {
  Task& task = *handle.task;
  bool const here = is_child && &frame == Frame::top && may_run_above(frame) && !task.exclusive &&
                    !task.marks.main_thread && !task.runs_on_device() &&
                    (task.space == nullptr || task.space->is_plain());
  if (!here || !gate.open_if_last()) return sleep_inside(frame, handle, &gate);
  task.state.store(TaskState::ready, std::memory_order_relaxed);
  m_kernel.events().changed(task, TaskState::ready);
  if (Task* const next = m_kernel.run_deferring(task, frame.slot))
    m_kernel.push(*next, &frame.slot);
  if (!m_kernel.is_done(handle)) wait_long(frame, handle);
}

/// Does the rest of `wait_inside`: what the wait needs is not ready, or other threads have it.
void Waiting::wait_long(Frame& frame, TaskHandle const& handle) {
  bool of_this = false;
  {
    std::lock_guard const lock(handle.task->lock);
    if (m_kernel.is_done(handle)) return;
    of_this = is_within(*handle.task, {&frame.task, frame.task.id});
  }
  // The search for circles knows anyway that this task cannot be complete before its children are.
  if (of_this && run_needed_for(frame, handle)) return;
  sleep_inside(frame, handle);
}

void Waiting::wait_for_gated(TaskHandle const& asked, Frame* frame, bool lets_go,
                             ForkJoinGate* gate) {
  if (Submitting::any() || PlanRecording::top != nullptr) require_no_recording();
  TaskHandle const handle = m_kernel.resolve(asked);
  if (!m_kernel.is_done(handle)) {
    refuse_in_progress_function();
    ForkJoins::HeldStarted children_run;
    if (frame != nullptr) {
      ForkJoins::start_rests();
      children_run = m_features.fork_joins.end_phase(*frame);
    }
    if ((handle.id & PlanNode::recorded) != 0) {
      m_features.plans.wait_for_replay(handle);
    } else if (frame != nullptr) {
      if (lets_go && m_features.fusion.any()) m_features.fusion.release(frame->slot);
      return wait_inside(*frame, handle, gate);
    } else if (tell_when_done(handle)) {
      wait_outside({[&] { return m_kernel.is_done(handle); }});
    }
  }
}

void Waiting::require_may_wait() const {
  if (m_submission.is_held_here()) Submitting::refuse();
  refuse_in_progress_function();
  Frame const* const frame = Frame::of(m_kernel);
  if (frame != nullptr && frame->is_launch()) refuse_while_launched(*frame);
}

/// Waits for a fork-join. Outside of tasks the thread runs the fork-join and its children. It runs
/// no other tasks except those that no other thread may run: others might take longer than the
/// fork-join, or wait for what the program does after it. When it finds none it sleeps, and another
/// thread gets its place.
void Waiting::wait_for_fork_join(TaskHandle const& asked, ForkJoinGate& gate) {
  if (Frame* const frame = Frame::of(m_kernel)) return wait_for_gated(asked, frame, true, &gate);
  if (Submitting::any() || PlanRecording::top != nullptr) require_no_recording();
  TaskHandle const handle = m_kernel.resolve(asked);
  if (m_kernel.is_done(handle)) return;
  refuse_in_progress_function();
  if (!tell_when_done(handle)) return;
  gate.open(m_kernel.own_slot());
  auto const is_over = [&] { return m_kernel.is_done(handle); };
  if (m_serial || Frame::top != nullptr) return wait_outside({is_over});
  LiveAccess const whole{handle.task, handle.id};
  auto const is_of_fork_join = [&](Task const& task) { return is_or_within(task, whole); };
  FunctionRef<bool(Task const&)> const wants = is_of_fork_join;
  auto const sleeps = [&](Until const& until) { m_workers.sleep_until(until); };
  // Each of these is true before the main thread is woken for it, see MainQueue and Polling::ask.
  auto const main_looks = [&] { return is_over() || !m_main.empty() || m_polling.any_of_main(); };
  while (!is_over()) {
    m_workers.work_until({is_over, &always, false, &wants});
    if (is_over()) return;
    if (!m_workers.on_main_thread()) return wait_and_help({is_over}, sleeps);
    if (m_polling.any_of_main())
      std::this_thread::yield();  // it asks again at once
    else
      wait_and_help({main_looks}, sleeps);
  }
}

void Waiting::refuse_while_launched(Frame const& frame) const {
  char const* const why = frame.what == Frame::What::launches
                              ? " waits for a task while it is launched on its device"
                              : " waits for a task while it runs as one with other fusable ones";
  throw Error(Error::Kind::deadlock,
              "Trellis: " + text_of(frame.task, m_submission) + why +
                  "; what it is to come after is said with its accesses or after(...)");
}

/// Runs tasks that the wait needs. True when the task is done.
bool Waiting::run_needed_for(Frame& frame, TaskHandle const& handle) {
  LiveAccess const awaited{handle.task, handle.id};
  auto const needed = [awaited](Task const& task) { return is_or_within(task, awaited); };
  return run_needed_for_long(frame, needed, [&] { return m_kernel.is_done(handle); });
}

namespace {

/// True if a path of edges leads from a ready task, which no thread takes meanwhile, to the awaited
/// one, or to a child of it. Where many tasks are behind it, only some are checked.
///
/// The ready task keeps all tasks behind it pending, so none of these cells is reused. This is
/// called under the lock of a policy's queue, and takes the locks of these tasks one by one. That
/// is safe, as no thread pushes a task while it has the lock of one.
bool leads_by_edges(Task const& ready, LiveAccess awaited,
                    FunctionRef<bool(Task const&)> is_awaited) {
  constexpr std::size_t most = 64;
  if (ready.is_recorded() || ready.id >= awaited.id) return false;
  Task* behind[most] = {const_cast<Task*>(&ready)};
  std::size_t count = 1;
  bool found = false;
  for (std::size_t k = 0; k < count && !found; ++k) {
    std::lock_guard const lock(behind[k]->lock);
    behind[k]->for_each_successor([&](Task* next) {
      found = found || is_awaited(*next);
      bool const is_known = std::find(behind, behind + count, next) != behind + count;
      if (!found && !is_known && count < most) behind[count++] = next;
    });
  }
  return found;
}

}  // namespace

/// Does the rest of `wait_long`: other threads have what the wait needs, or no thread has it yet.
void Waiting::sleep_inside(Frame& frame, TaskHandle const& handle, ForkJoinGate* gate) {
  auto const begin = std::chrono::steady_clock::now();
  AtEnd const record([&] {
    Recorder* const recorder = m_kernel.recorder();
    if (recorder != nullptr && frame.what == Frame::What::runs)
      recorder->slept(frame.task, std::chrono::steady_clock::now() - begin);
  });
  auto const done = [&] { return m_kernel.is_done(handle); };
  LiveAccess const awaited{handle.task, handle.id};
  Frame::HeldUp const held_up = frame.held_up();
  auto const begin_wait = [&](LiveAccess what, bool checks) {
    {
      std::lock_guard const lock(m_features.waiters.mutex());
      if (checks) check_no_cycle(held_up, what);
      for (LiveAccess const& each : held_up) m_features.waiters.add({each, what});
    }
    main_looks_again();
  };
  auto const end_wait = [&](LiveAccess what) {
    std::lock_guard const lock(m_features.waiters.mutex());
    for (LiveAccess const& each : held_up) m_features.waiters.remove({each, what});
  };
  begin_wait(awaited, true);
  AtEnd const registered([&] { end_wait(awaited); });

  if (!tell_when_done(handle)) return;
  if (gate != nullptr) gate->open(frame.slot);
  if (m_serial) {
    auto& order = static_cast<SerialOrder&>(m_policy);
    // The thread has the turn, unless a task of another graph waits for this graph above this task.
    SerialTurn::Hold const turn(m_serial_turn);
    while (!done()) {
      // This is read first: `pop_late`, or the next turn, sees a Completion that is resolved
      // meanwhile.
      bool const may_come = m_features.completions.any_open() ||
                            m_features.completions.any_said() || m_features.device_tasks.busy() ||
                            m_serial_turn.any_away();
      Task* next = m_kernel.pop_late(frame.slot);
      if (next == nullptr)
        next = order.pop_first([&](ReadyTask ready) { return leads_to(*ready.impl(), handle); })
                   .impl();
      if (next != nullptr) {
        m_kernel.run(next, frame.slot, done);
        continue;
      }
      if (done()) break;
      if (!may_come) {
        m_polling.stop(frame.slot);
        look_for_cycle_again(frame, awaited);
        throw Error(
            Error::Kind::deadlock,
            "Trellis: with TRELLIS_SERIAL=1 a task waits for one that another thread submits");
      }
      SerialTurn::Release const others(m_serial_turn);
      HelpedGraphs::help_all_but(m_kernel);
      std::this_thread::sleep_for(turn_of_others);
    }
    m_polling.stop(frame.slot);
    return;
  }
  // Tasks may pass that would wait behind tasks which wait for this task, or for one that it is a
  // child of.
  Vector<Task*> holders, passing;
  for (LiveAccess const& each : held_up) {
    if (each.task->live_id.load(std::memory_order_relaxed) != each.id)
      continue;  // it is over except for its body
    for (Task* task = each.task; task != nullptr; task = enclosing(*task))
      if (std::find(holders.begin(), holders.end(), task) == holders.end() &&
          m_features.exclusion.sleep(*task, passing))
        holders.push_back(task);
  }
  for (Task* task : passing) m_kernel.push(*task, &frame.slot);
  AtEnd const wake_holders([&] {
    for (Task* task : holders) m_features.exclusion.wake(*task);
  });
  auto const is_awaited = [awaited](Task const& task) { return is_or_within(task, awaited); };
  auto const comes_before = [&](Task const& task) {
    return is_awaited(task) || leads_by_edges(task, awaited, is_awaited);
  };
  bool is_first = true;
  auto look_again = first_without_look;
  while (!done()) {
    std::uint64_t const seen = m_main.epoch();
    // Only tasks that the wait needs are run, even of those that are bound to the main thread.
    // Others might themselves wait for a task on this stack. What is needed changes with each
    // waiter.
    auto const leads_there = [&](Task& task) { return leads_to(task, handle); };
    if (Task* const bound = frame.slot.is_main ? m_main.pop_wanted(leads_there) : nullptr) {
      if (bound->marks.is_resumed && !std::exchange(is_first, false)) {
        // The body may run again until another task has run, so that task is given some time, see
        // Engine::pop.
        Workers::Absence const absence(m_workers, frame.slot);
        std::this_thread::sleep_for(turn_of_others);
      }
      // The waiting task cannot go on before the one above it on this stack is done.
      LiveAccess const above{bound, bound->id};
      begin_wait(above, false);
      AtEnd const stacked([&] { end_wait(above); });
      m_kernel.run(bound, frame.slot, [] { return true; });
      continue;
    }
    // Other threads would run what comes before the awaited task as well. But all of these may be
    // in tasks that wait for this one, unknown to the engine: at a lock that this task holds, or at
    // the initialisation of a static variable.
    if (run_needed(frame, comes_before, done) || run_needed_for(frame, handle)) return;
    if (frame.slot.is_main && m_polling.any_of_main()) {
      Workers::Absence const absence(m_workers, frame.slot);
      m_polling.poll_of_main(frame.slot);
      HelpedGraphs::help_all_but(m_kernel);
      std::this_thread::yield();
      continue;
    }
    // What comes before the awaited task may become ready on a thread that is stuck in that way.
    auto const until = std::chrono::steady_clock::now() + look_again;
    look_again = std::min(2 * look_again, longest_without_look);
    bool is_late = false;
    m_workers.block_until(
        [&] {
          if (done() || (frame.slot.is_main && m_main.epoch() != seen)) return true;
          return is_late = std::chrono::steady_clock::now() >= until;
        },
        frame.slot);
    if (!is_late) continue;
    look_for_cycle_again(frame, awaited);
  }
}

/// Does the work of wait_for_children.
[[gnu::always_inline]] inline void Waiting::wait_for_children_here(TaskHandle const& self,
                                                                   TaskHandle const& running,
                                                                   Frame* frame) {
  Task& task = *self.task;
  if (!task.is_split.load(std::memory_order_acquire)) return;
  refuse_in_progress_function();
  Scope* const scope = task.inner.get();  // lives as long as the task
  push_held(frame->slot);
  bool const is_continuation = running.id != self.id;
  // Nothing is left of the task except its body, or the child that is its rest, on this thread.
  auto const all_done = [&open = scope->open, is_continuation] {
    return is_continuation ? open.is_one_child() : open.is_only_body();
  };
  LiveAccess const whole{&task, task.id};
  auto const is_child = [&](Task const& each) { return is_within(each, whole); };
  if (m_features.fusion.any()) m_features.fusion.release(frame->slot, is_child);
  AbsenceElsewhere const absence(m_kernel);
  std::optional<Workers::Narrowed> narrowed;
  if (!all_done()) narrowed.emplace(m_workers, frame->slot);
  if (!run_needed(*frame, is_child, all_done)) {
    ForkJoins::start_rests();
    run_needed_for_long(*frame, is_child, all_done);
  }
  while (!all_done()) {
    TaskHandle child = m_kernel.handle_of(nullptr, 0);
    {
      ChildrenHold const lock(task, m_submission);
      for (LiveAccess const other : scope->children)
        if (other.id != running.id &&
            other.task->live_id.load(std::memory_order_acquire) == other.id) {
          child.task = other.task;
          child.id = other.id;
          break;
        }
    }
    if (child.task == nullptr) break;
    wait_long(*frame, child);
  }
  FailurePtr failure;
  {
    std::lock_guard const lock(task.lock);
    failure = task.failure;
  }
  if (failure != nullptr)
    throw ChildFailed(failure->is_asked ? Error::Kind::cancelled : Error::Kind::task_failed,
                      failure->origin_text +
                          (failure->is_asked ? " was cancelled: " : " failed: ") + failure->what,
                      failure->cause);
}

/// `running`: the task, or the rest of its body, which is a child itself and waits for the others.
void Waiting::wait_for_children(TaskHandle const& self, TaskHandle const& running, Frame* frame) {
  if (frame == nullptr || &frame->task != running.task || frame->task.id != running.id)
    throw Error(Error::Kind::bad_input,
                "Trellis: task #" + std::to_string(self.id) +
                    " waits for its children, but not from within its own body");
  if (m_submission.is_held_here()) Submitting::refuse();
  ForkJoins::HeldStarted children_run;  // also when the wait throws as a child has failed
  if (ForkJoins::any_here()) children_run = m_features.fork_joins.end_phase(*frame);
  wait_for_children_here(self, running, frame);
}

[[gnu::noinline]] void Waiting::wait_for_started_children(TaskHandle const& self,
                                                          TaskHandle const& running, Frame* frame) {
  wait_for_children_here(self, running, frame);
}

/// Returns the name of the code that the thread runs in this frame.
std::string Waiting::whose_code(Frame const& frame) const {
  Task const& task = frame.task;
  if (frame.what == Frame::What::destroys)  // its accesses may be forgotten
    return "a destructor of task " + task.label.text('#' + std::to_string(task.id));
  return text_of(task, m_submission);
}

/// Called when the needs of a task that waits on the main thread may have changed.
void Waiting::main_looks_again() {
  m_main.move_epoch();
  m_workers.main_ready_added();
}

/// Throws if waiting for `awaited` is hopeless, see Waiters.
void Waiting::check_no_cycle(Frame::HeldUp const& held, LiveAccess awaited) {
  for (LiveAccess const& waiter : held)
    if (m_features.waiters.holds_up(waiter, awaited.id))
      throw Error(Error::Kind::deadlock, "Trellis: " + text_of(waiter, m_submission) +
                                             " waits for " + text_of(awaited, m_submission) +
                                             ", which cannot be complete before it is");
}

/// Called while a task waits. A replay may have queued behind one that this wait holds up. That
/// adds no edge to a new task, so no other thread has looked for a circle.
void Waiting::look_for_cycle_again(Frame const& frame, LiveAccess awaited) {
  std::lock_guard const lock(m_features.waiters.mutex());
  check_no_cycle(frame.held_up(), awaited);
}

/// True when `awaited` cannot be complete before `task` is.
bool Waiting::leads_to(Task& task, TaskHandle const& awaited) {
  std::lock_guard const lock(m_features.waiters.mutex());
  return m_features.waiters.holds_up({&task, task.id}, awaited.id);
}

void Waiting::wait_for_all(std::span<TaskHandle const> handles, Awaited hint) {
  Frame* const frame = Frame::of(m_kernel);
  FusionPool& held_back = m_features.fusion;
  for (TaskHandle const& each : handles)
    held_back.awaited(m_kernel.is_done(m_kernel.resolve(each)));
  // If tasks are known to be held back, they are released before this thread looks for anything
  // else.
  if (hint == Awaited::fused && held_back.any())
    held_back.release(frame != nullptr ? frame->slot : m_kernel.own_slot());
  for (TaskHandle const& each : handles) wait_for(each, frame, hint != Awaited::unfused);
  if (!handles.empty()) m_kernel.note_look();
  for (TaskHandle const& each : handles) note_known(each);
  for (TaskHandle const& each : handles)
    if ((each.id & PlanNode::recorded) != 0 || m_failures.poisons(each.id) != nullptr)
      rethrow(each);
}

bool Waiting::is_done_now(TaskHandle const& asked) {
  TaskHandle const handle = m_kernel.resolve(asked);
  if (m_kernel.is_done(handle)) return true;
  if (!m_serial) return false;
  help_serially();
  return m_kernel.is_done(handle);
}

bool Waiting::are_done(std::span<TaskHandle const> handles) {
  for (TaskHandle const& each : handles)
    if (!is_done_now(each)) return false;
  for (TaskHandle const& each : handles) note_known(each);
  if (!handles.empty()) m_kernel.note_look();
  return true;
}

void Waiting::note_known(TaskHandle const& handle) {
  m_failures.note_known(Provisional::resolved(handle).id);
}

/// Memory order: a task has left its failure before `live_id` changes, see Trellis_Finish.hpp.
bool Waiting::is_over(TaskHandle const& handle) const {
  return !Provisional::is_live(handle) && m_failures.poisons(handle.id) == nullptr;
}

}  // namespace trellis::Impl
