// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <task/Trellis_AccessRequest.hpp>
#include <kernel/Trellis_NotServing.hpp>
#include <destruction/Trellis_Destructors.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <task/Trellis_TaskSpec.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace trellis::Impl {

Destructors::Destructors(Kernel& kernel, LaunchQueue& offered)
    : m_kernel(kernel),
      m_offered(offered),
      m_submission(kernel.lock()),
      m_tasks(kernel.slab()),
      m_workers(kernel.workers()),
      m_serial(kernel.is_serial()) {
  m_no_task.id = ~TaskId{0};  // its `live_id` is 0, so it is over
  m_no_task.label = Label(std::string("tags, states and exceptions"));
}

std::optional<std::uint64_t> Destructors::bytes_to_defer(TaskSpec const& spec) const {
  if (m_serial || !spec.ops->may_be_deferred || spec.accesses.empty() ||
      spec.parent.task != nullptr)
    return std::nullopt;
  std::uint64_t bytes = 0;
  for (AccessRequest const& request : spec.accesses)
    bytes += request.area.end() - request.area.begin();
  return bytes;
}

/// While this object exists the thread serves no launch queue, and does not count as looking for
/// tasks. For user code may take long, and wait for a launch in ways that the engine cannot see.
/// (The thread stops polling devices when it waits for a future.)
struct Destructors::InUsersCode {
  InUsersCode(Destructors& in, WorkerSlot& slot) : not_serving(in.m_kernel, in.m_offered, slot) {
    in.m_workers.looks_no_more(slot);
  }
  NotServing const not_serving;
};

void Destructors::destroy_body_in_frame(Task& task, WorkerSlot& slot) {
  InUsersCode const in_users_code(*this, slot);
  Frame const frame(m_kernel, slot, task, Frame::What::destroys);
  task.ops->destroy(task.body);
}

void Destructors::destroy_extras(Task& task, WorkerSlot& slot, Task*& next) {
  Vector<StatePtr> states;
  Vector<TagPtr> tags;
  {
    std::lock_guard const lock(m_submission);
    states.swap(task.extras->states);
    tags.swap(task.extras->tags);
  }
  Holding const holding(slot, next);
  InUsersCode const in_users_code(*this, slot);
  Frame const frame(m_kernel, slot, task, Frame::What::destroys);
  states = {};
  tags = {};
}

void Destructors::destroy_deferred_objects_on(WorkerSlot& slot, Task*& in_hand) {
  Holding const holding(slot, in_hand);
  InUsersCode const in_users_code(*this, slot);
  Frame const frame(m_kernel, slot, m_no_task, Frame::What::destroys);
  destroy_deferred_objects();
}

/// Counts a thread that takes tasks whose bodies are deferred, before it takes them. Tasks that it
/// has taken are in no list, and `destroy_deferred` has to wait for them.
struct Destructors::Destroyer {
  explicit Destroyer(Destructors& in) : of(in), outer(std::exchange(top, this)) {
    of.m_destroyers.fetch_add(1, std::memory_order_seq_cst);
  }
  Destroyer(Destroyer const&) = delete;
  Destroyer& operator=(Destroyer const&) = delete;
  ~Destroyer() {
    top = outer;
    of.end_destroyer();
  }
  /// Returns how many of this engine's destructions the calling thread itself has to finish.
  static int here(Destructors const& in) {
    int count = marks_deferred_objects(&in);
    for (Destroyer const* each = top; each != nullptr; each = each->outer)
      count += &each->of == &in;
    return count;
  }

  Destructors& of;
  Destroyer* const outer;
  static thread_local Destroyer* top;
};
thread_local Destructors::Destroyer* Destructors::Destroyer::top = nullptr;

void Destructors::end_destroyer() {
  m_destroyers.fetch_sub(1, std::memory_order_seq_cst);
  if (m_workers.anyone_waits()) m_workers.wake_waiters();
}

void Destructors::count_what_is_deferred() {
  auto const passed = [](void* self) noexcept { static_cast<Destructors*>(self)->end_destroyer(); };
  if (mark_deferred_objects(this, passed)) m_destroyers.fetch_add(1, std::memory_order_seq_cst);
}

/// The destructors are user code, so no lock is held.
void Destructors::destroy_deferred(WorkerSlot& on) {
  if (m_deferred.empty()) return;
  Destroyer const counted(*this);
  Vector<Task*> const tasks = m_deferred.take();
  InUsersCode const in_users_code(*this, on);
  for (Task* const task : tasks) {
    destroy_body(*task, on);
    task->free_body();
    m_tasks.recycle_chain(task, task);
  }
}

void Destructors::destroy_deferred() {
  destroy_deferred(m_kernel.own_slot());
  // A functor's destructor may wait for a task. Other threads evaluate the condition as well, while
  // this one sleeps; only this one knows what it has to destroy itself.
  std::thread::id const self = std::this_thread::get_id();
  int own = 0;
  m_kernel.wait_outside({[&] {
    if (std::this_thread::get_id() == self) own = Destroyer::here(*this);
    return m_destroyers.load(std::memory_order_seq_cst) <= own;
  }});
}

void Destructors::drain() {
  do {
    m_kernel.wait_outside({[&] { return m_kernel.all_done(); }});
    destroy_deferred();
  } while (!m_kernel.all_done());
}

}  // namespace trellis::Impl
