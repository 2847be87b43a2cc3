// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_STEPTIME_HPP
#define TRELLIS_IMPL_STEPTIME_HPP

#include <Trellis_DeviceAdapter.hpp>
#include <fields/impl/Trellis_Model.hpp>

#include <cstdint>
#include <optional>

namespace trellis::Impl {

/// Measures how long one task of an iteration ran. A host task is timed by the host's clock, which
/// is that of the model's devices if these have their own. A device task is timed by events on its
/// stream before and after its launches.
///
/// An idle stream passes the first event before the kernel has been launched, so the launch would
/// be counted. So the host checks afterwards whether the event has passed. If it has, the kernel
/// began at the end of the launch. The device's time of that follows from an event whose time is
/// known by both clocks. This is the first event if it passed at once, else an earlier such event
/// (DeviceOrigins). Without any the task has no time.
class StepTime {
 public:
  bool found_new_memory = false;

  StepTime() = default;
  StepTime(StepTime const&) = delete;
  StepTime& operator=(StepTime const&) = delete;
  ~StepTime() { release(); }

  /// `clock` is that of the model's first device; null means the host's own.
  void start(DeviceAdapter* device, DeviceAdapter const* clock, void* instance) {
    m_device = device;
    m_clock = clock;
    if (m_device != nullptr) {
      m_first = m_device->record_event(instance, true);
      m_was_idle = m_device->has_passed(m_first);
    }
    m_begin = now();
  }
  void stop(void* instance) {
    m_end = now();
    if (m_device != nullptr) {
      m_last = m_device->record_event(instance, true);
      m_waits_for_launch = m_was_idle || m_device->has_passed(m_first);
    }
    m_is_known = true;
  }
  /// Reports to the iteration's policy, when the task is over.
  void tell(ModelIteration const& iteration, ModelStep const& step) noexcept;

 private:
  [[nodiscard]] std::int64_t now() const;
  /// Returns the time; nothing if it is unknown. Throws when the device has failed.
  [[nodiscard]] std::optional<std::int64_t> nanoseconds(DeviceOrigins& origins);
  void release() noexcept;

  DeviceAdapter* m_device = nullptr;
  DeviceAdapter const* m_clock = nullptr;
  void* m_first = nullptr;
  void* m_last = nullptr;
  std::int64_t m_begin = 0;
  std::int64_t m_end = 0;
  bool m_was_idle = false;          ///< the stream was idle at the first event
  bool m_waits_for_launch = false;  ///< the stream waited for the launch of the kernel
  bool m_is_known = false;
};

}  // namespace trellis::Impl

#endif
