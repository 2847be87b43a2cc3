// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <impl/Trellis_AccessTable.hpp>
#include <impl/Trellis_Exclusion.hpp>

#include <algorithm>

namespace trellis::Impl {

namespace {

AnyTag const& tag_of(std::span<TagPtr const> tags, TagRule const& rule) {
  for (TagPtr const& tag : tags)
    if (tag->type() == rule.type) return *tag;
  return *rule.by_default;
}

}  // namespace

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
  if (a.parent != b.parent) return false;
  for (std::uint32_t i = 0; i < a.access_count; ++i) {
    TaskAccess const& x = a.access(i);
    if (x.mode != Mode::exclusive && x.state < 0) continue;
    for (std::uint32_t k = 0; k < b.access_count; ++k) {
      TaskAccess const& y = b.access(k);
      if (y.mode != Mode::exclusive && y.state < 0) continue;
      if (!a.manner(x).excludes(b.manner(y))) continue;
      if (x.entry == y.entry || overlaps(x.entry->area, y.entry->area)) return true;
    }
  }
  return !m_rules.empty() && rules_exclude(a.id, a.tags(), b.id, b.tags());
}

bool Exclusion::concerns(Task const& task) const {
  bool found = std::any_of(m_rules.begin(), m_rules.end(),
                           [](TagRule const& rule) { return rule.constraint == Constraint::exclusive; });
  task.for_each_access([&](TaskAccess const& access) { found = found || task.manner(access).can_exclude(); });
  return found;
}

// --- the order, for the record
// -------------------------------------------------------------------------------------------------

Exclusion::Past Exclusion::past_of(Task const& task) {
  Past past{task.public_id(),
            task.parent != nullptr ? task.parent->public_id() : 0,
            {},
            {},
            {task.tags().begin(), task.tags().end()}};
  task.for_each_access([&](TaskAccess const& access) {
    if (task.manner(access).can_exclude())
      past.claims.push_back({access.entry->area, access.mode, task.state_of(access), access.generation});
  });
  past.kept = past.claims;
  return past;
}

/// Exclusive accesses to one area that were not in one group have a dependency between them: nothing to
/// choose.
Exclusion::Chosen Exclusion::chosen_between(Past const& earlier, Past const& later) const {
  if (earlier.parent != later.parent) return Chosen::not_at_all;
  bool dependent = false;
  bool excluded = rules_exclude(earlier.id, earlier.tags, later.id, later.tags);
  auto const compare = [&](std::vector<Past::Claim> const& claims) {
    for (Past::Claim const& x : claims)
      for (Past::Claim const& y : later.claims) {
        bool const known =
            x.generation != TaskAccess::any_generation && y.generation != TaskAccess::any_generation;
        dependent = dependent || (known && x.area == y.area && x.generation != y.generation);
        Manner const manner{x.mode, x.state.get()};
        excluded = excluded || (manner.excludes({y.mode, y.state.get()}) && overlaps(x.area, y.area));
      }
  };
  compare(earlier.kept);
  if (dependent) return Chosen::not_at_all;
  if (excluded) return Chosen::complete;
  compare(earlier.claims);
  return excluded && !dependent ? Chosen::released : Chosen::not_at_all;
}

/// Edges from those that held before, but not from one that another of these has come after.
void Exclusion::record_order(Task const& task) {
  Past now = past_of(task);
  std::vector<Past const*> chosen;
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
  // What lies within the new one's claims need not be looked at again.
  bool const ruled = std::any_of(m_rules.begin(), m_rules.end(), [](TagRule const& rule) {
    return rule.constraint == Constraint::exclusive;
  });
  if (!ruled)
    std::erase_if(m_past, [&](Past const& before) {
      return before.parent == now.parent &&
             std::all_of(before.claims.begin(), before.claims.end(), [&](Past::Claim const& x) {
               return std::any_of(now.claims.begin(), now.claims.end(), [&](Past::Claim const& y) {
                 return x.mode == Mode::exclusive && y.mode == Mode::exclusive && x.state == nullptr &&
                        y.state == nullptr && contains(y.area, x.area);
               });
             });
    });
  m_past.push_back(std::move(now));
}

/// A running task has demoted. To what it newly has the dependencies have brought it, so nothing was chosen.
/// From now on the groups say nothing of it: what made a later one depend on it may be gone.
void Exclusion::record_change(Task const& task) {
  Past now = past_of(task);
  auto const past = std::find_if(m_past.rbegin(), m_past.rend(),
                                 [&](Past const& other) { return other.id == task.public_id(); });
  if (past != m_past.rend())
    now.claims.insert(now.claims.end(), past->claims.begin(), past->claims.end());
  else if (!task.exclusive)
    return;
  for (std::vector<Past::Claim>* claims : {&now.claims, &now.kept})
    for (Past::Claim& claim : *claims) claim.generation = TaskAccess::any_generation;
  if (past != m_past.rend())
    *past = std::move(now);
  else
    m_past.push_back(std::move(now));
}

void Exclusion::hold(Task& task) {
  m_holding.push_back(&task);
  if (m_recorder != nullptr) record_order(task);
}

// --- who may run
// -----------------------------------------------------------------------------------------------------------

bool Exclusion::may_hold(Task const& task) const {
  return std::none_of(m_holding.begin(), m_holding.end(),
                      [&](Task const* holder) { return conflict(*holder, task); });
}

bool Exclusion::front_keeps_back(Task const& task) const {
  if (m_waiting.empty() || m_waiting.front() == &task || !conflict(*m_waiting.front(), task)) return false;
  return std::none_of(m_sleeping.begin(), m_sleeping.end(),
                      [&](Task const* sleeper) { return conflict(*sleeper, *m_waiting.front()); });
}

bool Exclusion::acquire(Task& task) {
  std::lock_guard const lock(m_mutex);
  if (may_hold(task) && !front_keeps_back(task)) {
    hold(task);
    return true;
  }
  m_waiting.push_back(&task);
  return false;
}

/// Is whoever conflicts with `less` sure to conflict with `more`?
bool Exclusion::claims_no_less(Task const& more, Task const& less) const {
  if (more.parent != less.parent || !m_rules.empty()) return false;
  for (std::uint32_t i = 0; i < less.access_count; ++i) {
    TaskAccess const& x = less.access(i);
    if (x.state >= 0) return false;
    if (x.mode != Mode::exclusive) continue;
    bool found = false;
    for (std::uint32_t k = 0; k < more.access_count && !found; ++k) {
      TaskAccess const& y = more.access(k);
      found = y.mode == Mode::exclusive && y.state < 0 &&
              (x.entry == y.entry || contains(y.entry->area, x.entry->area));
    }
    if (!found) return false;
  }
  return true;
}

/// `gone`: the holder that has just left, or null when something else has changed.
void Exclusion::grant(std::vector<Task*>& ready, Task const* gone) {
  for (std::size_t k = 0; k < m_waiting.size();) {
    Task& waiter = *m_waiting[k];
    if (may_hold(waiter) && !front_keeps_back(waiter)) {
      hold(waiter);
      m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(k));
      ready.push_back(&waiter);
      // Whom the one that left was not in the way of could not run before, and cannot now; whom it was in the
      // way of, this one is. So with many waiters for one resource a release does not look at all of them.
      if (gone != nullptr && claims_no_less(waiter, *gone)) return;
    } else {
      ++k;
    }
  }
}

void Exclusion::release(Task& task, std::vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  std::erase(m_holding, &task);
  grant(ready, &task);
}

void Exclusion::change(Task& task, FunctionRef<void()> apply, std::vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  apply();
  bool const held = task.exclusive;
  task.exclusive = concerns(task);
  // It may only now become exclusive: what it had before kept everybody else away, so nobody is in its way.
  if (task.exclusive && !held) m_holding.push_back(&task);
  if (m_recorder != nullptr) record_change(task);
  if (!task.exclusive && held) std::erase(m_holding, &task);
  grant(ready, nullptr);
}

bool Exclusion::sleep(Task& task, std::vector<Task*>& ready) {
  std::lock_guard const lock(m_mutex);
  if (std::find(m_holding.begin(), m_holding.end(), &task) == m_holding.end()) return false;
  m_sleeping.push_back(&task);
  grant(ready, nullptr);
  return true;
}

void Exclusion::wake(Task& task) {
  std::lock_guard const lock(m_mutex);
  m_sleeping.erase(std::find(m_sleeping.begin(), m_sleeping.end(), &task));
}

bool Exclusion::holds(Task const& task) {
  std::lock_guard const lock(m_mutex);
  return std::find(m_holding.begin(), m_holding.end(), &task) != m_holding.end();
}

}  // namespace trellis::Impl
