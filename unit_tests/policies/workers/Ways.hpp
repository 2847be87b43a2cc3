// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_WORKERS_WAYS_HPP
#define TRELLIS_TEST_WORKERS_WAYS_HPP

#include <Trellis.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <functional>
#include <string>

namespace trellis::Test {

/// How a program of tasks runs.
struct Way {
  int workers;
  int threads;
  bool serial;
  enum class How { plain, children, plan } how;

  [[nodiscard]] TaskGraphOptions options() const {
    TaskGraphOptions options = with_workers(workers);
    options.threads_per_worker = threads;
    options.serial = serial;
    return options;
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(workers) + " workers of " + std::to_string(threads) + " threads" +
           (serial ? ", serial" : "") +
           (how == How::plain      ? ""
            : how == How::children ? ", as children"
                                   : ", as a plan");
  }
};

/// Runs a program `rounds` times, as tasks of a graph, as children of a task, or as a replayed
/// plan: `submit(target)` with the graph or the scope. `owned` names what the children touch.
template <class Submit, class... Owned>
void run_rounds(Way const& way, int rounds, Submit const& submit, Owned const&... owned) {
  TaskGraph graph(way.options());
  if (way.how == Way::How::plain) {
    for (int k = 0; k < rounds; ++k) submit(graph);
  } else if (way.how == Way::How::children) {
    for (int k = 0; k < rounds; ++k)
      host_task("whole", ResourcePolicy(graph, read_write(owned)...),
                [&](TaskScope& self) { submit(self); });
  } else {
    Plan const plan = graph.record("program", [&] { submit(graph); });
    graph.replay(plan, static_cast<std::uint64_t>(rounds));
  }
  graph.wait();
}

/// Calls `f(way)` with all of them.
inline void for_each_way(std::function<void(Way const&)> const& f) {
  for (int const workers : {1, 2, 4})
    for (int const threads : {1, 2})
      for (bool const serial : {false, true})
        for (Way::How const how : {Way::How::plain, Way::How::children, Way::How::plan}) {
          if (workers > 1 && (serial || workers * threads > 4)) continue;
          Way const way{workers, threads, serial, how};
          SCOPED_TRACE(way.text());
          f(way);
        }
}

}  // namespace trellis::Test

#endif
