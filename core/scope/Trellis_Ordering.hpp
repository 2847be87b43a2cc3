// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ORDERING_HPP
#define TRELLIS_IMPL_ORDERING_HPP

#include <Trellis_Tag.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <task/Trellis_FoundEntries.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <base/Trellis_FunctionRef.hpp>

#include <deque>

/// Orders a new task behind others of its scope: by its accesses, by rules, and by synchronizing
/// tasks.
///
/// These functions find the tasks before it. `link(before)` makes the edge: a live one in
/// Submission, a recorded one in RecordedGraph. It returns false when nothing need be ordered
/// behind that task any more. The scope's table knows the new task by `id`. The caller holds the
/// lock of the scope.
namespace trellis::Impl {

/// Notes the states of a task's accesses, and whether it may exclude others.
void note_special(Task& task, TaskSpec const& spec, FoundEntries const& found);

/// Enters one access of the task.
template <class Link>
void enter_access(Task& task, TaskAccess const& access, TaskId id, Scope& scope, Link&& link) {
  if (access.state >= 0)
    scope.table.enter(*access.entry, task.state_of(access), task, id, link);
  else
    scope.table.enter(*access.entry, access.mode, task, id, link);
}

/// Orders by the tags of the tasks. Tasks with one value of a tag are one class, so a rule is asked
/// once for each value. A class whose members must keep their order is represented by its last one.
void order_by_rules(std::deque<TagRule> const& rules, Task& task, TaskId id, Scope& scope,
                    FunctionRef<bool(LiveAccess)> link);

/// Orders by synchronizing tasks: such a task comes after all earlier ones, and before all later
/// ones. `for_each_since(f)` calls f for the tasks since the last one.
template <class ForEachSince, class Link>
void order_by_barrier(Task& task, TaskId id, Scope& scope, ForEachSince&& for_each_since,
                      Link&& link) {
  LiveAccess& barrier = scope.barrier;
  bool const synchronizes = task.marks.synchronizing;
  if (synchronizes)
    for_each_since([&](LiveAccess other) {
      if (other.id > barrier.id && other.id != id) link(other);
    });
  if (barrier.task != nullptr && !link(barrier)) barrier.task = nullptr;
  if (synchronizes) barrier = {&task, id};
}

}  // namespace trellis::Impl

#endif
