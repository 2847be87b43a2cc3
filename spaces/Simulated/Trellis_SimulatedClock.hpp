// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SIMULATEDCLOCK_HPP
#define TRELLIS_SIMULATEDCLOCK_HPP

#include <cstdint>
#include <memory>

namespace trellis {

namespace Impl {
class SimulatedMachine;
}  // namespace Impl

/// The host's clock as simulated devices see it. Devices with one clock can wait for each other's
/// events.
///
/// In real time it is an ordinary clock, and each stream has a thread that does the work and spends
/// the time that it costs.
///
/// In virtual time no thread sleeps, and streams have no threads. Work is done inside the call that
/// launches it, and the clock computes when a real device would have started and ended it. The
/// host's time advances when something is launched (by the cost of the launch), in `spend`, and
/// when the host waits (up to the time at which the awaited work is done). One thread that makes
/// the same calls gets the same times.
class SimulatedClock {
 public:
  enum class Time : unsigned char { real, virtual_time };

  explicit SimulatedClock(Time time);
  SimulatedClock(SimulatedClock const&) = delete;
  SimulatedClock& operator=(SimulatedClock const&) = delete;
  ~SimulatedClock();

  /// Returns the clock in real time that all devices without a clock of their own share.
  static std::shared_ptr<SimulatedClock> shared_real();

  [[nodiscard]] bool is_virtual() const;
  /// Returns the nanoseconds since the clock was made.
  [[nodiscard]] std::int64_t now() const;
  /// Lets the host work for this long.
  void spend(std::int64_t nanoseconds);
  /// Waits until no device with this clock has anything left to do.
  void finish();
  /// Returns when the last work completed so far ended; 0 if there is none.
  [[nodiscard]] std::int64_t makespan() const;

  [[nodiscard]] Impl::SimulatedMachine& impl() const { return *m_machine; }

 private:
  std::unique_ptr<Impl::SimulatedMachine> m_machine;
};

}  // namespace trellis

#endif
