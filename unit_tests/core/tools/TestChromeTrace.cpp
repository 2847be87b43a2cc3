// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traces as Chrome trace-event JSON.
#include "Sanitized.hpp"
#include "GraphTest.hpp"

#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <locale>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Json = nlohmann::json;

std::vector<Json> events(Json const& trace, std::string const& phase) {
  std::vector<Json> found;
  for (Json const& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

std::int64_t ns(Json const& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

Json slice(Json const& trace, TaskId id) {
  for (Json const& event : events(trace, "X")) {
    if (event.at("args").at("id") == id) return event;
  }
  ADD_FAILURE() << "no slice for task " << id;
  return {};
}

std::map<std::size_t, std::string> thread_names(Json const& trace) {
  std::map<std::size_t, std::string> names;
  for (Json const& event : events(trace, "M")) {
    if (event.at("name") != "thread_name") continue;
    EXPECT_TRUE(names.emplace(event.at("tid"), event.at("args").at("name")).second) << event;
  }
  return names;
}

// Binds flows to slices as Perfetto does: events by time, in file order where times are equal; a
// flow event belongs to the slice that its thread entered last, whether or not that one has ended.
// Returns the edges as pairs of task ids. Also checks what every trace must fulfil.
std::multiset<std::pair<TaskId, TaskId>> bound_edges(Json const& trace) {
  std::map<std::size_t, std::string> const names = thread_names(trace);
  std::vector<Json> sorted;
  for (Json const& event : trace.at("traceEvents")) {
    if (event.at("ph") != "M") sorted.push_back(event);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](Json const& a, Json const& b) { return ns(a.at("ts")) < ns(b.at("ts")); });
  std::map<std::size_t, Json> current;
  std::map<std::uint64_t, TaskId> open;
  std::set<std::uint64_t> used;
  std::multiset<std::pair<TaskId, TaskId>> edges;
  for (Json const& event : sorted) {
    std::size_t const tid = event.at("tid");
    EXPECT_TRUE(names.contains(tid)) << event;
    std::string const phase = event.at("ph");
    if (phase == "X") {
      if (current.contains(tid)) {
        EXPECT_LE(ns(current[tid].at("ts")) + ns(current[tid].at("dur")), ns(event.at("ts")))
            << "overlap on one thread: " << current[tid] << "\n"
            << event;
      }
      current[tid] = event;
    } else if (phase == "s" || phase == "f") {
      if (!current.contains(tid)) {
        ADD_FAILURE() << "no slice for " << event;
        continue;
      }
      std::int64_t const begin = ns(current[tid].at("ts"));
      std::int64_t const duration = ns(current[tid].at("dur"));
      std::int64_t const ts = ns(event.at("ts"));
      EXPECT_TRUE(ts == begin || (ts > begin && ts < begin + duration)) << event << "\n"
                                                                        << current[tid];
      TaskId const id = current[tid].at("args").at("id");
      std::uint64_t const flow = event.at("id");
      if (phase == "s") {
        EXPECT_TRUE(used.insert(flow).second) << "a flow id is used twice: " << event;
        open[flow] = id;
      } else {
        EXPECT_EQ(event.at("bp"), "e");
        EXPECT_EQ(ts, begin) << event;
        EXPECT_TRUE(open.contains(flow)) << "a flow ends before it begins: " << event;
        edges.emplace(open[flow], id);
        open.erase(flow);
      }
    }
  }
  EXPECT_TRUE(open.empty());
  return edges;
}

TEST(ChromeTrace, ATaskIsACompleteEventWithAllThatIsKnown) {
  TaskRecord record = ran(9, "scale", 1, 2'500, 4'001);
  record.submitted_ns = 1'000;
  record.ready_ns = 1'250;
  record.accesses = {{"x", "read", "[0, 64)"}, {"y", "write", "whole"}};
  record.file = "heat.cpp";
  record.line = 12;
  Json const trace = json_of({SchedulingGraph({record}, {}), {"main thread", "worker 1"}});
  EXPECT_EQ(trace.at("displayTimeUnit"), "ns");
  EXPECT_EQ(trace.at("otherData").at("tasks"), 1);
  ASSERT_EQ(events(trace, "X").size(), 1u);
  Json const event = slice(trace, 9);
  EXPECT_EQ(event, Json::parse(R"json({
    "name": "scale", "cat": "parallel_for", "ph": "X", "ts": 2.5, "dur": 1.501, "pid": 1, "tid": 2,
    "args": {"id": 9, "state": "done", "accesses": ["read x [0, 64)", "write y whole"],
             "pattern": "parallel_for", "space": "Serial", "call_site": "heat.cpp:12",
             "submitted_us": 1.0, "pending_us": 0.25, "ready_us": 1.25}})json"));
}

TEST(ChromeTrace, RowsAreNamedThreadsInTheirOrder) {
  Json const trace =
      json_of({SchedulingGraph({ran(1, "a", 2, 10, 20)}, {}), {"main thread", "worker 1"}});
  EXPECT_EQ(thread_names(trace), (std::map<std::size_t, std::string>{
                                     {1, "main thread"}, {2, "worker 1"}, {3, "row 2"}}));
  std::vector<std::size_t> order;
  bool process_named = false;
  for (Json const& event : events(trace, "M")) {
    process_named = process_named || (event.at("name") == "process_name" &&
                                      event.at("args").at("name") == "Trellis");
    if (event.at("name") == "thread_sort_index") order.push_back(event.at("args").at("sort_index"));
  }
  EXPECT_TRUE(process_named);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(ChromeTrace, AnArrowLeadsFromTheEndOfOneTaskToTheBeginOfTheOther) {
  Json const trace =
      json_of({SchedulingGraph({ran(1, "a", 0, 1'000, 2'000), ran(2, "b", 1, 2'000, 3'000),
                                ran(3, "c", 0, 2'000, 2'500)},
                               {{1, 2, EdgeReason::access}, {1, 3, EdgeReason::exclusion}}),
               {"worker 0", "worker 1"}});
  std::vector<Json> const starts = events(trace, "s"), ends = events(trace, "f");
  ASSERT_EQ(starts.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  for (Json const& start : starts) {
    EXPECT_EQ(ns(start.at("ts")), 1'999);
    EXPECT_EQ(start.at("tid"), 1);
    for (Json const& end : ends) {
      if (end.at("id") != start.at("id")) continue;
      EXPECT_EQ(end.at("name"), start.at("name"));
      EXPECT_EQ(end.at("cat"), start.at("cat"));
      EXPECT_EQ(ns(end.at("ts")), 2'000);
      EXPECT_EQ(end.at("tid"), end.at("name") == "access" ? 2 : 1);
    }
  }
  EXPECT_EQ(bound_edges(trace), (std::multiset<std::pair<TaskId, TaskId>>{{1, 2}, {1, 3}}));
}

TEST(ChromeTrace, EveryEdgeOfAStencilBindsToItsTasks) {
  Trace const trace = stencil(3, 7, 30);
  std::multiset<std::pair<TaskId, TaskId>> expected;
  for (EdgeRecord const& edge : trace.graph.edges()) expected.emplace(edge.from, edge.to);
  EXPECT_EQ(expected.size(), 29u * (7 * 3 - 2));
  EXPECT_EQ(bound_edges(json_of(trace)), expected);
}

TEST(ChromeTrace, TasksRunWithinATaskGetAThreadOfTheirOwnAndArrowsStillBind) {
  // A task that splits itself; its worker runs the children.
  Json const trace =
      json_of({SchedulingGraph({ran(1, "parent", 0, 100, 900), ran(2, "child", 0, 200, 400),
                                ran(3, "child", 0, 400, 900), ran(4, "after", 0, 900, 950)},
                               {{2, 3, EdgeReason::access}, {1, 4, EdgeReason::access}}),
               {"worker 0", "worker 1"}});
  EXPECT_EQ(bound_edges(trace), (std::multiset<std::pair<TaskId, TaskId>>{{2, 3}, {1, 4}}));
  EXPECT_EQ(thread_names(trace), (std::map<std::size_t, std::string>{
                                     {1, "worker 0"}, {2, "worker 1"}, {3, "worker 0 (lane 2)"}}));
  EXPECT_EQ(slice(trace, 1).at("tid"), 1);
  EXPECT_EQ(slice(trace, 2).at("tid"), 3);
  EXPECT_EQ(slice(trace, 3).at("tid"), 3);
  EXPECT_EQ(slice(trace, 4).at("tid"), 1);
}

TEST(ChromeTrace, TasksEnqueuedOnAStreamBeginWhenTheOneBeforeHasFinished) {
  std::vector<TaskRecord> nodes;
  std::vector<EdgeRecord> edges;
  std::multiset<std::pair<TaskId, TaskId>> expected;
  for (TaskId id = 1; id <= 50; ++id) {
    nodes.push_back(ran(id, "kernel", 1, 100 + id, 1'000 * id));
    if (id == 1) continue;
    edges.push_back({id - 1, id, EdgeReason::access});
    expected.emplace(id - 1, id);
  }
  // On another stream, launched before its predecessor finished.
  nodes.push_back(ran(51, "copy", 2, 10'500, 12'000));
  edges.push_back({11, 51, EdgeReason::access});
  expected.emplace(11, 51);
  Json const trace = json_of({SchedulingGraph(nodes, edges), {"worker 0", "stream 0", "stream 1"}});
  EXPECT_EQ(thread_names(trace).size(), 3u);
  EXPECT_EQ(bound_edges(trace), expected);
  EXPECT_EQ(ns(slice(trace, 1).at("ts")), 101);
  EXPECT_FALSE(slice(trace, 1).at("args").contains("queued_us"));
  EXPECT_EQ(ns(slice(trace, 7).at("ts")), 6'000);
  EXPECT_EQ(ns(slice(trace, 7).at("dur")), 1'000);
  EXPECT_EQ(ns(slice(trace, 7).at("args").at("queued_us")), 6'000 - 107);
}

TEST(ChromeTrace, RowsWithoutNameAreShownOnlyWithTasks) {
  Json const trace = json_of({SchedulingGraph({ran(1, "a", 4, 10, 20), ran(2, "b", 3, 10, 20)}, {}),
                              {"worker 0", "", "", "", "stream 0"}});
  EXPECT_EQ(thread_names(trace),
            (std::map<std::size_t, std::string>{{1, "worker 0"}, {2, "row 3"}, {3, "stream 0"}}));
  EXPECT_EQ(slice(trace, 1).at("tid"), 3);
  EXPECT_EQ(slice(trace, 2).at("tid"), 2);
}

TEST(ChromeTrace, RandomOverlapsAndEmptyTasksKeepEveryForwardArrow) {
  std::mt19937 random(5);
  for (int round = 0; round != 20; ++round) {
    std::vector<TaskRecord> nodes;
    std::vector<EdgeRecord> edges;
    for (TaskId id = 1; id <= 40; ++id) {
      std::uint64_t const begin = 1 + random() % 60;
      nodes.push_back(ran(id, "t", static_cast<int>(random() % 3), begin, begin + random() % 4));
    }
    for (int e = 0; e != 60; ++e)
      edges.push_back({1 + random() % 40, 1 + random() % 40, EdgeReason::exclusion});
    Json const trace = json_of({SchedulingGraph(nodes, edges), {"a", "b", "c"}});
    std::map<TaskId, std::tuple<std::int64_t, std::int64_t, TaskId>> times;  // as drawn
    for (Json const& event : events(trace, "X")) {
      TaskId const id = event.at("args").at("id");
      std::int64_t const begin = ns(event.at("ts")), end = begin + ns(event.at("dur"));
      times[id] = {begin, end, id};
      EXPECT_EQ(end, static_cast<std::int64_t>(nodes[id - 1].finished_ns));
      EXPECT_GE(begin, static_cast<std::int64_t>(nodes[id - 1].started_ns));
    }
    std::multiset<std::pair<TaskId, TaskId>> const bound = bound_edges(trace);
    for (EdgeRecord const& edge : edges) {
      auto const [from_begin, from_end, from] = times.at(edge.from);
      auto const [to_begin, to_end, to] = times.at(edge.to);
      // Where both are equal nothing says which task came first.
      if (from_begin == to_begin && from_end == to_end) continue;
      bool const forward = std::tie(from_begin, from_end) < std::tie(to_begin, to_end);
      EXPECT_EQ(bound.contains({from, to}), forward) << from << " -> " << to;
    }
    EXPECT_EQ(trace.at("otherData").at("edges"), 60);
    EXPECT_EQ(trace.at("otherData").at("edges_drawn"), bound.size());
  }
}

TEST(ChromeTrace, FailedRunningCancelledAndWaitingTasksAreToldApart) {
  TaskRecord running = ran(2, "runs", 0, 3'000, 0, TaskState::running);
  TaskRecord cancelled = task(3, "never", TaskState::cancelled);
  cancelled.submitted_ns = 4'000;
  TaskRecord pending = task(4, "later");
  pending.submitted_ns = 7'000;
  Json const trace =
      json_of({SchedulingGraph({ran(1, "boom", 0, 1'000, 2'000, TaskState::failed), running,
                                cancelled, pending, task(5, "next", TaskState::ready)},
                               {{1, 3, EdgeReason::access}, {2, 4, EdgeReason::access}}),
               {"worker 0"}});
  EXPECT_EQ(events(trace, "X").size(), 2u);
  EXPECT_EQ(slice(trace, 1).at("name"), "FAILED boom");
  EXPECT_EQ(slice(trace, 1).at("args").at("state"), "failed");
  // It reaches up to the last thing known to have happened.
  EXPECT_EQ(slice(trace, 2).at("args").at("state"), "running");
  EXPECT_EQ(ns(slice(trace, 2).at("dur")), 4'000);
  ASSERT_EQ(events(trace, "i").size(), 1u);
  Json const instant = events(trace, "i").front();
  EXPECT_EQ(instant.at("name"), "CANCELLED never");
  EXPECT_EQ(ns(instant.at("ts")), 4'000);
  EXPECT_EQ(thread_names(trace).at(instant.at("tid")), "cancelled");
  EXPECT_TRUE(bound_edges(trace).empty());
  EXPECT_EQ(trace.at("otherData").at("tasks_run"), 2);
  EXPECT_EQ(trace.at("otherData").at("tasks_cancelled"), 1);
}

TEST(ChromeTrace, TextSurvives) {
  std::string const label = "quote \" backslash \\ newline\n tab\t \xE4\xBA\xA4 </script>";
  Json const trace = json_of({SchedulingGraph({ran(1, label, 0, 1, 2), ran(2, "bad \xFF!", 0, 2, 3),
                                               ran(3, std::string("nul\0!", 5), 0, 3, 4)},
                                              {}),
                              {"row \"0\""}});
  EXPECT_EQ(slice(trace, 1).at("name"), label);
  EXPECT_EQ(slice(trace, 2).at("name"), "bad \xEF\xBF\xBD!");
  EXPECT_EQ(slice(trace, 3).at("name"), std::string("nul\0!", 5));
  EXPECT_EQ(thread_names(trace).at(1), "row \"0\"");
}

TEST(ChromeTrace, AnEmptyTraceIsAValidTrace) {
  Json const trace = json_of({});
  EXPECT_TRUE(events(trace, "X").empty());
  EXPECT_TRUE(thread_names(trace).empty());
  Json const idle = json_of({SchedulingGraph({task(1, "a")}, {}), {"worker 0"}});
  EXPECT_TRUE(events(idle, "X").empty());
  EXPECT_EQ(thread_names(idle).size(), 1u);
}

TEST(ChromeTrace, NanosecondsSurviveADay) {
  std::uint64_t const day = 86'400'000'000'001;
  Json const trace = json_of({SchedulingGraph({ran(1, "a", 0, day, day + 1)}, {}), {"worker 0"}});
  EXPECT_EQ(ns(slice(trace, 1).at("ts")), static_cast<std::int64_t>(day));
  EXPECT_EQ(ns(slice(trace, 1).at("dur")), 1);
}

TEST(ChromeTrace, TheStreamsFormatDoesNotMatter) {
  Trace const trace = stencil(2, 4, 20);
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new Grouping));
  out << std::hex << std::setw(20) << std::setfill('*');
  trace.write_chrome_json(out);
  EXPECT_EQ(out.str(), json_text_of(trace));
}

TEST(ChromeTrace, AFileThatIsJoinedWithOthersHasItsOwnProcessClockAndData) {
  TaskRecord late = ran(2, "recv", 0, 2'000, 9'000);
  late.submitted_ns = 500;
  late.completes_later = true;
  late.returned_ns = 2'500;
  TaskRecord cancelled = task(3, "never", TaskState::cancelled);
  cancelled.submitted_ns = 4'000;
  Trace const trace{SchedulingGraph({ran(1, "send", 0, 1'000, 2'000), late, cancelled},
                                    {{1, 2, EdgeReason::access}}),
                    {"worker 0"}};
  ChromeTraceOptions options;
  options.process = 7;
  options.process_name = "rank 7";
  options.shift = std::chrono::microseconds(1);
  options.clock = "the one on the wall";
  options.other_data = R"({"rank": 7, "tasks_run": "as many as I say"})";
  options.arguments = [](TaskRecord const& record) {
    return record.label == "recv" ? R"({"peer": 3, "state": "mine"})" : "";
  };
  std::ostringstream out;
  trace.write_chrome_json(out, options);
  Json const with = Json::parse(out.str());
  Json const without = json_of(trace);
  ASSERT_EQ(with.at("traceEvents").size(), without.at("traceEvents").size());
  int late_slices = 0;
  for (std::size_t k = 0; k < with.at("traceEvents").size(); ++k) {
    Json event = with.at("traceEvents")[k], plain = without.at("traceEvents")[k];
    EXPECT_EQ(event.at("pid"), 7);
    event["pid"] = 1;
    if (event.contains("ts")) {
      EXPECT_EQ(ns(event.at("ts")), ns(plain.at("ts")) + 1'000) << event;
      event["ts"] = plain.at("ts");
    }
    if (event.contains("args") && event.at("args").contains("submitted_us")) {
      Json& submitted = event["args"]["submitted_us"];
      EXPECT_EQ(ns(submitted), ns(plain.at("args").at("submitted_us")) + 1'000) << event;
      submitted = plain.at("args").at("submitted_us");
    }
    if (event.at("name") == "recv") {
      EXPECT_EQ(event.at("args").at("peer"), 3);
      EXPECT_EQ(event.at("args").at("state"), "mine");
      ++late_slices;
    } else if (event.at("name") == "process_name") {
      EXPECT_EQ(event.at("args").at("name"), "rank 7");
    } else if (event.at("name") == "process_sort_index") {
      EXPECT_EQ(event.at("args").at("sort_index"), 7);
    } else {
      EXPECT_EQ(event, plain);
    }
  }
  EXPECT_EQ(late_slices, 2) << "of its body, and until it was complete";
  EXPECT_EQ(with.at("otherData").at("rank"), 7);
  EXPECT_EQ(with.at("otherData").at("tasks_run"), "as many as I say");
  EXPECT_EQ(with.at("otherData").at("clock"), "the one on the wall");
}

TEST(ChromeTrace, WhatIsToBeAnObjectAndIsNoneIsRefusedBeforeAnythingIsWritten) {
  Trace const trace{SchedulingGraph({ran(1, "a", 0, 1, 2)}, {}), {"worker 0"}};
  auto const message_of = [&](ChromeTraceOptions const& options, bool nothing_is_written) {
    std::ostringstream out;
    try {
      trace.write_chrome_json(out, options);
    } catch (Error const& error) {
      EXPECT_EQ(out.str().empty(), nothing_is_written);
      return std::string(error.what());
    }
    return std::string("nothing is thrown");
  };
  ChromeTraceOptions options;
  options.other_data = "[1, 2]";
  EXPECT_EQ(message_of(options, true),
            "Trellis: ChromeTraceOptions::other_data is no JSON object: [1, 2]");
  options.other_data = "{\"a\": ";
  EXPECT_EQ(message_of(options, true),
            "Trellis: ChromeTraceOptions::other_data is no JSON object: {\"a\": ");
  options.other_data = "{}";
  options.arguments = [](TaskRecord const&) { return "3"; };
  EXPECT_EQ(message_of(options, false),
            "Trellis: ChromeTraceOptions::arguments is no JSON object: 3");
}

TEST(ChromeTrace, AHundredThousandTasksAreWrittenInBoundedTime) {
  std::size_t const tasks = trellis::Test::sanitized ? 10'000 : 100'000;
  Trace const trace = stencil(8, 100, tasks / 100);
  auto const begin = std::chrono::steady_clock::now();
  std::string const text = json_text_of(trace);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_LT(text.size(), 150'000'000u);
  EXPECT_EQ(count(text, "\"ph\":\"X\""), tasks);
  EXPECT_EQ(count(text, "\"ph\":\"s\""), trace.graph.edges().size());
  EXPECT_EQ(count(text, "\"ph\":\"f\""), trace.graph.edges().size());
  EXPECT_TRUE(Json::accept(text));
}

}  // namespace
}  // namespace trellis
