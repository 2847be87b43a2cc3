// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <engine/Trellis_EngineFrame.hpp>

#include <utility>

/// The end of functors, tags, states and exceptions: code of the user's.
namespace trellis::Impl {

/// Only where that delays the end of little memory: a task that accesses much takes so long that
/// its end costs nothing beside. On a device freeing anything is costly.
bool Engine::may_keep_body(Task& task, TaskSpec const& spec) const {
  constexpr std::uint64_t little = 1 << 16;
  if (m_serial || spec.accesses.empty() || spec.parent.task != nullptr) return false;
  std::uint64_t bytes = 0;
  for (AccessRequest const& request : spec.accesses)
    bytes += request.area.end() - request.area.begin();
  if (task.asynchronous) task.bytes = bytes;
  return task.asynchronous || bytes <= little;
}

/// False: there are so many that this thread is to destroy them, when the task has been counted as
/// complete.
bool Engine::keep_body(Task& task, Slot& slot) {
  return task.asynchronous ? m_kept_of_devices.push(task, task.bytes) : slot.kept.push(task);
}

// --- destructors of the user's -------------------------------------------------------------------

/// A functor's destructor may submit tasks, and wait for some. It is run in a frame, so that what
/// it submits may exceed the cap, and it waits as a task does, by sleeping. What the thread has in
/// hand meanwhile must not be what it waits for: see Holding.
void Engine::destroy_body(Task& task, Slot& slot) {
  Frame const frame(*this, slot, task, Frame::What::destroys);
  task.ops->destroy(task.body);
}

/// The task is over, but for whoever looks at it under the submission lock.
void Engine::destroy_extras(Task& task, Slot& slot, Task*& next) {
  TaskExtras objects;
  {
    std::lock_guard const lock(m_submission);
    objects.states.swap(task.extras->states);
    objects.tags.swap(task.extras->tags);
  }
  Holding const holding(slot, next);
  Frame const frame(*this, slot, task, Frame::What::destroys);
  objects = {};
}

/// Of a thread that runs tasks, when it has nothing in hand but perhaps the next one.
void Engine::destroy_put_aside_on(Slot& slot, Task*& in_hand) {
  Holding const holding(slot, in_hand);
  Frame const frame(*this, slot, m_nobody, Frame::What::destroys);
  destroy_put_aside();
}

/// What has been taken is not to be seen in any list, so who takes is counted before, for
/// `destroy_kept`.
struct Engine::Destroyer {
  explicit Destroyer(Engine& graph) : engine(graph), outer(std::exchange(top, this)) {
    engine.m_destroyers.fetch_add(1, std::memory_order_seq_cst);
  }
  Destroyer(Destroyer const&) = delete;
  Destroyer& operator=(Destroyer const&) = delete;
  ~Destroyer() {
    top = outer;
    engine.m_destroyers.fetch_sub(1, std::memory_order_seq_cst);
    if (engine.m_workers.anyone_waits()) engine.m_workers.wake_waiters();
  }
  /// Those of this engine on the calling thread's stack.
  static int here(Engine const& engine) {
    int count = 0;
    for (Destroyer const* each = top; each != nullptr; each = each->outer)
      count += &each->engine == &engine;
    return count;
  }

  Engine& engine;
  Destroyer* const outer;
  static thread_local Destroyer* top;
};
thread_local Engine::Destroyer* Engine::Destroyer::top = nullptr;

/// Those of a slot, on this thread, which has `on`.
void Engine::destroy_kept(Slot& slot, Slot& on) {
  if (slot.kept.empty()) return;
  Destroyer const counted(*this);
  if (Task* const first = slot.kept.take()) destroy_bodies(first, on);
}

void Engine::destroy_kept_of_devices(Slot& on) {
  if (m_kept_of_devices.empty()) return;
  Destroyer const counted(*this);
  Task* first = nullptr;
  for (Task* const task : m_kept_of_devices.take()) {
    task->next = first;
    first = task;
  }
  if (first != nullptr) destroy_bodies(first, on);
}

void Engine::destroy_kept_of_workers() {
  Slot& on = own_slot();
  for (int k = 0; k < m_workers.slot_count(); ++k) destroy_kept(m_workers.slot(k), on);
}

/// True when no other thread destroys bodies of tasks that are done.
bool Engine::others_have_destroyed() const {
  return m_destroyers.load(std::memory_order_seq_cst) <= Destroyer::here(*this);
}

/// Of all tasks that the caller knows to be done. Returns when other threads that do the same are
/// through.
void Engine::destroy_kept() {
  destroy_kept_of_workers();
  destroy_kept_of_devices(own_slot());
  // A functor's destructor may wait for a task.
  wait_outside({[&] { return others_have_destroyed(); }});
}

/// Until nothing is in flight. What a functor's destructor submits is waited for as well.
void Engine::finish_all() {
  do {
    wait_outside({[&] { return all_done(); }});
    destroy_kept();
  } while (!all_done());
}

/// Of a list, whose tasks then go back to the slab. User code, so no lock is held.
void Engine::destroy_bodies(Task* first, Slot& on) {
  Task* last = first;
  for (Task* task = first; task != nullptr; task = task->next) {
    destroy_body(*task, on);
    task->free_body();
    last = task;
  }
  m_slab.recycle_chain(first, last);
}

}  // namespace trellis::Impl
