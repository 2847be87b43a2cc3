// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <demotion/Trellis_Demotion.hpp>
#include <Trellis_Error.hpp>
#include <scope/Trellis_NearAccesses.hpp>
#include <demotion/Trellis_Relink.hpp>
#include <kernel/Trellis_Waiters.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <policy/Trellis_PolicyEdges.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <base/Trellis_SmallSet.hpp>
#include <base/Trellis_Reserve.hpp>
#include <scope/Trellis_TaskText.hpp>
#include <destruction/Trellis_Destructors.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

/// A demotion: a task gives up some of what it declared. Its edges to tasks that no longer conflict
/// with it are removed, so these may start before it ends.
///
/// INVARIANT. For every task X that was submitted after T and conflicts with what T still has,
/// there is a path of edges from T to X, or T is done.
///
/// It holds when X is submitted, see AreaEntry: accesses that T does not change stay where they are
/// in the table, and what it has left after a demotion is among the unindexed accesses. A demotion
/// removes the edges from T to successors that no longer conflict with it. A task behind such a
/// successor S may still conflict. S has not started, so nothing behind it has. The walk from S
/// along the edges gives an edge from T to the first task on each path that conflicts with T. All
/// this is under the lock of the scope, so no edge is added meanwhile. It also happens before S is
/// triggered, so no task that the walk looks at can start: each has an unfinished predecessor, and
/// adding 1 to its count is safe. (The walk may pass through tasks of other scopes, to which other
/// threads submit meanwhile. A new edge there leads to a new task, and from there to no task of
/// this scope. For the next task of this scope finds T in the table.)
///
/// Meanwhile children of other tasks may become successors of T itself by `after(...)`. They are
/// added at the end of its list, under its own lock alone. Such an edge stays, and by then all data
/// of the part that is read here is set, see `connect`.
///
/// WHERE THE WALK GOES. The tasks behind S may be all tasks in flight, and a task may give
/// something up often, say for every message. So the walk mostly looks only at tasks with an access
/// in `touched`: the areas that T gave up, and all that share a byte with one of these. If T keeps
/// nothing in `touched`, it looks at no task at all.
///
/// That is enough where the table made the edges. Let X conflict with T over something that T
/// keeps, k. Let e be the area under which the table knew T there: that of k, or of another access
/// of T that covers k. T gives up its place in an entry only to an access to the same area that
/// conflicts with T's, or to a write that covers the area. Either is ordered behind T by an edge of
/// its own, and gives up its place in the same way. If the group is `partly_superseded` (see
/// AreaEntry), the access that takes the place is behind another one, which conflicts with T over e
/// and is behind T by an edge of its own. So a chain of edges leads from T to X, and each task in
/// it has an access that shares a byte with e. If T keeps its access to e as it was, the first task
/// of the chain conflicts with that access, so its edge from T stays, and with it the chain. If T
/// has given e up, all tasks of the chain are in `touched`, X among them, and the walk finds the
/// first of them that conflicts with T.
///
/// This argument does not hold in three cases, in which the walk goes everywhere:
/// - An access of T is unindexed in the table, or has been. Unindexed accesses are compared one by
///   one, and paths over T's other accesses count. So a task that is behind T by one of these need
///   have no edge for what it shares with another access of T, whose place it may take.
/// - A pending task has demoted since T was submitted, as Relink joins pairs for any reason.
/// - The graph records, as the record keeps more edges.
///
/// CALLS FROM OUTSIDE. When a body demotes its own task, nothing more is needed, as the task is not
/// over before the body is. When another task or thread demotes T, T may be in any state, and
/// change it at any time:
///
/// - T is pending. 1 is added to its count of unfinished edges, from a count that was not 0 (as a
///   refinement does). So T remains pending until the 1 is taken off again. Meanwhile only a thread
///   that holds the lock of T's scope reads its accesses. T has predecessors, so more edges
///   change: see Relink.
/// - T is ready, or runs. All tasks before it are complete, so the argument above holds. But T
///   might become complete, and its cell be reused for another task. That cannot happen while a
///   thread holds T's lock and has found it live. For the thread that completes T takes that lock
///   to say so, gives up its exclusive areas in the same hold, and reads its successors afterwards.
///   So the lock is held all the time. Other tasks' locks are taken meanwhile. A thread that holds
///   two at a time has the mutex of the waiters, so no two threads wait for each other. Without the
///   lock of its scope, only Exclusion reads the accesses of a task that is ready or runs, and
///   they change under its mutex. There T holds its areas, or waits for them (and is checked
///   again), or has not arrived yet (and brings its new accesses). But T cannot become exclusive
///   any more: if it was not, the thread that made it ready does not check.
/// - T is launched on a device, or complete. Then it is too late.
///
/// To be too late is no error, as the caller cannot know the state. T then gives everything up when
/// it is complete.
namespace trellis::Impl {

// --- the calls -----------------------------------------------------------------------------------

void Demotions::demote(TaskHandle const& self, std::span<AccessRequest const> to) {
  (void)demote_to(self, By::itself,
                  [&](Task& task, Demotion& demotion) { plan_demotion(task, demotion, to); });
}
void Demotions::release(TaskHandle const& self, std::span<AccessRequest const> what) {
  (void)demote_to(self, By::itself,
                  [&](Task& task, Demotion& demotion) { plan_release(task, demotion, what); });
}
void Demotions::shrink_to_children(TaskHandle const& self) {
  (void)demote_to(self, By::itself,
                  [&](Task& task, Demotion& demotion) { plan_shrinking(task, demotion); });
}
bool Demotions::demote_other(TaskHandle const& task, std::span<AccessRequest const> to) {
  return demote_to(task, By::others,
                   [&](Task& its, Demotion& demotion) { plan_demotion(its, demotion, to); });
}
bool Demotions::release_other(TaskHandle const& task, std::span<AccessRequest const> what) {
  return demote_to(task, By::others,
                   [&](Task& its, Demotion& demotion) { plan_release(its, demotion, what); });
}

bool Demotions::demote_to(TaskHandle const& asked, By by,
                          FunctionRef<void(Task&, Demotion&)> plan) {
  if (m_submission.is_held_here()) Submitting::refuse();
  Reserve::require();
  TaskHandle const handle = by == By::others ? m_kernel.resolve(asked) : asked;
  Vector<Task*> ready;
  Vector<Task*> granted;
  DeferDestructors const until_released;
  /// Hands the tasks out on every exit, also when the request throws: the task may not be held up
  /// any more.
  struct HandOut {
    Demotions& demotions;
    Vector<Task*>& ready;
    Vector<Task*>& granted;
    ~HandOut() { demotions.hand_out(ready, granted); }
  } const hand_out_all{*this, ready, granted};
  if (by == By::itself) {
    Task& task = Kernel::require_live(handle, "demotes its accesses");
    bool const runs = task.state.load(std::memory_order_relaxed) == TaskState::running;
    if (runs) return demote_held(handle, by, false, guard_of(task), plan, ready, granted);
  } else if ((handle.id & PlanNode::recorded) != 0) {
    throw Error(Error::Kind::bad_input,
                "Trellis: " + text_of(LiveAccess{handle.task, handle.id}, m_submission) +
                    " belongs to a plan and cannot be demoted from outside");
  }
  std::lock_guard const waiters(m_waiters.mutex());
  Task& task = *handle.task;
  Task* guard = nullptr;
  std::int32_t unfinished = 0;
  {
    // A collected task gets its id before the rest of its data, under the graph's lock.
    NestedHold const graph(m_submission, asked.id != handle.id);
    std::lock_guard const lock(task.lock);  // while live under it, the task does not change
    if (task.live_id.load(std::memory_order_relaxed) != handle.id) return false;
    guard = guard_of(task);
    unfinished = task.hold_back();
  }
  /// Holds the task up, if it is pending, so that it cannot start from here on.
  struct HeldUp {
    Task* task;
    Vector<Task*>& ready;
    ~HeldUp() {
      if (task != nullptr) trigger(*task, nullptr, ready);
    }
  } const held_up{unfinished != 0 ? &task : nullptr, ready};
  return demote_held(handle, by, unfinished != 0, guard, plan, ready, granted);
}

/// Hands the tasks out. The caller holds no lock.
void Demotions::hand_out(Vector<Task*> const& ready, Vector<Task*> const& granted) {
  if (ready.empty() && granted.empty()) return;
  Frame* const frame = Frame::of(m_kernel);
  WorkerSlot* const slot = frame != nullptr ? &frame->slot : nullptr;
  for (Task* other : granted) m_kernel.push(*other, slot);
  for (Task* other : ready) m_kernel.make_ready(*other, slot);
}

bool Demotions::demote_held(TaskHandle const& handle, By by, bool is_pending, Task* guard,
                            FunctionRef<void(Task&, Demotion&)> plan, Vector<Task*>& ready,
                            Vector<Task*>& granted) {
  Task& task = *handle.task;
  // No task of its scope, and no child of it, is submitted meanwhile.
  ChildrenHold const children(task, m_submission, ChildrenHold::nested);
  ScopeHold const scope(guard, m_submission);
  std::unique_lock<SpinLock> stays_live(task.lock, std::defer_lock);
  bool const runs_here = by == By::itself && !is_pending &&
                         task.state.load(std::memory_order_relaxed) == TaskState::running;
  if (!is_pending && !runs_here) {
    stays_live.lock();
    if (task.live_id.load(std::memory_order_relaxed) != handle.id) return false;
    // These have been launched, or are about to be.
    if (task.runs_on_device() || task.offloaded() != nullptr) return false;
    // A task that has inherited a failure, or that of a child, hands it on when it is complete.
    // Such a failure was noted before the task was made ready, or before the child was complete.
    bool const may_have_failed =
        task.is_split || task.state.load(std::memory_order_relaxed) != TaskState::running;
    if (may_have_failed && m_failures.unreported() != nullptr) return false;
  }
  if (task.marks.is_replay)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + describe(task) + " replays a plan and cannot be demoted");
  Demotion demotion(task);
  plan(task, demotion);  // throws before anything has changed
  if (task.is_recorded() || scope_of(task).is_planned)
    return by == By::itself;  // the order is the recorded one
  bool const becomes_exclusive =
      !task.exclusive && std::any_of(demotion.accesses.begin(), demotion.accesses.end(),
                                     [](auto const& mine) { return mine.kind().can_exclude(); });
  if (becomes_exclusive && !is_pending && !runs_here) return false;
  if (demotion.given_up.empty()) return true;
  if (is_pending) return apply_pending(task, demotion, ready, granted);
  apply(task, demotion, stays_live.owns_lock(), ready, granted);
  return true;
}

// --- what is given up ----------------------------------------------------------------------------

/// Throws if the task would give up what an unfinished child of it needs.
void Demotions::require_not_needed(Task& task, Demotion const& demotion) const {
  if (task.inner == nullptr) return;
  for (LiveAccess const child : task.inner->children) {
    std::lock_guard const stays_live(child.task->lock);
    if (child.task->live_id.load(std::memory_order_relaxed) != child.id) continue;
    child.task->for_each_access([&](TaskAccess const& access) {
      Area const& area = access.entry->area;
      AccessKind const kind = child.task->kind(access);
      bool const kept =
          kind.mode == Mode::none ||
          std::any_of(demotion.accesses.begin(), demotion.accesses.end(),
                      [&](Demotion::Kept const& mine) {
                        return contains(mine.access.entry->area, area) && mine.kind().covers(kind);
                      }) ||
          std::any_of(task.inner->local.begin(), task.inner->local.end(),
                      [&](Area const& local) { return contains(local, area); });
      if (!kept)
        throw Error(
            Error::Kind::bad_access,
            "Trellis: " + describe(task, &area) +
                " gives up what an unfinished child of it needs: " + describe(*child.task, &area));
    });
  }
}

void Demotions::plan_demotion(Task& task, Demotion& demotion, std::span<AccessRequest const> to) {
  auto& accesses = demotion.accesses;
  AccessTable& table = scope_of(task).table;
  ByArea const by_area(table, accesses, to.size());
  SmallVector<Demotion::Kept, 4> added;
  for (AccessRequest const& request : to) {
    if (request.area.empty()) continue;
    AccessKind const kind = request.kind();
    std::size_t holder = accesses.size();
    std::string declared;
    bool given_up = false;
    bool elsewhere = false;
    by_area.for_each_near(request.area, [&](std::size_t k) {
      Area const& area = accesses[k].access.entry->area;
      if (!contains(area, request.area)) {
        elsewhere = elsewhere || overlaps(area, request.area);
      } else if (accesses[k].access.mode == Mode::none) {
        given_up = true;
      } else if (!accesses[k].kind().covers(kind)) {
        declared += (declared.empty() ? "" : ", ") + accesses[k].kind().text();
      } else if (holder == accesses.size() || area == request.area) {
        holder = k;
      }
    });
    if (holder == accesses.size()) {
      std::string const start = "Trellis: " + describe(task, &request.area) +
                                " cannot go on with " + kind.text() + ' ' +
                                name_of(request, info_of(request), task);
      throw Error(Error::Kind::bad_access,
                  !declared.empty() ? start + ": from " + declared + " that is a promotion"
                  : given_up        ? start + ": it has given that up before"
                  : elsewhere       ? start + ": no single access of it contains that area"
                                    : start + ", which it has never declared");
    }
    accesses[holder].is_named = true;
    AreaEntry& entry = table.find_or_make(request, scope_of(task).newest);
    added.push_back(
        {{&entry, request.mode, true, -1, TaskAccess::any_generation}, request.state, true});
  }
  for (Demotion::Kept const& mine : accesses)
    if (mine.is_named) demotion.given_up.push_back(mine.access.entry);
  demotion.replace([&](std::size_t k) { return !accesses[k].is_named; }, added);
  require_not_needed(task, demotion);
}

void Demotions::plan_release(Task& task, Demotion& demotion, std::span<AccessRequest const> what) {
  ByArea const by_area(scope_of(task).table, demotion.accesses, what.size());
  for (AccessRequest const& request : what) {
    if (request.area.empty()) continue;
    bool any = false;
    bool given_up = false;
    bool larger = false;
    by_area.for_each_near(request.area, [&](std::size_t k) {
      Demotion::Kept& mine = demotion.accesses[k];
      Area const& area = mine.access.entry->area;
      if (!contains(request.area, area)) {
        larger = larger || (mine.access.mode != Mode::none && overlaps(request.area, area));
      } else if (mine.is_named) {
        any = true;  // twice
      } else if (mine.access.mode == Mode::none) {
        given_up = true;
      } else {
        demotion.give_up(mine);
        mine.is_named = any = true;
      }
    });
    if (any) continue;
    std::string const start = "Trellis: " + describe(task, &request.area) + " cannot release " +
                              name_of(request, info_of(request), task);
    throw Error(Error::Kind::bad_access,
                larger ? start + ": that is a part of what it declared; demote to what is to remain"
                : given_up ? start + " twice"
                           : start + ", which it has never declared");
  }
  require_not_needed(task, demotion);
}

// --- how it is given up --------------------------------------------------------------------------

/// Takes the task out of the table where it gives something up, and where another access of it
/// overlaps that. For one of its accesses may have covered another, which then has no place of its
/// own in the table. Returns the areas that may now be open to others.
SmallSet<AreaEntry> Demotions::take_out(Task& task, Demotion const& demotion) {
  SmallSet<AreaEntry> areas;
  for (AreaEntry* entry : demotion.given_up) {
    areas.insert(entry);
    for (AreaEntry::Overlap const& overlap : entry->overlaps) areas.insert(overlap.entry());
  }
  for (AreaEntry* entry : demotion.given_up) scope_of(task).table.take_out(*entry, task.id);
  for (Demotion::Kept const& kept : demotion.accesses)
    if (!kept.is_new && areas.contains(kept.access.entry))
      scope_of(task).table.take_out(*kept.access.entry, task.id);
  return areas;
}

void Demotions::set_accesses(Task& task, Demotion& demotion) {
  task.clear_accesses();
  if (task.has_objects) demotion.states_before = std::exchange(task.extras->states, {});
  for (Demotion::Kept& kept : demotion.accesses) {
    kept.access.state = -1;
    task.add_access(kept.access);
    std::uint32_t const last = task.access_count - 1;
    if (kept.state != nullptr) task.set_state(last, *kept.state);
    kept.access = task.access(last);
  }
}

/// True if a thread may read the accesses of the task under the mutex of Exclusion. None does if
/// the task excludes no other before and after, and cannot sleep: its body runs here, and it has no
/// children, which might sleep. (The lock of its children is held, so it gets none.)
bool Demotions::exclusion_looks_at(Task const& task, Demotion const& demotion) {
  Frame const* const frame = Frame::top;
  bool const runs_here =
      frame != nullptr && &frame->task == &task && frame->what == Frame::What::runs;
  if (!runs_here || task.inner != nullptr || task.exclusive) return true;
  return std::any_of(demotion.accesses.begin(), demotion.accesses.end(),
                     [](Demotion::Kept const& mine) { return mine.kind().can_exclude(); });
}

/// Puts the task into the table where it has a new access, or where it has been taken out.
void Demotions::put_in(Task& task, Demotion const& demotion, SmallSet<AreaEntry> const& open,
                       bool is_locked, std::size_t successors) {
  // To know which task is behind only saves edges, so it is looked up only where that costs less.
  constexpr std::size_t enough = 1 << 14;
  bool const asks = successors != 0 && demotion.accesses.size() * successors <= enough;
  for (std::uint32_t k = 0; k < task.access_count; ++k) {
    Demotion::Kept const& kept = demotion.accesses[k];
    if (kept.access.mode == Mode::none) continue;
    if (!kept.is_new && !open.contains(kept.access.entry)) continue;
    task.access(k).was_put_in = true;
    TaskId behind = 0;
    if (asks) {
      std::unique_lock<SpinLock> lock(task.lock, std::defer_lock);
      if (!is_locked) lock.lock();
      task.for_each_successor([&](Task* next) {
        bool const is_of_scope = next->scope == task.scope && next->id > task.id;
        if (behind == 0 && is_of_scope && conflict(task, kept.access, *next)) behind = next->id;
      });
    }
    AccessTable::put_in(*kept.access.entry, task.kind(kept.access), task.state_of(kept.access),
                        task, task.id, behind);
  }
}

/// Applies the demotion of a task whose predecessors are all complete. `is_locked`: its own lock is
/// held.
void Demotions::apply(Task& task, Demotion& demotion, bool is_locked, Vector<Task*>& ready,
                      Vector<Task*>& granted) {
  bool const by_chains = knows_its_chains(task, demotion);
  SmallSet<AreaEntry> const open = take_out(task, demotion);
  auto const change = [&] { set_accesses(task, demotion); };
  if (exclusion_looks_at(task, demotion))
    m_exclusion.change(task, change, granted);
  else
    change();
  if (m_recorder) m_recorder->demoted(task);
  std::size_t const successors = release_edges(task, demotion, open, by_chains, is_locked, ready);
  put_in(task, demotion, open, is_locked, successors);
}

/// Applies the demotion of a pending task, which is held back. False when it is too late.
bool Demotions::apply_pending(Task& task, Demotion& demotion, Vector<Task*>& ready,
                              Vector<Task*>& granted) {
  Relink relink(m_slab, m_failures, m_rules, m_policy_edges, m_recorder);
  if (!relink.look(task)) return false;
  SmallSet<AreaEntry> const open = take_out(task, demotion);
  m_exclusion.change_pending(task, [&] { set_accesses(task, demotion); }, granted);
  if (m_recorder) {
    m_recorder->demoted(task);
    relink.for_each_live([&](Task& other) {
      Task* const one = &other;
      m_exclusion.forget_groups({&one, 1});
    });
  }
  relink.change(ready);
  scope_of(task).relinked = relink.newest();
  relink.enter_before(open);
  put_in(task, demotion, open, false, task.successor_count);
  return true;
}

/// True if `after` must still wait for the end of `before`, which has demoted its accesses, for
/// another reason than these.
bool Demotions::stays_ordered(Task const& before, Task const& after) const {
  if (before.marks.synchronizing || after.marks.synchronizing) return true;
  if (after.has_tags_or_after)
    if (Vector<TaskId> const& ids = after.extras->after;
        std::find(ids.begin(), ids.end(), before.id) != ids.end())
      return true;
  return std::any_of(m_rules.begin(), m_rules.end(), [&](TagRule const& rule) {
    if (rule.constraint != Constraint::ordered || before.scope != after.scope) return false;
    AnyTag const* const x = before.tag(rule.type);
    AnyTag const* const y = after.tag(rule.type);
    return rule.holds(x != nullptr ? *x : *rule.by_default, y != nullptr ? *y : *rule.by_default);
  });
}

namespace {

/// Walks along the edges from the tasks in `stack`, and calls `f(next)` for each successor once. It
/// goes on behind `next` if `f` returns true.
template <class Stack, class F>
void walk_from(Stack& stack, SmallSet<Task>& seen, F&& f) {
  while (!stack.empty()) {
    Task& here = *stack.back();
    stack.shrink(stack.size() - 1);
    Vector<Task*> behind;
    {
      std::lock_guard const lock(here.lock);
      here.for_each_successor([&](Task* next) { behind.push_back(next); });
    }
    for (Task* next : behind)
      if (seen.insert(next) && f(*next)) stack.push_back(next);
  }
}

}  // namespace

/// True if the tasks behind this one by what it keeps form chains of edges as the table makes them,
/// see WHERE THE WALK GOES. Called before the accesses change.
bool Demotions::knows_its_chains(Task const& task, Demotion const& demotion) {
  if (m_recorder != nullptr || task.id <= scope_of(task).relinked) return false;
  bool const has_new =
      std::any_of(demotion.accesses.begin(), demotion.accesses.end(),
                  [](auto const& kept) { return kept.is_new && kept.access.mode != Mode::none; });
  bool knows = true;
  task.for_each_access([&](TaskAccess const& access) {
    if (!access.is_unindexed() || access.mode == Mode::none) return;
    auto const& gone = demotion.given_up;
    bool const is_given_up = std::find(gone.begin(), gone.end(), access.entry) != gone.end();
    knows = knows && is_given_up && !has_new;
  });
  return knows;
}

/// Removes the edges to successors that no longer conflict, and adds those that the walk finds.
/// `touched`: see WHERE THE WALK GOES. Returns the number of successors left.
std::size_t Demotions::release_edges(Task& task, Demotion& demotion,
                                     SmallSet<AreaEntry> const& touched, bool by_chains,
                                     bool is_locked, Vector<Task*>& ready) {
  SmallVector<Task*, 16> successors;
  SmallVector<Task*, 16> freed;
  SmallVector<Task*, 16> from;
  std::uint32_t known = 0;
  std::optional<Conflicts> conflicts_with;
  // Other tasks of the scope are related to the task as before. (Tasks of another scope are
  // successors only if they have asked for it.)
  auto const is_touched = [&](Task const& other) {
    bool any = false;
    other.for_each_access(
        [&](TaskAccess const& access) { any = any || touched.contains(access.entry); });
    return any;
  };
  {
    std::unique_lock<SpinLock> lock(task.lock, std::defer_lock);
    if (!is_locked) lock.lock();
    known = task.successor_count;
    if (known == 0) return 0;
    conflicts_with.emplace(task, known);
    for (auto* const some : {&successors, &freed, &from}) some->reserve(known);
    task.for_each_successor([&](Task* successor) {
      if (!is_touched(*successor)) return successors.push_back(successor);
      bool const conflicts = (*conflicts_with)(*successor);
      bool const stays = conflicts || stays_ordered(task, *successor);
      m_policy_edges.set_carries(task.id, successor->id, stays);
      bool const is_of_policy = !stays && m_policy_edges.has(task.id, successor->id);
      (stays || is_of_policy ? successors : freed).push_back(successor);
      if (m_recorder && !conflicts) m_recorder->release(task.id, successor->id);
      // The walk also goes past some successors that stay for another reason than accesses. With a
      // record, such an edge is no link of a path in the dependency graph. An edge of a policy
      // hands on no failure.
      if (!stays || (m_recorder && !conflicts)) from.push_back(successor);
    });
  }
  if (from.empty()) return known;

  auto const keeps_there = [&](Demotion::Kept const& kept) {
    return kept.access.mode != Mode::none && touched.contains(kept.access.entry);
  };
  if (by_chains && std::none_of(demotion.accesses.begin(), demotion.accesses.end(), keeps_there))
    from.clear();
  SmallSet<Task> direct;
  if (!from.empty()) {
    direct.insert_all(successors);
    direct.insert_all(freed);
  }
  // Without a record the tasks in the list need not be looked at.
  SmallSet<Task> seen_anew;
  walk_from(from, m_recorder ? seen_anew : direct, [&](Task& next) {
    if (by_chains && !is_touched(next)) return false;
    if (!(*conflicts_with)(next)) return true;
    if (m_recorder) {
      m_recorder->edge(task.id, next.id, EdgeReason::access);
      if (direct.contains(&next)) return false;
    }
    next.unfinished.fetch_add(1, std::memory_order_relaxed);
    successors.push_back(&next);
    return false;
  });
  std::sort(successors.begin(), successors.end(),
            [](Task const* a, Task const* b) { return a->id < b->id; });
  {
    std::unique_lock<SpinLock> lock(task.lock, std::defer_lock);
    if (!is_locked) lock.lock();
    for (std::uint32_t k = known; k < task.successor_count; ++k)
      successors.push_back(task.successor(k));
    task.clear_successors();
    for (Task* successor : successors) task.add_successor(successor);
  }
  for (Task* successor : freed) trigger(*successor, nullptr, ready);
  return successors.size();
}

}  // namespace trellis::Impl
