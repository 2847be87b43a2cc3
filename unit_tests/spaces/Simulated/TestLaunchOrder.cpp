// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In which order tasks are launched that become ready together.
#include "Kernels.hpp"

#include <Trellis_PriorityPolicy.hpp>

#include <memory>
#include <string>
#include <vector>

namespace trellis::Test {
namespace {

using namespace Bare;
using testing::ElementsAre;
using testing::ElementsAreArray;

class LaunchOrder : public testing::Test {
 protected:
  std::shared_ptr<SimulatedClock> clock = virtual_clock();
  SimulatedDevice device{{.clock = clock}};
  std::shared_ptr<experimental::PriorityPolicy> policy = experimental::make_priority_policy();
  Block x{"x"};

  [[nodiscard]] TaskGraphOptions options(std::shared_ptr<SchedulingPolicy> by) const {
    TaskGraphOptions result = with_workers(1);
    result.policy = std::move(by);
    return result;
  }
  /// Names of what has been launched.
  [[nodiscard]] std::vector<std::string> launched() const {
    std::vector<std::string> names;
    for (SimulatedRecord const& record : device.log())
      if (record.kind == Kind::launch) names.push_back(record.name);
    return names;
  }
  void submit_readers(TaskGraph& graph) {
    int number = 0;
    for (char const* name : {"low", "none", "first", "high", "none again", "low again", "last"}) {
      Properties properties;
      if (std::string(name) == "first") properties.priority = 1;
      if (std::string(name) == "last") properties.priority = -1;
      kernel(graph, device, name, {reads(x)}, [] {}, ++number, properties);
    }
  }
  void set_urgencies() {
    policy->set_urgency("low", {.rank = 5});
    policy->set_urgency("low again", {.rank = 5});
    policy->set_urgency("high", {.rank = 10});
    policy->set_urgency("last", {.rank = 20});
  }
  static constexpr char const* by_rank[] = {"first", "high",       "low", "low again",
                                            "none",  "none again", "last"};
};

TEST_F(LaunchOrder, OfWhatAHostTaskMakesReadyIsByPriorityThenByRank) {
  set_urgencies();
  TaskGraph graph(options(policy));
  if (*graph.options().serial) GTEST_SKIP() << "the order of submission";
  Gate submitted;
  task(graph, "before", {writes(x)}, [&] { submitted.pass(); });
  submit_readers(graph);
  submitted.open();
  graph.wait();
  EXPECT_THAT(launched(), ElementsAreArray(by_rank));
}

TEST_F(LaunchOrder, OfWhatALaunchMakesReadyIsTheSame) {
  set_urgencies();
  TaskGraph graph(options(policy));
  if (*graph.options().serial) GTEST_SKIP() << "the order of submission";
  Gate submitted;
  task(graph, "before", {writes(x)}, [&] { submitted.pass(); });
  kernel(graph, device, "writes", {updates(x)});
  submit_readers(graph);
  submitted.open();
  graph.wait();
  std::vector<std::string> expected{"writes"};
  expected.insert(expected.end(), std::begin(by_rank), std::end(by_rank));
  EXPECT_THAT(launched(), ElementsAreArray(expected));
}

TEST_F(LaunchOrder, WithoutRanksIsByPriorityThenAsSubmitted) {
  for (auto const& by : {make_work_stealing_policy(), make_fifo_policy()}) {
    device.clear_log();
    TaskGraph graph(options(by));
    if (*graph.options().serial) GTEST_SKIP() << "the order of submission";
    Gate submitted;
    task(graph, "before", {writes(x)}, [&] { submitted.pass(); });
    submit_readers(graph);
    submitted.open();
    graph.wait();
    EXPECT_THAT(launched(),
                ElementsAre("first", "low", "none", "high", "none again", "low again", "last"));
  }
}

/// The longest path through a plan whose tasks are launched one by one.
TEST_F(LaunchOrder, InAPlanFollowsFromWhatIsBehindATask) {
  TaskGraphOptions by_path = options(policy);
  by_path.record = true;  // no graph of the device
  TaskGraph graph(by_path);
  if (*graph.options().serial) GTEST_SKIP() << "the order of submission";
  Block y("y"), z("z");
  Plan const plan = graph.record([&] {
    task(graph, "before", {writes(x)}, [] {});
    kernel(graph, device, "single", {reads(x)});
    kernel(graph, device, "chain", {reads(x), writes(y)});
    kernel(graph, device, "link", {reads(y), writes(z)});
    kernel(graph, device, "end", {updates(z)});
  });
  graph.replay(plan);
  graph.wait();
  EXPECT_THAT(launched(), ElementsAre("chain", "single", "link", "end"));
}

}  // namespace
}  // namespace trellis::Test
