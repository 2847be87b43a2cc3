// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LINK_HPP
#define TRELLIS_IMPL_LINK_HPP

#include <task/Trellis_Task.hpp>

#include <atomic>
#include <mutex>

namespace trellis::Impl {

/// Adds an edge to a task that has been submitted before. Requires that it is pending and held back
/// by 1 in its count, and that nothing demotes the first task meanwhile. False when the first task
/// is complete. `before_it_is_there(carries)` is called under the lock of the first task.
/// `carries`: a failure is handed on anyway, by an edge that was there, or on a device.
template <class F>
bool link(Task& first, TaskId id, Task& second, F&& before_it_is_there) {
  std::lock_guard const lock(first.lock);
  if (first.live_id.load(std::memory_order_relaxed) != id) return false;
  bool linked = false;
  first.for_each_successor([&](Task* successor) { linked = linked || successor == &second; });
  bool const on_device = trigger_between(first, second) == Trigger::launch;
  before_it_is_there(linked || on_device);
  if (linked) return true;
  if (on_device) {
    second.on_device->predecessors.push_back({&first, id});
    if (first.launched) return true;
  }
  second.unfinished.fetch_add(1, std::memory_order_relaxed);
  first.add_successor(&second);
  return true;
}

}  // namespace trellis::Impl

#endif
