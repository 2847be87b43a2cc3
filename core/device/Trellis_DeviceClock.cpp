// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <device/Trellis_DeviceClock.hpp>

#include <algorithm>
#include <limits>

namespace trellis::Impl {

void DeviceClock::stop() noexcept {
  for (Origin const& origin : m_origins) origin.device->release_event(origin.event);
  m_origins.clear();
}

void DeviceClock::set(DeviceAdapter& device, void* instance) {
  for (Origin const& origin : m_origins)
    if (origin.device == &device) return;
  // The thread may be interrupted between the event and the reading of the host's clock, so take
  // the best of a few.
  Origin best{&device, nullptr, 0};
  std::uint64_t best_doubt = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::uint64_t const before = now_ns();
    void* event = nullptr;
    try {
      event = device.record_event(instance, true);
      while (!device.has_passed(event)) device.host_is_idle();
    } catch (...) {  // the device has failed
      for (void* const each : {best.event, event})
        if (each != nullptr) device.release_event(each);
      throw;
    }
    std::uint64_t const after = now_ns();
    bool const better = best.event == nullptr || after - before < best_doubt;
    if (void* const worse = better ? best.event : event) device.release_event(worse);
    if (!better) continue;
    best = {&device, event, static_cast<std::int64_t>(before + (after - before) / 2)};
    best_doubt = after - before;
  }
  m_origins.push_back(best);
}

DeviceClock::Origin& DeviceClock::origin_of(DeviceAdapter const& device) {
  return *std::find_if(m_origins.begin(), m_origins.end(),
                       [&](Origin const& each) { return each.device == &device; });
}

/// Time by the host's clock. Requires a timed event that has passed.
std::int64_t DeviceClock::time_of(Origin const& origin, void* event) {
  return origin.at_ns + origin.device->nanoseconds_between(origin.event, event);
}

/// The two clocks may differ by about a millionth. No task starts before it was launched, or ends
/// later than it was seen to have ended. This shows when the clocks are too far apart, and by how
/// much at least.
std::optional<DeviceClock::Span> DeviceClock::span(DeviceAdapter const& device, void* start,
                                                   void* end, std::uint64_t launched_ns,
                                                   std::int64_t earliest) noexcept try {
  Origin& origin = origin_of(device);
  std::int64_t latest = std::numeric_limits<std::int64_t>::max();
  if (device.has_own_clock()) {
    earliest = 0;
  } else {
    auto const launched = static_cast<std::int64_t>(launched_ns);
    earliest = std::max(earliest, launched);
    latest = static_cast<std::int64_t>(now_ns());
    if (std::int64_t const finish = time_of(origin, end); finish > latest)
      origin.at_ns -= finish - latest;
    else if (std::int64_t const begin = time_of(origin, start); begin < launched)
      origin.at_ns += std::min(launched - begin, latest - finish);
  }
  std::int64_t const started = std::clamp(time_of(origin, start), earliest, latest);
  return Span{started, std::clamp(time_of(origin, end), started, latest)};
} catch (...) {
  return std::nullopt;
}

bool DeviceClock::take(DeviceAdapter& device, void* event) noexcept try {
  constexpr std::int64_t longest_ns = 1'000'000'000;
  Origin& origin = origin_of(device);
  std::int64_t const at = time_of(origin, event);
  if (at < origin.at_ns + longest_ns) return false;
  device.release_event(origin.event);
  origin = {&device, event, at};
  return true;
} catch (...) {
  return false;
}

}  // namespace trellis::Impl
