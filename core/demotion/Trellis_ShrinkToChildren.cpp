// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <demotion/Trellis_Demotion.hpp>
#include <scope/Trellis_Shrinking.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

/// Shrinks the accesses of a task with those of its parts.
namespace trellis::Impl {

namespace {

bool has_declared(Task const& owner, TaskAccess const& access, AccessKind const& kind) {
  for (std::uint32_t k = 0; k < owner.access_count; ++k) {
    TaskAccess const& mine = owner.access(k);
    if (contains(mine.entry->area, access.entry->area) && owner.kind(mine).covers(kind))
      return true;
  }
  return false;
}

/// Describes an area of the parts' scope for the owner's scope.
void describe_entry(void const* subject, ResourceInfo& info) {
  AreaEntry const& entry = *static_cast<AreaEntry const*>(subject);
  info.label = entry.resource->label;
  info.begin = ~std::uintptr_t{0};  // the owner's scope knows the allocation
}
constexpr SubjectOps entry_ops{&describe_entry};

}  // namespace

/// The caller holds the locks of both scopes.
void Demotions::count_child(Scope& scope, Task const& part) {
  scope.shrinking->count(part, [&](TaskAccess const& access) {
    return has_declared(*scope.owner, access, part.kind(access));
  });
}

[[noreturn]] void Demotions::refuse_completions() {
  throw Error(Error::Kind::bad_input,
              "Trellis: shrink_to_children() in a task with a Completion: what its body has started "
              "may need what its parts do not; give up by self.demote(...) or self.release(...)");
}

void Demotions::plan_shrinking(Task& task, Demotion& demotion) {
  bool const keeps_order = task.is_recorded() || scope_of(task).is_planned;
  if (keeps_order) return;
  if (task.inner == nullptr) {
    for (Demotion::Kept& mine : demotion.accesses)
      if (mine.access.mode != Mode::none) demotion.give_up(mine);
    return;
  }
  {
    // If a part of it has failed, what that part should have done is not known any more.
    std::lock_guard const lock(task.lock);
    if (task.failure != nullptr) return;
  }
  Scope& scope = *task.inner;
  if (scope.has_completions) refuse_completions();
  if (!scope.shrinks) {
    scope.shrinking = std::make_unique<Shrinking>();
    scope.shrinks = true;  // before any part is read
    for (LiveAccess const part : scope.parts) {
      std::lock_guard const stays_live(part.task->lock);
      if (part.task->live_id.load(std::memory_order_relaxed) == part.id)
        count_child(scope, *part.task);
    }
  }
  keep_needs(scope, demotion);
}

/// Plans to keep what the unfinished parts need. An access that does not change keeps its place.
void Demotions::keep_needs(Scope& scope, Demotion& demotion) {
  Scope& outer = scope_of(*scope.owner);
  Vector<Shrinking::Need*> needs;
  scope.shrinking->for_each_need([&](Shrinking::Need& need) { needs.push_back(&need); });
  std::sort(needs.begin(), needs.end(), [](Shrinking::Need const* a, Shrinking::Need const* b) {
    return a->of_parts->area.begin() < b->of_parts->area.begin();
  });
  HashMap<AreaEntry*, Vector<std::size_t>> places;
  for (std::size_t k = 0; k < demotion.accesses.size(); ++k)
    places[demotion.accesses[k].access.entry].push_back(k);
  Vector<bool> stays(demotion.accesses.size(), false);
  Vector<AreaEntry*> entries;
  Vector<Demotion::Kept> added;
  for (Shrinking::Need* need : needs) {
    AreaEntry* entry = need->of_parent;
    if (entry == nullptr)
      entry = &outer.table.find_or_make(
          {need->of_parts->area, need->mode, need->of_parts, &entry_ops}, outer.newest);
    entries.push_back(entry);
    bool found = false;
    for (std::size_t const k : places[entry]) {
      Demotion::Kept const& mine = demotion.accesses[k];
      bool const is_it = mine.access.mode == need->mode && mine.kind().state == need->state.get();
      found = found || is_it;
      if (is_it) stays[k] = true;
    }
    if (!found)
      added.push_back({{entry, need->mode, true, -1, TaskAccess::any_generation},
                       need->state != nullptr ? &need->state : nullptr,
                       true});
  }
  for (std::size_t k = 0; k < demotion.accesses.size(); ++k)
    if (!stays[k] && demotion.accesses[k].access.mode != Mode::none)
      demotion.given_up.push_back(demotion.accesses[k].access.entry);
  if (demotion.given_up.empty()) return;  // nothing changes: what it has covers what is needed
  for (std::size_t k = 0; k < needs.size(); ++k) scope.shrinking->place(*needs[k], *entries[k]);
  demotion.replace([&](std::size_t k) { return stays[k]; }, added);
}

/// Gives up what ended parts needed, where the owner has an access for each need that is left. So
/// these needs are not searched one by one, as a task may have thousands of parts.
void Demotions::give_up_needs(std::span<Shrinking::Need const> gone, Demotion& demotion) {
  auto const is_retired = [&](Demotion::Kept const& mine) {
    return std::any_of(gone.begin(), gone.end(), [&](Shrinking::Need const& need) {
      return mine.access.entry == need.of_parent && mine.access.mode == need.mode &&
             mine.kind().state == need.state.get();
    });
  };
  Vector<bool> stays(demotion.accesses.size(), true);
  for (std::size_t k = 0; k < demotion.accesses.size(); ++k) {
    if (!is_retired(demotion.accesses[k])) continue;
    stays[k] = false;
    demotion.given_up.push_back(demotion.accesses[k].access.entry);
  }
  demotion.replace([&](std::size_t k) { return stays[k]; }, std::span<Demotion::Kept const>());
}

void Demotions::child_over(Scope& scope, TaskId part, WorkerSlot& slot) {
  Task& owner = *scope.owner;  // not complete before the part has been counted out
  Vector<Task*> ready;
  Vector<Task*> granted;
  {
    ChildrenHold const parts(owner, m_submission, ChildrenHold::nested);
    Vector<Shrinking::Need> const gone = scope.shrinking->child_over(part);
    if (gone.empty()) return;
    {
      // No other task may see data that a failed part has not written. So once the owner has
      // failed, it keeps what it has until it is complete.
      std::lock_guard const lock(owner.lock);
      if (owner.failure != nullptr) return;
    }
    ScopeHold const outer(guard_of(owner), m_submission);
    Demotion demotion(owner);
    try {
      if (scope.shrinking->are_placed())
        give_up_needs(gone, demotion);
      else
        keep_needs(scope, demotion);
    } catch (std::bad_alloc const&) {  // it keeps what it has, until the next part or its own end
      return;
    }
    if (demotion.given_up.empty()) return;
    apply(owner, demotion, false, ready, granted);
  }
  for (Task* other : granted) m_kernel.push(*other, &slot);
  for (Task* other : ready) m_kernel.make_ready(*other, &slot);
}

}  // namespace trellis::Impl
