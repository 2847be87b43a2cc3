// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <task/Trellis_AccessRequest.hpp>
#include <children/Trellis_Children.hpp>
#include <kernel/Trellis_Waiters.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <base/Trellis_Reserve.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>

/// Splits tasks into children, while they run or before.
namespace trellis::Impl {

namespace {

std::string name_of(Label const& label) {
  return "task " + label.text();
}

}  // namespace

// --- a running task ------------------------------------------------------------------------------

/// Returns a scope for children, from those that all slots share. The caller holds the graph's
/// lock.
ScopePtr Children::take_scope() {
  if (m_spare_scopes.empty())
    return ScopePtr(new Scope(m_kernel.slab(), m_kernel.failures(), m_recorder != nullptr));
  ScopePtr scope = std::move(m_spare_scopes.back());
  m_spare_scopes.pop_back();
  return scope;
}

/// The caller holds the lock of the parent's children.
Scope& Children::make_scope(Task& parent, WorkerSlot* slot) {
  if (parent.runs_on_device())
    throw Error(Error::Kind::bad_input,
                "Trellis: " + name_of(parent.label) + " runs on a device and cannot have children");
  ScopePtr scope;
  if (slot != nullptr && !slot->scopes.empty()) {
    scope = std::move(slot->scopes.back());
    slot->scopes.pop_back();
  } else {
    NestedHold const graph(m_submission);
    scope = take_scope();
  }
  scope->parent = &parent;
  parent.inner = std::move(scope);
  parent.is_split.store(true, std::memory_order_release);
  return *parent.inner;
}

/// Called when the task and its children are over. The scope is kept for another task, unless it
/// has grown large. The user's objects in it are destroyed without the lock. (A search for circles
/// of waits may look at the scope until it is taken from the task.)
void Children::close_scope(Task& parent, WorkerSlot& slot) {
  constexpr std::size_t most_of_slot = 32;
  constexpr std::size_t most = 1024;
  ScopePtr scope;
  {
    ChildrenHold const lock(parent, m_submission, ChildrenHold::nested);
    scope = std::move(parent.inner);
    parent.is_split.store(false, std::memory_order_relaxed);
  }
  if (scope == nullptr || !scope->is_small()) return;
  scope->renew();
  if (slot.number >= 0 && slot.scopes.size() < most_of_slot) {
    slot.scopes.push_back(std::move(scope));
    return;
  }
  std::lock_guard const lock(m_submission);
  if (m_spare_scopes.size() < most) m_spare_scopes.push_back(std::move(scope));
}

/// Removes children that are done, and reserves room. Failed children stay, as they still cancel a
/// synchronizing child.
void Children::make_room_for_child(Scope& scope) const {
  std::erase_if(scope.children, [&](LiveAccess const& other) {
    return other.task->live_id.load(std::memory_order_acquire) != other.id &&
           m_kernel.failures().poisons(other.id) == nullptr;
  });
  scope.children.reserve(std::max<std::size_t>(8, 2 * scope.children.size()));
}

/// Throws if a child asks for more than its parent has declared and not given up, or made itself.
/// The caller holds the lock of the parent's children; `error_of` composes the message without it.
void Children::check_within(Scope& scope, AccessRequest const& request, std::uint64_t hash) {
  Task const& parent = *scope.parent;
  AccessKind const kind = request.kind();
  auto const access_at = [&](std::size_t k) -> TaskAccess const& {
    return parent.access(static_cast<std::uint32_t>(k));
  };
  auto const is_declared = [&](std::size_t k) {
    return contains(access_at(k).entry->area, request.area) &&
           parent.kind(access_at(k)).covers(kind);
  };
  auto const is_local = [&](std::size_t k) { return contains(scope.local[k], request.area); };
  auto const hash_of_declared = [&](std::size_t k) { return access_at(k).entry->area.hash(); };
  auto const hash_of_local = [&](std::size_t k) { return scope.local[k].hash(); };
  std::size_t const declares = parent.access_count;
  std::size_t const locals = scope.local.size();
  if (scope.places_of_declared.fits_at_once(hash, declares, hash_of_declared, is_declared) ||
      scope.places_of_local.fits_at_once(hash, locals, hash_of_local, is_local) ||
      scope.places_of_declared.fits_anywhere(declares, hash_of_declared, is_declared) ||
      scope.places_of_local.fits_anywhere(locals, hash_of_local, is_local))
    return;
  std::string declared;
  bool elsewhere = false;
  parent.for_each_access([&](TaskAccess const& access) {
    if (contains(access.entry->area, request.area))
      declared += (declared.empty() ? "" : ", ") + parent.kind(access).text();
    else
      elsewhere = elsewhere || overlaps(access.entry->area, request.area);
  });
  throw NotWithin{&request, !declared.empty() ? ", a promotion: that has " + declared + " there"
                            : elsewhere
                                ? ", an area that no single access of that contains"
                                : ", which that does not access (what its body made itself is "
                                  "to be given to local())"};
}

Error Children::error_of(NotWithin const& wrong, TaskSpec const& spec) const {
  AccessRequest const& request = *wrong.request;
  ResourceInfo const info = info_of(request);
  std::string asked = name_of(request, info);
  std::string const parent =
      text_of(LiveAccess{spec.parent.task, spec.parent.id}, m_submission, [&](Task const& task) {
        asked = name_of(request, info, task);
        return describe(task, &request.area);
      });
  return {Error::Kind::bad_access, "Trellis: " + name_of(spec.label) + " is to be a child of " +
                                       parent + " and asks for " + request.kind().text() + ' ' +
                                       asked + wrong.why};
}

/// Checks the explicit dependencies of a child, which lead out of its scope, so they could close a
/// circle. Requires the mutex of the waiters.
bool Children::check_explicit(TaskSpec const& spec) {
  Task& parent = *spec.parent.task;
  // A live child of the same task is not behind that task. (A handle may be stale. Then its task is
  // done, and either answer is right.)
  Scope const* children = nullptr;
  {
    ChildrenHold const lock(parent, m_submission, ChildrenHold::nested);
    children = parent.inner.get();
  }
  bool any_outside = false;
  for (TaskHandle const& before : spec.after) {
    if (m_kernel.is_done(before) || (children != nullptr && before.task->scope == children))
      continue;
    any_outside = true;
    if (!m_waiters.holds_up({&parent, spec.parent.id}, before.id)) continue;
    throw Error(Error::Kind::deadlock,
                "Trellis: " + name_of(spec.label) + " is to be a child of " +
                    text_of(parent, m_submission) + " and to run after " +
                    text_of(LiveAccess{before.task, before.id}, m_submission) +
                    ", which cannot be complete before that is: a circle");
  }
  return any_outside;
}

void Children::add_local(TaskHandle const& self, AccessRequest const& what) {
  ChildrenHold const lock(*self.task, m_submission);
  Scope& scope = open_scope(Kernel::require_live(self, "makes something its own"),
                            slot_for_children(Frame::of(m_kernel)));
  if (!what.area.empty()) scope.local.push_back(what.area);
}

/// The rest is a child like any other: the parent is not complete before it is, no thread waits
/// meanwhile, and its failure is the parent's failure. It declares no accesses, as the body does
/// not declare what it touches among its children, but it comes after all of them.
///
/// INVARIANT (one body at a time). The last act of a body is to submit its rest, and so it is for
/// each rest. From then on neither touches the functor. A rest is published after that, so its
/// thread happens after all that was written to the functor before. It need not wait for the task
/// that submits it.
///
/// A body that runs again and again lets other tasks pass, see Engine::pop.
TaskHandle Children::submit_continuation(TaskHandle const& self, TaskSpec&& spec) {
  Vector<TaskHandle> before(spec.after.begin(), spec.after.end());
  TaskId const running = Frame::of(m_kernel)->task.id;
  {
    ChildrenHold const lock(*self.task, m_submission);
    Task& parent = Kernel::require_live(self, "is to go on");
    spec.main_thread = parent.marks.main_thread;
    spec.priority = parent.priority;
    if (spec.ops->may_wait) spec.space = parent.space;  // the same body again, with as many threads
    if (parent.inner != nullptr)
      for (LiveAccess const child : parent.inner->children)
        if (child.id != running) before.push_back(m_kernel.handle_of(child.task, child.id));
  }
  spec.after = before;
  spec.parent = self;
  return m_kernel.submit(std::move(spec), nullptr);
}

void Children::hold_children(TaskHandle const& self) {
  ChildrenHold const lock(*self.task, m_submission);
  Scope& scope = open_scope(Kernel::require_live(self, "forks children"),
                            slot_for_children(Frame::of(m_kernel)));
  scope.waits_for_parent = true;
  scope.held_from = scope.newest + 1;
}

Vector<LiveAccess> Children::take_held(Task& parent) {
  ChildrenHold const lock(parent, m_submission, ChildrenHold::nested);
  Scope& scope = *parent.inner;
  scope.waits_for_parent = false;
  Vector<LiveAccess> held = scope.children;
  std::erase_if(held, [&](LiveAccess const& child) { return child.id < scope.held_from; });
  return held;
}

/// Called when the body has ended. Returns the task to run next, if any.
Task* Children::body_over(Task& parent, WorkerSlot& slot, TaskState state) {
  Scope& scope = *parent.inner;
  scope.parent_state = state;
  scope.parent_row = slot.number;
  if (m_recorder && state != TaskState::cancelled) m_recorder->returned(parent);
  return scope.open.body_over() ? parent_over(parent, slot) : nullptr;
}

Task* Children::parent_over(Task& parent, WorkerSlot& slot) {
  Scope const& scope = *parent.inner;
  TaskState const of_body = scope.parent_state;
  TaskState const state = of_body == TaskState::done ? state_of_parent(parent) : of_body;
  return m_kernel.complete(parent, slot, state, scope.parent_row);
}

// --- a pending task ------------------------------------------------------------------------------

namespace {

constexpr TaskOps refined_ops{"refined", [](void*, void*, Label const&) {}, [](void*) noexcept {},
                              [](void*, TaskId, std::string const&, FailurePtr const&) noexcept {}};

}  // namespace

/// INVARIANT. While this thread has an edge in the task's count of unfinished edges the task cannot
/// start, so its body belongs to this thread. Each child has one edge more than its predecessors
/// among the children give it. The thread that starts the parent (or cancels it) takes that edge
/// off. It happens after this function by the parent's own count.
bool Children::refine(TaskHandle const& asked, FunctionRef<void(TaskHandle const&)> split) {
  if (m_submission.is_held_here()) Submitting::refuse();
  TaskHandle const handle = m_kernel.resolve(asked);
  Task& task = *handle.task;
  auto const refuse = [&](char const* why) {
    throw Error(Error::Kind::bad_input,
                "Trellis: " + text_of(LiveAccess{&task, handle.id}, m_submission) + why);
  };
  if (task.live_id.load(std::memory_order_acquire) != handle.id) return false;
  if ((handle.id & PlanNode::recorded) != 0) refuse(" belongs to a plan and cannot be refined");
  bool replays = false;
  {
    // A collected task gets its id before the rest of its data, under the graph's lock.
    NestedHold const graph(m_submission, asked.id != handle.id);
    std::lock_guard const lock(task.lock);  // while live under it, the task does not change
    if (task.live_id.load(std::memory_order_relaxed) != handle.id) return false;
    replays = task.marks.is_replay;
    if (!replays && task.hold_back() == 0) return false;
  }
  if (replays) refuse(" replays a plan and cannot be refined");
  // From here on it cannot start.
  struct HeldUp {
    Kernel& kernel;
    Task& task;
    ~HeldUp() {
      if (!task.count_down()) return;
      Frame* const frame = Frame::of(kernel);
      kernel.make_ready(task, frame != nullptr ? &frame->slot : nullptr);
    }
  } const held_up{m_kernel, task};
  if (task.runs_on_device()) refuse(" runs on a device and cannot be refined");
  TaskOps const* old_ops = nullptr;
  {
    ChildrenHold const lock(task, m_submission);
    if (task.inner == nullptr) {
      open_scope(task, slot_for_children(Frame::of(m_kernel))).waits_for_parent = true;
      std::lock_guard const lock_of_task(task.lock);
      old_ops = task.ops;
      task.ops = &refined_ops;
    }
  }
  if (old_ops == nullptr) refuse(" has been refined before");
  if (m_recorder) m_recorder->refined(task);
  {
    // See Destructors.
    Frame const frame(m_kernel, m_kernel.own_slot(), task, Frame::What::destroys);
    old_ops->destroy(task.body);
  }
  task.free_body();
  task.body = task.storage;
  try {
    split(handle);
  } catch (...) {
    inherit(task, m_kernel.current_failure(task));
  }
  return true;
}

/// Starts, or cancels, the children that the parent got while it was pending. Called when the
/// parent starts or is cancelled.
void Children::start_children(Task& parent, WorkerSlot& slot) {
  Vector<LiveAccess> const children = take_held(parent);
  // The failure is read before any child starts, as a child that has started may fail and so change
  // it. It cancels the children.
  FailurePtr const failure = parent.failure;
  Vector<Task*> ready;
  for (LiveAccess const child : children) trigger(*child.task, failure, ready);
  for (Task* child : ready) m_kernel.make_ready(*child, &slot);
}

}  // namespace trellis::Impl
