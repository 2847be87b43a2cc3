// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What it costs to look at tasks: both graphs and time stamps, an observer, a log, and what is made
// of them.
#include "Gate.hpp"
#include "Measure.hpp"
#include "Ring.hpp"

#include <Trellis_Observation.hpp>
#include <Trellis_Recorded.hpp>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <string>

namespace micro {
namespace {

using namespace trellis;

/// Takes everything and keeps nothing.
class NoBuffer : public std::streambuf {
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
  std::streamsize xsputn(char const*, std::streamsize count) override { return count; }
};

/// A graph that keeps what happened grows, so each iteration has a new one, for all rows alike.
/// What a graph takes once is taken before the clock starts.
template <class Set>
void traced(benchmark::State& state, Set const& set) {
  Ring const ring(state.range(0));
  TaskGraphOptions options = with_workers(state.range(1));
  set(options);
  double tasks = 0;
  try {
    for (auto _ : state) {
      options.policy = nullptr;  // each graph needs one of its own
      TaskGraph graph(options);
      ring.submit(graph, 2);
      graph.wait();
      std::uint64_t const before = graph.submitted();
      auto const begin = Clock::now();
      ring.submit(graph);
      graph.wait();
      state.SetIterationTime(seconds_since(begin));
      tasks += static_cast<double>(graph.submitted() - before);
    }
  } catch (Error const& error) {
    state.SkipWithError(error.what());
    return;
  }
  using benchmark::Counter;
  state.counters["time_per_task"] = Counter(tasks, Counter::kIsRate | Counter::kInvert);
  state.counters["tasks_per_second"] = Counter(tasks, Counter::kIsRate);
}

template <class Rows>
void rings(Rows* rows) {
  rows->ArgNames({"tiles", "workers"})->ArgsProduct({{10, 1000}, {1, 2}})->UseManualTime();
  rows->Unit(benchmark::kMillisecond);
}

void trace_off(benchmark::State& state) {
  traced(state, [](TaskGraphOptions&) {});
}
BENCHMARK(trace_off)->Apply(rings);

// The same again: how far two rows with the same work lie apart is what `not measurable` means.
void trace_off_again(benchmark::State& state) {
  traced(state, [](TaskGraphOptions& options) { options.record = false; });
}
BENCHMARK(trace_off_again)->Apply(rings);

void trace_record(benchmark::State& state) {
  traced(state, [](TaskGraphOptions& options) { options.record = true; });
}
BENCHMARK(trace_record)->Apply(rings);

#if __has_include(<Trellis_Observer.hpp>)
void trace_observer(benchmark::State& state) {
  traced(state, [](TaskGraphOptions& options) {
    options.observer = [](TaskEvent const& event) {
      TaskId id = event.id;
      benchmark::DoNotOptimize(id);
    };
  });
}
BENCHMARK(trace_observer)->Apply(rings);

void trace_log(benchmark::State& state) {
  try {
    static_cast<void>(make_state_log("/dev/null"));
  } catch (Error const&) {
    for (auto _ : state) state.SetIterationTime(1);
    state.SetLabel("this build writes no log");
    return;
  }
  traced(state, [](TaskGraphOptions& options) { options.log = "/dev/null"; });
}
BENCHMARK(trace_log)->Apply(rings);
#endif

/// Times `take(graph)` on a graph that has recorded an iteration's tasks.
template <class Take>
void recorded(benchmark::State& state, Take const& take) {
  Ring const ring(state.range(0));
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  ring.submit(graph);
  graph.wait();
  for (auto _ : state) take(graph);
  using benchmark::Counter;
  state.counters["time_per_task"] = Counter(static_cast<double>(graph.submitted()),
                                            Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void trace_take(benchmark::State& state) {
  recorded(state, [](TaskGraph const& graph) {
    Trace const trace = graph.trace();
    if (trace.graph.nodes().empty()) throw std::logic_error("nothing was recorded");
  });
}
BENCHMARK(trace_take)
    ->ArgName("tiles")
    ->Arg(10)
    ->Arg(1000)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void trace_write_json(benchmark::State& state) {
  recorded(state, [](TaskGraph const& graph) {
    NoBuffer buffer;
    std::ostream out(&buffer);
    graph.trace().write_chrome_json(out);
  });
}
BENCHMARK(trace_write_json)
    ->ArgName("tiles")
    ->Arg(10)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro
