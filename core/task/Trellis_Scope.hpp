// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SCOPE_HPP
#define TRELLIS_IMPL_SCOPE_HPP

#include <Trellis_Area.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_Tag.hpp>
#include <access/Trellis_AccessTable.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace trellis::Impl {

/// Tasks that are ordered among themselves: those of a graph, or the parts that one task was split
/// into. Tasks of two scopes have no edges by access: what the parts of a task touch lies within
/// what the task declared, so the edges of the task itself keep its parts apart from everybody
/// else.
///
/// INVARIANT (parts). `open` counts the body of the owner and its unfinished parts. It starts at 1,
/// for the body; a part adds 1 under the submission lock while the body runs (or a part of it
/// does), so before the count can reach 0. All decrements are acquire-release: the thread that
/// brings it to 0 happens after the body and all parts, and completes the owner. Only then the
/// scope is destroyed, under the submission lock. All else is guarded by the submission lock.
struct Scope {
  Scope(TaskSlab& tasks, FailureLog const& failures, bool keep_all)
      : table(tasks, failures, keep_all) {}

  AccessTable table;
  LiveAccess barrier{nullptr, 0};  ///< the newest synchronizing task
  std::vector<TaskId> recorded;    ///< tasks since then; only when the graph records

  /// Of one rule: the tasks with one value of the tag.
  struct TagClass {
    TagPtr value;
    std::vector<LiveAccess> tasks;
  };
  std::vector<std::vector<TagClass>> classes;  ///< by rule

  // Of a task's parts only.
  std::vector<LiveAccess> parts;  ///< may hold some that are done
  std::vector<Area> local;        ///< what the owner made itself, and its parts may use freely
  std::atomic<std::uint32_t> open{1};
  bool is_planned = false;  ///< the parts' order is that of a pass before, see Pass
  bool waits_for_owner =
      false;  ///< the parts may not start before their owner does, which is pending
  TaskState owner_state = TaskState::done;  ///< how the owner's body ended
  int owner_row = -1;
};

}  // namespace trellis::Impl

#endif
