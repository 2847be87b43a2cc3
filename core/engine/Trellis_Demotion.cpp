// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Demotion.hpp>
#include <engine/Trellis_Engine.hpp>
#include <engine/Trellis_EngineFrame.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

/// A running task gives up some of what it declared.
///
/// INVARIANT. For every task X submitted after T that conflicts with what T still has there is a
/// path of edges from T to X, or T is done. It holds when X is submitted (see AreaEntry; a task
/// that has demoted is among the loose accesses). A demotion takes away the edges from T to
/// successors that no longer conflict with it. A task behind such a successor S may still conflict:
/// S has not started, so neither has anything behind it, and walking from S along the edges the
/// first one on each path that conflicts with T gets an edge from T. All this is under the lock of
/// the region, so no edge is added meanwhile, and before S is triggered, so nothing that is
/// looked at can start: each has an unfinished predecessor, and adding 1 to its count is safe. (The
/// walk may pass through tasks of other regions, to which others submit meanwhile. An edge that is
/// new there leads to a task that is, too, and from there to none of this region: the next task of
/// this one finds T in the table.)
///
/// Parts of other tasks may come to be successors of T itself meanwhile, by `after(...)`: they are
/// added at the end of its list, under its own lock alone. Such an edge stays, and by then the part
/// has all that is looked at here, see `connect`.
namespace trellis::Impl {

/// What a task will have afterwards.
struct Demotions::Demotion {
  struct Kept {
    TaskAccess access;  ///< with the old state, if any
    StatePtr state;
    [[nodiscard]] Manner manner() const { return {access.mode, state.get()}; }
  };
  std::vector<Kept> accesses;
};

void Demotions::demote_to(TaskHandle const& self, FunctionRef<void(Task&, Demotion&)> plan) {
  std::vector<Task*> ready;
  std::vector<Task*> granted;
  Quiet const until_they_are_let_go;
  {
    Task& task = m_engine.parts().require_live(self, "demotes its accesses");
    if (task.state.load(std::memory_order_relaxed) != TaskState::running)
      throw Error(Error::Kind::bad_access,
                  "Trellis: " + text_of(LiveAccess{&task, self.id}, m_submission) +
                      " is not running, so it cannot demote its accesses");
    // Nobody submits beside the task, nor parts of it.
    PartsHold const parts(task, m_submission);
    RegionHold const region(guard_of(task), m_submission);
    Demotion demotion;
    task.for_each_access([&](TaskAccess const& access) {
      demotion.accesses.push_back({access, task.state_of(access)});
    });
    plan(task, demotion);  // throws before anything has changed
    if (task.is_recorded() || region_of(task).is_planned)
      return;  // the order is that of the recording

    // What the parts that still run have cannot be given up.
    if (task.inner != nullptr)
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
            throw Error(
                Error::Kind::bad_access,
                "Trellis: " + describe(task) +
                    " gives up what an unfinished part of it needs: " + describe(*part.task));
        });
      }
    apply(task, demotion, ready, granted);
  }
  Frame* const frame = Frame::of(m_engine);
  Seat* const seat = frame != nullptr ? &frame->seat : nullptr;
  for (Task* other : granted) m_engine.push(*other, seat);
  for (Task* other : ready) m_engine.make_ready(*other, seat);
}

void Demotions::demote(TaskHandle const& self, std::span<AccessRequest const> to) {
  demote_to(self, [&](Task& task, Demotion& demotion) {
    std::vector<Demotion::Kept>& accesses = demotion.accesses;
    std::vector<bool> replaced(accesses.size(), false);
    std::vector<Demotion::Kept> added;
    for (AccessRequest const& request : to) {
      if (request.area.empty()) continue;
      Manner const manner = request.manner();
      std::size_t holder = accesses.size();
      std::string declared;
      bool given_up = false;
      bool elsewhere = false;
      for (std::size_t k = 0; k < accesses.size(); ++k) {
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
      }
      if (holder == accesses.size()) {
        std::string const start = "Trellis: " + describe(task) + " cannot go on with " +
                                  manner.text() + ' ' + name_of(request);
        throw Error(Error::Kind::bad_access,
                    !declared.empty() ? start + ": from " + declared + " that is a promotion"
                    : given_up        ? start + ": it has given that up before"
                    : elsewhere       ? start + ": no single access of it contains that area"
                                      : start + ", which it has never declared");
      }
      replaced[holder] = true;
      AreaEntry& entry = region_of(task).table.find_or_make(request, region_of(task).newest);
      added.push_back({{&entry, request.mode, -1, TaskAccess::any_generation},
                       request.state != nullptr ? *request.state : nullptr});
    }
    std::vector<Demotion::Kept> result;
    for (std::size_t k = 0; k < accesses.size(); ++k)
      if (!replaced[k]) result.push_back(std::move(accesses[k]));
    for (Demotion::Kept& each : added) result.push_back(std::move(each));
    accesses = std::move(result);
  });
}

void Demotions::release(TaskHandle const& self, std::span<AccessRequest const> what) {
  demote_to(self, [&](Task& task, Demotion& demotion) {
    for (AccessRequest const& request : what) {
      if (request.area.empty()) continue;
      bool any = false;
      bool given_up = false;
      bool larger = false;
      for (Demotion::Kept& mine : demotion.accesses) {
        Area const& area = mine.access.entry->area;
        if (!contains(request.area, area)) {
          larger = larger || (mine.access.mode != Mode::none && overlaps(request.area, area));
        } else if (mine.access.mode == Mode::none) {
          given_up = true;
        } else {
          mine.access.mode = Mode::none;
          mine.state = nullptr;
          any = true;
        }
      }
      if (any) continue;
      std::string const start =
          "Trellis: " + describe(task) + " cannot release " + name_of(request);
      throw Error(Error::Kind::bad_access,
                  larger
                      ? start + ": that is a part of what it declared; demote to what is to remain"
                  : given_up ? start + " twice"
                             : start + ", which it has never declared");
    }
  });
}

void Demotions::apply(Task& task, Demotion& demotion, std::vector<Task*>& ready,
                      std::vector<Task*>& granted) {
  AccessTable& table = region_of(task).table;
  task.for_each_access([&](TaskAccess const& access) { table.take_out(*access.entry, task.id); });
  auto const change = [&] {
    task.clear_accesses();
    if (task.has_extras) task.extras->states.clear();
    for (Demotion::Kept& kept : demotion.accesses) {
      kept.access.state = -1;
      task.add_access(kept.access);
      std::uint32_t const last = task.access_count - 1;
      if (kept.state != nullptr) task.set_state(last, kept.state);
      kept.access = task.access(last);
    }
  };
  if (m_serial) {
    change();
    task.exclusive = m_exclusion.concerns(task);  // asked when a task waits
  } else {
    m_exclusion.change(task, change, granted);
  }
  if (m_recorder) m_recorder->demoted(task);
  let_go(task, ready);
  for (Demotion::Kept const& kept : demotion.accesses) {
    if (kept.access.mode == Mode::none) continue;
    TaskId behind = 0;  // successors of this region are in order of submission
    {
      std::lock_guard const lock(task.lock);
      task.for_each_successor([&](Task* next) {
        if (behind == 0 && conflict(task, kept.access, *next)) behind = next->id;
      });
    }
    AccessTable::put_in(*kept.access.entry, kept.manner(), kept.state, task, task.id, behind);
  }
}

/// Must `after` still wait for the end of `before`, which has demoted its accesses?
bool Demotions::stays_ordered(Task const& before, Task const& after) const {
  if (before.synchronizing || after.synchronizing) return true;
  if (after.has_extras)
    if (std::vector<TaskId> const& ids = after.extras->after;
        std::find(ids.begin(), ids.end(), before.id) != ids.end())
      return true;
  if (std::any_of(m_rules.begin(), m_rules.end(), [&](TagRule const& rule) {
        if (rule.constraint != Constraint::ordered || before.region != after.region) return false;
        AnyTag const* const x = before.tag(rule.type);
        AnyTag const* const y = after.tag(rule.type);
        return rule.holds(x != nullptr ? *x : *rule.by_default,
                          y != nullptr ? *y : *rule.by_default);
      }))
    return true;
  return conflict(before, after);
}

namespace {

/// Calls `f(next)` for each successor once; says false when the task behind it need not be looked
/// at.
template <class F>
void walk_from(std::vector<Task*> stack, std::unordered_set<Task*> seen, F&& f) {
  while (!stack.empty()) {
    Task& here = *stack.back();
    stack.pop_back();
    std::vector<Task*> behind;
    {
      std::lock_guard const lock(here.lock);
      here.for_each_successor([&](Task* next) { behind.push_back(next); });
    }
    for (Task* next : behind)
      if (seen.insert(next).second && f(*next)) stack.push_back(next);
  }
}

}  // namespace

void Demotions::let_go(Task& task, std::vector<Task*>& ready) {
  std::vector<Task*> successors;
  std::vector<Task*> freed;
  std::uint32_t known = 0;
  {
    std::lock_guard const lock(task.lock);
    known = task.successor_count;
    task.for_each_successor([&](Task* successor) {
      (stays_ordered(task, *successor) ? successors : freed).push_back(successor);
      if (m_recorder && !conflict(task, *successor)) m_recorder->release(task.id, successor->id);
    });
  }
  // With a record also past successors that stay for another reason than accesses, e.g. a rule:
  // they are no link of a path in the dependency graph.
  std::vector<Task*> from = freed;
  if (m_recorder)
    for (Task* successor : successors)
      if (!conflict(task, *successor)) from.push_back(successor);
  if (from.empty()) return;

  std::unordered_set<Task*> direct(successors.begin(), successors.end());
  direct.insert(freed.begin(), freed.end());
  walk_from(std::move(from), m_recorder ? std::unordered_set<Task*>() : direct, [&](Task& next) {
    if (!conflict(task, next)) return true;
    if (m_recorder) m_recorder->edge(task.id, next.id, EdgeReason::access);
    if (direct.contains(&next)) return false;
    next.unfinished.fetch_add(1, std::memory_order_relaxed);
    successors.push_back(&next);
    return false;
  });
  std::sort(successors.begin(), successors.end(),
            [](Task const* a, Task const* b) { return a->id < b->id; });
  {
    std::lock_guard const lock(task.lock);
    for (std::uint32_t k = known; k < task.successor_count; ++k)
      successors.push_back(task.successor(k));
    task.clear_successors();
    for (Task* successor : successors) task.add_successor(successor);
  }
  for (Task* successor : freed) trigger(*successor, nullptr, ready);
}

}  // namespace trellis::Impl
