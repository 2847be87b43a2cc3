// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Observer.hpp>
#include <task/Trellis_Region.hpp>
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

void Events::tell(Task const& task, TaskState state, int row) {
  if (m_recorder) {
    if (state == TaskState::ready || state == TaskState::running)
      m_recorder->changed(task, state, row);
    else if (state != TaskState::pending)
      m_recorder->finished(task, state, row);
  }
  if (m_options.observer == nullptr) return;
  auto const since_start = std::chrono::steady_clock::now() - m_start;
  TaskEvent const event{
      task.public_id(),
      owner_of(task) != nullptr ? owner_of(task)->public_id() : 0,
      task.label.view(),
      state,
      row,
      static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count())};
  try {
    m_options.observer(event);
  } catch (...) {
    std::cerr << "Trellis: the observer of " << m_options.name
              << " threw an exception, which is ignored" << std::endl;
  }
}

}  // namespace trellis::Impl
