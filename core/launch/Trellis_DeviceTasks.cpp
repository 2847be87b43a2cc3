// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <launch/Trellis_DeviceTasks.hpp>
#include <cancellation/Trellis_Cancellation.hpp>
#include <destruction/Trellis_Destructors.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <impl/Trellis_FusionOps.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <launch/Trellis_Poller.hpp>
#include <failure/Trellis_Failure.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <base/Trellis_Reserve.hpp>
#include <launch/Trellis_PlanGraphs.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace trellis::Impl {

DeviceTasks::DeviceTasks(Kernel& kernel, LaunchQueue& offered, Cancellation& cancellation,
                         Destructors& destructors, Exclusion& exclusion, FusionPool& fusion)
    : m_kernel(kernel),
      m_cancellation(cancellation),
      m_exclusion(exclusion),
      m_fusion(fusion),
      m_failures(kernel.failures()),
      m_destructors(destructors),
      m_workers(kernel.workers()),
      m_serial(kernel.is_serial()),
      m_offered(offered),
      m_streams(*kernel.options().streams, kernel.events().are_timed(), kernel.events().start()) {}

std::int64_t DeviceTasks::rank_of_launch(Task& task) const {
  return m_kernel.policy().exclusive_rank(ReadyTask(&task));
}

void DeviceTasks::order_launches(std::span<Task*> ready) const {
  if (ready.size() < 2) return;
  struct Launch {
    Task* task;
    std::int64_t rank;
  };
  Vector<Launch> launches;
  for (Task* const task : ready)
    if (task->runs_on_device()) launches.push_back({task, rank_of_launch(*task)});
  std::stable_sort(launches.begin(), launches.end(), [](Launch const& a, Launch const& b) {
    return std::pair(a.task->priority, a.rank) > std::pair(b.task->priority, b.rank);
  });
  auto next = launches.begin();
  for (Task*& task : ready)
    if (task->runs_on_device()) task = (next++)->task;
}

/// False in a launch, which has the streams for itself.
bool DeviceTasks::may_launch_here() const {
  Frame const* const frame = Frame::of(m_kernel);
  return frame == nullptr ||
         (frame->what != Frame::What::launches && !frame->task.runs_on_device());
}

void DeviceTasks::launch(Task& first, WorkerSlot& slot) {
  Vector<Task*> ready;
  auto const launch_and_order = [&](Task& task) {
    std::size_t const before = ready.size();
    launch_one(task, slot, ready);
    order_launches(std::span(ready).subspan(before));
  };
  auto const release = [&](Task& released) {
    if (!launches_here(released)) return m_kernel.push(released, &slot);
    if (!offer(released)) launch_and_order(released);
  };
  launch_and_order(first);
  for (std::size_t k = 0; k < ready.size();) {  // `release` adds more
    Vector<Task*> fusable;
    for (; k < ready.size(); ++k) {
      Task& task = *ready[k];
      task.state.store(TaskState::ready, std::memory_order_relaxed);
      m_kernel.events().changed(task, TaskState::ready);
      if (task.exclusive) {
        Vector<Task*> others;
        bool const may_run = m_exclusion.acquire(task, others);
        for (Task* other : others) m_kernel.push(*other, &slot);
        if (!may_run) continue;
      }
      if (task.marks.is_fusable)
        fusable.push_back(&task);
      else
        release(task);
    }
    if (!fusable.empty()) m_fusion.hold(fusable, release);
  }
}

bool DeviceTasks::offer(Task& task) {
  bool const is_batch =
      task.marks.is_fusable && (task.next != nullptr || task.offloaded() != nullptr);
  return m_offered.is_served() && !is_batch && task.device()->launch_is_slow() &&
         m_offered.offer(task, rank_of_launch(task));
}

/// While the thread launches it does not look for tasks: other threads may have to.
void DeviceTasks::launch_offered(WorkerSlot& slot, int most) {
  bool const has_slot = slot.number >= 0;
  if (has_slot) ++t_deferring_locks;
  for (; most > 0; --most) {
    Task* const task = m_offered.take();
    if (task == nullptr) break;
    if (has_slot) m_workers.looks_no_more(slot);
    if (launches_here(*task))
      launch(*task, slot);
    else
      m_kernel.push(*task, &slot);
    m_offered.is_launched();
    if (has_slot) slot.search.has_launched = true;
  }
  if (!has_slot) return;
  Task* nothing = nullptr;
  if (--t_deferring_locks == 0 && t_any_deferred_objects)
    m_destructors.destroy_deferred_objects_on(slot, nothing);
}

/// Begins to serve the queue, only where this thread may launch.
void DeviceTasks::become_proxy() {
  if (!m_offered.has_proxy() && m_streams.has_slow_launches() && m_streams.busy() &&
      Frame::of(m_kernel) == nullptr)
    m_offered.become_proxy();
}

void DeviceTasks::retire_proxy(WorkerSlot& slot) {
  m_offered.stop_serving();
  launch_all_offered(slot);
  if (is_proxy()) m_offered.retire_proxy();  // else a destructor that waits has done it
}

bool DeviceTasks::stop_serving(WorkerSlot& slot) {
  bool const serves = m_offered.is_served();
  if (serves) m_offered.stop_serving();
  if (serves || any_offers()) launch_all_offered(slot);
  return serves;
}

void DeviceTasks::close_offers() {
  m_offered.close();
  Frame const* const frame = Frame::of(m_kernel);
  // In a launch, or when it reports one, this thread itself is part of what is pending.
  if (is_proxy() || (frame != nullptr && frame->is_launch())) return;
  if (may_launch_here()) launch_all_offered(m_kernel.own_slot());
  while (m_offered.any_pending()) std::this_thread::yield();
}

/// Takes over failures of predecessors on the device, as far as they are known. Each enters the log
/// before its task is complete. A later failure finds this task launched, and is seen when the task
/// retires, which is later still.
void DeviceTasks::inherit_on_device(Task& task) {
  m_cancellation.reach(task);
  if (!m_failures.any()) return;
  for (auto const& before : task.on_device->predecessors)
    if (FailurePtr const failure = m_failures.poisons(before.id)) inherit(task, failure);
}

/// Its successors are cancelled when the stream has passed what it may have launched.
void DeviceTasks::note_failed_launch(Task& task) {
  FailurePtr failure = m_kernel.current_failure(task);
  std::lock_guard const lock(task.lock);
  task.failure = std::move(failure);
}

void DeviceTasks::note_launch(Task& task, Vector<Task*>& ready) {
  std::lock_guard const lock(task.lock);
  task.launched = true;
  if (task.is_recorded())
    return m_streams.note_awaited();  // all edges of a plan fire on completion
  // Successors that wait only for the launch leave the list, see Task.
  task.keep_successors([&](Task* successor) {
    if (trigger_between(task, *successor) == Trigger::completion) return true;
    trigger(*successor, nullptr, ready);
    return false;
  });
  if (task.successor_count > 0 || task.exclusive) m_streams.note_awaited();
}

/// `ready` gets the successors that wait for nothing else.
void DeviceTasks::launch_one(Task& task, WorkerSlot& slot, Vector<Task*>& ready) {
  if (task.marks.is_fusable && task.offloaded() != nullptr) [[unlikely]]
    return offload_batch(task, slot);
  if (task.marks.is_fusable && task.next != nullptr) [[unlikely]]
    return launch_batch(task, slot, ready);
  inherit_on_device(task);
  if (task.failure != nullptr) return m_kernel.push(task, &slot);
  try {
    task.state.store(TaskState::running, std::memory_order_relaxed);
    m_kernel.events().changed(task, TaskState::running);
    Frame const frame(m_kernel, slot, task, Frame::What::launches);
    Task* const one = &task;
    std::size_t const at = 0;
    m_streams.launch(
        std::span(&one, 1), *task.device(), *m_kernel.options().threads_per_worker,
        [&](void* instance) { task.ops->run(task.body, instance, task.label); }, at,
        [&](Task&, bool threw) { threw ? note_failed_launch(task) : note_launch(task, ready); });
  } catch (...) {  // nothing has been launched
    task.failure = m_kernel.current_failure(task);
    m_kernel.push(task, &slot);  // its end may be user code
  }
}

/// Returns the members of a batch that are to be launched, no longer linked.
Vector<Task*> DeviceTasks::live_members(Task& first, WorkerSlot& slot) {
  Vector<Task*> live = FusionPool::unlink(first);
  std::erase_if(live, [&](Task* task) {
    inherit_on_device(*task);
    if (task->failure == nullptr) return false;
    FusionPool::stay_home(*task);
    m_kernel.push(*task, &slot);
    return true;
  });
  return live;
}

Vector<void*> DeviceTasks::note_running(std::span<Task* const> members) {
  m_kernel.events().batch(members);
  Vector<void*> bodies;
  for (Task* const task : members) {
    bodies.push_back(task->body);
    task->state.store(TaskState::running, std::memory_order_relaxed);
    m_kernel.events().changed(*task, TaskState::running);
  }
  return bodies;
}

/// Launches these tasks at once, see AsyncStreams::launch. Returns how many are on the stream; 0:
/// nothing has been launched.
std::size_t DeviceTasks::launch_as_one(std::span<Task* const> tasks, DeviceAdapter& device,
                                       WorkerSlot& slot, FunctionRef<void(void*)> run,
                                       std::size_t const& at, FunctionRef<void(Task&)> launched) {
  std::size_t begun = 0;
  try {
    Frame const frame(m_kernel, slot, *tasks.front(), Frame::What::launches);
    m_streams.launch(tasks, device, *m_kernel.options().threads_per_worker, run, at,
                     [&](Task& task, bool threw) {
                       ++begun;
                       threw ? note_failed_launch(task) : launched(task);
                     });
  } catch (...) {  // nothing has been launched
  }
  return begun;
}

/// Launches all members at once. When that throws, those that have not begun are launched one by
/// one, so that each can fail on its own.
void DeviceTasks::launch_batch(Task& first, WorkerSlot& slot, Vector<Task*>& ready) {
  Vector<Task*> const live = live_members(first, slot);
  if (live.empty()) return;
  Task& named = *live.front();
  FusionOps const& ops = *named.ops->fusion;
  std::size_t begun = 0;
  if (live.size() > 1 && ops.run != nullptr) {
    Vector<void*> const bodies = note_running(live);
    std::size_t at = bodies.size();
    begun = launch_as_one(
        live, *named.device(), slot,
        [&](void* instance) { ops.run(bodies, instance, named.label, at); }, at,
        [&](Task& task) { note_launch(task, ready); });
  }
  for (Task* const task : std::span(live).subspan(begun)) launch_one(*task, slot, ready);
}

/// Launches a batch of host tasks on a device. They remain host tasks, which end late. The device
/// orders nothing before or after them, so the launch has nothing to wait for there. Their
/// successors are triggered when the device reports that they are done. When the launch throws,
/// none of them has begun, and they run at home.
void DeviceTasks::offload_batch(Task& first, WorkerSlot& slot) {
  Vector<Task*> const live = live_members(first, slot);
  if (live.empty()) return;
  Vector<void*> const bodies = note_running(live);
  Task& named = *live.front();
  std::size_t const begun = launch_as_one(
      live, *named.offloaded(), slot,
      [&](void* instance) { named.ops->fusion->offload(bodies, instance, named.label); },
      live.size(), [](Task&) {});
  if (begun > 0) return m_streams.note_awaited();
  m_fusion.give_back(live, slot);
}

bool DeviceTasks::complete_passed(WorkerSlot& slot, Poller& poller) {
  bool const somebody_waits = anyone_waits(slot);
  ++t_deferring_locks;
  auto const begin = Poller::Clock::now();
  m_streams.retire();
  poller.has_taken(Poller::Clock::now() - begin);
  bool any = false;
  AsyncStreams::Retired retired;
  while (poller.is_here() && m_streams.next_retired(retired)) {
    any = true;
    if (retired.failure != nullptr)
      complete_failed(retired, slot);
    else
      complete_one(retired, slot);
    // The device must not run out of work meanwhile.
    if (is_proxy()) launch_offered(slot, 1);
  }
  Task* nothing = nullptr;
  if (--t_deferring_locks == 0 && t_any_deferred_objects)
    m_destructors.destroy_deferred_objects_on(slot, nothing);
  if (!any && somebody_waits) m_streams.host_is_idle();
  // All other threads may be asleep. If these completions have made a wait condition true, no other
  // thread checks it before this thread sleeps.
  if (any && m_workers.anyone_waits()) m_workers.wake_waiters();
  if (!m_streams.busy() && Frame::top == nullptr) m_destructors.destroy_deferred(slot);
  return any;
}

void DeviceTasks::complete_one(AsyncStreams::Retired const& passed, WorkerSlot& slot) {
  Task& task = *passed.task;
  TaskState state = TaskState::done;
  inherit_on_device(task);
  if (task.failure !=
      nullptr) {  // its launch has thrown, or something before it has failed meanwhile
    bool const is_own = task.failure->origin == task.id && !task.failure->is_asked;
    state = task.is_recorded() || is_own ? TaskState::failed : TaskState::cancelled;
  } else if (task.ops->finish != nullptr) {
    try {
      task.ops->finish(task.body);
    } catch (ChildFailed const&) {
      state = TaskState::failed;  // the child has left its failure here
    } catch (...) {
      state = TaskState::failed;
      inherit(task, m_kernel.current_failure(task));
    }
  }
  if (passed.finished_ns != 0)
    m_kernel.events().ran_on_device(task, passed.started_ns, passed.finished_ns);
  end(passed, slot, state);
}

void DeviceTasks::end(AsyncStreams::Retired const& retired, WorkerSlot& slot, TaskState state) {
  FusionPool::stay_home(*retired.task);
  if (Task* const next =
          m_kernel.complete(*retired.task, slot, state, m_workers.max_slots() + retired.stream))
    m_kernel.push(*next, &slot);
}

/// Completes a task after the device has failed. The device does not say in which task, so the
/// failure belongs to the first task of the stream that is not known to have passed. It is unknown
/// what the tasks behind it have done.
void DeviceTasks::complete_failed(AsyncStreams::Retired const& failed, WorkerSlot& slot) {
  Task& task = *failed.task;
  std::string& first = failed.failure->first;
  std::string remark;
  try {
    if (!first.empty())
      remark = " (at " + first + " or later, before this task was known to be done)";
  } catch (std::bad_alloc const&) {  // then without the remark
  }
  FailurePtr failure;
  try {
    std::rethrow_exception(failed.failure->error);
  } catch (...) {
    failure = m_kernel.current_failure(task, remark);
  }
  if (first.empty()) first = copy_or_short(failure->origin_text);
  inherit(task, failure);
  end(failed, slot, TaskState::failed);
}

}  // namespace trellis::Impl
