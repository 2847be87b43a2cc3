// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_DeviceAdapter.hpp>
#include <task/Trellis_Task.hpp>

#include <cstddef>
#include <mutex>
#include <utility>

namespace trellis::Impl {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // supported, though it need not be
static_assert(sizeof(void*) != 8 ||
                  (offsetof(Task, ops) == 64 && offsetof(Task, access_count) == 128),
              "what the two lines before are for no longer fits into them");
#pragma GCC diagnostic pop

Task::Task() = default;
Task::~Task() = default;

void Task::prepare_for_device(int stream) {
  if (on_device == nullptr) on_device = std::make_unique<OnDevice>();
  on_device->predecessors.clear();  // `stream` is -1 since the cell's owner before has retired
  on_device->wanted_stream = stream;
}

TaskState state_of_parent(Task const& task) {
  if (task.failure == nullptr) return TaskState::done;
  bool const was_asked = task.failure->is_asked && task.failure->origin == task.id;
  return was_asked ? TaskState::cancelled : TaskState::failed;
}

/// A later task whose results may go to the same place is not launched before the host has fetched
/// the results of the earlier one.
Trigger trigger_between(Task const& before, Task const& after) {
  DeviceAdapter const* const first = before.device();
  DeviceAdapter const* const second = after.device();
  if (first == nullptr || second == nullptr || !second->can_wait_for(*first))
    return Trigger::completion;
  bool const share_results = before.ops->shares_results && after.ops == before.ops;
  return share_results ? Trigger::completion : Trigger::launch;
}

void inherit(Task& task, FailurePtr const& failure) {
  auto const key = [](Failure const& each) { return std::pair(each.origin, each.place); };
  FailurePtr replaced;  // destroyed without the lock
  std::lock_guard const lock(task.lock);
  if (task.failure == nullptr || key(*failure) < key(*task.failure))
    replaced = std::exchange(task.failure, failure);
}

}  // namespace trellis::Impl
