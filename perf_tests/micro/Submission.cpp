// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Submission alone: a gate holds all tasks back until the clock has stopped.
#include "Measure.hpp"
#include "Readers.hpp"
#include "Ring.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

/// Submits a task with these accesses that runs until it is told to end.
class Gate {
 public:
  template <class... Accesses>
  explicit Gate(TaskGraph& graph, Accesses const&... accesses)
      : m_task(host_task("gate", ResourcePolicy(graph, accesses...), [this] {
          m_closed = true;
          m_closed.notify_one();
          m_open.wait(false);
        })) {
    m_closed.wait(false);  // from here on the only worker sleeps
  }
  [[nodiscard]] Future<void> const& task() const { return m_task; }
  void open() {
    m_open = true;
    m_open.notify_one();
  }

 private:
  std::atomic<bool> m_closed{false};
  std::atomic<bool> m_open{false};
  Future<void> m_task;  // last, because the task uses the others
};

/// Times `submit(graph, gate)`, which must see to it that all of its tasks are held back: with
/// `after(gate)`, or by `accesses`, which are the gate's.
template <class Submit, class... Accesses>
void measure_submission(benchmark::State& state, Submit const& submit, Accesses const&... accesses) {
  char const* const serial = std::getenv("TRELLIS_SERIAL");
  if (serial != nullptr && std::string_view(serial) == "1") {
    state.SkipWithError("with TRELLIS_SERIAL=1 nothing can be held back");
    return;
  }
  TaskGraphOptions options = with_workers(1);
  options.in_flight = 4 * task_count;  // beyond that the submitting thread would wait for tasks
  TaskGraph graph(options);
  auto const once = [&] {
    Gate gate(graph, accesses...);
    auto const begin = std::chrono::steady_clock::now();
    submit(graph, gate.task());
    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - begin;
    gate.open();
    graph.wait();  // before the gate is gone
    return seconds.count();
  };
  once();  // takes the memory
  Tally const tally(graph);
  for (auto _ : state) state.SetIterationTime(once());
  tally.report(state, static_cast<std::int64_t>(state.iterations()));
}

void submission_independent(benchmark::State& state) {
  std::vector<View> views;
  for (int k = 0; k < task_count; ++k) views.emplace_back("x", 1);
  measure_submission(state, [&](TaskGraph& graph, Future<void> const& gate) {
    for (View const& x : views)
      parallel_for("alone", ResourcePolicy(graph, 1, on<Space>, after(gate), write(x)), Nothing());
  });
}
BENCHMARK(submission_independent)->UseManualTime()->Unit(benchmark::kMillisecond);

void submission_stencil(benchmark::State& state) {
  Ring const ring(state.range(0));
  measure_submission(
      state, [&](TaskGraph& graph, Future<void> const&) { ring.submit(graph); }, write(ring.field(0)),
      write(ring.field(1)));
}
BENCHMARK(submission_stencil)
    ->ArgName("tiles")
    ->Arg(10)
    ->Arg(1000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

template <std::size_t count>
void submission_readers(benchmark::State& state) {
  Readers const readers;
  measure_submission(
      state, [&](TaskGraph& graph, Future<void> const& gate) { readers.submit<count>(graph, after(gate)); });
}

template <std::size_t... count>
bool register_readers(std::index_sequence<count...>) {
  (benchmark::RegisterBenchmark(Readers::name("submission_readers", count).c_str(),
                                &submission_readers<count>)
       ->UseManualTime()
       ->Unit(benchmark::kMillisecond),
   ...);
  return true;
}
bool const readers_are_registered = register_readers(Readers::counts());

}  // namespace
}  // namespace micro
