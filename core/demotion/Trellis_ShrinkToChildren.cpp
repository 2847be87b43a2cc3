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

/// Shrinks the accesses of a task with those of its children.
namespace trellis::Impl {

namespace {

bool has_declared(Task const& parent, TaskAccess const& access, AccessKind const& kind) {
  for (std::uint32_t k = 0; k < parent.access_count; ++k) {
    TaskAccess const& mine = parent.access(k);
    if (contains(mine.entry->area, access.entry->area) && parent.kind(mine).covers(kind))
      return true;
  }
  return false;
}

/// Describes an area of the children's scope for the parent's scope.
void describe_entry(void const* subject, ResourceInfo& info) {
  AreaEntry const& entry = *static_cast<AreaEntry const*>(subject);
  info.label = entry.resource->label;
  info.begin = ~std::uintptr_t{0};  // the parent's scope knows the allocation
}
constexpr SubjectOps entry_ops{&describe_entry};

}  // namespace

/// The caller holds the locks of both scopes.
void Demotions::count_child(Scope& scope, Task const& child) {
  scope.shrinking->count(child, [&](TaskAccess const& access) {
    return has_declared(*scope.parent, access, child.kind(access));
  });
}

[[noreturn]] void Demotions::refuse_completions() {
  throw Error(
      Error::Kind::bad_input,
      "Trellis: shrink_to_children() in a task with a Completion: what its body has started "
      "may need what its children do not; give up by self.demote(...) or self.release(...)");
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
    // If a child of it has failed, what that child should have done is not known any more.
    std::lock_guard const lock(task.lock);
    if (task.failure != nullptr) return;
  }
  Scope& scope = *task.inner;
  if (scope.has_completions) refuse_completions();
  if (!scope.shrinks) {
    scope.shrinking = std::make_unique<Shrinking>();
    scope.shrinks = true;  // before any child is read
    for (LiveAccess const child : scope.children) {
      std::lock_guard const stays_live(child.task->lock);
      if (child.task->live_id.load(std::memory_order_relaxed) == child.id)
        count_child(scope, *child.task);
    }
  }
  keep_needs(scope, demotion);
}

/// Plans to keep what the unfinished children need. An access that does not change keeps its place.
void Demotions::keep_needs(Scope& scope, Demotion& demotion) {
  Scope& outer = scope_of(*scope.parent);
  Vector<Shrinking::Need*> needs;
  scope.shrinking->for_each_need([&](Shrinking::Need& need) { needs.push_back(&need); });
  std::sort(needs.begin(), needs.end(), [](Shrinking::Need const* a, Shrinking::Need const* b) {
    return a->of_children->area.begin() < b->of_children->area.begin();
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
          {need->of_children->area, need->mode, need->of_children, &entry_ops}, outer.newest);
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

/// Gives up what ended children needed, where the parent has an access for each need that is left.
/// So these needs are not searched one by one, as a task may have thousands of children.
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

void Demotions::child_over(Scope& scope, TaskId child, WorkerSlot& slot) {
  Task& parent = *scope.parent;  // not complete before the child has been counted out
  Vector<Task*> ready;
  Vector<Task*> granted;
  {
    ChildrenHold const children(parent, m_submission, ChildrenHold::nested);
    Vector<Shrinking::Need> const gone = scope.shrinking->child_over(child);
    if (gone.empty()) return;
    {
      // No other task may see data that a failed child has not written. So once the parent has
      // failed, it keeps what it has until it is complete.
      std::lock_guard const lock(parent.lock);
      if (parent.failure != nullptr) return;
    }
    ScopeHold const outer(guard_of(parent), m_submission);
    Demotion demotion(parent);
    try {
      if (scope.shrinking->are_placed())
        give_up_needs(gone, demotion);
      else
        keep_needs(scope, demotion);
    } catch (std::bad_alloc const&) {  // it keeps what it has, until the next child or its own end
      return;
    }
    if (demotion.given_up.empty()) return;
    apply(parent, demotion, false, ready, granted);
  }
  for (Task* other : granted) m_kernel.push(*other, &slot);
  for (Task* other : ready) m_kernel.make_ready(*other, &slot);
}

}  // namespace trellis::Impl
