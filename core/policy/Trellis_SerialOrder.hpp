// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SERIALORDER_HPP
#define TRELLIS_IMPL_SERIALORDER_HPP

#include <Trellis_SchedulingPolicy.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace trellis::Impl {

/// The policy of `TRELLIS_SERIAL=1` always takes the task that was submitted first. The children of
/// a task take its place in that order: the task is not over before they are, and tasks that it
/// excludes must not come in between.
class SerialOrder final : public SchedulingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "serial"; }
  void start(int) override {}
  void push(ReadyTask task, int) override {
    std::lock_guard const lock(m_mutex);
    m_tasks.emplace(place_of(task), task);
  }
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    for (ReadyTask const task : ready) push(task, slot);
    return {};
  }
  /// Equal ranks keep tasks that exclude each other in the order in which they are to run.
  std::int64_t exclusive_rank(ReadyTask) override { return 0; }
  ReadyTask pop(int) override {
    return pop_first([](ReadyTask) { return true; });
  }
  /// Takes the first task that `wanted` accepts.
  ReadyTask pop_first(FunctionRef<bool(ReadyTask)> wanted) {
    std::lock_guard const lock(m_mutex);
    for (auto next = m_tasks.begin(); next != m_tasks.end(); ++next)
      if (wanted(next->second)) {
        ReadyTask const task = next->second;
        m_tasks.erase(next);
        return task;
      }
    return {};
  }
  [[nodiscard]] bool empty() const override {
    std::lock_guard const lock(m_mutex);
    return m_tasks.empty();
  }

 private:
  /// The ids of the task and of the tasks that it is a child of, the outermost first.
  using Place = Vector<std::uint64_t>;
  static Place place_of(ReadyTask task) {
    Place place;
    for (Task const* each = task.impl(); each != nullptr; each = parent_of(*each))
      place.push_back(each->public_id());
    std::reverse(place.begin(), place.end());
    return place;
  }

  mutable std::mutex m_mutex;
  Map<Place, ReadyTask> m_tasks;
};

}  // namespace trellis::Impl

#endif
