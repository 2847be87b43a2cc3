// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <demotion/Trellis_Demotion.hpp>
#include <Trellis_Error.hpp>
#include <scope/Trellis_NearAccesses.hpp>
#include <demotion/Trellis_Remains.hpp>
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
  (void)demote_to(self, By::itself, [&](Remains& remains) { plan_demotion(remains, to); });
}
void Demotions::release(TaskHandle const& self, std::span<AccessRequest const> what) {
  (void)demote_to(self, By::itself, [&](Remains& remains) { plan_release(remains, what); });
}
void Demotions::shrink_to_children(TaskHandle const& self) {
  (void)demote_to(self, By::itself, [&](Remains& remains) { plan_shrinking(remains); });
}
bool Demotions::demote_other(TaskHandle const& task, std::span<AccessRequest const> to) {
  return demote_to(task, By::others, [&](Remains& remains) { plan_demotion(remains, to); });
}
bool Demotions::release_other(TaskHandle const& task, std::span<AccessRequest const> what) {
  return demote_to(task, By::others, [&](Remains& remains) { plan_release(remains, what); });
}

bool Demotions::demote_to(TaskHandle const& asked, By by, Plan plan) {
  if (m_submission.is_held_here()) Submitting::refuse();
  Reserve::require();
  TaskHandle const handle = by == By::others ? m_kernel.resolve(asked) : asked;
  DeferDestructors const until_released;
  Frame* const frame = Frame::of(m_kernel);
  // Also when the request throws: the task may not be held up any more.
  HandOut out(m_kernel, frame != nullptr ? &frame->slot : nullptr);
  if (by == By::itself) {
    Task& task = Kernel::require_live(handle, "demotes its accesses");
    bool const runs = task.state.load(std::memory_order_relaxed) == TaskState::running;
    if (runs) return demote_held(handle, by, false, guard_of(task), plan, out);
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
  } const held_up{unfinished != 0 ? &task : nullptr, out.ready};
  return demote_held(handle, by, unfinished != 0, guard, plan, out);
}

bool Demotions::demote_held(TaskHandle const& handle, By by, bool is_pending, Task* guard,
                            Plan plan, HandOut& out) {
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
    if (may_have_failed && m_kernel.failures().unreported() != nullptr) return false;
  }
  if (task.marks.is_replay)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + describe(task) + " replays a plan and cannot be demoted");
  Remains remains(task, is_pending, stays_live.owns_lock());
  plan(remains);  // throws before anything has changed
  if (task.is_recorded() || scope_of(task).is_planned)
    return by == By::itself;  // the order is the recorded one
  bool const becomes_exclusive = !task.exclusive && remains.any_exclusive();
  if (becomes_exclusive && !is_pending && !runs_here) return false;
  return remains.changed.empty() || apply(remains, out);
}

// --- what is given up ----------------------------------------------------------------------------

/// Throws if the task would give up what an unfinished child of it needs.
void Demotions::require_not_needed(Remains const& remains) const {
  Task const& task = remains.task;
  if (task.inner == nullptr) return;
  if (task.inner->shrinks) task.inner->shrinking->are_placed = false;
  for (LiveAccess const child : task.inner->children) {
    std::lock_guard const stays_live(child.task->lock);
    if (!child.task->is_live_locked(child.id)) continue;
    child.task->for_each_access([&](TaskAccess const& access) {
      Area const& area = access.entry->area;
      AccessKind const kind = child.task->kind(access);
      bool const kept = kind.mode == Mode::none || remains.any([&](Remains::Access const& mine) {
        return contains(mine.access.entry->area, area) && mine.kind().covers(kind);
      }) || std::any_of(task.inner->local.begin(), task.inner->local.end(), [&](Area const& local) {
                          return contains(local, area);
                        });
      if (!kept)
        throw Error(
            Error::Kind::bad_access,
            "Trellis: " + describe(task, &area) +
                " gives up what an unfinished child of it needs: " + describe(*child.task, &area));
    });
  }
}

void Demotions::plan_demotion(Remains& remains, std::span<AccessRequest const> to) {
  Task const& task = remains.task;
  auto& accesses = remains.accesses;
  std::size_t const declared_ones = accesses.size();
  AccessTable& table = scope_of(task).table;
  ByArea const by_area(table, accesses, to.size());
  for (AccessRequest const& request : to) {
    if (request.area.empty()) continue;
    AccessKind const kind = request.kind();
    std::size_t holder = declared_ones;
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
      } else if (holder == declared_ones || area == request.area) {
        holder = k;
      }
    });
    if (holder == declared_ones) {
      std::string const start = "Trellis: " + describe(task, &request.area) +
                                " cannot go on with " + kind.text() + ' ' +
                                name_of(request, info_of(request), task);
      throw Error(Error::Kind::bad_access,
                  !declared.empty() ? start + ": from " + declared + " that is a promotion"
                  : given_up        ? start + ": it has given that up before"
                  : elsewhere       ? start + ": no single access of it contains that area"
                                    : start + ", which it has never declared");
    }
    remains.replace(accesses[holder]);
    remains.add(table.find_or_make(request, scope_of(task).newest), request.mode, request.state);
  }
  require_not_needed(remains);
}

void Demotions::plan_release(Remains& remains, std::span<AccessRequest const> what) {
  Task const& task = remains.task;
  ByArea const by_area(scope_of(task).table, remains.accesses, what.size());
  for (AccessRequest const& request : what) {
    if (request.area.empty()) continue;
    bool any = false;
    bool given_up = false;
    bool larger = false;
    by_area.for_each_near(request.area, [&](std::size_t k) {
      Remains::Access& mine = remains.accesses[k];
      Area const& area = mine.access.entry->area;
      if (!contains(request.area, area)) {
        larger = larger || (mine.is_there() && overlaps(request.area, area));
      } else if (mine.is_there() || mine.what == Remains::What::nothing) {  // or twice
        if (mine.is_there()) remains.give_up(mine);
        any = true;
      } else {
        given_up = true;
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
  require_not_needed(remains);
}

}  // namespace trellis::Impl
