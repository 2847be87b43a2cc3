// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_GATE_HPP
#define TRELLIS_EXAMPLE_PARTICLES_GATE_HPP

#include <mpi.h>

#include <Trellis_Observation.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

/// This header lets a short run show what can happen at the same time, in each run. Tasks wait in
/// their bodies, with a limit, until an event has happened that they claim to be independent of. If
/// they were not independent, it would never happen.
///
/// In even steps the push of the western border does not end before the message of its currents has
/// been started, as it has given these up. In odd steps the push of the first tile of the core
/// begins before that message is started. It does not end before the neighbour's message has come.
///
/// No two tasks that need the same thread wait at the same time, so two workers are enough.
namespace particles {

class Gate {
 public:
  /// Returns the observer of the run's graph.
  trellis::TaskObserver observer() {
    return [this](trellis::TaskEvent const& event) {
      constexpr std::string_view message = "send J west ";
      if (event.state == trellis::TaskState::running && event.label.starts_with(message))
        m_messages.fetch_add(1, std::memory_order_release);
    };
  }

  // Each of these is called once per step, in order, so counts are steps.
  void core_has_begun(int step) { m_core.store(step + 1, std::memory_order_release); }
  void current_has_come() { m_currents.fetch_add(1, std::memory_order_release); }

  void border_waits_for_core(int step) const {
    if (!is_even(step))
      wait(m_core, step, "the push of the core did not begin while that of the border ran");
  }
  void border_waits_for_message(int step) const {
    if (is_even(step))
      wait(m_messages, step,
           "the message of the currents was not started before the push that had given them up "
           "was over: no early release");
  }
  void core_waits_for_message(int step) const {
    if (!is_even(step))
      wait(m_currents, step, "no message came while the core was pushed: no overlap");
  }

  static bool is_even(int step) { return step % 2 == 0; }

 private:
  static void wait(std::atomic<int> const& count, int step, char const* otherwise) {
    using Clock = std::chrono::steady_clock;
    auto const limit = Clock::now() + std::chrono::seconds(60);
    while (count.load(std::memory_order_acquire) <= step) {
      // This throws no exception: neighbours would wait for the messages that it cancels.
      if (Clock::now() > limit) {
        std::fprintf(stderr, "particles: step %d: %s\n", step, otherwise);
        std::fflush(stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      std::this_thread::yield();
    }
  }
  std::atomic<int> m_core{0}, m_messages{0}, m_currents{0};
};

}  // namespace particles

#endif
