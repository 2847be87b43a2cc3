// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEVICEORIGINS_HPP
#define TRELLIS_IMPL_DEVICEORIGINS_HPP

#include <Trellis_DeviceAdapter.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace trellis::Impl {

/// Keeps, for each device, an event whose time by the host's clock is known, so that the times of
/// other events are known, too. It is the newest one that was recorded on an idle stream.
class DeviceOrigins {
 public:
  DeviceOrigins() = default;
  DeviceOrigins(DeviceOrigins const&) = delete;
  DeviceOrigins& operator=(DeviceOrigins const&) = delete;
  ~DeviceOrigins() {
    for (auto const& [device, origin] : m_origins) device->release_event(origin.event);
  }
  /// Takes the event. `time` is the host's time in nanoseconds.
  void set(DeviceAdapter& device, void* event, std::int64_t time) {
    std::lock_guard const lock(m_mutex);
    auto const [known, is_new] = m_origins.try_emplace(&device, Origin{event, time});
    if (is_new) return;
    device.release_event(std::exchange(known->second, Origin{event, time}).event);
  }
  /// Returns the time of the event by the host's clock; nothing if it is unknown. Requires a timed
  /// event that has passed.
  [[nodiscard]] std::optional<std::int64_t> time_of(DeviceAdapter& device, void* event) const {
    std::lock_guard const lock(m_mutex);
    auto const known = m_origins.find(&device);
    if (known == m_origins.end()) return std::nullopt;
    return known->second.time + device.nanoseconds_between(known->second.event, event);
  }

 private:
  struct Origin {
    void* event;
    std::int64_t time;
  };
  mutable std::mutex m_mutex;
  std::map<DeviceAdapter*, Origin> m_origins;
};

}  // namespace trellis::Impl

#endif
