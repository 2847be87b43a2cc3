// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <scope/Trellis_Scope.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>

namespace trellis::Impl {

AnyTag const& tag_of(std::span<TagPtr const> tags, TagRule const& rule) {
  for (TagPtr const& tag : tags)
    if (tag->type() == rule.type) return *tag;
  return *rule.by_default;
}

bool Exclusion::rules_exclude(TaskId a, std::span<TagPtr const> tags_a, TaskId b,
                              std::span<TagPtr const> tags_b) const {
  return std::any_of(m_rules.begin(), m_rules.end(), [&](TagRule const& rule) {
    if (rule.constraint != Constraint::exclusive) return false;
    AnyTag const& x = tag_of(tags_a, rule);
    AnyTag const& y = tag_of(tags_b, rule);
    return a < b ? rule.holds(x, y) : rule.holds(y, x);
  });
}

bool Exclusion::conflict(Task const& a, Task const& b) const {
  if (a.scope != b.scope) return false;
  for (std::uint32_t i = 0; i < a.access_count; ++i) {
    TaskAccess const& x = a.access(i);
    if (x.mode != Mode::exclusive && x.state < 0) continue;
    for (std::uint32_t k = 0; k < b.access_count; ++k) {
      TaskAccess const& y = b.access(k);
      if (y.mode != Mode::exclusive && y.state < 0) continue;
      if (!a.kind(x).excludes(b.kind(y))) continue;
      if (x.entry == y.entry || overlaps(x.entry->area, y.entry->area)) return true;
    }
  }
  return !m_rules.empty() && rules_exclude(a.id, a.tags(), b.id, b.tags());
}

bool Exclusion::ruled() const {
  return std::any_of(m_rules.begin(), m_rules.end(),
                     [](TagRule const& rule) { return rule.constraint == Constraint::exclusive; });
}

bool Exclusion::concerns(Task const& task) const {
  bool found = ruled();
  task.for_each_access(
      [&](TaskAccess const& access) { found = found || task.kind(access).can_exclude(); });
  return found;
}

// --- the order, for the record -------------------------------------------------------------------

Exclusion::Past Exclusion::past_of(Task const& task) {
  Past past{task.public_id(),
            parent_of(task) != nullptr ? parent_of(task)->public_id() : 0,
            {},
            {},
            {task.tags().begin(), task.tags().end()}};
  task.for_each_access([&](TaskAccess const& access) {
    if (task.kind(access).can_exclude())
      past.claims.push_back(
          {access.entry->area, access.mode, task.state_of(access), access.generation});
  });
  past.kept = past.claims;
  return past;
}

/// Tells how the order of two tasks was chosen. Exclusive accesses to one area that were not in one
/// group have a dependency between them, so there was no choice.
Exclusion::Chosen Exclusion::chosen_between(Past const& earlier, Past const& later) const {
  if (earlier.parent != later.parent) return Chosen::not_at_all;
  bool dependent = false;
  bool excluded = rules_exclude(earlier.id, earlier.tags, later.id, later.tags);
  auto const compare = [&](Vector<Past::Claim> const& claims) {
    for (Past::Claim const& x : claims)
      for (Past::Claim const& y : later.claims) {
        bool const known = x.generation != TaskAccess::any_generation &&
                           y.generation != TaskAccess::any_generation;
        dependent = dependent || (known && x.area == y.area && x.generation != y.generation);
        AccessKind const kind{x.mode, x.state.get()};
        excluded = excluded || (kind.excludes({y.mode, y.state.get()}) && overlaps(x.area, y.area));
      }
  };
  compare(earlier.kept);
  if (dependent) return Chosen::not_at_all;
  if (excluded) return Chosen::complete;
  compare(earlier.claims);
  return excluded && !dependent ? Chosen::released : Chosen::not_at_all;
}

/// Records edges from earlier holders, but not from one that another of these has come after.
void Exclusion::record_order(Task const& task) {
  Past now = past_of(task);
  Vector<Past const*> chosen;
  for (std::size_t k = m_past.size(); k-- > 0;) {
    Past const& before = m_past[k];
    Chosen const how = chosen_between(before, now);
    if (how == Chosen::not_at_all) continue;
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](Past const* later) { return chosen_between(before, *later) >= how; }))
      continue;
    m_recorder->edge(before.id, now.id, EdgeReason::exclusion, how == Chosen::released);
    chosen.push_back(&before);
  }
  // Holders whose claims lie within those of the new one need no further look.
  if (!ruled())
    std::erase_if(m_past, [&](Past const& before) {
      return before.parent == now.parent &&
             std::all_of(before.claims.begin(), before.claims.end(), [&](Past::Claim const& x) {
               return std::any_of(now.claims.begin(), now.claims.end(), [&](Past::Claim const& y) {
                 return x.mode == Mode::exclusive && y.mode == Mode::exclusive &&
                        x.state == nullptr && y.state == nullptr && contains(y.area, x.area);
               });
             });
    });
  m_past.push_back(std::move(now));
}

/// From now on the groups say nothing about it: the access that made a later task depend on it may
/// be gone.
void Exclusion::Past::forget_groups() {
  for (Vector<Claim>* some : {&claims, &kept})
    for (Claim& claim : *some) claim.generation = TaskAccess::any_generation;
}

/// Records that a running task has demoted. Dependencies had ordered everything that it newly has,
/// so no order was chosen.
void Exclusion::record_change(Task const& task) {
  Past now = past_of(task);
  auto const past = std::find_if(m_past.rbegin(), m_past.rend(),
                                 [&](Past const& other) { return other.id == task.public_id(); });
  if (past != m_past.rend())
    now.claims.insert(now.claims.end(), past->claims.begin(), past->claims.end());
  else if (!task.exclusive)
    return;
  now.forget_groups();
  if (past != m_past.rend())
    *past = std::move(now);
  else
    m_past.push_back(std::move(now));
}

void Exclusion::clear_record() {
  std::lock_guard const lock(m_mutex);
  m_past.clear();
}

// --- holders and waiters, and their areas --------------------------------------------------------

Exclusion::Claimant& Exclusion::arrive(Task& task, std::int64_t rank) {
  if (m_spare.empty()) {
    m_spare.emplace_back();
    m_spare.front().self = m_spare.begin();
  }
  Claimant& claimant = m_spare.front();
  m_arriving.splice(m_arriving.end(), m_spare, claimant.self);
  claimant.task = &task;
  claimant.turn = {-rank, m_arrivals++};
  claim(claimant);
  return claimant;
}

void Exclusion::leave(Claimant& holder) {
  std::erase(m_let_others_pass, holder.task);
  give_up(holder);
  m_spare.splice(m_spare.begin(), m_holding, holder.self);
}

/// Returns null if the task is no holder. Its accesses are those with which it became one.
Exclusion::Claimant* Exclusion::holder(Task const& task) {
  for (std::uint32_t k = 0; k < task.access_count; ++k) {
    TaskAccess const& access = task.access(k);
    if (access.mode != Mode::exclusive || access.state >= 0) continue;
    auto const found = m_areas.find(access.entry);
    Claimant* const holder = found != m_areas.end() ? found->second.holder : nullptr;
    return holder != nullptr && holder->task == &task ? holder : nullptr;
  }
  auto const found = std::find_if(m_holding.begin(), m_holding.end(),
                                  [&](Claimant const& holder) { return holder.task == &task; });
  return found != m_holding.end() ? &*found : nullptr;
}

/// Lets a task wait that has arrived, or that has been taken out of another queue.
void Exclusion::wait_in(Claimed& area, Claimant& claimant) {
  if (claimant.queue == nullptr) m_waiting.insert(m_arriving, claimant.self);
  claimant.queue = &area;
  area.queue.push(claimant);
}

/// A task that has not waited has no turn, but has arrived.
void Exclusion::end_turn(Claimant& claimant, Claimants& to) {
  if (std::exchange(claimant.queue, nullptr) != nullptr)
    m_waiting.take_out(claimant.self, to);
  else if (&to != &m_arriving)
    to.splice(to.end(), m_arriving, claimant.self);
}

Exclusion::Claimed& Exclusion::claimed(AreaEntry const& entry, Scope const* scope) {
  if (auto const found = m_areas.find(&entry); found != m_areas.end()) return found->second;
  if (m_spare_areas.empty()) {
    m_areas.try_emplace(&entry);
  } else {
    m_spare_areas.back().key() = &entry;
    m_areas.insert(std::move(m_spare_areas.back()));
    m_spare_areas.pop_back();
  }
  Claimed& area = m_areas.find(&entry)->second;
  area.entry = &entry;
  area.scope = scope;
  area.area = entry.area;
  AreaIndex& index = m_indices[scope];
  index.for_each_candidate(area.area, [&](void* item) {
    Claimed& other = *static_cast<Claimed*>(item);
    if (!overlaps(area.area, other.area)) return;
    area.overlapping.push_back(&other);
    other.overlapping.push_back(&area);
  });
  index.insert(area.area, &area);
  return area;
}

void Exclusion::forget(Claimed& area) {
  for (Claimed* other : area.overlapping) std::erase(other->overlapping, &area);
  auto const index = m_indices.find(area.scope);
  index->second.erase(area.area, &area);
  if (index->second.size() == 0 && area.scope != nullptr)
    m_indices.erase(index);  // scopes end and begin
  area.overlapping.clear();
  m_spare_areas.push_back(m_areas.extract(area.entry));
}

void Exclusion::claim(Claimant& claimant) {
  Task const& task = *claimant.task;
  claimant.compared = ruled();
  task.for_each_access([&](TaskAccess const& access) {
    if (access.state >= 0) {
      claimant.compared = claimant.compared || task.kind(access).can_exclude();
    } else if (access.mode == Mode::exclusive) {
      Claimed& area = claimed(*access.entry, task.scope);
      if (is_in(claimant.areas, &area)) return;
      claimant.areas.push_back(&area);
      ++area.claimants;
    }
  });
}

/// `grant` must ask the tasks that wait for what the holder had.
void Exclusion::give_up(Claimant& holder) {
  for (Claimed* area : holder.areas) area->holder = nullptr;
  may_open_around(holder);
  disclaim(holder);
}

/// An area with a queue has claimants, so the areas that `grant` is to check remain.
void Exclusion::disclaim(Claimant& claimant) {
  for (Claimed* area : claimant.areas)
    if (--area->claimants == 0) forget(*area);
  claimant.areas.clear();
}

void Exclusion::hold(Claimant& claimant) {
  for (Claimed* area : claimant.areas) area->holder = &claimant;
}

void Exclusion::begin_to_hold(Claimant& claimant) {
  end_turn(claimant, m_holding);
  hold(claimant);
}

// --- which may run -------------------------------------------------------------------------------

/// Returns the front, if its turn comes before that of the other one. The front keeps back tasks
/// that conflict with it, unless a sleeper is in its way.
inline Exclusion::Claimant const* Exclusion::front_before(Claimant const& other) const {
  Claimant const* const first = m_waiting.front();
  return m_has_front && first != nullptr && first->turn < other.turn ? first : nullptr;
}

/// True if a task that sleeps or lets others pass is in its way.
bool Exclusion::is_behind_sleeper(Claimant const& waiter) const {
  auto const in_its_way = [&](Task const* sleeper) { return conflict(*sleeper, *waiter.task); };
  return std::any_of(m_sleeping.begin(), m_sleeping.end(), in_its_way) ||
         std::any_of(m_let_others_pass.begin(), m_let_others_pass.end(), in_its_way);
}

bool Exclusion::is_closed(Claimed& area, Claimant const& to) const {
  auto const at_any = [&](auto const& test) {
    return test(&area) || std::any_of(area.overlapping.begin(), area.overlapping.end(), test);
  };
  if (at_any([](Claimed const* each) { return each->holder != nullptr; })) return true;
  Claimant const* const front = front_before(to);
  if (front == nullptr) return false;
  auto const is_of_front = [&](Claimed* each) { return is_in(front->areas, each); };
  return at_any(is_of_front) && !is_behind_sleeper(*front);
}

/// Returns the queue to wait in, or null if the task may run.
Exclusion::Claimed* Exclusion::obstacle(Claimant const& to) {
  for (Claimed* area : to.areas)
    if (is_closed(*area, to)) return area;
  if (!to.compared) return nullptr;
  auto const excludes = [&](Claimant const& other) {
    return other.compared && conflict(*other.task, *to.task);
  };
  if (std::any_of(m_holding.begin(), m_holding.end(), excludes)) return &m_compared;
  Claimant const* const front = front_before(to);
  bool const kept_back = front != nullptr && excludes(*front) && !is_behind_sleeper(*front);
  return kept_back ? &m_compared : nullptr;
}

/// Lets the task hold its areas, or wait. True: it may run.
bool Exclusion::admit(Claimant& claimant) {
  if (Claimed* const queue = obstacle(claimant)) {
    wait_in(*queue, claimant);
    return false;
  }
  begin_to_hold(claimant);
  if (m_recorder != nullptr) record_order(*claimant.task);
  return true;
}

bool Exclusion::acquire(Task& task, Vector<Task*>& others) {
  std::int64_t const rank =
      m_policy != nullptr ? m_policy->exclusive_rank(ReadyTask(&task)) : task.priority;
  std::lock_guard const lock(m_mutex);
  if (!task.exclusive) return true;  // another thread has demoted it since the caller looked
  Claimant& claimant = arrive(task, rank);
  Claimant const* const front_before = m_waiting.front();
  if (admit(claimant)) return true;
  if (front_before != nullptr && m_waiting.front() == &claimant) {
    may_open_around(*front_before);
    grant(others);
  }
  return false;
}

void Exclusion::may_open(Claimed& area) {
  if (area.queue.empty() || area.may_open) return;
  area.may_open = true;
  area.turn = area.queue.front()->turn;
  m_may_open.push(area);
}

void Exclusion::may_open_around(Claimant const& claimant) {
  for (Claimed* area : claimant.areas) {
    may_open(*area);
    for (Claimed* other : area->overlapping) may_open(*other);
  }
  if (claimant.compared) may_open(m_compared);
}

/// Asks the tasks that may be able to run now, by turn.
void Exclusion::grant(Vector<Task*>& ready) {
  Claimed compared;  // tasks to ask; those that still wait go back to m_compared
  while (!m_may_open.empty()) {
    Claimed* area = m_may_open.front();
    m_may_open.pop();
    area->may_open = false;
    if (area == &m_compared) {
      std::swap(compared.queue, m_compared.queue);
      area = &compared;
    }
    if (is_closed(*area, *area->queue.front())) continue;
    Claimant& waiter = *area->queue.front();
    area->queue.pop();
    if (admit(waiter)) ready.push_back(waiter.task);
    may_open(*area);
  }
}

void Exclusion::release(Task& task, Vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  std::erase(m_let_others_pass, &task);
  Claimant* const claimant = holder(task);
  if (claimant == nullptr) return;  // cancelled
  leave(*claimant);
  grant(ready);
}

/// A ready task that may wait here is asked again with what it still has, in its own turn.
void Exclusion::change(Task& task, FunctionRef<void()> apply, Vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  bool const was_exclusive = task.exclusive;
  Claimant* const claimant = holder(task);
  auto const is_it = [&](Claimant const& waiter) { return waiter.task == &task; };
  Claimant* const waiting =
      claimant == nullptr && was_exclusive ? m_waiting.find_if(is_it) : nullptr;
  apply();
  task.exclusive = concerns(task);
  if (!task.exclusive) std::erase(m_let_others_pass, &task);
  // A ready task has held nothing yet.
  bool const has_held = claimant != nullptr || !was_exclusive;
  if (m_recorder != nullptr && has_held) record_change(task);
  if (waiting != nullptr) return change_waiting(*waiting, ready);
  if (claimant == nullptr) {
    // The task may only now become exclusive. What it had before kept all others away, so none is
    // in its way. If it was exclusive before, it has been made ready, but has not come here yet.
    if (task.exclusive && !was_exclusive) begin_to_hold(arrive(task, 0));
    return;
  }
  if (task.exclusive) {
    give_up(*claimant);
    claim(*claimant);
    hold(*claimant);
  } else {
    leave(*claimant);
  }
  grant(ready);
}

void Exclusion::change_waiting(Claimant& waiter, Vector<Task*>& ready) {
  waiter.queue->queue.erase(waiter);
  if (m_waiting.front() == &waiter) may_open_around(waiter);
  end_turn(waiter, m_arriving);
  disclaim(waiter);
  Task& task = *waiter.task;
  if (task.exclusive)
    claim(waiter);
  else
    m_spare.splice(m_spare.begin(), m_arriving, waiter.self);
  if (!task.exclusive || admit(waiter)) ready.push_back(&task);
  grant(ready);
}

void Exclusion::forget_groups(Task& task) {
  std::lock_guard const lock(m_mutex);
  for (std::uint32_t k = 0; k < task.access_count; ++k)
    task.access(k).generation = TaskAccess::any_generation;
  for (Past& past : m_past) past.forget_groups();
}

bool Exclusion::sleep(Task& task, Vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  if (task.access_count == 0 && !task.exclusive) return false;
  m_sleeping.push_back(&task);
  if (!m_waiting.empty() && conflict(task, *m_waiting.front()->task))
    may_open_around(*m_waiting.front());
  grant(ready);
  return true;
}

void Exclusion::let_others_pass(Task& task, Vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  if (is_in(m_let_others_pass, &task) || !task.exclusive) return;
  m_let_others_pass.push_back(&task);
  if (!m_waiting.empty() && conflict(task, *m_waiting.front()->task))
    may_open_around(*m_waiting.front());
  grant(ready);
}

void Exclusion::change_pending(Task& task, FunctionRef<void()> apply, Vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  bool const is_looked_at = is_in(m_let_others_pass, &task) || is_in(m_sleeping, &task);
  apply();
  task.exclusive = concerns(task);
  if (!task.exclusive) std::erase(m_let_others_pass, &task);
  if (!is_looked_at) return;
  if (!m_waiting.empty()) may_open_around(*m_waiting.front());
  grant(ready);
}

void Exclusion::wake(Task& task) {
  std::lock_guard const lock(m_mutex);
  m_sleeping.erase(std::find(m_sleeping.begin(), m_sleeping.end(), &task));
}

bool Exclusion::holds(Task const& task) {
  std::lock_guard const lock(m_mutex);
  return holder(task) != nullptr;
}

}  // namespace trellis::Impl
