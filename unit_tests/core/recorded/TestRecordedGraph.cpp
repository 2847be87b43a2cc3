// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BareTask.hpp"
#include "Timing.hpp"

#include <recorded/Trellis_RecordedGraph.hpp>
#include <Trellis_Plan.hpp>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

using Impl::RecordedEdge;
using Impl::RecordedEdges;
using Kind = RecordedEdge::Kind;
using Triple = std::tuple<std::uint32_t, std::uint32_t, Kind>;

RecordedEdge edge(std::uint32_t from, std::uint32_t to, Kind kind) {
  return {from, to, kind, EdgeReason::access};
}

std::vector<Triple> all_of(RecordedEdges const& edges, std::size_t count) {
  std::vector<Triple> found;
  for (std::size_t k = 0; k < count; ++k)
    for (RecordedEdge const& each : edges.from(k)) {
      EXPECT_EQ(each.from, k);
      found.emplace_back(each.from, each.to, each.kind);
    }
  EXPECT_EQ(found.size(), edges.all().size());
  return found;
}

class RecordedGraphs : public Timed {};

/// A failure goes along the edge from 1 to the next 0, so there is no other one for the counts.
TEST_F(RecordedGraphs, HaveTheEdgesOfATaskByTheirKind) {
  RecordedEdges const edges(
      {edge(1, 0, Kind::back), edge(0, 2, Kind::own_round), edge(1, 0, Kind::next_round),
       edge(2, 0, Kind::back), edge(1, 2, Kind::own_round), edge(2, 1, Kind::next_round),
       edge(0, 1, Kind::own_round)},
      3);
  EXPECT_EQ(all_of(edges, 3), (std::vector<Triple>{{0, 2, Kind::own_round},
                                                   {0, 1, Kind::own_round},
                                                   {1, 2, Kind::own_round},
                                                   {1, 0, Kind::next_round},
                                                   {2, 1, Kind::next_round},
                                                   {2, 0, Kind::back}}));
}

/// Tasks 1 and 2 run as one, at place 4. What is left within that is the order of its own runs.
TEST_F(RecordedGraphs, AreContractedWhereOneTaskRunsInThePlaceOfSeveral) {
  RecordedEdges const edges(
      {edge(0, 1, Kind::own_round), edge(0, 2, Kind::own_round), edge(1, 2, Kind::own_round),
       edge(2, 3, Kind::own_round), edge(1, 3, Kind::own_round), edge(2, 1, Kind::next_round),
       edge(2, 1, Kind::back), edge(3, 0, Kind::next_round), edge(2, 0, Kind::back)},
      4);
  std::vector<std::uint32_t> const stands_for{0, 4, 4, 3, 4};
  EXPECT_EQ(all_of(edges.contracted(stands_for, 5), 5),
            (std::vector<Triple>{{0, 4, Kind::own_round},
                                 {3, 0, Kind::next_round},
                                 {4, 3, Kind::own_round},
                                 {4, 4, Kind::next_round},
                                 {4, 0, Kind::back}}));
}

TEST_F(RecordedGraphs, OfNothingHaveNoEdges) {
  RecordedEdges const edges({}, 0);
  EXPECT_TRUE(edges.all().empty());
  EXPECT_TRUE(edges.contracted({}, 0).all().empty());
}

/// A failure goes along the edge from `last` to the next round's `first`, which is there by access.
/// So that of `after` does not get a partner, all fail as one, and the rounds end early.
TEST_F(RecordedGraphs, HaveNoPartnerForAnEdgeThatFailuresGoAlong) {
  Block x("x", 1);
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record("rounds", [&] {
    Future<void> const first = task(graph, "first", {updates(x)}, [] { throw 1; });
    task(graph, "reader", {reads(x)}, [] {});
    Properties behind;
    behind.after = handles(first);
    task(graph, "last", {updates(x)}, [] {}, behind);
  });
  EXPECT_EQ(plan.edges_between_rounds(), 1u) << "from the last one to the first one";
  EXPECT_THROW(graph.replay(plan, 1'000'000'000).get(), Error);
}

/// The task whose rule has thrown may lack edges, so the plan does not run without them.
TEST_F(RecordedGraphs, AreRefusedWhenATaskCouldNotBeRecorded) {
  TaskGraph graph(with_workers(2));
  bool throws = false;
  graph.add_rule<int>("throws", Constraint::ordered, [&](int earlier, int later) -> bool {
    if (throws && earlier != later) throw std::runtime_error("by the rule");
    return true;
  });
  int caught = 0;
  auto const record = [&] {
    return graph.record("plan", [&] {
      task(graph, "first", {}, [] {}, tagged(1));
      try {
        task(graph, "second", {}, [] {}, tagged(2));
      } catch (std::runtime_error const&) {
        ++caught;
      }
    });
  };
  throws = true;
  EXPECT_THROW(record(), Error);
  EXPECT_EQ(caught, 1);
  throws = false;
  graph.replay(record()).get();
}

/// Each edge is found once, and looking for it does not cost more where a task comes after many.
TEST_F(RecordedGraphs, OfPlansAndIterationsKnowATaskThatComesAfterMany) {
  constexpr int many = 20000;
  std::vector<Block> blocks;
  for (int k = 0; k < many; ++k) blocks.emplace_back("block", 1);
  std::atomic<int> done{0};
  std::atomic<int> wrong{0};
  TaskGraph graph(with_workers(2));
  auto const body = [&] {
    for (Block const& block : blocks) task(graph, "one", {updates(block)}, [&] { ++done; });
    Properties all;
    all.synchronizing = true;
    task(
        graph, "all", {},
        [&] {
          if (done.exchange(0) != many) ++wrong;
        },
        all);
  };
  Plan const plan = graph.record("many", body);
  EXPECT_EQ(plan.tasks(), std::size_t{many} + 1);
  EXPECT_EQ(plan.edges(), std::size_t{many});
  graph.replay(plan, 3);
  graph.wait();
  EXPECT_EQ(wrong, 0);
  graph.iterate("many", 3, [&](std::uint64_t) { body(); });
  graph.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, 0);
}

}  // namespace
}  // namespace trellis
