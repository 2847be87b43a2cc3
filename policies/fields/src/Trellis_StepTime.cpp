// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/impl/Trellis_StepTime.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace trellis::Impl {

std::int64_t StepTime::now() const {
  if (m_clock != nullptr) return m_clock->host_time();
  auto const since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

std::optional<std::int64_t> StepTime::nanoseconds(DeviceOrigins& origins) {
  if (m_device == nullptr) return m_end - m_begin;
  std::int64_t const between = m_device->nanoseconds_between(m_first, m_last);
  if (m_was_idle) origins.set(*m_device, std::exchange(m_first, nullptr), m_begin);
  if (!m_waits_for_launch) return between;
  auto const end = origins.time_of(*m_device, m_last);
  if (!end.has_value()) return std::nullopt;
  return std::clamp<std::int64_t>(*end - m_end, 0, between);
}

void StepTime::tell(ModelIteration const& iteration, ModelStep const& step) noexcept {
  if (iteration.measures == nullptr) return;
  PlacementTime time{step.task->number, static_cast<int>(step.place), 0, found_new_memory, true};
  try {
    if (auto const known = m_is_known ? nanoseconds(iteration.model->origins()) : std::nullopt) {
      time.nanoseconds = *known;
      time.is_lost = false;
    }
  } catch (...) {  // the device has failed, and there is no time
  }
  try {
    if (step.task->kind == PlacedStep::Kind::task) {
      iteration.measures->ran(time);
    } else {
      ModelSlot const& from = iteration.schedule->slots[step.uses[0].slot];
      ModelSlot const& to = iteration.schedule->slots[step.uses[1].slot];
      iteration.measures->copied({static_cast<int>(from.place), static_cast<int>(to.place),
                                  step.uses[1].named->shape.bytes, time.nanoseconds,
                                  step.task->kind == PlacedStep::Kind::probe, found_new_memory,
                                  time.is_lost});
    }
  } catch (...) {  // without memory the policy measures nothing
  }
}

void StepTime::release() noexcept {
  for (void* const event : {m_first, m_last})
    if (event != nullptr) m_device->release_event(event);
}

}  // namespace trellis::Impl
