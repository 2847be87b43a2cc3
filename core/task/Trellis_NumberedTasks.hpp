// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_NUMBEREDTASKS_HPP
#define TRELLIS_IMPL_NUMBEREDTASKS_HPP

#include <Trellis_Label.hpp>
#include <Trellis_TaskNumber.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace trellis::Impl {

/// Calls `found` for the tasks with these numbers, on behalf of a task of `graph` that comes after
/// them.
void for_each_task_of(std::span<TaskNumber const> numbers, TaskHandle const& graph,
                      Label const& task, FunctionRef<void(TaskHandle const&)> found);
/// Returns the tasks with these numbers, to wait for them, or to ask whether they are done. `what`
/// is a part of the message: "waits for", ...
[[nodiscard]] std::vector<TaskHandle> tasks_of(std::span<TaskNumber const> numbers,
                                               TaskHandle const& graph, std::string const& name,
                                               char const* what, std::source_location const& site);
/// Throws for a model's task that has a number, or names some.
[[noreturn]] void refuse_numbers_in_model(Label const& task);

}  // namespace trellis::Impl

#endif
