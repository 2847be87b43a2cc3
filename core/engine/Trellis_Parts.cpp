// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <engine/Trellis_EngineFrame.hpp>
#include <plan/Trellis_PlanState.hpp>

#include <algorithm>

/// Tasks that are split into parts, while they run or before.
namespace trellis::Impl {

namespace {

std::string name_of(Label const& label) {
  return "task \"" + label.string() + "\" (" + label.site().file_name() + ":" +
         std::to_string(label.site().line()) + ")";
}

}  // namespace

TaskHandle Engine::running() {
  if (Frame::top == nullptr) return {};
  Frame const& frame = *Frame::top;
  return {frame.engine.m_control, frame.engine.m_generation, &frame.task, frame.task.id};
}

/// Requires the submission lock for an answer that holds.
Task& Engine::require_live(TaskHandle const& self, char const* what) const {
  if (is_done(self))
    throw Error(Error::Kind::closed,
                "Trellis: task #" + std::to_string(self.id) + ' ' + what +
                    ", but is complete: a TaskScope is for the time of its task's body");
  return *self.task;
}

// --- a running task ------------------------------------------------------------------------------

/// For parts. The submission lock is held.
std::unique_ptr<Region> Engine::take_region() {
  if (m_spare_regions.empty())
    return std::make_unique<Region>(m_slab, m_failures, m_recorder != nullptr);
  std::unique_ptr<Region> region = std::move(m_spare_regions.back());
  m_spare_regions.pop_back();
  return region;
}

Region& Engine::open_region(Task& owner) {
  if (owner.inner == nullptr) {
    owner.inner = take_region();
    owner.inner->owner = &owner;
    owner.is_split = true;
  }
  return *owner.inner;
}

/// The task and its parts are over. A region is kept for another task, unless it has grown large.
/// What it has of the user's is destroyed without the lock. (A search for circles of waits may be
/// looking at the region until it is taken from the task.)
void Engine::close_region(Task& owner) {
  constexpr std::size_t most = 1024;
  std::unique_ptr<Region> region;
  {
    std::lock_guard const lock(m_submission);
    region = std::move(owner.inner);
    owner.is_split = false;
    if (m_spare_regions.size() >= most || !region->is_small()) {
      // destroyed below
    } else if (region->is_bare()) {
      region->renew();
      m_spare_regions.push_back(std::move(region));
    }
  }
  if (region == nullptr || !region->is_small()) return;
  region->renew();
  std::lock_guard const lock(m_submission);
  if (m_spare_regions.size() < most) m_spare_regions.push_back(std::move(region));
}

void Engine::add_part(Region& region, Task& part) {
  region.open.fetch_add(1, std::memory_order_relaxed);
  if (region.parts.size() ==
      region.parts.capacity()) {  // those that failed still cancel a synchronizing part
    std::erase_if(region.parts, [&](LiveAccess const& other) {
      return other.task->live_id.load(std::memory_order_acquire) != other.id &&
             m_failures.poisons(other.id) == nullptr;
    });
    region.parts.reserve(std::max<std::size_t>(8, 2 * region.parts.size()));
  }
  region.parts.push_back({&part, part.id});
}

/// A part may use what its owner has declared and not given up, or made itself.
void Engine::check_within(Task const& owner, AccessRequest const& request,
                          Label const& label) const {
  Manner const manner = request.manner();
  bool within = false;
  std::string declared;
  bool elsewhere = false;
  owner.for_each_access([&](TaskAccess const& access) {
    if (contains(access.entry->area, request.area)) {
      within = within || owner.manner(access).covers(manner);
      declared += (declared.empty() ? "" : ", ") + owner.manner(access).text();
    } else {
      elsewhere = elsewhere || overlaps(access.entry->area, request.area);
    }
  });
  if (within) return;
  if (owner.inner != nullptr)
    for (Area const& local : owner.inner->local)
      if (contains(local, request.area)) return;
  std::string const start = "Trellis: " + name_of(label) + " is to be a part of " +
                            describe(owner) + " and asks for " + manner.text() + ' ' +
                            name_of(request);
  if (!declared.empty())
    throw Error(Error::Kind::bad_access, start + ", a promotion: that has " + declared + " there");
  if (elsewhere)
    throw Error(Error::Kind::bad_access,
                start + ", an area that no single access of that contains");
  throw Error(
      Error::Kind::bad_access,
      start + ", which that does not access (what its body made itself is to be given to local())");
}

/// Explicit dependencies of a part lead out of its region, so they could close a circle. Requires
/// the mutex of the waiters.
void Engine::check_explicit(TaskSpec const& spec) {
  Task& owner = *spec.parent.task;
  for (TaskHandle const& before : spec.after) {
    if (is_done(before) || !m_waiters.holds_up({&owner, spec.parent.id}, before.id)) continue;
    std::lock_guard const submission(m_submission);
    throw Error(Error::Kind::deadlock, "Trellis: " + name_of(spec.label) + " is to be a part of " +
                                           describe(owner) + " and to run after task #" +
                                           std::to_string(before.id) +
                                           ", which cannot be complete before that is: a circle");
  }
}

void Engine::add_local(TaskHandle const& self, AccessRequest const& what) {
  std::lock_guard const lock(m_submission);
  Region& region = open_region(require_live(self, "makes something its own"));
  if (!what.area.empty()) region.local.push_back(what.area);
}

void Engine::wait_for_parts(TaskHandle const& self) {
  Frame* const frame = Frame::of(*this);
  if (frame == nullptr || &frame->task != self.task || frame->task.id != self.id)
    throw Error(Error::Kind::bad_input,
                "Trellis: task #" + std::to_string(self.id) +
                    " waits for its parts, but not from within its own body");
  Task& task = *self.task;
  Region* region = nullptr;  // lives as long as the task
  {
    std::lock_guard const lock(m_submission);
    region = task.inner.get();
  }
  if (region == nullptr) return;
  let_go_what_is_held(frame->slot);
  auto const all_done = [&] {
    return region->open.load(std::memory_order_acquire) == 1;
  };  // but for the body
  LiveAccess const whole{&task, task.id};
  run_needed(*frame, [&](Task const& each) { return is_within(each, whole); }, all_done);
  while (!all_done()) {
    TaskHandle part{m_control, m_generation, nullptr, 0};
    {
      std::lock_guard const lock(m_submission);
      for (LiveAccess const other : region->parts)
        if (other.task->live_id.load(std::memory_order_acquire) == other.id) {
          part.task = other.task;
          part.id = other.id;
          break;
        }
    }
    if (part.task == nullptr) break;
    wait_inside(*frame, part);
  }
  FailurePtr failure;
  {
    std::lock_guard const lock(task.lock);
    failure = task.failure;
  }
  if (failure != nullptr)
    throw PartFailed(Error::Kind::task_failed, failure->origin_text + " failed: " + failure->what,
                     failure->cause);
}

/// The body has ended. Returns the task to run next, if any.
Task* Engine::body_over(Task& owner, Slot& slot, TaskState state) {
  Region& region = *owner.inner;
  region.owner_state = state;
  region.owner_row = slot.number;
  if (m_recorder && state != TaskState::cancelled) m_recorder->returned(owner);
  if (region.open.fetch_sub(1, std::memory_order_acq_rel) != 1) return nullptr;
  if (state == TaskState::done && owner.failure != nullptr) state = TaskState::failed;
  return complete(owner, slot, state, slot.number);
}

// --- a pending task ------------------------------------------------------------------------------

namespace {

constexpr TaskOps refined_ops{"refined", [](void*, void*, Label const&) {}, [](void*) noexcept {},
                              [](void*, TaskId, std::string const&, FailurePtr const&) noexcept {}};

}  // namespace

/// INVARIANT. While the task's count of unfinished edges is held up by one of ours it cannot start,
/// so its body belongs to this thread. The parts have one edge more than their predecessors among
/// the parts give them; it is taken off by the thread that starts the owner (or cancels it), which
/// happens after this function by the owner's own count.
bool Engine::refine(TaskHandle const& asked, FunctionRef<void(TaskHandle const&)> split) {
  TaskHandle const handle = settle(asked);
  Task& task = *handle.task;
  TaskOps const* old_ops = nullptr;
  {
    std::lock_guard const lock(m_submission);
    if ((handle.id & PlanNode::recorded) != 0 &&
        task.live_id.load(std::memory_order_acquire) == handle.id)
      throw Error(Error::Kind::bad_input,
                  "Trellis: " + describe(task) + " belongs to a plan and cannot be refined");
    if (is_done(handle)) return false;
    if (replays_plan(task))
      throw Error(Error::Kind::bad_input,
                  "Trellis: " + describe(task) + " replays a plan and cannot be refined");
    std::int32_t unfinished = task.unfinished.load(std::memory_order_acquire);
    if (unfinished == 0) return false;
    if (task.asynchronous || task.inner != nullptr)
      throw Error(Error::Kind::bad_input,
                  "Trellis: " + describe(task) +
                      (task.asynchronous ? " runs on an asynchronous space and cannot be refined"
                                         : " has been refined before"));
    while (!task.unfinished.compare_exchange_weak(unfinished, unfinished + 1,
                                                  std::memory_order_acq_rel))
      if (unfinished == 0) return false;
    open_region(task).waits_for_owner = true;
    old_ops = task.ops;
    task.ops = &refined_ops;
    if (m_recorder) m_recorder->refined(task);
  }
  {
    Frame const frame(*this, own_slot(), task, Frame::What::destroys);  // see Destructors
    old_ops->destroy(task.body);
  }
  task.free_body();
  task.body = task.storage;
  try {
    split(handle);
  } catch (...) {
    inherit(task, current_failure(task));
  }
  if (task.unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    Frame* const frame = Frame::of(*this);
    make_ready(task, frame != nullptr ? &frame->slot : nullptr);
  }
  return true;
}

/// The owner starts, or is cancelled, and with it the parts that it got while it was pending.
void Engine::start_parts(Task& owner, Slot& slot) {
  std::vector<LiveAccess> parts;
  {
    std::lock_guard const lock(m_submission);
    parts = owner.inner->parts;
    owner.inner->waits_for_owner = false;
  }
  std::vector<Task*> ready;
  for (LiveAccess const part : parts) trigger(*part.task, owner.failure, ready);
  for (Task* part : ready) make_ready(*part, &slot);
}

}  // namespace trellis::Impl
