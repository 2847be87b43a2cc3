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
/// In real time it is a clock as any other, and each stream has a thread that does the work and
/// lets the time that it costs go by.
///
/// In virtual time nobody sleeps and there are no threads: work is done inside the call that
/// launches it, and the time at which a real device would have started and ended it is computed.
/// The host's time then goes on only when something is launched (by what a launch costs), in
/// `spend`, and when the host waits: up to the time at which what it waits for is done. One thread
/// that does the same calls gets the same times.
class SimulatedClock {
 public:
  enum class Time : unsigned char { real, virtual_time };

  explicit SimulatedClock(Time time);
  SimulatedClock(SimulatedClock const&) = delete;
  SimulatedClock& operator=(SimulatedClock const&) = delete;
  ~SimulatedClock();

  /// The clock in real time that all devices share that are given none.
  static std::shared_ptr<SimulatedClock> shared_real();

  [[nodiscard]] bool is_virtual() const;
  /// Nanoseconds since the clock was made.
  [[nodiscard]] std::int64_t now() const;
  /// The host works for so long.
  void spend(std::int64_t nanoseconds);
  /// The host waits until all devices with this clock have nothing to do.
  void finish();
  /// When the last work that is done by now ended; 0: none.
  [[nodiscard]] std::int64_t makespan() const;

  [[nodiscard]] Impl::SimulatedMachine& impl() const { return *m_machine; }

 private:
  std::unique_ptr<Impl::SimulatedMachine> m_machine;
};

}  // namespace trellis

#endif
