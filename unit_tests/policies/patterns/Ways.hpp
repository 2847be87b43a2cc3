// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_PATTERNS_WAYS_HPP
#define TRELLIS_TEST_PATTERNS_WAYS_HPP

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <Trellis.hpp>

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace trellis::Test {

/// How a task comes about.
enum class Way { direct, serially, as_child, in_plan, in_loop };
inline constexpr Way all_ways[] = {Way::direct, Way::serially, Way::as_child, Way::in_plan,
                                   Way::in_loop};
inline char const* name_of(Way way) {
  constexpr char const* names[] = {"direct", "serially", "as a child", "in a plan", "in a loop"};
  return names[static_cast<int>(way)];
}

/// For each way, on workers of one thread and of two: `submit(target)` submits tasks to a graph or
/// to the children of a task and returns the future of the last one; `check(future)` is called when
/// all are complete. In plans and loops they run several times. `views`: what children may use.
///
/// `submit` is called with two types of target. (nvcc wants no device lambda in it: use classes.)
template <class Submit, class Check, class... Views>
void in_every_way(Submit const& submit, Check const& check, Views const&... views) {
  for (int const threads : {1, 2})
    for (Way const way : all_ways) {
      SCOPED_TRACE(std::string(name_of(way)) + ", threads: " + std::to_string(threads));
      TaskGraphOptions options = with_workers(2);
      options.threads_per_worker = threads;
      options.serial = way == Way::serially;
      TaskGraph graph(options);
      decltype(submit(graph)) future;
      Plan plan;
      switch (way) {
        case Way::direct:
        case Way::serially:
          future = submit(graph);
          break;
        case Way::as_child:
          host_task("parent", ResourcePolicy(graph), [&](TaskScope& self) {
            (static_cast<void>(self.local(views)), ...);
            future = submit(self);
          });
          break;
        case Way::in_plan:
          plan = graph.record("plan", [&] { future = submit(graph); });
          graph.replay(plan, 3);
          break;
        case Way::in_loop:
          graph.iterate("loop", 5, [&](std::uint64_t) { future = submit(graph); });
          break;
      }
      graph.wait();
      check(future);
    }
}

}  // namespace trellis::Test

namespace trellis {
namespace {

/// Teams of two threads: Serial has none.
inline bool const has_teams_of_two = std::string_view(Space::name()) != "Serial";

}  // namespace
}  // namespace trellis

#endif
