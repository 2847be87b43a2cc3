// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKTEXT_HPP
#define TRELLIS_IMPL_TASKTEXT_HPP

#include <Trellis_Area.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <kernel/Trellis_Task.hpp>
#include <threads/Trellis_Unlocked.hpp>

#include <string>

/// What messages call a task.
namespace trellis::Impl {

/// `task "name" (#id, file:line) [pattern; write "x", read "y" [2, 5) x [0, 8)]`, the areas as
/// `name_of` says them. Where there are thousands of accesses it has only some of them, and first
/// those that share a byte with `about`, if that is given. Requires the lock of its region, see
/// RegionHold.
[[nodiscard]] std::string describe(Task const& task, Area const* about = nullptr);
/// As `describe`, but a short text where there is no memory: a failure is reported all the same.
[[nodiscard]] std::string describe_or_short(Task const& task) noexcept;
/// What is asked for, as `describe` says what the task has: in indices of the same View where both
/// are of one allocation. Under the same lock. `info`: what the request's subject says.
[[nodiscard]] std::string name_of(AccessRequest const& request, ResourceInfo const& info,
                                  Task const& task);

/// The description of a task that cannot be complete meanwhile.
[[nodiscard]] std::string text_of(Task const& task, SubmissionLock& graph);
/// Calls `f` with the task, which stays as it is meanwhile; false: it is complete. No lock of the
/// graph's may be held.
bool look_at(LiveAccess const& asked, SubmissionLock& graph, FunctionRef<void(Task const&)> f);
/// The description of a task that may be complete; then it is the task's number.
[[nodiscard]] std::string text_of(LiveAccess const& asked, SubmissionLock& graph);
/// For a task that is not complete it is what `text` says, which is called under the task's lock
/// and that of its region.
[[nodiscard]] std::string text_of(LiveAccess const& asked, SubmissionLock& graph,
                                  FunctionRef<std::string(Task const&)> text);

}  // namespace trellis::Impl

#endif
