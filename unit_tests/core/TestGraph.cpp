// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Sanitized.hpp"

#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <locale>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<TaskId>;

// ---- Ground ----------------------------------------------------------------------------------------------

TaskRecord task(TaskId id, std::string label, TaskState state = TaskState::pending) {
  TaskRecord record;
  record.id = id;
  record.label = std::move(label);
  record.pattern = "parallel_for";
  record.space = "Serial";
  record.state = state;
  record.submitted_ns = id;
  return record;
}

TaskRecord ran(TaskId id, std::string label, int row, std::uint64_t begin, std::uint64_t end,
               TaskState state = TaskState::done) {
  TaskRecord record = task(id, std::move(label), state);
  record.row = row;
  record.ready_ns = begin;
  record.started_ns = begin;
  record.finished_ns = end;
  return record;
}

std::string dot_of(Graph const& graph) {
  std::ostringstream out;
  graph.write_dot(out);
  return out.str();
}

std::string svg_of(Trace const& trace) {
  std::ostringstream out;
  trace.write_svg(out);
  return out.str();
}

std::string json_text_of(Trace const& trace) {
  std::ostringstream out;
  trace.write_chrome_json(out);
  return out.str();
}

Json json_of(Trace const& trace) {
  return Json::parse(json_text_of(trace));
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

// A stencil on `workers` rows: tile t of step s needs its neighbours of step s - 1. The times are drawn at
// random.
Trace stencil(std::size_t workers, std::size_t tiles, std::size_t steps) {
  std::mt19937 random(1);
  std::vector<TaskRecord> nodes;
  std::vector<EdgeRecord> edges;
  std::vector<std::uint64_t> free(workers, 1000);
  for (std::size_t s = 0; s != steps; ++s) {
    for (std::size_t t = 0; t != tiles; ++t) {
      TaskId const id = nodes.size() + 1;
      std::uint64_t ready = id;
      for (std::size_t const n : {t - 1, t, t + 1}) {
        if (s == 0 || n >= tiles) continue;
        TaskId const from = (s - 1) * tiles + n + 1;
        ready = std::max(ready, nodes[from - 1].finished_ns);
        edges.push_back({from, id, EdgeReason::access});
      }
      auto const worker = std::min_element(free.begin(), free.end());
      std::uint64_t const begin = std::max(ready, *worker);
      *worker = begin + random() % 2000;
      std::string label = "tile " + std::to_string(t) + " step " + std::to_string(s);
      nodes.push_back(ran(id, std::move(label), static_cast<int>(worker - free.begin()), begin, *worker));
      nodes.back().ready_ns = ready;
      nodes.back().accesses = {{"u", "read", "[0, 64)"}, {"v", "write", "[0, 64)"}};
    }
  }
  std::vector<std::string> rows;
  for (std::size_t w = 0; w != workers; ++w) rows.push_back("worker " + std::to_string(w));
  return {SchedulingGraph(std::move(nodes), std::move(edges)), std::move(rows)};
}

// A number format that would break every file format.
class Grouping : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

// ---- Graph -----------------------------------------------------------------------------------------------

Graph diamond() {
  return {{task(1, "a"), task(2, "b"), task(3, "b"), task(4, "c"), task(7, "alone")},
          {{1, 2, EdgeReason::access},
           {1, 3, EdgeReason::after},
           {3, 4, EdgeReason::synchronizing},
           {2, 4, EdgeReason::access},
           {2, 4, EdgeReason::after},
           {3, 2, EdgeReason::exclusion}}};
}

TEST(Graph, EveryStateAndReasonHasItsName) {
  EXPECT_EQ(to_string(TaskState::pending), "pending");
  EXPECT_EQ(to_string(TaskState::ready), "ready");
  EXPECT_EQ(to_string(TaskState::running), "running");
  EXPECT_EQ(to_string(TaskState::done), "done");
  EXPECT_EQ(to_string(TaskState::failed), "failed");
  EXPECT_EQ(to_string(TaskState::cancelled), "cancelled");
  EXPECT_EQ(to_string(EdgeReason::access), "access");
  EXPECT_EQ(to_string(EdgeReason::after), "after");
  EXPECT_EQ(to_string(EdgeReason::synchronizing), "synchronizing");
  EXPECT_EQ(to_string(EdgeReason::exclusion), "exclusion");
}

TEST(Graph, OnlyExclusionIsNoDependency) {
  EXPECT_TRUE(is_dependency(EdgeReason::access));
  EXPECT_TRUE(is_dependency(EdgeReason::after));
  EXPECT_TRUE(is_dependency(EdgeReason::synchronizing));
  EXPECT_FALSE(is_dependency(EdgeReason::exclusion));
}

TEST(Graph, FindsNodesByIdAndByLabel) {
  Graph const graph = diamond();
  EXPECT_EQ(graph.node(7).label, "alone");
  EXPECT_EQ(graph.node(1).label, "a");
  EXPECT_EQ(graph.find("b"), (Ids{2, 3}));
  EXPECT_EQ(graph.find("B"), Ids{});
}

TEST(Graph, NeighboursAreListedOnceAndById) {
  Graph const graph = diamond();
  EXPECT_EQ(graph.predecessors(1), Ids{});
  EXPECT_EQ(graph.predecessors(2), (Ids{1, 3}));
  EXPECT_EQ(graph.predecessors(4), (Ids{2, 3}));
  EXPECT_EQ(graph.successors(1), (Ids{2, 3}));
  EXPECT_EQ(graph.successors(2), Ids{4});
  EXPECT_EQ(graph.successors(3), (Ids{2, 4}));
  EXPECT_EQ(graph.successors(7), Ids{});
}

TEST(Graph, ReachesFollowsPathsOfAtLeastOneEdge) {
  Graph const graph = diamond();
  std::set<std::pair<TaskId, TaskId>> const expected = {{1, 2}, {1, 3}, {1, 4}, {2, 4}, {3, 2}, {3, 4}};
  for (TaskId const from : {1, 2, 3, 4, 7}) {
    for (TaskId const to : {1, 2, 3, 4, 7}) {
      EXPECT_EQ(graph.reaches(from, to), expected.contains({from, to})) << from << " -> " << to;
    }
  }
}

TEST(Graph, ReachesFindsTheWayBackRoundACycle) {
  Graph const graph({task(1, "a"), task(2, "b"), task(3, "c")},
                    {{1, 2, EdgeReason::access}, {2, 1, EdgeReason::exclusion}, {2, 3, EdgeReason::access}});
  EXPECT_TRUE(graph.reaches(1, 1));
  EXPECT_TRUE(graph.reaches(2, 2));
  EXPECT_FALSE(graph.reaches(3, 3));
  EXPECT_FALSE(graph.reaches(3, 1));
}

TEST(Graph, AnUnknownIdIsNamed) {
  auto const text_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::bad_input);
      return error.what();
    }
    return "nothing was thrown";
  };
  Graph const graph = diamond();
  std::string const expected = "no task has the id 5: this graph has 5 tasks with ids from 1 to 7";
  EXPECT_EQ(text_of([&] { (void)graph.node(5); }), expected);
  EXPECT_EQ(text_of([&] { (void)graph.predecessors(5); }), expected);
  EXPECT_EQ(text_of([&] { (void)graph.successors(5); }), expected);
  EXPECT_EQ(text_of([&] { (void)graph.reaches(5, 1); }), expected);
  EXPECT_EQ(text_of([&] { (void)graph.reaches(1, 5); }), expected);
  EXPECT_EQ(
      text_of([] { (void)Graph().node(0); }),
      "no task has the id 0: this graph has no tasks (it keeps them only when TaskGraphOptions::record is "
      "set)");
}

TEST(Graph, ContradictoryInputIsRefused) {
  auto const text_of = [](std::vector<TaskRecord> nodes, std::vector<EdgeRecord> edges) -> std::string {
    try {
      Graph const graph(std::move(nodes), std::move(edges));
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::bad_input);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(text_of({task(3, "x"), task(3, "y")}, {}), "two tasks of a graph have the id 3: \"x\" and \"y\"");
  EXPECT_EQ(text_of({task(1, "x")}, {{1, 2, EdgeReason::after}}),
            "an edge leads from task 1 to task 2 (after), but task 2 is not among the nodes of the graph");
  EXPECT_EQ(text_of({task(2, "x")}, {{1, 2, EdgeReason::access}}),
            "an edge leads from task 1 to task 2 (access), but task 1 is not among the nodes of the graph");
}

TEST(Graph, ACopyAnswersOnItsOwn) {
  DependencyGraph copy;
  {
    DependencyGraph const original({task(1, "a"), task(2, "b")}, {{1, 2, EdgeReason::access}});
    copy = original;
  }
  EXPECT_EQ(copy.node(2).label, "b");
  EXPECT_EQ(copy.successors(1), Ids{2});
  EXPECT_TRUE(copy.reaches(1, 2));
  EXPECT_EQ(copy.edges(), (std::vector<EdgeRecord>{{1, 2, EdgeReason::access}}));
}

TEST(Graph, AgreesWithTransitiveClosureOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round != 50; ++round) {
    std::size_t const n = 1 + random() % 12;
    std::vector<TaskRecord> nodes;
    for (TaskId id = 1; id <= n; ++id) nodes.push_back(task(id * 10, "t"));
    std::vector<EdgeRecord> edges;
    std::vector<std::vector<bool>> direct(n, std::vector<bool>(n));
    for (std::size_t e = random() % (2 * n); e != 0; --e) {
      std::size_t const a = random() % n, b = random() % n;
      edges.push_back({(a + 1) * 10, (b + 1) * 10, a < b ? EdgeReason::access : EdgeReason::exclusion});
      direct[a][b] = true;
    }
    auto closure = direct;
    for (std::size_t k = 0; k != n; ++k)
      for (std::size_t a = 0; a != n; ++a)
        for (std::size_t b = 0; b != n; ++b)
          if (closure[a][k] && closure[k][b]) closure[a][b] = true;
    Graph const graph(std::move(nodes), std::move(edges));
    for (std::size_t a = 0; a != n; ++a) {
      Ids successors, predecessors;
      for (std::size_t b = 0; b != n; ++b) {
        if (direct[a][b]) successors.push_back((b + 1) * 10);
        if (direct[b][a]) predecessors.push_back((b + 1) * 10);
        EXPECT_EQ(graph.reaches((a + 1) * 10, (b + 1) * 10), closure[a][b]);
      }
      EXPECT_EQ(graph.successors((a + 1) * 10), successors);
      EXPECT_EQ(graph.predecessors((a + 1) * 10), predecessors);
    }
  }
}

TEST(Graph, AChainOfManyTasksIsNoProblem) {
  constexpr TaskId n = 100'000;
  std::vector<TaskRecord> nodes;
  std::vector<EdgeRecord> edges;
  for (TaskId id = 1; id <= n; ++id) {
    nodes.push_back(task(id, "link"));
    if (id > 1) edges.push_back({id - 1, id, EdgeReason::access});
  }
  Graph const graph(std::move(nodes), std::move(edges));
  EXPECT_TRUE(graph.reaches(1, n));
  EXPECT_FALSE(graph.reaches(n, 1));
  // Neighbours are looked up, not searched for: a scan of all edges for each would take minutes.
  auto const begin = std::chrono::steady_clock::now();
  std::size_t sum = 0;
  for (TaskId id = 1; id <= n; ++id) sum += graph.predecessors(id).size() + graph.successors(id).size();
  EXPECT_EQ(sum, 2 * (n - 1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// ---- DOT -------------------------------------------------------------------------------------------------

// The line that declares the node or the edge.
std::string dot_line(std::string const& dot, std::string const& begin) {
  std::istringstream lines(dot);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  " + begin + " [")) return line;
  }
  return "";
}

TEST(Dot, ANodeShowsLabelPatternStateAndAccesses) {
  TaskRecord record = task(3, "scale", TaskState::failed);
  record.accesses = {{"x", "read", "[0, 64)"}, {"y", "write", "whole"}};
  record.priority = -2;
  record.main_thread = true;
  record.synchronizing = true;
  record.file = "heat.cpp";
  record.line = 12;
  std::string const line = dot_line(dot_of(Graph({record}, {})), "t3");
  EXPECT_TRUE(contains(line,
                       "label=\"scale\\nparallel_for, failed, synchronizing, main thread, priority -2\\n"
                       "read x [0, 64)\\lwrite y whole\\l\""))
      << line;
  EXPECT_TRUE(contains(line, "tooltip=\"heat.cpp:12\"")) << line;
}

TEST(Dot, DependencyEdgesAreSolidAndExclusionIsDashedWithItsReason) {
  std::string const dot = dot_of(Graph({task(1, "a"), task(2, "b"), task(3, "c"), task(4, "d"), task(5, "e")},
                                       {{1, 2, EdgeReason::access},
                                        {1, 3, EdgeReason::after},
                                        {1, 4, EdgeReason::synchronizing},
                                        {5, 1, EdgeReason::exclusion}}));
  std::set<std::string> styles;
  for (std::string const edge : {"t1 -> t2", "t1 -> t3", "t1 -> t4"}) {
    std::string const line = dot_line(dot, edge);
    EXPECT_TRUE(contains(line, "style=solid")) << edge << ": " << line;
    EXPECT_FALSE(contains(line, " label=")) << edge << ": " << line;
    styles.insert(line.substr(line.find('[')));
  }
  EXPECT_EQ(styles.size(), 3u);
  std::string const exclusion = dot_line(dot, "t5 -> t1");
  EXPECT_TRUE(contains(exclusion, "style=dashed")) << exclusion;
  EXPECT_TRUE(contains(exclusion, "color=")) << exclusion;
  EXPECT_TRUE(contains(exclusion, "label=\"exclusion\"")) << exclusion;
  EXPECT_EQ(count(dot, " -> "), 4u);
}

TEST(Dot, LabelsAreEscaped) {
  auto const escaped = [](std::string label) {
    std::string const line = dot_line(dot_of(Graph({task(1, std::move(label))}, {})), "t1");
    std::size_t const begin = line.find("label=\"") + 7;
    return line.substr(begin, line.find("\\nparallel_for") - begin);
  };
  EXPECT_EQ(escaped(R"(say "hi")"), R"(say \"hi\")");
  EXPECT_EQ(escaped(R"(\N and C:\new\)"), R"(\\N and C:\\new\\)");
  EXPECT_EQ(escaped("two\nlines"), "two\\nlines");
  EXPECT_EQ(escaped("&lt; <b>"), "&amp;lt; <b>");
  EXPECT_EQ(escaped("\xCE\x94t \xE4\xBA\xA4 \xF0\x9F\x8C\xBF"), "\xCE\x94t \xE4\xBA\xA4 \xF0\x9F\x8C\xBF");
  EXPECT_EQ(escaped("bad \xFF\xC3"), "bad \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(escaped(std::string("nul \0!", 6)), "nul \xEF\xBF\xBD!");
}

TEST(Dot, MalformedUtf8IsReplaced) {
  for (std::string const bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x81\x81", "\xF0\x80\x81\x81", "\xED\xA0\x80",
        "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE4\xBA", "\xC3(", "\xF8"}) {
    std::string const dot = dot_of(Graph({task(1, bad)}, {}));
    EXPECT_FALSE(contains(dot, bad));
    EXPECT_TRUE(contains(dot, "\xEF\xBF\xBD"));
    // What the other writer makes of it is checked by the JSON parser, an independent judge.
    EXPECT_NO_THROW((void)Json(dot).dump());
  }
}

TEST(Dot, AnEmptyGraphIsAValidGraph) {
  std::string const dot = dot_of(Graph());
  EXPECT_TRUE(dot.starts_with("digraph trellis {\n")) << dot;
  EXPECT_TRUE(dot.ends_with("}\n")) << dot;
  EXPECT_TRUE(contains(dot, "no tasks recorded")) << dot;
}

TEST(Dot, TheStreamsFormatDoesNotMatter) {
  Trace const trace = stencil(2, 4, 20);
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new Grouping));
  out << std::hex << std::showbase << std::setw(20);
  trace.graph.write_dot(out);
  EXPECT_EQ(out.str(), dot_of(trace.graph));
}

TEST(Dot, GraphvizReadsIt) {
  if (std::system("dot -V > /dev/null 2>&1") != 0) GTEST_SKIP() << "no dot on this machine";
  Graph const graph({task(1, "quote \" backslash \\ \\N newline\nend\\"),
                     task(2, "\xE4\xBA\xA4 & &lt; <b> {|}"), task(3, "bad \xFF"), task(4, "")},
                    {{1, 2, EdgeReason::access},
                     {2, 3, EdgeReason::after},
                     {3, 4, EdgeReason::synchronizing},
                     {4, 1, EdgeReason::exclusion}});
  std::string const base =
      testing::TempDir() + "trellis_test_graph_" + std::to_string(std::random_device()());
  for (Graph const& g : {graph, Graph()}) {
    {
      std::ofstream file(base + ".dot");
      g.write_dot(file);
    }
    std::string const command =
        "dot -Tsvg \"" + base + ".dot\" > \"" + base + ".svg\" 2> \"" + base + ".err\"";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ostringstream warnings, picture;
    warnings << std::ifstream(base + ".err").rdbuf();
    picture << std::ifstream(base + ".svg").rdbuf();
    EXPECT_FALSE(contains(warnings.str(), "yntax")) << warnings.str();
    if (!g.nodes().empty()) {
      // Graphviz gives back what the labels were, in XML.
      EXPECT_TRUE(contains(picture.str(), "quote &quot; backslash \\ \\N newline<")) << picture.str();
      EXPECT_TRUE(contains(picture.str(), ">end\\<")) << picture.str();
      EXPECT_TRUE(contains(picture.str(), "\xE4\xBA\xA4 &amp; &amp;lt; &lt;b&gt; {|}")) << picture.str();
    }
  }
  for (char const* end : {".dot", ".svg", ".err"}) std::remove((base + end).c_str());
}

// ---- Chrome trace ----------------------------------------------------------------------------------------

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

// Binds flows to slices as Perfetto does: events by time, in file order where times are equal; a flow event
// belongs to the slice that its thread entered last, whether or not that one has ended. Returns the edges as
// pairs of task ids. Also checks what every trace must fulfil.
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
      EXPECT_TRUE(ts == begin || (ts > begin && ts < begin + duration)) << event << "\n" << current[tid];
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
  Json const trace = json_of({SchedulingGraph({ran(1, "a", 2, 10, 20)}, {}), {"main thread", "worker 1"}});
  EXPECT_EQ(thread_names(trace),
            (std::map<std::size_t, std::string>{{1, "main thread"}, {2, "worker 1"}, {3, "row 2"}}));
  std::vector<std::size_t> order;
  bool process_named = false;
  for (Json const& event : events(trace, "M")) {
    process_named =
        process_named || (event.at("name") == "process_name" && event.at("args").at("name") == "Trellis");
    if (event.at("name") == "thread_sort_index") order.push_back(event.at("args").at("sort_index"));
  }
  EXPECT_TRUE(process_named);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(ChromeTrace, AnArrowLeadsFromTheEndOfOneTaskToTheBeginOfTheOther) {
  Json const trace = json_of({SchedulingGraph({ran(1, "a", 0, 1'000, 2'000), ran(2, "b", 1, 2'000, 3'000),
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
  Json const trace = json_of({SchedulingGraph({ran(1, "parent", 0, 100, 900), ran(2, "child", 0, 200, 400),
                                               ran(3, "child", 0, 400, 900), ran(4, "after", 0, 900, 950)},
                                              {{2, 3, EdgeReason::access}, {1, 4, EdgeReason::access}}),
                              {"worker 0", "worker 1"}});
  EXPECT_EQ(bound_edges(trace), (std::multiset<std::pair<TaskId, TaskId>>{{2, 3}, {1, 4}}));
  EXPECT_EQ(thread_names(trace),
            (std::map<std::size_t, std::string>{{1, "worker 0"}, {2, "worker 1"}, {3, "worker 0 (lane 2)"}}));
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
  Json const trace = json_of({SchedulingGraph({ran(1, "boom", 0, 1'000, 2'000, TaskState::failed), running,
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

// ---- Timeline --------------------------------------------------------------------------------------------

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;   // of the element itself
  std::string hover;  // the <title> of the element around it
  [[nodiscard]] double number(std::string const& attribute) const {
    return std::stod(attributes.at(attribute));
  }
};

// Reads the part of XML that the pictures use, and reports everything that is not well-formed. In document
// order.
std::vector<Element> parse_xml(std::string const& xml) {
  std::vector<Element> elements;
  std::vector<std::size_t> open;
  EXPECT_NO_THROW((void)Json(xml).dump()) << "not UTF-8";
  for (char const c : xml) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') ADD_FAILURE() << "control character";
  }
  auto const decoded = [](std::string const& raw) {
    std::string text;
    for (std::size_t i = 0; i != raw.size();) {
      if (raw[i] == '<') ADD_FAILURE() << "a bare < in " << raw;
      if (raw[i] != '&') {
        text += raw[i++];
        continue;
      }
      bool known = false;
      for (auto const& [entity, c] :
           std::map<std::string, char>{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}}) {
        if (raw.compare(i, entity.size(), entity) != 0) continue;
        text += c;
        i += entity.size();
        known = true;
        break;
      }
      if (!known) {
        ADD_FAILURE() << "a bare & in " << raw;
        ++i;
      }
    }
    return text;
  };
  std::vector<std::string> hover{""};
  std::size_t roots = 0;
  for (std::size_t at = 0; at < xml.size();) {
    std::size_t const tag = std::min(xml.find('<', at), xml.size());
    std::string const text = decoded(xml.substr(at, tag - at));
    if (!open.empty()) {
      elements[open.back()].text += text;
    } else if (text.find_first_not_of(" \n") != text.npos) {
      ADD_FAILURE() << "text outside of the document: " << text;
    }
    if (tag == xml.size()) break;
    std::size_t const close = xml.find('>', tag);
    if (close == xml.npos) {
      ADD_FAILURE() << "a tag without an end";
      break;
    }
    at = close + 1;
    if (xml[tag + 1] == '/') {
      std::string const name = xml.substr(tag + 2, close - tag - 2);
      if (open.empty() || elements[open.back()].name != name) {
        ADD_FAILURE() << "unexpected </" << name << ">";
        break;
      }
      if (name == "title") hover[hover.size() - 2] = elements[open.back()].text;
      open.pop_back();
      hover.pop_back();
      continue;
    }
    bool const empty = xml[close - 1] == '/';
    Element element;
    std::size_t i = std::min(xml.find_first_of(" />", tag + 1), close);
    element.name = xml.substr(tag + 1, i - tag - 1);
    element.hover = hover.back();
    while (i < close && xml[i] == ' ') {
      std::size_t const equals = xml.find("=\"", i);
      std::size_t const end = equals == xml.npos ? xml.npos : xml.find('"', equals + 2);
      if (end == xml.npos || end > close) {
        ADD_FAILURE() << "bad attributes: " << xml.substr(tag, close - tag + 1);
        break;
      }
      std::string const name = xml.substr(i + 1, equals - i - 1);
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789"),
                name.npos);
      if (!element.attributes.emplace(name, decoded(xml.substr(equals + 2, end - equals - 2))).second) {
        ADD_FAILURE() << "attribute given twice: " << name;
      }
      i = end + 1;
    }
    if (i != close - (empty ? 1 : 0)) ADD_FAILURE() << "bad tag: " << xml.substr(tag, close - tag + 1);
    if (open.empty() && roots++ != 0) ADD_FAILURE() << "two roots";
    elements.push_back(element);
    if (!empty) {
      open.push_back(elements.size() - 1);
      hover.emplace_back();
    }
  }
  EXPECT_TRUE(open.empty()) << "elements are left open";
  return elements;
}

std::vector<Element> boxes(std::string const& svg, std::string const& kind = "task") {
  std::vector<Element> found;
  for (Element const& element : parse_xml(svg)) {
    auto const it = element.attributes.find("class");
    if (it != element.attributes.end() && it->second == kind) found.push_back(element);
  }
  return found;
}

// The box whose hover text begins with this label.
Element box(std::string const& svg, std::string const& label) {
  for (Element const& element : boxes(svg)) {
    if (element.hover.starts_with(label + "\n")) return element;
  }
  ADD_FAILURE() << "no box for " << label;
  return {};
}

std::string fill(std::string const& svg, std::string const& label) {
  return box(svg, label).attributes["fill"];
}

std::vector<std::string> texts(std::string const& svg) {
  std::vector<std::string> found;
  for (Element const& element : parse_xml(svg)) {
    if (element.name == "text") found.push_back(element.text);
  }
  return found;
}

bool shows(std::string const& svg, std::string const& text) {
  std::vector<std::string> const all = texts(svg);
  return std::find(all.begin(), all.end(), text) != all.end();
}

TEST(Timeline, BoxesLieWhereTheTimesSay) {
  std::string const svg =
      svg_of({SchedulingGraph({ran(1, "first", 0, 1'000, 2'000), ran(2, "second", 0, 3'000, 5'000),
                               ran(3, "other", 1, 2'000, 3'000)},
                              {}),
              {"main thread", "worker 1", "worker 2"}});
  ASSERT_EQ(boxes(svg).size(), 3u);
  Element const first = box(svg, "first"), second = box(svg, "second"), other = box(svg, "other");
  double const scale = (second.number("x") - first.number("x")) / 2'000;  // pixels per ns
  EXPECT_GT(scale, 0.1);
  EXPECT_NEAR(first.number("width"), 1'000 * scale, 1);
  EXPECT_NEAR(second.number("width"), 2'000 * scale, 1);
  EXPECT_NEAR(other.number("x"), first.number("x") + 1'000 * scale, 0.02);
  EXPECT_EQ(first.number("y"), second.number("y"));
  EXPECT_GE(other.number("y"), first.number("y") + first.number("height"));
  for (char const* text :
       {"main thread", "worker 1", "worker 2", "75 %", "25 %", "0 %", "0", "1 \u00B5s", "4 \u00B5s",
        "3 tasks on 3 rows  \u00B7  total span 4 \u00B5s  \u00B7  busy 33 %", "first", "second"}) {
    EXPECT_TRUE(shows(svg, text)) << text;
  }
}

TEST(Timeline, TheHoverTextNamesLabelTimesAndAccesses) {
  TaskRecord early = ran(1, "early", 0, 500, 1'000);
  TaskRecord record = ran(2, "scale <x>", 0, 1'750, 14'100);
  record.ready_ns = 1'500;
  record.accesses = {{"x", "read", "[0, 64)"}, {"y & z", "write", "whole"}};
  record.file = "heat.cpp";
  record.line = 12;
  std::string const svg = svg_of({SchedulingGraph({early, record}, {}), {"worker 0"}});
  EXPECT_EQ(box(svg, "scale <x>").hover,
            "scale <x>\n12.35 \u00B5s, from 1.25 \u00B5s to 13.6 \u00B5s\nwas ready for 250 ns\n"
            "task 2, parallel_for, Serial, heat.cpp:12\nread x [0, 64)\nwrite y & z whole");
}

TEST(Timeline, TilesOfOneFamilyShareAHueAndStepsDifferInShade) {
  std::vector<TaskRecord> nodes;
  TaskId id = 0;
  for (int step = 0; step != 6; ++step) {
    for (int i = 0; i != 2; ++i) {
      for (int j = 0; j != 2; ++j) {
        ++id;
        nodes.push_back(
            ran(id, "tile " + std::to_string(i) + "," + std::to_string(j) + " step " + std::to_string(step),
                0, id * 100, id * 100 + 100));
      }
    }
    ++id;
    nodes.push_back(ran(id, "norm", 0, id * 100, id * 100 + 100));
  }
  std::string const svg = svg_of({SchedulingGraph(nodes, {}), {"worker 0"}});
  for (int step = 0; step != 6; ++step) {
    std::string const end = " step " + std::to_string(step);
    EXPECT_EQ(fill(svg, "tile 0,0" + end), fill(svg, "tile 1,1" + end));
    EXPECT_EQ(fill(svg, "tile 0,0" + end), fill(svg, "tile 0,1" + end));
    EXPECT_NE(fill(svg, "tile 0,0" + end), fill(svg, "norm"));
    if (step == 0) continue;
    EXPECT_NE(fill(svg, "tile 0,0" + end), fill(svg, "tile 0,0 step " + std::to_string(step - 1)));
  }
  EXPECT_TRUE(shows(svg, "\u2026  tile *,* step n")) << "the legend";

  // The step is the number of the outermost loop, wherever the label has it.
  std::vector<TaskRecord> swapped;
  for (id = 1; id <= 12; ++id) {
    std::string const step = std::to_string((id - 1) / 4), tile = std::to_string((id - 1) % 4);
    swapped.push_back(ran(id, "s" + step + " t" + tile + " of 4", 0, id * 100, id * 100 + 100));
  }
  std::string const other = svg_of({SchedulingGraph(swapped, {}), {"worker 0"}});
  EXPECT_EQ(fill(other, "s1 t0 of 4"), fill(other, "s1 t3 of 4"));
  EXPECT_NE(fill(other, "s1 t0 of 4"), fill(other, "s2 t0 of 4"));
  EXPECT_TRUE(shows(other, "sn t* of 4"));
}

TEST(Timeline, ColoursAreTheSameInTheNextRun) {
  std::vector<std::string> const labels = {"halo", "interior", "norm", "write"};
  auto const colours = [&](std::vector<std::size_t> const& order) {
    std::vector<TaskRecord> nodes;
    for (std::size_t const i : order) {
      TaskId const id = nodes.size() + 1;
      nodes.push_back(ran(id, labels[i], 0, id * (i + 1) * 10, id * (i + 1) * 10 + i));
    }
    std::string const svg = svg_of({SchedulingGraph(nodes, {}), {"worker 0"}});
    std::vector<std::string> found;
    for (std::string const& label : labels) found.push_back(fill(svg, label));
    return found;
  };
  std::vector<std::string> const expected = colours({0, 1, 2, 3});
  EXPECT_EQ(std::set<std::string>(expected.begin(), expected.end()).size(), 4u);
  EXPECT_EQ(colours({3, 1, 0, 2}), expected);
  EXPECT_EQ(colours({2, 3, 1, 0}), expected);
}

TEST(Timeline, MoreFamiliesThanHuesShareGrey) {
  std::vector<TaskRecord> nodes;
  for (TaskId id = 1; id <= 12; ++id) {
    nodes.push_back(ran(id, std::string("task ") + static_cast<char>('a' + id), 0, id * 10, id * 10 + 10));
  }
  std::string const svg = svg_of({SchedulingGraph(nodes, {}), {"worker 0"}});
  std::map<std::string, int> fills;
  for (Element const& element : boxes(svg)) ++fills[element.attributes.at("fill")];
  EXPECT_EQ(fills.size(), 8u);
  EXPECT_EQ(fills["#808080"], 5);
  EXPECT_TRUE(contains(svg, "5 other labels"));
}

TEST(Timeline, BoxesOfOverlappingTasksDoNotOverlap) {
  std::string const svg =
      svg_of({SchedulingGraph({ran(1, "parent", 0, 100, 900), ran(2, "child a", 0, 200, 400),
                               ran(3, "child b", 0, 400, 800), ran(4, "grandchild", 0, 450, 500),
                               ran(5, "next", 1, 100, 300)},
                              {}),
              {"worker 0", "worker 1"}});
  std::vector<Element> const all = boxes(svg);
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t a = 0; a != all.size(); ++a) {
    for (std::size_t b = 0; b != a; ++b) {
      auto const apart = [&](char const* begin, char const* size) {
        return all[a].number(begin) + all[a].number(size) <= all[b].number(begin) + 0.01 ||
               all[b].number(begin) + all[b].number(size) <= all[a].number(begin) + 0.01;
      };
      EXPECT_TRUE(apart("x", "width") || apart("y", "height")) << all[a].hover << "\n" << all[b].hover;
    }
  }
  // A worker that helps is busy once, not twice.
  EXPECT_TRUE(shows(svg, "100 %"));
  EXPECT_TRUE(shows(svg, "25 %"));
}

TEST(Timeline, StatesAreCountedAndFailuresStandOut) {
  TaskRecord running = ran(2, "runs", 0, 3'000, 0, TaskState::running);
  std::string const svg =
      svg_of({SchedulingGraph({ran(1, "boom", 0, 1'000, 2'000, TaskState::failed), running,
                               task(3, "never", TaskState::cancelled), task(4, "later"),
                               task(5, "next", TaskState::ready), ran(6, "fine", 0, 4'000, 5'000)},
                              {}),
              {"worker 0"}});
  EXPECT_EQ(boxes(svg).size(), 3u);
  EXPECT_TRUE(
      shows(svg,
            "3 tasks on 1 row  \u00B7  total span 4 \u00B5s  \u00B7  busy 75 %  \u00B7  1 still running"
            "  \u00B7  1 failed  \u00B7  1 cancelled  \u00B7  2 not begun"))
      << texts(svg)[1];
  EXPECT_TRUE(contains(svg, "boom \u2014 failed\n"));
  EXPECT_TRUE(contains(svg, "runs \u2014 running\n"));
  // Once in the picture and once in the legend.
  EXPECT_EQ(count(svg, "url(#trellis-failed)"), 2u);
  EXPECT_TRUE(shows(svg, "failed"));
  std::string const fine = svg_of({SchedulingGraph({ran(6, "fine", 0, 4'000, 5'000)}, {}), {"worker 0"}});
  EXPECT_EQ(count(fine, "url(#trellis-failed)"), 0u);
  EXPECT_FALSE(shows(fine, "failed"));
}

TEST(Timeline, AnyLabelLeavesItWellFormed) {
  std::string const bad =
      "\" <b> & ]]> ' \\ \n\t \x01\x7F \xFF \xED\xA0\x80 \xEF\xBF\xBF \xE4\xBA\xA4 # 18446744073709551617";
  TaskRecord record = ran(1, bad, 0, 10, 20);
  record.accesses = {{bad, bad, bad}};
  record.pattern = record.space = record.file = bad;
  std::string const svg = svg_of({SchedulingGraph({record}, {}), {bad}});
  ASSERT_EQ(boxes(svg).size(), 1u);
  EXPECT_TRUE(boxes(svg)[0].hover.starts_with("\" <b> & ]]> ' \\ \n\t ")) << boxes(svg)[0].hover;
  EXPECT_FALSE(contains(svg, "\xEF\xBF\xBF"));
}

TEST(Timeline, NothingToShowIsSaid) {
  EXPECT_TRUE(shows(svg_of({}), "no tasks recorded"));
  std::string const idle = svg_of({SchedulingGraph({task(1, "a")}, {}), {"worker 0"}});
  EXPECT_TRUE(shows(idle, "no task has run"));
  EXPECT_TRUE(shows(idle, "worker 0"));
  EXPECT_TRUE(shows(idle, "0 tasks on 1 row  \u00B7  1 not begun"));
  EXPECT_TRUE(boxes(idle).empty());
}

TEST(Timeline, OneTaskOfNoDurationIsVisible) {
  std::string const svg = svg_of({SchedulingGraph({ran(1, "blink", 0, 77, 77)}, {}), {"worker 0"}});
  ASSERT_EQ(boxes(svg).size(), 1u);
  EXPECT_GT(boxes(svg)[0].number("width"), 0);
  EXPECT_TRUE(contains(svg, "total span 0 ns"));
}

TEST(Timeline, TicksAreRoundAndFewForEverySpan) {
  for (std::uint64_t span = 1; span < 4'000'000'000'000; span = span * 7 / 3 + 1) {
    std::string const svg = svg_of({SchedulingGraph({ran(1, "a", 0, 5, 5 + span)}, {}), {"worker 0"}});
    std::vector<double> at;
    std::set<std::string> units;
    for (std::string const& text : texts(svg)) {
      std::size_t const space = text.find(' ');
      if (space == text.npos || text.find_first_not_of("0123456789.") != space) continue;
      std::string const unit = text.substr(space + 1);
      if (unit != "ns" && unit != "\u00B5s" && unit != "ms" && unit != "s") continue;
      units.insert(unit);
      at.push_back(std::stod(text));
    }
    EXPECT_EQ(units.size(), 1u) << span;
    EXPECT_GE(at.size(), span < 4 ? span : 3) << span;
    EXPECT_LE(at.size(), 9u) << span;
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_NEAR(at[i], at[0] * static_cast<double>(i + 1), 1e-9 * at[i]) << span;
    }
    double const digit = at[0] / std::pow(10, std::floor(std::log10(at[0]) + 1e-9));
    EXPECT_TRUE(std::abs(digit - 1) < 1e-9 || std::abs(digit - 2) < 1e-9 || std::abs(digit - 5) < 1e-9)
        << at[0];
  }
}

TEST(Timeline, TheStreamsFormatDoesNotMatter) {
  Trace const trace = stencil(2, 4, 20);
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new Grouping));
  out << std::hex << std::setw(20) << std::setfill('*');
  trace.write_svg(out);
  EXPECT_EQ(out.str(), svg_of(trace));
}

TEST(Timeline, PythonReadsIt) {
  if (std::system("python3 -c 'import xml.etree.ElementTree' > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no python3 on this machine";
  }
  std::string const path =
      testing::TempDir() + "trellis_test_graph_" + std::to_string(std::random_device()()) + ".svg";
  {
    Trace const trace = stencil(3, 5, 9);
    std::vector<TaskRecord> nodes = trace.graph.nodes();
    nodes[3].label = "\" <b> & ]]> ' \\ \n\t \x01\x7F \xFF";
    nodes[7].state = TaskState::failed;
    std::ofstream file(path);
    Trace{SchedulingGraph(nodes, trace.graph.edges()), trace.rows}.write_svg(file);
  }
  std::string const command =
      "python3 -c \"import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])\" \"" + path + '"';
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::remove(path.c_str());
}

// ---- Size ------------------------------------------------------------------------------------------------

TEST(Timeline, EveryTaskHasItsBoxUpToTenThousand) {
  EXPECT_EQ(boxes(svg_of(stencil(4, 25, 400))).size(), 10'000u);
}

TEST(Timeline, AHundredThousandTasksGiveASmallPictureInWhichEachIsCounted) {
  Trace const trace = stencil(8, 100, 1000);
  auto const begin = std::chrono::steady_clock::now();
  std::string const svg = svg_of(trace);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_LT(svg.size(), 4'000'000u);
  std::size_t counted = boxes(svg).size();
  std::vector<Element> const merged = boxes(svg, "tasks");
  EXPECT_GT(merged.size(), 100u);
  for (Element const& element : merged) {
    counted += std::stoul(element.hover);
    EXPECT_LT(element.number("width"), 1.01);
  }
  EXPECT_EQ(counted, 100'000u);
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
