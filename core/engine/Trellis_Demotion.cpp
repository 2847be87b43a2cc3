// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Demotion.hpp>
#include <Trellis_Error.hpp>
#include <engine/Trellis_NearAccesses.hpp>
#include <engine/Trellis_Relink.hpp>
#include <kernel/Trellis_Waiters.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <exclusion/Trellis_PolicyEdges.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <task/Trellis_SmallSet.hpp>
#include <task/Trellis_Reserve.hpp>
#include <kernel/Trellis_TaskText.hpp>
#include <engine/Trellis_Destructors.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

/// A task gives up some of what it declared.
///
/// INVARIANT. For every task X submitted after T that conflicts with what T still has there is a
/// path of edges from T to X, or T is done. It holds when X is submitted (see AreaEntry; what a
/// task has left after a demotion is among the loose accesses; the accesses that it does not change
/// stay where they are). A demotion takes away the edges from T to successors that no longer
/// conflict with it. A task behind such a successor S may still conflict: S has not started, so
/// neither has anything behind it, and walking from S along the edges the first one on each path
/// that conflicts with T gets an edge from T. All this is under the lock of the region, so no edge
/// is added meanwhile, and before S is triggered, so nothing that is looked at can start: each has
/// an unfinished predecessor, and adding 1 to its count is safe. (The walk may pass through tasks
/// of other regions, to which others submit meanwhile. An edge that is new there leads to a task
/// that is, too, and from there to none of this region: the next task of this one finds T in the
/// table.)
///
/// Parts of other tasks may come to be successors of T itself meanwhile, by `after(...)`: they are
/// added at the end of its list, under its own lock alone. Such an edge stays, and by then the part
/// has all that is looked at here, see `connect`.
///
/// WHERE THE WALK GOES. All that is behind S may be all that is in flight, and a task gives
/// something up for every message, say. So mostly only those are looked at that have something
/// where T gave something up (in `touched`: the areas given up, and all that share a byte with one
/// of these), and nobody at all where T keeps nothing there.
///
/// That is enough where the edges are those that the table made. Let X conflict with T over
/// something that T keeps, k. Let e be the area for which the table knew T there: that of k, or one
/// of T's own accesses that covers k. T gives its place in an entry up only to an access to the
/// same area that conflicts with T's, or to a write that covers the area; either is ordered behind
/// T by an edge of its own, and gives its place up in the same way. Or the group is followed (see
/// AreaEntry): then who takes the place is behind another one, which conflicts with T over e, and
/// is behind T by an edge of its own. So X is behind T by a chain of edges whose links each have
/// something that shares a byte with e. If T keeps what it has at e, as it was, the first link
/// conflicts with that, so its edge from T stays, and with it the chain. Else T has given e up, all
/// links are in `touched`, and so is X: the walk finds the first of them that conflicts with T.
///
/// It does not hold where something of T is loose in the table, or has been (it is compared one by
/// one there, and paths over its other accesses count: who is behind T by one of these need have no
/// edge for what it has in common with another one, whose place it may take), nor where a pending
/// task has demoted since T was submitted (Relink joins pairs for any reason), nor for the record,
/// which keeps more edges. There the walk goes everywhere.
///
/// WHO DEMOTES. A body demotes its own task, which is not over before the body is; nothing more is
/// needed. From outside T may be in any state, and change it at any time, so:
///
/// - T is pending. One is added to its count of unfinished edges, from a count that was not 0 (as a
///   refinement does), so T stays pending until it is taken off again. Nobody but who holds the
///   lock of its region looks at its accesses then. T has predecessors, so more edges change: see
/// Relink.
/// - T is ready, or runs. All before it is complete, so the argument above holds, but T might
///   become complete, and its cell another task's. It cannot while its own lock is held and it is
///   live under that: whoever completes it takes the lock to say so, gives up its exclusive areas
///   in the same hold, and reads its successors afterwards. So the lock is held all the time. Other
///   tasks' locks are taken meanwhile; whoever holds two at a time has the mutex of the waiters, so
///   no two threads wait for each other. The accesses of a task that is ready or runs are read by
///   Exclusion alone without the lock of its region, and changed under its mutex. There T holds its
///   areas, waits for them (and is asked again), or has not arrived yet (and finds what it has
///   then). What it cannot do any more is become exclusive: if it was not, who made it ready does
/// not ask.
/// - T is launched on a device, or complete: too late.
///
/// Too late is no error: the caller cannot know. What has not been given up is given up when T is
/// complete.
namespace trellis::Impl {

// --- who, and when -------------------------------------------------------------------------------

void Demotions::demote(TaskHandle const& self, std::span<AccessRequest const> to) {
  (void)demote_to(self, By::itself,
                  [&](Task& task, Demotion& demotion) { plan_demotion(task, demotion, to); });
}
void Demotions::release(TaskHandle const& self, std::span<AccessRequest const> what) {
  (void)demote_to(self, By::itself,
                  [&](Task& task, Demotion& demotion) { plan_release(task, demotion, what); });
}
void Demotions::shrink_to_parts(TaskHandle const& self) {
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
  Quiet const until_they_are_let_go;
  /// Also when what is asked for is wrong: the task may be held up no more.
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
    // A collected task has its id before all that it needs, under the graph's lock.
    NestedHold const graph(m_submission, asked.id != handle.id);
    std::lock_guard const lock(task.lock);  // live under it, the task stays what it is
    if (task.live_id.load(std::memory_order_relaxed) != handle.id) return false;
    guard = guard_of(task);
    unfinished = task.hold_back();
  }
  /// If it is pending it cannot start from here on.
  struct HeldUp {
    Task* task;
    Vector<Task*>& ready;
    ~HeldUp() {
      if (task != nullptr) trigger(*task, nullptr, ready);
    }
  } const held_up{unfinished != 0 ? &task : nullptr, ready};
  return demote_held(handle, by, unfinished != 0, guard, plan, ready, granted);
}

/// Without locks.
void Demotions::hand_out(Vector<Task*> const& ready, Vector<Task*> const& granted) {
  if (ready.empty() && granted.empty()) return;
  Frame* const frame = Frame::of(m_kernel);
  Seat* const seat = frame != nullptr ? &frame->seat : nullptr;
  for (Task* other : granted) m_kernel.push(*other, seat);
  for (Task* other : ready) m_kernel.make_ready(*other, seat);
}

bool Demotions::demote_held(TaskHandle const& handle, By by, bool is_pending, Task* guard,
                            FunctionRef<void(Task&, Demotion&)> plan, Vector<Task*>& ready,
                            Vector<Task*>& granted) {
  Task& task = *handle.task;
  // Nobody submits beside the task, nor parts of it.
  PartsHold const parts(task, m_submission, PartsHold::nested);
  RegionHold const region(guard, m_submission);
  std::unique_lock<SpinLock> stays_live(task.lock, std::defer_lock);
  bool const runs_here = by == By::itself && !is_pending &&
                         task.state.load(std::memory_order_relaxed) == TaskState::running;
  if (!is_pending && !runs_here) {
    stays_live.lock();
    if (task.live_id.load(std::memory_order_relaxed) != handle.id) return false;
    // It has been launched, or is about to be.
    if (task.runs_on_device() || task.deployed() != nullptr) return false;
    // One that has inherited a failure, or that of a part, hands it on when it is complete. Such a
    // failure has been noted before the task was made ready, or before the part was complete.
    bool const may_have_failed =
        task.is_split || task.state.load(std::memory_order_relaxed) != TaskState::running;
    if (may_have_failed && m_failures.unreported() != nullptr) return false;
  }
  if (task.marks.is_replay)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + describe(task) + " replays a plan and cannot be demoted");
  Demotion demotion(task);
  plan(task, demotion);  // throws before anything has changed
  if (task.is_recorded() || region_of(task).is_planned)
    return by == By::itself;  // the order is that of the recording
  bool const becomes_exclusive =
      !task.exclusive && std::any_of(demotion.accesses.begin(), demotion.accesses.end(),
                                     [](auto const& mine) { return mine.manner().can_exclude(); });
  if (becomes_exclusive && !is_pending && !runs_here) return false;
  if (demotion.given_up.empty()) return true;
  if (is_pending) return apply_pending(task, demotion, ready, granted);
  apply(task, demotion, stays_live.owns_lock(), ready, granted);
  return true;
}

// --- what ----------------------------------------------------------------------------------------

/// What the parts that still run have cannot be given up.
void Demotions::require_not_needed(Task& task, Demotion const& demotion) const {
  if (task.inner == nullptr) return;
  for (LiveAccess const part : task.inner->parts) {
    std::lock_guard const stays_live(part.task->lock);
    if (part.task->live_id.load(std::memory_order_relaxed) != part.id) continue;
    part.task->for_each_access([&](TaskAccess const& access) {
      Area const& area = access.entry->area;
      Manner const manner = part.task->manner(access);
      bool const kept = manner.mode == Mode::none ||
                        std::any_of(demotion.accesses.begin(), demotion.accesses.end(),
                                    [&](Demotion::Kept const& mine) {
                                      return contains(mine.access.entry->area, area) &&
                                             mine.manner().covers(manner);
                                    }) ||
                        std::any_of(task.inner->local.begin(), task.inner->local.end(),
                                    [&](Area const& local) { return contains(local, area); });
      if (!kept)
        throw Error(Error::Kind::bad_access, "Trellis: " + describe(task, &area) +
                                                 " gives up what an unfinished part of it needs: " +
                                                 describe(*part.task, &area));
    });
  }
}

void Demotions::plan_demotion(Task& task, Demotion& demotion, std::span<AccessRequest const> to) {
  auto& accesses = demotion.accesses;
  AccessTable& table = region_of(task).table;
  ByArea const by_area(table, accesses, to.size());
  SmallVector<Demotion::Kept, 4> added;
  for (AccessRequest const& request : to) {
    if (request.area.empty()) continue;
    Manner const manner = request.manner();
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
      } else if (!accesses[k].manner().covers(manner)) {
        declared += (declared.empty() ? "" : ", ") + accesses[k].manner().text();
      } else if (holder == accesses.size() || area == request.area) {
        holder = k;
      }
    });
    if (holder == accesses.size()) {
      std::string const start = "Trellis: " + describe(task, &request.area) +
                                " cannot go on with " + manner.text() + ' ' +
                                name_of(request, info_of(request), task);
      throw Error(Error::Kind::bad_access,
                  !declared.empty() ? start + ": from " + declared + " that is a promotion"
                  : given_up        ? start + ": it has given that up before"
                  : elsewhere       ? start + ": no single access of it contains that area"
                                    : start + ", which it has never declared");
    }
    accesses[holder].is_named = true;
    AreaEntry& entry = table.find_or_make(request, region_of(task).newest);
    added.push_back(
        {{&entry, request.mode, true, -1, TaskAccess::any_generation}, request.state, true});
  }
  for (Demotion::Kept const& mine : accesses)
    if (mine.is_named) demotion.given_up.push_back(mine.access.entry);
  demotion.replace([&](std::size_t k) { return !accesses[k].is_named; }, added);
  require_not_needed(task, demotion);
}

void Demotions::plan_release(Task& task, Demotion& demotion, std::span<AccessRequest const> what) {
  ByArea const by_area(region_of(task).table, demotion.accesses, what.size());
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

// --- how -----------------------------------------------------------------------------------------

/// Takes the task out where it gives something up, and also where it has something that overlaps
/// that: one of its own accesses may have covered another, whose place in the table is not its own
/// then. Returns the areas that may now be open to others.
SmallSet<AreaEntry> Demotions::take_out(Task& task, Demotion const& demotion) {
  SmallSet<AreaEntry> areas;
  for (AreaEntry* entry : demotion.given_up) {
    areas.insert(entry);
    for (AreaEntry::Overlap const& overlap : entry->overlaps) areas.insert(overlap.entry());
  }
  for (AreaEntry* entry : demotion.given_up) region_of(task).table.take_out(*entry, task.id);
  for (Demotion::Kept const& kept : demotion.accesses)
    if (!kept.is_new && areas.contains(kept.access.entry))
      region_of(task).table.take_out(*kept.access.entry, task.id);
  return areas;
}

void Demotions::set_accesses(Task& task, Demotion& demotion) {
  task.clear_accesses();
  if (task.has_extras) demotion.states_before = std::exchange(task.extras->states, {});
  for (Demotion::Kept& kept : demotion.accesses) {
    kept.access.state = -1;
    task.add_access(kept.access);
    std::uint32_t const last = task.access_count - 1;
    if (kept.state != nullptr) task.set_state(last, *kept.state);
    kept.access = task.access(last);
  }
}

/// Does anybody look at its accesses under the mutex of Exclusion? Not when it excludes nobody,
/// before and after, and is in nobody's way while it sleeps: it has no parts, which might, and its
/// body, which runs here, does not. (The lock of its parts is held, so it gets none.)
bool Demotions::exclusion_looks_at(Task const& task, Demotion const& demotion) {
  Frame const* const frame = Frame::top;
  bool const runs_here =
      frame != nullptr && &frame->task == &task && frame->what == Frame::What::runs;
  if (!runs_here || task.inner != nullptr || task.exclusive) return true;
  return std::any_of(demotion.accesses.begin(), demotion.accesses.end(),
                     [](Demotion::Kept const& mine) { return mine.manner().can_exclude(); });
}

/// What the task has in place of something else, or where it has been taken out.
void Demotions::put_in(Task& task, Demotion const& demotion, SmallSet<AreaEntry> const& open,
                       bool is_locked, std::size_t successors) {
  // To know who is behind only saves edges; not where it costs more.
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
        bool const is_of_region = next->region == task.region && next->id > task.id;
        if (behind == 0 && is_of_region && conflict(task, kept.access, *next)) behind = next->id;
      });
    }
    AccessTable::put_in(*kept.access.entry, task.manner(kept.access), task.state_of(kept.access),
                        task, task.id, behind);
  }
}

/// All before the task is complete. `is_locked`: its own lock is held.
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
  std::size_t const successors = let_go(task, demotion, open, by_chains, is_locked, ready);
  put_in(task, demotion, open, is_locked, successors);
}

/// The task is held back. False when it is too late.
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
  region_of(task).relinked = relink.newest();
  relink.enter_before(open);
  put_in(task, demotion, open, false, task.successor_count);
  return true;
}

/// Must `after` still wait for the end of `before`, which has demoted its accesses, for another
/// reason than these?
bool Demotions::stays_ordered(Task const& before, Task const& after) const {
  if (before.marks.synchronizing || after.marks.synchronizing) return true;
  if (after.has_extras)
    if (Vector<TaskId> const& ids = after.extras->after;
        std::find(ids.begin(), ids.end(), before.id) != ids.end())
      return true;
  return std::any_of(m_rules.begin(), m_rules.end(), [&](TagRule const& rule) {
    if (rule.constraint != Constraint::ordered || before.region != after.region) return false;
    AnyTag const* const x = before.tag(rule.type);
    AnyTag const* const y = after.tag(rule.type);
    return rule.holds(x != nullptr ? *x : *rule.by_default, y != nullptr ? *y : *rule.by_default);
  });
}

namespace {

/// Calls `f(next)` for each successor once; says false when the task behind it need not be looked
/// at. `stack`: where it begins.
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

/// Do the tasks that are behind this one by what it keeps form chains of edges as the table makes
/// them? See WHERE THE WALK GOES. Asked while it has what it had.
bool Demotions::knows_its_chains(Task const& task, Demotion const& demotion) {
  if (m_recorder != nullptr || task.id <= region_of(task).relinked) return false;
  bool const has_new =
      std::any_of(demotion.accesses.begin(), demotion.accesses.end(),
                  [](auto const& kept) { return kept.is_new && kept.access.mode != Mode::none; });
  bool knows = true;
  task.for_each_access([&](TaskAccess const& access) {
    if (!access.is_loose() || access.mode == Mode::none) return;
    auto const& gone = demotion.given_up;
    bool const is_given_up = std::find(gone.begin(), gone.end(), access.entry) != gone.end();
    knows = knows && is_given_up && !has_new;
  });
  return knows;
}

/// `touched`: where it had something that it no longer has. Returns the number of successors left.
std::size_t Demotions::let_go(Task& task, Demotion& demotion, SmallSet<AreaEntry> const& touched,
                              bool by_chains, bool is_locked, Vector<Task*>& ready) {
  SmallVector<Task*, 16> successors;
  SmallVector<Task*, 16> freed;
  SmallVector<Task*, 16> from;
  std::uint32_t known = 0;
  std::optional<Conflicts> conflicts_with;
  // Others of the region are in the same state to the task as before. (Of another region only those
  // are successors that have asked for it.)
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
      // Past one that stays for another reason than accesses the edges of accesses are looked for
      // as well: with a record as it is no link of a path in the dependency graph, and past an edge
      // of a policy, which hands on no failure.
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
  // Without a record those in the list need not be looked at.
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
