// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MODELTASKS_HPP
#define TRELLIS_IMPL_MODELTASKS_HPP

#include <Trellis_Label.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// Handles of tasks that are kept for iterations: those of a model. Such a task runs once in each
/// iteration, so it cannot be waited for. Its handle identifies the task for `after` in the same
/// model. Any other use is an error, which names the task.
namespace trellis::Impl {

/// Returns a handle of the task at this place of the model. `text` is the task's name in errors.
[[nodiscard]] TaskHandle add_model_task(std::uint64_t model, std::size_t place, std::string text);
/// Ends the model; errors no longer know the labels of its tasks.
void forget_model_tasks(std::uint64_t model);

[[nodiscard]] bool is_model_task(TaskHandle const& handle);
[[nodiscard]] bool is_task_of_model(TaskHandle const& handle, std::uint64_t model);
[[nodiscard]] std::size_t place_in_model(TaskHandle const& handle);
[[nodiscard]] std::string model_task_text(TaskHandle const& handle);

/// Throws `Error` when the handle is one of a model's task.
void refuse_model_task(TaskHandle const& handle);

/// Throw for what a task of a model cannot be, before the model has it.
[[noreturn]] void refuse_fork_join_in_model(Label const& fork_join);
[[noreturn]] void refuse_value_in_model(Label const& task);

}  // namespace trellis::Impl

#endif
