// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKTEXT_HPP
#define TRELLIS_IMPL_TASKTEXT_HPP

#include <Trellis_Area.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_Task.hpp>
#include <locks/Trellis_Unlocked.hpp>

#include <string>

/// Texts that name tasks in messages.
namespace trellis::Impl {

/// `task "name" (#id, file:line) [pattern; write "x", read "y" [2, 5) x [0, 8)]`, the areas as
/// `name_of` says them. Where there are thousands of accesses it has only some of them, and first
/// those that share a byte with `about`, if that is given. Requires the lock of its scope, see
/// ScopeHold.
[[nodiscard]] std::string describe(Task const& task, Area const* about = nullptr);
/// Works like `describe`, under the lock of the graph, but returns a short text where there is no
/// memory, as a failure is reported all the same.
[[nodiscard]] std::string describe_or_short(Task const& task, SubmissionLock& graph);
/// Returns a request's text in the form that `describe` uses for the task's accesses: in indices of
/// the same View if both are of one allocation. Requires the same lock. `info`: that of the
/// request's subject.
[[nodiscard]] std::string name_of(AccessRequest const& request, ResourceInfo const& info,
                                  Task const& task);

/// Returns the description of a task that cannot become complete meanwhile.
[[nodiscard]] std::string text_of(Task const& task, SubmissionLock& graph);
/// Calls `f` with the task, which does not change meanwhile. False: it is complete. The caller must
/// hold no lock of the graph.
bool look_at(LiveAccess const& asked, SubmissionLock& graph, FunctionRef<void(Task const&)> f);
/// Returns the description of a task; if it is complete, only its number.
[[nodiscard]] std::string text_of(LiveAccess const& asked, SubmissionLock& graph);
/// Returns what `text` returns for a task that is not complete. `text` is called under the task's
/// lock and that of its scope.
[[nodiscard]] std::string text_of(LiveAccess const& asked, SubmissionLock& graph,
                                  FunctionRef<std::string(Task const&)> text);

}  // namespace trellis::Impl

#endif
