// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs as DOT.
#include "GraphTest.hpp"

#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <locale>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Json = nlohmann::json;

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
  EXPECT_TRUE(
      contains(line,
               "label=\"scale\\nparallel_for, failed, synchronizing, main thread, priority -2\\n"
               "read x [0, 64)\\lwrite y whole\\l\""))
      << line;
  EXPECT_TRUE(contains(line, "tooltip=\"heat.cpp:12\"")) << line;
}

TEST(Dot, DependencyEdgesAreSolidAndExclusionIsDashedWithItsReason) {
  std::string const dot =
      dot_of(Graph({task(1, "a"), task(2, "b"), task(3, "c"), task(4, "d"), task(5, "e")},
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
  EXPECT_EQ(escaped("\xCE\x94t \xE4\xBA\xA4 \xF0\x9F\x8C\xBF"),
            "\xCE\x94t \xE4\xBA\xA4 \xF0\x9F\x8C\xBF");
  EXPECT_EQ(escaped("bad \xFF\xC3"), "bad \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(escaped(std::string("nul \0!", 6)), "nul \xEF\xBF\xBD!");
}

TEST(Dot, MalformedUtf8IsReplaced) {
  for (std::string const bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x81\x81", "\xF0\x80\x81\x81",
        "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE4\xBA",
        "\xC3(", "\xF8"}) {
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
      EXPECT_TRUE(contains(picture.str(), "quote &quot; backslash \\ \\N newline<"))
          << picture.str();
      EXPECT_TRUE(contains(picture.str(), ">end\\<")) << picture.str();
      EXPECT_TRUE(contains(picture.str(), "\xE4\xBA\xA4 &amp; &amp;lt; &lt;b&gt; {|}"))
          << picture.str();
    }
  }
  for (char const* end : {".dot", ".svg", ".err"}) std::remove((base + end).c_str());
}

}  // namespace
}  // namespace trellis
