// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Observer.hpp>
#include <scope/Trellis_Scope.hpp>
#include <trace/Trellis_Events.hpp>

#include <iostream>

namespace trellis::Impl {

Recorder const& Events::require_recorder() const {
  if (!m_recorder)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + m_options.name +
                    " does not record its graphs; set TaskGraphOptions::record or the "
                    "environment variable TRELLIS_RECORD=1");
  return *m_recorder;
}

std::uint64_t Events::since_start() const {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now() - start()).count());
}

/// The thread that runs a body notes when it began. The thread that completes the task happens
/// after that, as after all that the body has done.
void Events::take_time(Task const& task, TaskState state) {
  if (task.runs_on_device()) return;  // see ran_on_device
  if (state == TaskState::running)
    task.extras->began_ns = since_start();
  else if (state == TaskState::done)
    m_timed->ran(ReadyTask(const_cast<Task*>(&task)),
                 std::chrono::nanoseconds(since_start() - task.extras->began_ns));
}

void Events::ran_on_device(Task& task, std::uint64_t started_ns, std::uint64_t finished_ns) {
  if (m_recorder != nullptr) m_recorder->ran_on_device(task.public_id(), started_ns, finished_ns);
  if (m_timed != nullptr && task.runs_on_device())  // else see take_time
    m_timed->ran(ReadyTask(&task), std::chrono::nanoseconds(finished_ns - started_ns));
}

void Events::tell_batch(std::span<Task* const> tasks) {
  m_recorder->batch(tasks);
}

void Events::tell(Task const& task, TaskState state, int row) {
  if (m_timed != nullptr) take_time(task, state);
  m_statistics.changed(task.public_id(), state, [&] {
    if (task.is_recorded()) return false;  // its parent is the plan's, not a task
    Task const* const parent = parent_of(task);
    return parent != nullptr && parent->ops->fork_join_depth != nullptr;
  });
  if (m_recorder) {
    if (state == TaskState::ready || state == TaskState::running)
      m_recorder->changed(task, state, row);
    else if (state != TaskState::pending)
      m_recorder->finished(task, state, row);
  }
  if (m_options.observer == nullptr) return;
  auto const since = std::chrono::steady_clock::now() - m_start;
  TaskEvent const event{task.public_id(),
                        parent_of(task) != nullptr ? parent_of(task)->public_id() : 0,
                        task.label.view(),
                        state,
                        row,
                        static_cast<std::uint64_t>(
                            std::chrono::duration_cast<std::chrono::nanoseconds>(since).count())};
  try {
    m_options.observer(event);
  } catch (...) {
    std::cerr << "Trellis: the observer of " << m_options.name
              << " threw an exception, which is ignored" << std::endl;
  }
}

}  // namespace trellis::Impl
