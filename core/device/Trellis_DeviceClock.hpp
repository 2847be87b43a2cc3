// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEVICECLOCK_HPP
#define TRELLIS_IMPL_DEVICECLOCK_HPP

#include <Trellis_DeviceAdapter.hpp>
#include <task/Trellis_Reserve.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace trellis::Impl {

/// When something ran on a device, by the host's clock, for a graph that records, or whose policy
/// wants times. Used under the mutex of AsyncStreams.
class DeviceClock {
 public:
  /// `runs`: somebody wants times; `start`: when they begin.
  DeviceClock(bool runs, std::chrono::steady_clock::time_point start)
      : m_runs(runs), m_start(start) {}
  DeviceClock(DeviceClock const&) = delete;
  DeviceClock& operator=(DeviceClock const&) = delete;
  ~DeviceClock() { stop(); }

  [[nodiscard]] bool runs() const { return m_runs; }
  /// Gives its events back; nothing is asked afterwards.
  void stop() noexcept;

  // Requires that it runs, and all but the first two that it has been set for the device.
  [[nodiscard]] std::uint64_t now_ns() const {
    using namespace std::chrono;
    return static_cast<std::uint64_t>(
        duration_cast<nanoseconds>(steady_clock::now() - m_start).count());
  }
  /// To be called before anything on a space is timed, with an instance of it. Does nothing when it
  /// has been set before.
  void set(DeviceAdapter& device, void* instance);
  struct Span {
    std::int64_t started;
    std::int64_t finished;
  };
  /// From one event to another; both are timed, and have passed. `launched`: when what is between
  /// them was, by the host's clock; `earliest`: the end of what was before it on its stream.
  /// Nothing when the device cannot tell, because it has failed meanwhile: that concerns what comes
  /// later, and shows when that is asked for.
  [[nodiscard]] std::optional<Span> span(DeviceAdapter const& device, void* start, void* end,
                                         std::uint64_t launched, std::int64_t earliest) noexcept;
  /// Devices tell long spans less exactly (CUDA in a float of milliseconds: to 60 ns after a
  /// second, to 8 us after two minutes), so the event that times are taken from must not be an old
  /// one. True: the event, which is timed and has passed, is that one now.
  [[nodiscard]] bool take(DeviceAdapter& device, void* event) noexcept;

 private:
  /// When an event passed, by the host's clock: all times of the device are taken from there. It is
  /// replaced by a younger one from time to time.
  struct Origin {
    DeviceAdapter* device;
    void* event;
    std::int64_t at_ns;  ///< before the graph's first moment, if the device's clock is slow
  };
  [[nodiscard]] Origin& origin_of(DeviceAdapter const& device);
  [[nodiscard]] Span measure(DeviceAdapter const& device, void* start, void* end,
                             std::uint64_t launched, std::int64_t earliest);
  [[nodiscard]] static std::int64_t time_of(Origin const& origin, void* event);

  bool const m_runs;
  std::chrono::steady_clock::time_point const m_start;
  Vector<Origin> m_origins;  ///< one for each space
};

}  // namespace trellis::Impl

#endif
