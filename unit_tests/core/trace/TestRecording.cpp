// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a graph that records says about small known programs.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <base/Trellis_Chunks.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <sstream>
#include <thread>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr auto by_access = EdgeReason::access;

class Recording : public Timed {};

TEST_F(Recording, IsRefusedWhereItIsOff) {
  TaskGraphOptions options = with_workers(1);
  options.record = false;
  options.name = "silent";
  TaskGraph graph(options);
  for (auto const& look : {std::function<void()>([&] { (void)graph.dependency_graph(); }),
                           std::function<void()>([&] { (void)graph.scheduling_graph(); }),
                           std::function<void()>([&] { (void)graph.trace(); })}) {
    Error const error = error_of(look);
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("silent"), HasSubstr("TRELLIS_RECORD=1")));
  }
}

TEST_F(Recording, OfADiamondHasItsFourEdges) {
  TaskGraph graph(recorded(2));
  Block a("a"), b("b"), c("c");
  task(graph, "top", {writes(a)}, [] {});
  task(graph, "left", {reads(a), writes(b)}, [] {});
  task(graph, "right", {reads(a), writes(c)}, [] {});
  task(graph, "bottom", {reads(b), reads(c)}, [] {});
  graph.wait();
  auto const dependencies = graph.dependency_graph();
  EXPECT_THAT(dependencies.edges(),
              UnorderedElementsAre(EdgeRecord{1, 2, by_access}, EdgeRecord{1, 3, by_access},
                                   EdgeRecord{2, 4, by_access}, EdgeRecord{3, 4, by_access}));
  EXPECT_EQ(graph.scheduling_graph().edges(), dependencies.edges()) << "nothing was added";
  EXPECT_EQ(dependencies.nodes().size(), 4u);
}

TEST_F(Recording, DoesNotDependOnWhenTasksRan) {
  // The same program, once with everything done before the next submission, once with everything in
  // flight.
  auto const edges = [](bool wait_each) {
    TaskGraph graph(recorded(2));
    Block x("x", 4), y("y");
    Gate gate;
    if (wait_each) gate.open();
    auto const step = [&](Label label, std::vector<Touch> const& touches) {
      task(graph, std::move(label), touches, [&] { gate.pass(); });
      if (wait_each) graph.wait();
    };
    step("a", {writes(x)});
    step("b", {reads(x(0, 2)), adds(y)});
    step("c", {reads(x(1, 2)), adds(y)});
    step("d", {updates(x(2, 2))});
    step("e", {adds(y), reads(x)});
    step("f", {reads(y)});
    step("g", {excludes(y)});
    step("h", {excludes(y)});
    step("i", {writes(y)});
    gate.open();
    graph.wait();
    return graph.dependency_graph().edges();
  };
  auto const early = edges(true);
  EXPECT_EQ(early, edges(false));
  // b and c read; d overlaps c only and waits for a through x(2, 2); g and h are exclusive: no edge
  // between them.
  EXPECT_THAT(early, UnorderedElementsAre(EdgeRecord{1, 2, by_access}, EdgeRecord{1, 3, by_access},
                                          EdgeRecord{1, 4, by_access}, EdgeRecord{3, 4, by_access},
                                          EdgeRecord{1, 5, by_access}, EdgeRecord{4, 5, by_access},
                                          EdgeRecord{2, 6, by_access}, EdgeRecord{3, 6, by_access},
                                          EdgeRecord{5, 6, by_access}, EdgeRecord{6, 7, by_access},
                                          EdgeRecord{6, 8, by_access}, EdgeRecord{7, 9, by_access},
                                          EdgeRecord{8, 9, by_access}));
}

TEST_F(Recording, NamesTheReasonOfEachEdge) {
  TaskGraph graph(recorded(2));
  auto const first = task(graph, "first", {}, [] {});
  task(graph, "second", {}, [] {}, {.after = handles(first)});
  task(graph, "all", {}, [] {}, {.synchronizing = true});
  task(graph, "last", {}, [] {});
  graph.wait();
  EXPECT_THAT(graph.dependency_graph().edges(),
              UnorderedElementsAre(EdgeRecord{1, 2, EdgeReason::after},
                                   EdgeRecord{1, 3, EdgeReason::synchronizing},
                                   EdgeRecord{2, 3, EdgeReason::synchronizing},
                                   EdgeRecord{3, 4, EdgeReason::synchronizing}));
}

TEST_F(Recording, OfExclusiveTasksShowsTheOrderThatTheSchedulerChose) {
  TaskGraph graph(recorded(2));
  Block box("box");
  Gate second_waits;
  task(graph, "one", {excludes(box)}, [&] { second_waits.pass(); });
  task(graph, "two", {excludes(box)}, [] {});
  second_waits.open();
  graph.wait();
  EXPECT_THAT(graph.dependency_graph().edges(), testing::IsEmpty());
  EXPECT_THAT(graph.scheduling_graph().edges(),
              testing::ElementsAre(EdgeRecord{1, 2, EdgeReason::exclusion}));
  std::ostringstream dot;
  graph.scheduling_graph().write_dot(dot);
  EXPECT_THAT(dot.str(), HasSubstr("style=dashed"));
}

TEST_F(Recording, OfManyExclusiveTasksHasOneEdgeToTheNextOne) {
  TaskGraph graph(recorded(3));
  Block box("box");
  Gate gate;
  int const count = 20;
  for (int k = 0; k < count; ++k) task(graph, "alone", {excludes(box)}, [&] { gate.pass(); });
  gate.open();
  graph.wait();
  auto const edges = graph.scheduling_graph().edges();
  EXPECT_EQ(edges.size(), static_cast<std::size_t>(count - 1)) << "a chain";
  auto const nodes = graph.scheduling_graph();
  for (EdgeRecord const& edge : edges)
    EXPECT_LE(nodes.node(edge.from).finished_ns, nodes.node(edge.to).started_ns);
}

TEST_F(Recording, KeepsWhatWasSubmitted) {
  TaskGraph graph(recorded(1));
  Block x("heat", 100);
  unsigned const line = __LINE__ + 1;
  task(graph, "tile", {reads(x), updates(x(10, 2))}, [] {},
       {.priority = 3, .main_thread = true, .synchronizing = true});
  graph.wait();
  TaskRecord const node = graph.dependency_graph().node(1);
  EXPECT_EQ(node.label, "tile");
  EXPECT_EQ(node.pattern, "host_task");
  EXPECT_EQ(node.space, "host");
  EXPECT_EQ(node.file, __FILE__);
  EXPECT_EQ(node.line, line);
  EXPECT_EQ(node.priority, 3);
  EXPECT_TRUE(node.main_thread && node.synchronizing);
  ASSERT_EQ(node.accesses.size(), 2u);
  EXPECT_EQ(node.accesses[0].resource, "heat");
  EXPECT_EQ(node.accesses[0].mode, "read");
  EXPECT_EQ(node.accesses[0].area, "whole");
  EXPECT_EQ(node.accesses[1].mode, "read_write");
  EXPECT_EQ(node.accesses[1].area, "[80, 96)");
}

TEST_F(Recording, TimesFollowATasksLife) {
  TaskGraph graph(recorded(2));
  Block x("x");
  for (int k = 0; k < 20; ++k)
    task(graph, "task", {updates(x)}, [] { std::this_thread::sleep_for(100us); });
  graph.wait();
  auto const trace = graph.trace();
  for (TaskRecord const& node : trace.graph.nodes()) {
    EXPECT_EQ(node.state, TaskState::done);
    EXPECT_LE(node.submitted_ns, node.ready_ns);
    EXPECT_LE(node.ready_ns, node.started_ns);
    EXPECT_GE(node.finished_ns, node.started_ns + 100'000);
    ASSERT_GE(node.row, 0);
    ASSERT_LT(static_cast<std::size_t>(node.row), trace.rows.size());
    EXPECT_NE(trace.rows[static_cast<std::size_t>(node.row)], "");
  }
  for (EdgeRecord const& edge : trace.graph.edges())
    EXPECT_LE(trace.graph.node(edge.from).finished_ns, trace.graph.node(edge.to).started_ns);
  EXPECT_EQ(trace.workers, graph.workers());
  EXPECT_GT(trace.threads, static_cast<std::size_t>(graph.workers()));
  EXPECT_LE(trace.threads, trace.rows.size());
}

TEST_F(Recording, RowsAreTheThreadsThatRanTheTasks) {
  TaskGraph graph(recorded(2));
  std::map<std::uint64_t, std::thread::id> thread_of;
  std::mutex mutex;
  std::vector<Future<void>> tasks;
  for (int k = 0; k < 40; ++k)
    tasks.push_back(task(graph, "task", {},
                         [&, id = static_cast<std::uint64_t>(k + 1)] {
                           std::this_thread::sleep_for(50us);
                           std::lock_guard const lock(mutex);
                           thread_of[id] = std::this_thread::get_id();
                         },
                         {.main_thread = k % 10 == 0}));
  graph.wait();
  auto const trace = graph.trace();
  std::map<int, std::thread::id> thread_of_row;
  for (TaskRecord const& node : trace.graph.nodes())
    EXPECT_EQ(thread_of_row.emplace(node.row, thread_of[node.id]).first->second,
              thread_of[node.id]);
  EXPECT_EQ(trace.rows[static_cast<std::size_t>(trace.graph.node(1).row)], "main thread");
  EXPECT_EQ(thread_of[1], std::this_thread::get_id());
}

TEST_F(Recording, NotesThatAThreadSlept) {
  using namespace std::chrono_literals;
  TaskGraph graph(recorded(2));
  Block a("a");
  std::uint64_t longest = 0;
  // One task at a time for two threads. On a busy machine the worker may begin late.
  for (int k = 0; k < 100 && longest < 10'000'000; ++k) {
    task(graph, "long", {writes(a)}, [] { std::this_thread::sleep_for(30ms); });
    graph.wait();
    Trace const trace = graph.trace();
    for (ThreadSleep const& sleep : trace.sleeps) {
      ASSERT_LT(sleep.row, trace.threads);
      ASSERT_LE(sleep.begin_ns, sleep.end_ns);
      longest = std::max(longest, sleep.end_ns - sleep.begin_ns);
    }
  }
  EXPECT_GE(longest, 10'000'000u) << "one of the threads had nothing to do";
}

TEST_F(Recording, ShowsStatesAtAnyTime) {
  TaskGraph graph(recorded(1));
  Block x("x");
  Gate runs, gate;
  task(graph, "running", {writes(x)}, [&] {
    runs.open();
    gate.pass();
  });
  task(graph, "pending", {reads(x)}, [] {});
  task(graph, "ready", {}, [] {});
  runs.pass();
  auto const now = graph.scheduling_graph();
  EXPECT_EQ(now.node(1).state, TaskState::running);
  EXPECT_EQ(now.node(2).state, TaskState::pending);
  EXPECT_EQ(now.node(3).state, TaskState::ready);
  gate.open();
  graph.wait();
  EXPECT_EQ(graph.scheduling_graph().node(2).state, TaskState::done);
}

TEST_F(Recording, ShowsWhatFailedAndWhatWasCancelled) {
  TaskGraph graph(recorded(1));
  Block x("x");
  task(graph, "bad", {writes(x)}, [] { throw std::runtime_error("boom"); });
  task(graph, "reader", {reads(x)}, [] {});
  EXPECT_THROW(graph.wait(), Error);
  auto const after = graph.scheduling_graph();
  EXPECT_EQ(after.node(1).state, TaskState::failed);
  EXPECT_GE(after.node(1).row, 0);
  EXPECT_EQ(after.node(2).state, TaskState::cancelled);
  EXPECT_EQ(after.node(2).row, -1);
  EXPECT_EQ(after.node(2).started_ns, 0u);
}

TEST_F(Recording, CanBeTakenWhileOthersSubmit) {
  TaskGraph graph(recorded(2));
  Block x("x");
  std::atomic<bool> stop{false};
  std::thread submitter([&] {
    for (int k = 0; k < 300; ++k) task(graph, "task", {updates(x)}, [] {});
    stop = true;
  });
  while (!stop) {
    Trace trace;
    EXPECT_NO_THROW(trace = graph.trace()) << "each edge has its nodes";
    for (TaskRecord const& each : trace.graph.nodes()) {  // with the times of its state
      bool const is_done = each.state == TaskState::done;
      bool const has_begun = is_done || each.state == TaskState::running;
      EXPECT_TRUE(each.state == TaskState::pending || each.ready_ns >= each.submitted_ns);
      EXPECT_TRUE(!has_begun || each.started_ns >= each.ready_ns);
      EXPECT_TRUE(!is_done || each.finished_ns >= each.started_ns);
    }
  }
  submitter.join();
  graph.wait();
  EXPECT_EQ(graph.trace().graph.edges().size(), 299u);
}

/// Beyond the rows of 64 and 128 chunks, and while another thread uses what was there before.
TEST_F(Recording, ChunksGrowWhileTheirElementsAreUsed) {
  constexpr std::size_t count = 200 * 1024;
  Impl::Chunks<std::size_t> chunks;
  std::atomic<std::size_t> known{0};
  std::thread uses([&] {
    for (std::size_t next = 0; next < count;)
      for (std::size_t const end = known.load(std::memory_order_acquire); next < end; ++next)
        chunks[next] += 1;
  });
  for (std::size_t k = 0; k < count; ++k) {
    chunks.grow() = 2 * k;
    known.store(k + 1, std::memory_order_release);
  }
  uses.join();
  ASSERT_EQ(chunks.size(), count);
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < count; ++k) wrong += chunks[k] != 2 * k + 1 ? 1 : 0;
  EXPECT_EQ(wrong, 0u);
}

TEST_F(Recording, CanBeTakenWhileALoopSubmitsItsIterations) {
  TaskGraph graph(recorded(2));
  Block x("x", 64);
  std::atomic<bool> ends{false};
  std::thread looks([&] {
    while (!ends) EXPECT_NO_THROW((void)graph.trace());
  });
  graph.iterate("iterations", sanitized ? 20 : 200, [&] {
    task(graph, "first", {updates(x)}, [] {});
    for (std::size_t k = 0; k < 64; ++k) task(graph, "part", {updates(x(k, 1))}, [] {});
    task(graph, "last", {updates(x)}, [] {});
  });
  graph.wait();
  ends = true;
  looks.join();
}

// The number that it would have had goes to the next task, whoever makes that.
TEST_F(Recording, LeavesNoHoleForASubmissionThatFails) {
  TaskGraph graph(recorded(2));
  Block x("x"), y("y");
  Plan plan = graph.record([&] {
    for (int k = 0; k < 3; ++k) task(graph, "run", {updates(x)}, [&] { ++x[0]; });
  });
  Gate gate;
  task(graph, "first", {writes(x)}, [&] {
    EXPECT_TRUE(gate.pass());
    EXPECT_THROW(child("not within", {writes(y)}, [] {}), Error);
  });
  graph.replay(plan, 400);  // is numbered when "first" is over
  gate.open();
  graph.wait();
  task(graph, "last", {reads(x)}, [] {});
  graph.wait();
  EXPECT_EQ(x[0], 1200);
  auto const trace = graph.trace();
  TaskId id = 0;
  for (TaskRecord const& node : trace.graph.nodes()) {
    EXPECT_EQ(node.id, ++id);
    EXPECT_EQ(node.state, TaskState::done) << node.label;
    EXPECT_LE(node.started_ns, node.finished_ns) << node.label;
  }
  EXPECT_EQ(trace.graph.find("run").size(), 1200u);
  EXPECT_EQ(trace.graph.nodes().back().label, "last");
}

TEST_F(Recording, TimesOfATraceCountFromItsOrigin) {
  auto const before = std::chrono::steady_clock::now();
  TaskGraph graph(recorded(1));
  auto const made = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point ran;
  Block x("x");
  task(graph, "task", {writes(x)}, [&] { ran = std::chrono::steady_clock::now(); });
  graph.wait();
  Trace const trace = graph.trace();
  EXPECT_LE(before, trace.origin);
  EXPECT_LE(trace.origin, made);
  TaskRecord const& record = trace.graph.nodes().front();
  EXPECT_LE(trace.origin + std::chrono::nanoseconds(record.started_ns), ran);
  EXPECT_LE(ran, trace.origin + std::chrono::nanoseconds(record.finished_ns));
}

TEST_F(Recording, WritesDotJsonAndSvg) {
  TaskGraph graph(recorded(2));
  Block x("x");
  task(graph, "first", {writes(x)}, [] { std::this_thread::sleep_for(1ms); });
  task(graph, "second", {reads(x)}, [] { std::this_thread::sleep_for(1ms); });
  graph.wait();
  std::ostringstream dot, json, svg;
  graph.dependency_graph().write_dot(dot);
  graph.trace().write_chrome_json(json);
  graph.trace().write_svg(svg);
  EXPECT_THAT(dot.str(),
              testing::AllOf(HasSubstr("digraph"), HasSubstr("first"), HasSubstr("t1 -> t2")));
  EXPECT_THAT(svg.str(),
              testing::AllOf(HasSubstr("<svg"), HasSubstr("first"), HasSubstr("</svg>")));

  auto const events = nlohmann::json::parse(json.str())["traceEvents"];
  std::map<std::string, int> slices, phases;
  for (auto const& event : events) {
    ++phases[event["ph"]];
    if (event["ph"] == "X") {
      ++slices[event["name"]];
      EXPECT_GE(event["dur"], 900.0) << "microseconds";
    }
  }
  EXPECT_EQ(slices, (std::map<std::string, int>{{"first", 1}, {"second", 1}}));
  EXPECT_EQ(phases["s"], 1) << "an arrow";
  EXPECT_EQ(phases["f"], 1);
}

TEST_F(Recording, CountsEdgesAndTasks) {
  TaskGraph graph(recorded(1));
  Block x("x");
  Gate gate;
  task(graph, "first", {writes(x)}, [&] { gate.pass(); });
  for (int k = 0; k < 3; ++k) task(graph, "reader", {reads(x)}, [] {});
  EXPECT_EQ(graph.submitted(), 4u);
  EXPECT_EQ(graph.edges(), 3u);
  EXPECT_EQ(graph.in_flight(), 4u);
  gate.open();
  graph.wait();
  EXPECT_EQ(graph.in_flight(), 0u);
}

// The memory of a resource that is gone may be that of the next one.
TEST_F(Recording, AResourceAtTheAddressOfOneThatIsGoneHasItsOwnName) {
  TaskGraph graph(recorded(1));
  alignas(64) static long memory[8];
  auto const at = [&](std::string label) {
    auto const begin = reinterpret_cast<std::uintptr_t>(memory);
    return Place{Impl::Area::contiguous(memory, sizeof memory), std::move(label), begin,
                 begin + sizeof memory};
  };
  task(graph, "first", {writes(at("old"))}, [] {});
  graph.wait();
  task(graph, "second", {writes(at("new"))}, [] {});
  graph.wait();
  EXPECT_EQ(graph.dependency_graph().node(2).accesses.at(0).resource, "new");
}

TEST(Resources, AtTheAddressOfOneThatIsGoneAreNamedInErrors) {
  TaskGraph graph(with_workers(1));
  alignas(64) static long memory[8];
  auto const at = [&](std::string label) {
    auto const begin = reinterpret_cast<std::uintptr_t>(memory);
    return Place{Impl::Area::contiguous(memory, sizeof memory), std::move(label), begin,
                 begin + sizeof memory};
  };
  task(graph, "first", {writes(at("old"))}, [] {});
  graph.wait();
  task(graph, "second", {writes(at("new"))}, [] { throw std::runtime_error("boom"); });
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(), HasSubstr("write \"new\""));
}

}  // namespace
}  // namespace trellis
