// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <demotion/Trellis_Remains.hpp>
#include <scope/Trellis_Shrinking.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

/// Shrinks the accesses of a task with those of its children.
namespace trellis::Impl {

namespace {

/// True if the parent has declared such an access, and has not given it up.
bool has_declared(Task const& parent, Area const& area, AccessKind const& kind) {
  for (std::uint32_t k = 0; k < parent.access_count; ++k) {
    TaskAccess const& mine = parent.access(k);
    if (contains(mine.entry->area, area) && parent.kind(mine).covers(kind)) return true;
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
    return has_declared(*scope.parent, access.entry->area, child.kind(access));
  });
}

[[noreturn]] void Demotions::refuse_completions() {
  throw Error(
      Error::Kind::bad_input,
      "Trellis: shrink_to_children() in a task with a Completion: what its body has started "
      "may need what its children do not; give up by self.demote(...) or self.release(...)");
}

void Demotions::plan_shrinking(Remains& remains) {
  Task& task = remains.task;
  if (task.is_recorded() || scope_of(task).is_planned) return;  // it keeps its order
  if (task.inner == nullptr) {
    for (Remains::Access& mine : remains.accesses)
      if (mine.is_there()) remains.give_up(mine);
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
    for (LiveAccess const child : scope.children)
      with_live(child, [&](Task& live) { count_child(scope, live); });
  }
  keep_needs(scope, remains, {});
}

/// Keeps what the unfinished children need. An access that does not change keeps its place.
/// `gone`: the needs that have ended since.
void Demotions::keep_needs(Scope& scope, Remains& remains, Shrinking::Needs const& gone) {
  Shrinking& shrinking = *scope.shrinking;
  Shrinking::Needs& needs = shrinking.needs();
  if (!shrinking.are_placed)
    for (auto& [key, need] : needs) need.of_parent = nullptr;
  for (Remains::Access& mine : remains.accesses) {
    AreaEntry const* const entry = mine.access.entry;
    AccessKind const kind = mine.kind();
    bool is_needed = false;
    if (shrinking.are_placed) {
      is_needed = std::none_of(gone.begin(), gone.end(), [&](auto const& each) {
        auto const& [key, need] = each;
        return need.of_parent == entry && std::get<1>(key) == kind.mode &&
               std::get<2>(key) == kind.state;
      });
    } else {
      auto const it =
          needs.find({scope.table.find(entry->area, entry->area.hash()), kind.mode, kind.state});
      is_needed = it != needs.end();
      if (is_needed) it->second.of_parent = entry;
    }
    if (!is_needed) remains.replace(mine);
  }
  if (shrinking.are_placed || remains.changed.empty()) return;
  Vector<Shrinking::Needs::value_type*> missing;
  // A child may have given up what it was counted for, and its parent after it.
  for (auto& each : needs) {
    auto const& [of_children, mode, state] = each.first;
    if (each.second.of_parent == nullptr &&
        has_declared(*scope.parent, of_children->area, {mode, state}))
      missing.push_back(&each);
  }
  auto const begin = [](auto const* each) { return std::get<0>(each->first)->area.begin(); };
  std::sort(missing.begin(), missing.end(),
            [&](auto const* a, auto const* b) { return begin(a) < begin(b); });
  Scope& outer = scope_of(*scope.parent);
  for (auto* const each : missing) {
    auto& [key, need] = *each;
    auto const [of_children, mode, state] = key;
    AreaEntry& entry =
        outer.table.find_or_make({of_children->area, mode, of_children, &entry_ops}, outer.newest);
    remains.add(entry, mode, state != nullptr ? &need.state : nullptr);
    need.of_parent = &entry;
  }
  shrinking.are_placed = true;
}

void Demotions::child_over(Scope& scope, TaskId child, WorkerSlot& slot) {
  Task& parent = *scope.parent;  // not complete before the child has been counted out
  HandOut out(m_kernel, &slot);
  ChildrenHold const children(parent, m_submission, ChildrenHold::nested);
  Shrinking::Needs const gone = scope.shrinking->child_over(child);
  if (gone.empty()) return;
  {
    // No other task may see data that a failed child has not written. So once the parent has
    // failed, it keeps what it has until it is complete.
    std::lock_guard const lock(parent.lock);
    if (parent.failure != nullptr) return;
  }
  ScopeHold const outer(guard_of(parent), m_submission);
  Remains remains(parent, false, false);
  try {
    keep_needs(scope, remains, gone);
  } catch (std::bad_alloc const&) {  // it keeps what it has, until the next child or its own end
    return;
  }
  if (!remains.changed.empty()) (void)apply(remains, out);
}

}  // namespace trellis::Impl
