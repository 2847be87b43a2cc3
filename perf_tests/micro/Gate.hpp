// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MICRO_GATE_HPP
#define TRELLIS_MICRO_GATE_HPP

#include "Measure.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>

namespace micro {

/// A running task with these accesses that ends when it is told to. It holds back what is submitted
/// behind it, and one worker.
class Gate {
 public:
  template <class... Accesses>
  explicit Gate(trellis::TaskGraph& graph, Accesses const&... accesses)
      : m_task(trellis::host_task("gate", trellis::ResourcePolicy(graph, accesses...), [this] {
          m_closed = true;
          m_closed.notify_one();
          m_open.wait(false);
        })) {
    m_closed.wait(false);  // from here on a worker sleeps
  }
  [[nodiscard]] trellis::Future<void> const& task() const { return m_task; }
  void open() {
    m_open = true;
    m_open.notify_one();
  }

 private:
  std::atomic<bool> m_closed{false};
  std::atomic<bool> m_open{false};
  trellis::Future<void> m_task;  // last, because the task uses the others
};

/// False, and the benchmark is skipped, where each task runs in the call that submits it.
inline bool can_hold_back(benchmark::State& state) {
  if (!*trellis::TaskGraph().options().serial) return true;
  state.SkipWithError("with TRELLIS_SERIAL=1 nothing can be held back");
  return false;
}

/// So many that no submitting thread ever waits for room.
inline trellis::TaskGraphOptions without_cap(std::int64_t workers) {
  trellis::TaskGraphOptions options = with_workers(workers);
  options.in_flight = 4 * task_count;
  return options;
}

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Times the run alone of what `submit(graph, gate)` submits, which must see to it that all of it
/// is behind the gate.
template <class Submit, class... Accesses>
void measure_execution(benchmark::State& state, std::int64_t workers, Submit const& submit,
                       Accesses const&... accesses) {
  if (!can_hold_back(state)) return;
  trellis::TaskGraph graph(without_cap(workers));
  auto const once = [&] {
    Gate gate(graph, accesses...);
    submit(graph, gate.task());
    auto const begin = Clock::now();
    gate.open();
    graph.wait();
    return seconds_since(begin);
  };
  once();  // takes the memory
  Tally const tally(graph);
  for (auto _ : state) state.SetIterationTime(once());
  tally.report(state, static_cast<std::int64_t>(state.iterations()));
}

}  // namespace micro

#endif
