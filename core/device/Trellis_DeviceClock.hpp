// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEVICECLOCK_HPP
#define TRELLIS_IMPL_DEVICECLOCK_HPP

#include <Trellis_DeviceAdapter.hpp>
#include <base/Trellis_Reserve.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace trellis::Impl {

/// When something ran on a device, by the host's clock, for a graph that records, or whose policy
/// wants times. Used under the mutex of AsyncStreams.
class DeviceClock {
 public:
  /// `runs`: times are wanted; `start`: their origin.
  DeviceClock(bool runs, std::chrono::steady_clock::time_point start)
      : m_runs(runs), m_start(start) {}
  DeviceClock(DeviceClock const&) = delete;
  DeviceClock& operator=(DeviceClock const&) = delete;
  ~DeviceClock() { stop(); }

  [[nodiscard]] bool runs() const { return m_runs; }
  /// Gives its events back; no times are asked for afterwards.
  void stop() noexcept;

  // Requires that it runs. `span` and `take` also require that `set` was called for the device.
  [[nodiscard]] std::uint64_t now_ns() const {
    using namespace std::chrono;
    return static_cast<std::uint64_t>(
        duration_cast<nanoseconds>(steady_clock::now() - m_start).count());
  }
  /// Call this before anything on a space is timed, with an instance of it. Does nothing on later
  /// calls.
  void set(DeviceAdapter& device, void* instance);
  struct Span {
    std::int64_t started;
    std::int64_t finished;
  };
  /// The times of two timed events that have passed. `launched`: when the work between them was
  /// launched, by the host's clock; `earliest`: the end of the work before it on its stream.
  /// Returns nothing when the device has failed meanwhile and cannot tell. That failure concerns
  /// later work, and shows when that is asked for.
  [[nodiscard]] std::optional<Span> span(DeviceAdapter const& device, void* start, void* end,
                                         std::uint64_t launched, std::int64_t earliest) noexcept;
  /// Devices report long spans less exactly: CUDA returns a float of milliseconds, exact to 60 ns
  /// after a second, to 8 us after two minutes. So the event that times are taken from must not be
  /// old. True if this event, which is timed and has passed, is now that event.
  [[nodiscard]] bool take(DeviceAdapter& device, void* event) noexcept;

 private:
  /// When an event passed, by the host's clock. All times of the device count from it, and a
  /// younger one replaces it from time to time.
  struct Origin {
    DeviceAdapter* device;
    void* event;
    std::int64_t at_ns;  ///< before the start of the graph's time, if the device's clock is slow
  };
  [[nodiscard]] Origin& origin_of(DeviceAdapter const& device);
  [[nodiscard]] static std::int64_t time_of(Origin const& origin, void* event);

  bool const m_runs;
  std::chrono::steady_clock::time_point const m_start;
  Vector<Origin> m_origins;  ///< one for each space
};

}  // namespace trellis::Impl

#endif
