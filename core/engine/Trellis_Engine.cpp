// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <graph/Trellis_GraphControl.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <plan/Trellis_PlanState.hpp>
#include <progress/Trellis_StallReport.hpp>
#include <warn/Trellis_Warnings.hpp>
#include <task/Trellis_Reserve.hpp>
#include <task/Trellis_TaskText.hpp>
#include <task/Trellis_Result.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iostream>
#include <new>
#include <thread>
#include <utility>

/// The wiring of a graph, and a task's way from ready to done.
namespace trellis::Impl {

Engine::Engine(TaskGraphOptions const& options)
    : Kernel(options, m_workers),
      m_room_check(std::bit_floor(std::clamp<std::uint64_t>(*options.in_flight / 32, 1, 64))),
      m_submission(*this, m_device_tasks, m_main, m_policy_edges, m_parts, m_plans, m_passes,
                   m_destructors, m_waiters, m_waiting),
      m_exclusion(m_submission.rules(), recorder(), m_policy.get(), !m_serial),
      m_waiters(m_lock, m_slab, m_exclusion),
      m_policy_edges(*this, m_waiters),
      m_orchestrator(options.orchestration),
      m_fusion(*this, m_orchestrator, m_cancellation),
      m_waiting(*this, m_waiters, m_exclusion, m_main, m_serial_turn, m_completions,
                m_destructors, m_device_tasks, m_fusion, m_passes, m_plans, m_polling, m_sections),
      m_demotions(*this, m_submission.root(), m_exclusion, m_policy_edges, m_waiters,
                  m_submission.rules()),
      m_parts(*this, m_waiters),
      m_cancellation(*this),
      m_completions(*this, m_cancellation, m_parts),
      m_sections(*this, m_cancellation, m_fusion, m_orchestrator, m_parts, m_waiting),
      m_destructors(*this, m_device_tasks),
      m_device_tasks(*this, m_cancellation, m_destructors, m_exclusion, m_fusion),
      m_polling(m_device_tasks, m_completions, m_main, m_workers),
      m_plans(*this, m_submission, m_cancellation, m_destructors, m_graphs, m_passes,
              m_device_tasks.streams()),
      m_graphs(*this, m_cancellation, m_destructors, m_plans, m_device_tasks.streams()),
      m_passes(*this, m_submission, m_destructors, m_graphs, m_parts, m_policy_edges,
               m_device_tasks.streams()),
      m_wide_spaces(m_options),
      m_places(*options.bind, *options.threads_per_worker, options.name),
      m_workers(*this, m_serial ? 0 : *options.workers, *options.threads_per_worker,
                most_workers(options), m_places) {
  Reserve::require();
  if (std::atomic_ref(m_policy->m_serves_a_graph).exchange(true))
    throw Error(Error::Kind::bad_input,
                "Trellis: the scheduling policy \"" + std::string(m_policy->name()) +
                    "\" given to " + m_options.name +
                    " serves another graph; each graph needs a policy object of its own");
  m_policy->start(m_workers.max_seats());
  if (*options.watchdog > 0)
    m_stall_report = std::make_unique<StallReport>(
        *this, m_polling, m_waiters, m_submission.waiting_for_room(), *options.watchdog);
}

Engine::~Engine() {
  std::atomic_ref(m_policy->m_serves_a_graph).store(false);
}

void Engine::close() noexcept {
  if (Frame::of(*this) != nullptr) {
    std::cerr << "Trellis: " << m_options.name
              << " is destroyed inside one of its own tasks, and would wait for itself"
              << std::endl;
    std::abort();
  }
  // What a destructor of the user's submits is finished as well.
  do {
    m_destructors.drain();
    m_plans.dismantle_all();
    for (FailurePtr const& failure : m_failures.report().origins)
      if (!failure->observed.load(std::memory_order_relaxed))
        std::cerr << "Trellis: " << m_options.name
                  << " ends with an error that nobody asked for: " << failure->origin_text
                  << " failed: " << failure->what << std::endl;
    drop_objects(true);
    if (m_warnings != nullptr) m_warnings->let_go();
  } while (!all_done());
  // Threads that use a future, or drop a plan, may still be in here.
  m_control->engine.store(nullptr, std::memory_order_seq_cst);
  while (m_control->users.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  m_destructors.drain();
  m_plans.dismantle_all();
  if (m_warnings != nullptr) m_warnings->end();
  m_stall_report.reset();
  m_workers.stop();
}

void Engine::drop_objects(bool all) {
  if (m_events.recorder() != nullptr && !all) return;  // the dependency graph knows nothing of time
  if (all) {
    m_failures.clear();
    m_exclusion.clear_record();
  }
  std::lock_guard const lock(m_lock);
  Region& root = m_submission.root();
  root.table.drop_loose(all);
  for (Vector<Region::TagClass>& classes : root.classes)
    std::erase_if(classes, [&](Region::TagClass& each) {
      root.table.drop_gone(each.tasks);
      return all || each.tasks.empty();
    });
}

Engine* EnginePin::running_here(TaskHandle const& task) noexcept {
  Frame* const frame = Frame::of(task);
  return frame != nullptr ? static_cast<Engine*>(&frame->kernel) : nullptr;
}

Kernel& EnginePin::kernel() const {
  return *m_engine;
}

std::vector<std::string> Engine::rows() const {
  std::vector<std::string> rows;
  for (int k = 0; k < m_workers.seat_count(); ++k) rows.push_back(m_workers.seat(k).name);
  rows.resize(static_cast<std::size_t>(m_workers.max_seats()));
  for (std::string& name : m_device_tasks.streams().names()) rows.push_back(std::move(name));
  return rows;
}

// --- ready ---------------------------------------------------------------------------------------

// `seat` is null on a thread that runs no tasks of this graph.
void Engine::make_ready(Task& task, Seat* seat) {
  task.state.store(TaskState::ready, std::memory_order_relaxed);
  m_events.changed(task, TaskState::ready);
  bool const cancelled = task.failure != nullptr;
  if (task.exclusive && !cancelled && !m_serial && !may_exclude(task, seat)) return;
  if (!task.marks.is_fusable && !task.runs_on_device()) [[likely]]
    return push(task, seat);
  Task* const released = task.marks.is_fusable ? m_fusion.hold(task) : &task;
  if (released == nullptr) return m_fusion.tell();
  if (!m_device_tasks.launches_here(*released)) return push(*released, seat);
  if (m_device_tasks.offer(*released)) return;
  Seat& here = seat != nullptr ? *seat : Workers::no_seat();
  launch(*released, here);
}

/// May this one run now, others excluded? Others may have their turn instead.
bool Engine::may_exclude(Task& task, Seat* seat) {
  Vector<Task*> others;
  bool const may_run = m_exclusion.acquire(task, others);
  for (Task* other : others) push(*other, seat);
  return may_run;
}

void Engine::push_kept(Task& task) {
  if (task.marks.main_thread) {
    m_main.push(task);
    return m_workers.main_ready_added();
  }
  (task.marks.is_section ? m_awaited : m_rests).push(task);
  m_workers.ready_added();
}

bool Engine::has_ready(Seat const& seat) const {
  return has_task(seat) || m_polling.may_be_polled(seat) || m_fusion.any_deferred();
}

bool Engine::has_task(Seat const& seat) const {
  if (!m_policy->empty() || !m_rests.empty() || !m_awaited.empty() ||
      (seat.is_main && !m_main.empty()))
    return true;
  return m_completions.any_said() || m_fusion.may_be_taken();
}

std::chrono::nanoseconds Engine::nap(Seat const& seat) const {
  constexpr std::chrono::milliseconds before_look{1};
  if (has_task(seat)) return {};
  if (m_polling.any_function()) return m_polling.nap();
  bool const asks = m_polling.may_be_polled(seat);
  return m_fusion.any_deferred() && !asks ? before_look : std::chrono::nanoseconds(0);
}

bool Engine::has_own(Seat const& seat) const {
  return seat.is_main && (!m_main.empty() || m_polling.any_of_main());
}

/// FAIRNESS. A body may run again and again until something happens that another task does, or a
/// device. So whatever the policy prefers, and whoever's queue it is in, everything else goes
/// before a body that runs again, and these go in the order of arrival. On the other hand a body
/// that does a bit at a time is not to wait for the end of all that others submit: after a few
/// other tasks it has its turn. Nor is it, or a task of the main thread, to wait for the end of a
/// chain: a thread that goes on with what the policy keeps asks after each task whether anything
/// goes before that (`something_is_due`). And as tasks of the main thread may submit others of its
/// own until some other task is over, that has its turn after a few.
///
/// A section that has had to wait for what comes before it has a thread that waits for it, and does
/// nothing else. So it goes before what the policy has, in whose queue it would be the last. As
/// there is no end of sections where threads fork them again and again until some other task is
/// over, that has its turn after a few.
///
/// No wake-up is lost (see Workers): a section is in `m_awaited` before `push_kept` asks who is to
/// be woken, and a thread that goes to sleep asks `has_task`, which looks there, after it has given
/// its permit back; both are sequentially consistent. A relaxed look that misses one here is made
/// good for by that.
///
/// Before all of that goes what is over later than its body: much may wait for it. A thread that
/// has found no task asks functions below anyway.
Task* Engine::pop(Seat& seat) {
  m_polling.launch_offered(seat);
  if (seat.wants != nullptr) [[unlikely]]
    return pop_for_waiting(seat);
  if (!seat.searching && m_polling.is_due(seat)) m_polling.poll(seat, false);
  if (m_completions.any_said(std::memory_order_relaxed))
    if (Task* const task = complete_said(seat)) return task;
  bool const rests = any_rest(seat);
  if (rests && ++seat.since_rest > before_rest)
    if (Task* const rest = pop_rest(seat)) return rest;
  if (seat.is_main)
    if (Task* const task = pop_of_main(seat)) return task;
  if (!m_awaited.empty(std::memory_order_relaxed)) [[unlikely]]
    if (Task* const task = pop_awaited(seat)) return task;
  if (Task* const task = m_policy->pop(seat.number).impl()) return task;
  if (m_fusion.any())
    if (Task* const task = m_fusion.pop(seat, rests)) return task;
  if (m_polling.busy()) {
    if (m_polling.poll(seat, true)) {
      if (Task* const task = complete_said(seat)) return task;
      if (Task* const task = m_policy->pop(seat.number).impl()) return task;
    }
    m_polling.stand_by();
  }
  return rests ? pop_rest(seat) : nullptr;
}

/// The next task of the main thread; after a few of them one of others, if there is one.
Task* Engine::pop_of_main(Seat& seat) {
  if (!m_main.has_first()) return nullptr;
  if (seat.of_main_in_row < before_others) {
    ++seat.of_main_in_row;
    return m_main.pop();
  }
  seat.of_main_in_row = 0;
  if (Task* const task = m_awaited.pop()) return task;
  Task* const task = m_policy->pop(seat.number).impl();
  return task != nullptr ? task : m_main.pop();
}

Task* Engine::pop_awaited(Seat& seat) {
  if (seat.awaited_in_row < before_others) {
    ++seat.awaited_in_row;
    return m_awaited.pop();
  }
  seat.awaited_in_row = 0;
  Task* const task = m_policy->pop(seat.number).impl();
  return task != nullptr ? task : m_awaited.pop();
}

/// And what no other thread may run.
Task* Engine::pop_for_waiting(Seat& seat) {
  if (Task* const task = pop_wanted(seat, *seat.wants)) return task;
  return pop_own(seat);
}

/// Completes tasks of which that has been said, until one of them has another one to run next.
Task* Engine::complete_said(Seat& seat) {
  ++t_quiet_locks;
  constexpr int most = 32;
  bool any = false;
  Task* next = nullptr;
  for (int k = 0; k < most && next == nullptr; ++k) {
    if (!m_completions.any_said(std::memory_order_relaxed)) break;
    next = m_completions.complete_said(seat);
    any = true;
  }
  if (--t_quiet_locks == 0 && t_any_put_aside) m_destructors.destroy_put_aside_on(seat, next);
  // As for devices: nobody else may look at what these have made true.
  if (any && m_workers.anyone_waits()) m_workers.wake_waiters();
  return next;
}

Task* Engine::pop_own(Seat& seat) {
  if (!seat.is_main) return nullptr;
  if (m_polling.any_of_main()) m_polling.poll_of_main(seat);
  if (Task* const task = m_main.pop()) return task;
  return m_main.pop_rest();
}

/// The main thread takes those that are bound to it, and others, by turns.
Task* Engine::pop_rest(Seat& seat) {
  seat.since_rest = 0;
  if (!seat.is_main) return m_rests.pop();
  seat.own_rest_next = !seat.own_rest_next;
  Task* const first = seat.own_rest_next ? m_main.pop_rest() : m_rests.pop();
  if (first != nullptr) return first;
  return seat.own_rest_next ? m_rests.pop() : m_main.pop_rest();
}

void Engine::idle(Seat& seat) {
  if (seat.cells.first == nullptr) return;
  m_slab.recycle_chain(seat.cells.first, seat.cells.last);
  seat.cells = {};
}

void Engine::leaves(Seat& seat) {
  m_polling.stop(seat);
  if (Frame::top == nullptr)
    m_destructors.destroy_kept(seat, seat);  // else above a task, see run_one
}

// --- running -------------------------------------------------------------------------------------

void Engine::run(Task* task, Seat& seat, Condition stop) {
  m_polling.stop(seat);
  while (task != nullptr) {
    if (--seat.until_pause < 0 && Frame::top == nullptr) stay_behind(seat);
    task = run_quietly(*task, seat);
    if (task != nullptr && (stop() || something_is_due(seat) || seat.wants != nullptr)) {
      push(*task, &seat);
      return;
    }
  }
}

/// In a serial graph a task has its turn when it is about to run, not when it becomes ready: so
/// those that exclude each other run in the order of submission. A task may have to wait for one
/// that is over later than its body, is on a device, or waits on the stack of another thread. That
/// one pushes it again when it gives up what is needed.
bool Engine::may_not_exclude_serially(Task& task, Seat& seat) {
  if (task.failure != nullptr || m_exclusion.holds(task)) return false;
  return !may_exclude(task, &seat);
}

/// Whoever submits them has written their counts last, on another core.
inline void prefetch_successors(Task const& task) {
  for (std::uint32_t k = 0; k < std::min(task.successor_count, Task::inline_successors); ++k)
    prefetch_to_write(task.successors[k]);
}

/// Returns what it ends with, if it has no parts, or none that go on.
[[gnu::always_inline]] inline TaskState Engine::run_body(Task& task, Seat& seat) {
  TaskState state = TaskState::done;
  bool const refined = task.is_split;
  if (task.is_recorded()) prefetch_successors(task);  // its list does not change
  task.state.store(TaskState::running, std::memory_order_relaxed);
  m_events.changed(task, TaskState::running, seat.number);
  if (refined) {
    m_parts.start_parts(task, seat);
  } else {
    Frame const frame(*this, seat, task);
    try {
      task.ops->run(task.body,
                    task.space != nullptr ? m_workers.instance(seat, *task.space) : nullptr,
                    task.label);
    } catch (PartFailed const&) {
      state = TaskState::failed;  // the part has left its failure here
    } catch (...) {
      state = TaskState::failed;
      inherit(task, current_failure(task));
    }
  }
  return m_cancellation.reach(task) ? TaskState::cancelled : state;
}

/// With another number of threads than a worker has. A task that has been refined has no body, and
/// takes none.
TaskState Engine::run_wide(Task& task, Seat& seat) {
  if (task.is_split) return run_body(task, seat);
  WideSpace const& space = *wide_space(task.space);
  try {
    m_wide_spaces.require_room(space, task.label);
  } catch (Error const&) {
    inherit(task, current_failure(task));
    return TaskState::failed;
  }
  Workers::Gathered const gathered(m_workers, seat, space.permits());
  // It may have taken long.
  return m_cancellation.reach(task) ? TaskState::cancelled : run_body(task, seat);
}

[[gnu::always_inline]] inline Task* Engine::run_one(Task& task, Seat& seat) {
  m_cancellation.reach(task);
  if (task.marks.is_fusable) [[unlikely]]
    if (Task* next = nullptr; m_fusion.run(task, seat, next)) return next;
  if (m_serial && task.exclusive && may_not_exclude_serially(task, seat)) return nullptr;
  if (replays_plan(task)) return m_plans.run_plan(task, seat);
  // It may take long. Not above a task that waits: what is destroyed may wait for that one.
  if (!task.keeps_body && !seat.kept.empty() && Frame::top == nullptr) {
    Task* in_hand = &task;
    {
      Holding const holding(seat, in_hand);
      m_destructors.destroy_kept(seat, seat);
    }
    if (in_hand == nullptr) return nullptr;
  }
  TaskState state = TaskState::cancelled;
  if (task.failure == nullptr) {
    if (task.space == nullptr || task.space->is_plain()) {
      state = run_body(task, seat);
    } else if (task.runs_on_device()) {
      m_device_tasks.launch(task, seat);
      return nullptr;
    } else {
      state = run_wide(task, seat);
    }
  } else {
    // What refined it, or launched it on a thread that has no seat, or the policy that has been
    // told of it, threw.
    if (task.failure->origin == task.id && !task.failure->is_asked) state = TaskState::failed;
    if (task.is_split) m_parts.start_parts(task, seat);
  }
  return task.is_split ? m_parts.body_over(task, seat, state)
                       : complete(task, seat, state, seat.number);
}

/// What is put aside meanwhile is destroyed when the task is over.
Task* Engine::run_quietly(Task& task, Seat& seat) {
  ++t_quiet_locks;
  Task* next = run_one(task, seat);
  if (--t_quiet_locks == 0 && t_any_put_aside) m_destructors.destroy_put_aside_on(seat, next);
  return next;
}

/// In a handler.
void Engine::describe_failure(Failure& failure, Task const& task, std::string const& remark) {
  std::string what;
  try {
    throw;
  } catch (std::exception const& error) {
    what = error.what();
  } catch (...) {
    what = "an exception that is no std::exception";
  }
  what += remark;
  if (failure.is_asked) what = "the program asked for it, and its body threw: " + what;
  failure.what = std::move(what);
  failure.origin_text = text_of(task, m_lock);
}

// --- done ----------------------------------------------------------------------------------------

inline void Engine::give_back(Task& task, Seat& seat) {
  task.free_body();
  task.next = seat.cells.first;
  seat.cells.first = &task;
  if (seat.cells.last == nullptr) seat.cells.last = &task;
  if (++seat.cells.count >= 32) idle(seat);
}

/// Completes a part, and the task that it is a part of, if nothing else of that is left.
Task* Engine::complete_part(Task& task, Seat& seat, TaskState state, int row) {
  Region* region = task.region;
  TaskId id = task.id;
  if (task.failure != nullptr) inherit(*region->owner, task.failure);
  Task* next = complete_one(task, seat, state, row);
  if (region->shrinks) m_demotions.part_over(*region, id, seat);
  while (region != nullptr && region->open.part_over(Parts::runs_body(Frame::top, *region))) {
    Task& whole = *region->owner;
    TaskState const body = region->owner_state;
    int const owner_row = region->owner_row;
    region = whole.region_kind == RegionKind::parts ? static_cast<Region*>(whole.region) : nullptr;
    Holding const holding(seat, next);
    id = whole.id;
    if (region != nullptr && whole.failure != nullptr) inherit(*region->owner, whole.failure);
    state = body == TaskState::done ? state_of_whole(whole) : body;
    Task* const another = whole.is_recorded() ? m_plans.complete_run(whole, seat, state, owner_row)
                                              : complete_one(whole, seat, state, owner_row);
    if (region != nullptr && region->shrinks) m_demotions.part_over(*region, id, seat);
    if (another == nullptr) continue;
    if (next == nullptr)
      next = another;
    else
      push(*another, &seat);
  }
  return next;
}

/// All but those who come after the task.
void Engine::tell_failure(Task& task, TaskState state, FailurePtr const& failure) {
  std::string text = short_text;
  try {
    text = text_of(task, m_lock);
  } catch (std::bad_alloc const&) {  // then without its name
  }
  bool const is_of_part = state == TaskState::failed && failure->origin != task.id;
  FailurePtr const own = is_of_part ? of_part(failure) : failure;
  m_failures.note(task.id, text, own);
  if (task.ticket_for.load(std::memory_order_relaxed) == task.id)
    m_failures.note_for_futures(task.ticket.load(std::memory_order_relaxed), task.id, text, own);
  task.ops->fail(task.body, task.id, text, own);
}

void Engine::hand_on_failure(Task& task, Seat& seat, FailurePtr const& failure) {
  task.for_each_successor([&](Task* successor) {
    auto const& spared = seat.spared;
    bool const stops = std::find(spared.begin(), spared.end(), successor->id) != spared.end();
    trigger(*successor, stops ? FailurePtr() : failure, seat.ready);
  });
  seat.spared.clear();
}

/// Returns the task to run next on this seat, if the policy keeps one here.
Task* Engine::complete_one(Task& task, Seat& seat, TaskState state, int row) {
  FailurePtr const failure = std::move(task.failure);
  if (failure != nullptr) [[unlikely]]
    tell_failure(task, state, failure);
  // Above a task that waits nobody would destroy what is kept before that is over.
  bool const keeps_body = task.keeps_body && failure == nullptr && !task.is_split &&
                          (task.runs_on_device() || Frame::top == nullptr);
  if (!keeps_body) m_destructors.destroy_body(task, seat);  // before the successors go on
  run_over(task, seat, state, row);

  task.lock.lock();
  prefetch_successors(task);
  give_up_exclusive(task, seat);
  if (failure != nullptr) [[unlikely]]
    m_policy_edges.stops_failure(task.id, seat.spared);
  task.live_id.store(0, std::memory_order_release);
  bool const has_waiter = task.has_waiter;
  task.lock.unlock();
  m_cancellation.forget(task.id);

  Vector<Task*>& ready = seat.ready;
  std::size_t const granted = ready.size();  // these have been made ready before
  if (failure == nullptr)
    task.for_each_successor([&](Task* successor) { trigger(*successor, nullptr, ready); });
  else
    hand_on_failure(task, seat, failure);
  Task* next = nullptr;
  if (!ready.empty()) next = hand_over(ready, granted, seat);
  if (task.has_objects) m_destructors.destroy_extras(task, seat, next);
  bool too_many_kept = false;
  if (keeps_body)
    too_many_kept = !m_destructors.keep_body(task, seat);
  else
    give_back(task, seat);
  m_destructors.count_put_aside();
  std::uint64_t const completed = seat.completed.load(std::memory_order_relaxed) + 1;
  seat.completed.store(completed, std::memory_order_release);
  if (has_waiter || ((completed & (m_room_check - 1)) == 0 && m_workers.anyone_waits()))
    m_workers.wake_waiters();
  if (too_many_kept && Frame::top == nullptr) {  // else later, see run_one
    Holding const holding(seat, next);
    m_destructors.destroy_kept(seat, seat);
    if (!m_device_tasks.busy() || m_destructors.too_many_of_devices())
      m_destructors.destroy_kept_of_devices(seat);
  }
  return next;
}

Task* Engine::hand_over_many(Vector<Task*>& ready, std::size_t granted, Seat& seat) {
  std::size_t count = 0;
  bool all_go_to_policy = true;
  for (std::size_t k = 0; k < ready.size(); ++k) {
    Task& task = *ready[k];
    if (k >= granted) {
      task.state.store(TaskState::ready, std::memory_order_relaxed);
      m_events.changed(task, TaskState::ready);
      if (task.exclusive && task.failure == nullptr && !m_serial && !may_exclude(task, &seat))
        continue;
    }
    all_go_to_policy = all_go_to_policy && goes_to_policy(task);
    ready[count++] = &task;
  }
  ready.resize(count);
  if (!all_go_to_policy) return hand_over_each(ready, seat);
  return ready.empty() ? nullptr : give_to_policy(ready, seat);
}

/// Of tasks that are ready, and may exclude whom they do, some go elsewhere than to the policy.
Task* Engine::hand_over_each(Vector<Task*>& ready, Seat& seat) {
  std::size_t const count = ready.size();
  std::size_t kept = 0;
  bool any_held = false;
  Vector<Task*> to_launch;
  auto const release = [&](Task& task) {
    if (is_kept(task))
      push_kept(task);
    else if (m_device_tasks.launches_here(task))
      to_launch.push_back(&task);
    else
      ready[kept++] = &task;  // before those that have been looked at
  };
  for (std::size_t k = 0; k < count;) {
    std::size_t const first = k;
    while (k < count && ready[k]->marks.is_fusable) ++k;
    if (k == first)
      release(*ready[k++]);
    else
      any_held = m_fusion.hold(std::span(ready).subspan(first, k - first), release) || any_held;
  }
  ready.resize(kept);
  Task* next = nullptr;
  if (!ready.empty()) next = give_to_policy(ready, seat);
  if (any_held) m_fusion.tell();
  // After the others have gone to where they are found; `ready` may be used again.
  if (!to_launch.empty()) {
    m_device_tasks.order_launches(to_launch);
    for (Task* task : to_launch) m_device_tasks.launch(*task, seat);
    m_workers.ready_added();
  }
  return next;
}

// --- the verbs of the kernel ---------------------------------------------------------------------

namespace {

Engine& whole(Kernel& kernel) {
  return static_cast<Engine&>(kernel);
}
Engine const& whole(Kernel const& kernel) {
  return static_cast<Engine const&>(kernel);
}

}  // namespace

TaskHandle Kernel::settle_special(TaskHandle const& handle) {
  return whole(*this).m_passes.settle(handle);
}
std::uint64_t Kernel::submitted() const {
  return whole(*this).submitted();
}
TaskHandle Kernel::submit(TaskSpec&& spec, Frame* frame) {
  return whole(*this).m_submission.submit(std::move(spec), frame);
}

void Kernel::make_ready(Task& task, Seat* seat) {
  whole(*this).make_ready(task, seat);
}
void Kernel::push(Task& task, Seat* seat) {
  whole(*this).push(task, seat);
}
void Kernel::dispatch(Task& task, Seat& seat) {
  whole(*this).dispatch(task, seat);
}
void Kernel::launch(Task& task, Seat& seat) {
  whole(*this).launch(task, seat);
}
void Kernel::look_again() {
  if (!m_policy->empty()) m_workers.ready_added();
}
void Kernel::hinder(Task& task) {
  Vector<Task*> granted;
  for (Task* each = &task; each != nullptr; each = whole_of(*each)) {
    if (each->exclusive) whole(*this).m_exclusion.hinder(*each, granted);
  }
  for (Task* other : granted) push(*other, nullptr);
}
void Kernel::hinder_owners(Task const& part, Vector<Task*>& granted) {
  for (Task* task = owner_of(part); task != nullptr && !m_serial; task = whole_of(*task))
    if (task->exclusive) whole(*this).m_exclusion.hinder(*task, granted);
}

Seat& Kernel::own_seat() {
  if (Frame* const frame = Frame::of(*this)) return frame->seat;
  return m_workers.on_main_thread() ? m_workers.seat(0) : Workers::no_seat();
}
Task* Kernel::run_quietly(Task& task, Seat& seat) {
  return whole(*this).run_quietly(task, seat);
}
void Kernel::run(Task* task, Seat& seat, Condition stop) {
  whole(*this).run(task, seat, stop);
}
std::shared_ptr<Failure> Kernel::current_failure(Task const& task, std::string const& remark) {
  Engine& engine = whole(*this);
  auto failure = make_shared_unlocked<Failure>();
  failure->origin = task.id;
  if (task.is_recorded()) {  // to others it is the replay that fails
    failure->place = task.node.round * task.node.plan->tasks.size() + task.node.index + 1;
    for (Task const* whole = &task; whole->is_recorded();) {
      whole = whole_of(*whole);
      failure->origin = whole->id;
    }
  }
  failure->cause = std::current_exception();
  failure->is_asked = engine.m_cancellation.is_asked(task);  // its way to stop
  try {
    engine.describe_failure(*failure, task, remark);
  } catch (std::bad_alloc const&) {  // what there is memory for
    if (failure->what.empty()) failure->what = "out of memory";
    if (failure->origin_text.empty()) failure->origin_text = short_text;
  }
  return failure;
}

Task* Kernel::complete(Task& task, Seat& seat, TaskState state, int row) {
  return whole(*this).complete(task, seat, state, row);
}
void Kernel::run_over(Task& task, Seat& seat, TaskState state, int row) {
  whole(*this).run_over(task, seat, state, row);
}
void Kernel::give_up_exclusive(Task& task, Seat& seat) {
  whole(*this).give_up_exclusive(task, seat);
}
Task* Kernel::hand_over(Vector<Task*>& ready, std::size_t granted, Seat& seat) {
  return whole(*this).hand_over(ready, granted, seat);
}

void Kernel::wait_for(TaskHandle const& handle, Frame* frame) {
  whole(*this).m_waiting.wait_for(handle, frame);
}
void Kernel::wait_outside(Until const& until) {
  whole(*this).m_waiting.wait_outside(until);
}
Task* Kernel::pop_wanted(Seat const& seat, FunctionRef<bool(Task const&)> wanted) {
  if (Task* const task = whole(*this).m_awaited.pop_wanted(wanted)) return task;
  return m_policy->pop_wanted(seat.number, [&](ReadyTask task) { return wanted(*task.impl()); })
      .impl();
}
Task* Kernel::pop_late(Seat& seat) {
  Engine& engine = whole(*this);
  if (engine.m_polling.busy()) engine.m_polling.poll(seat, true);
  return engine.complete_said(seat);
}
bool Kernel::any_awaited() const {
  return !whole(*this).m_awaited.empty(std::memory_order_relaxed);
}
bool Kernel::anyone_polls() const {
  Engine const& engine = whole(*this);
  return !engine.m_rests.empty(std::memory_order_relaxed) || engine.m_main.has_rests();
}
bool Kernel::has_only_open_completions() const {
  Engine const& engine = whole(*this);
  if (!engine.m_completions.any_open()) return false;
  return m_policy->empty() && engine.m_rests.empty() && engine.m_awaited.empty() &&
         engine.m_main.empty() && !engine.m_completions.any_said() && !engine.m_fusion.any() &&
         !engine.m_device_tasks.busy();
}
Waiting& Kernel::waiting() {
  return whole(*this).m_waiting;
}
bool Kernel::is_over(TaskHandle const& handle) const {
  return whole(*this).m_waiting.is_over(handle);
}
bool Kernel::may_be_helped_here() const {
  return m_serial || is_on_main();
}
void Kernel::help() {
  whole(*this).m_waiting.help();
}
void Kernel::drop_objects(bool all) {
  whole(*this).drop_objects(all);
}

}  // namespace trellis::Impl
