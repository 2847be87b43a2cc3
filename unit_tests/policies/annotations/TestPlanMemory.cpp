// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What plans hold: new memory of a View is noticed whatever task has it, and a plan whose graph has
// ended holds nothing.
#include <Trellis.hpp>

#include "Timing.hpp"
#include "WithWorkers.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;
using Host = Kokkos::DefaultHostExecutionSpace;
using Numbers = Kokkos::View<long*, Kokkos::HostSpace>;

/// A task that has the View, one for each pattern and each way to have it.
using Submit = std::function<void(TaskGraph&, Numbers const&)>;
std::vector<Submit> patterns() {
  return {
      [](TaskGraph& graph, Numbers const& v) {
        host_task("captured", ResourcePolicy(graph, read(v)), [v] { (void)v.extent(0); });
      },
      [](TaskGraph& graph, Numbers const& v) {
        host_task("argument", ResourcePolicy(graph, read_write(v)), [](Numbers const&) {});
      },
      [](TaskGraph& graph, Numbers const& v) {
        host_task("neither", ResourcePolicy(graph, write(v)), [] {});
      },
      [](TaskGraph& graph, Numbers const& v) {
        host_task("both, twice", ResourcePolicy(graph, read(v)),
                  [v, w = v](auto const&) { (void)w.extent(0); });
      },
      [](TaskGraph& graph, Numbers const& v) {  // has no copy
        host_task("moved", ResourcePolicy(graph, read(v)),
                  [v, number = std::make_unique<int>(1)] { (void)v.extent(0); });
      },
      [](TaskGraph& graph, Numbers const& v) {
        host_task("splits", ResourcePolicy(graph, write(v)), [v](TaskScope& self) {
          host_task("child", ResourcePolicy(self, write(v)), [v] { (void)v.extent(0); });
        });
      },
      [](TaskGraph& graph, Numbers const& v) {
        space_task("on a space", ResourcePolicy(graph, read(v)),
                   [v](Host const&) { (void)v.extent(0); });
      },
      [](TaskGraph& graph, Numbers const& v) { trellis::deep_copy(graph, v, 1L); },
      [](TaskGraph& graph, Numbers const& v) {
        trellis::deep_copy(graph, Numbers("other", v.extent(0)), v);
      },
      [](TaskGraph& graph, Numbers const& v) {
        trellis::deep_copy(graph, v, Numbers("other", v.extent(0)));
      },
      [](TaskGraph& graph, Numbers const& v) {
        parallel_for("loop", ResourcePolicy(graph, Kokkos::RangePolicy<Host>(0, 4), write(v)),
                     [v](int i) { v(i) = i; });
      },
      [](TaskGraph& graph, Numbers const& v) {
        (void)parallel_reduce("sum",
                              ResourcePolicy(graph, Kokkos::RangePolicy<Host>(0, 4), read(v)),
                              [v](int i, long& sum) { sum += v(i); });
      },
  };
}

class PlanMemory : public Timed {};

TEST_F(PlanMemory, NewMemoryOfAViewIsNoticedInAllPatterns) {
  std::vector<Submit> const all = patterns();
  enum class Beside { nothing, plan_of_graph, plan_of_another, task_before };
  for (std::size_t k = 0; k != all.size(); ++k)
    for (Beside const beside :
         {Beside::nothing, Beside::plan_of_graph, Beside::plan_of_another, Beside::task_before})
      for (int const replays : {0, 2}) {
        SCOPED_TRACE(std::to_string(k) + ", " + std::to_string(static_cast<int>(beside)) + ", " +
                     std::to_string(replays));
        TaskGraph graph(with_workers(2)), another(with_workers(1));
        Numbers view("watched", 10);
        if (beside == Beside::task_before) {
          all[k](graph, view);
          graph.wait();
        }
        Plan const plan = graph.record([&] { all[k](graph, view); });
        Plan second;
        Submit const& other = all[(k + 1) % all.size()];
        if (beside == Beside::plan_of_graph) second = graph.record([&] { other(graph, view); });
        if (beside == Beside::plan_of_another)
          second = another.record([&] { other(another, view); });
        for (int n = 0; n != replays; ++n) graph.replay(plan, 2);
        graph.wait();
        {
          Numbers const copy = view;  // the program has it elsewhere
          view = Numbers("new", 10);
          EXPECT_NO_THROW(graph.replay(plan));
          graph.wait();
        }
        EXPECT_THAT(error_of([&] { graph.replay(plan); }).what(), HasSubstr("\"watched\""));
        graph.wait();
      }
}

TEST_F(PlanMemory, APlanThatOutlivesItsGraphHoldsNothing) {
  std::vector<Submit> const all = patterns();
  for (int const replays : {0, 3}) {
    std::vector<Plan> plans;
    std::vector<Numbers> views;
    {
      TaskGraph graph(with_workers(2));
      for (Submit const& submit : all) {
        views.emplace_back("view", 10);
        plans.push_back(graph.record([&] { submit(graph, views.back()); }));
        if (replays > 0) graph.replay(plans.back(), static_cast<std::uint64_t>(replays));
      }
      plans.push_back(graph.record([&] { graph.replay(plans.front(), 2); }));
    }
    for (std::size_t k = 0; k != views.size(); ++k) EXPECT_EQ(views[k].use_count(), 1) << k;
    for (Plan const& plan : plans) EXPECT_EQ(plan.tasks(), 1U);
  }
}

}  // namespace
}  // namespace trellis
