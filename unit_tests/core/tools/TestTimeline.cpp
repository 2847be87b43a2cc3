// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traces as SVG timelines.
#include "GraphTest.hpp"

#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;   // of the element itself
  std::string hover;  // the <title> of the element around it
  [[nodiscard]] double number(std::string const& attribute) const {
    return std::stod(attributes.at(attribute));
  }
};

// Reads the part of XML that the pictures use, and reports everything that is not well-formed. In
// document order.
std::vector<Element> parse_xml(std::string const& xml) {
  std::vector<Element> elements;
  std::vector<std::size_t> open;
  EXPECT_NO_THROW((void)Json(xml).dump()) << "not UTF-8";
  for (char const c : xml) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
      ADD_FAILURE() << "control character";
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
      for (auto const& [entity, c] : std::map<std::string, char>{
               {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}}) {
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
      EXPECT_EQ(
          name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789"),
          name.npos);
      if (!element.attributes.emplace(name, decoded(xml.substr(equals + 2, end - equals - 2)))
               .second) {
        ADD_FAILURE() << "attribute given twice: " << name;
      }
      i = end + 1;
    }
    if (i != close - (empty ? 1 : 0))
      ADD_FAILURE() << "bad tag: " << xml.substr(tag, close - tag + 1);
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

TEST(Timeline, BusyIsCountedForEachWorkerAndAnIdleRowSaysWhoHadItsPlace) {
  auto const svg_with = [](int workers, std::vector<TaskRecord> tasks) {
    return svg_of({SchedulingGraph(std::move(tasks), {}),
                   {"main thread", "worker 1", "worker 2", "Cuda stream 0"},
                   workers,
                   3});
  };
  // Two workers: both places are full, though one thread of three has none.
  std::string const full = svg_with(2, {ran(1, "a", 0, 1'000, 5'000), ran(2, "b", 1, 1'000, 5'000),
                                        ran(3, "c", 3, 1'000, 2'000)});
  EXPECT_TRUE(shows(full,
                    "3 tasks on 4 rows  \u00B7  total span 4 \u00B5s  \u00B7  2 workers busy "
                    "100 %  \u00B7  1 stream busy 25 %"))
      << texts(full)[1];
  EXPECT_TRUE(shows(full, "main thread had its place"));
  EXPECT_EQ(count(full, "had its place"), 1u);
  std::string const half = svg_with(2, {ran(1, "a", 0, 1'000, 5'000)});
  EXPECT_TRUE(shows(half,
                    "1 task on 4 rows  \u00B7  total span 4 \u00B5s  \u00B7  2 workers busy "
                    "50 %  \u00B7  1 stream busy 0 %"))
      << texts(half)[1];
  EXPECT_EQ(count(half, "had its place"), 0u);
  EXPECT_EQ(count(half, "no task needed it"), 2u);
  // A task with the threads of several workers has so many places; within it no others count.
  std::vector<TaskRecord> wide = {ran(1, "a", 0, 1'000, 3'000), ran(2, "b", 0, 1'500, 2'500),
                                  ran(3, "c", 1, 4'000, 5'000)};
  wide[0].workers = wide[1].workers = 2;
  wide[0].threads = 8;
  std::string const of_several = svg_with(4, wide);
  EXPECT_TRUE(shows(of_several,
                    "3 tasks on 4 rows  \u00B7  total span 4 \u00B5s  \u00B7  4 workers busy "
                    "31 %  \u00B7  1 stream busy 0 %"))
      << texts(of_several)[1];
  EXPECT_TRUE(shows(of_several, "no task needed it, or one of several threads had its place"));
  EXPECT_TRUE(contains(of_several, "task 1, 8 threads, parallel_for"));
  // While a thread waits inside a task another one has its place: not more than all.
  std::string const more =
      svg_with(1, {ran(1, "a", 0, 1'000, 5'000), ran(2, "b", 1, 1'000, 5'000)});
  EXPECT_TRUE(contains(more, "1 worker busy 100 %")) << texts(more)[1];
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

TEST(Timeline, TheCriticalPathIsMarked) {
  // 1 -> 3 -> 4 is longer than 2 -> 4.
  Trace const trace{SchedulingGraph({ran(1, "a", 0, 1'000, 3'000), ran(2, "b", 1, 1'000, 2'000),
                                     ran(3, "c", 1, 3'000, 4'500), ran(4, "d", 0, 4'500, 6'000)},
                                    {{1, 3}, {3, 4}, {2, 4}}),
                    {"main thread", "worker 1"}};
  std::string const svg = svg_of(trace);
  std::set<std::string> marked;
  for (Element const& element : boxes(svg, "critical"))
    marked.insert(element.hover.substr(0, element.hover.find('\n')));
  EXPECT_EQ(marked, (std::set<std::string>{"", "a", "c", "d"})) << "and one in the legend";
  EXPECT_EQ(boxes(svg).size(), 4u);
  EXPECT_EQ(count(svg, "<path id=\"critical-path\""), 1u);
  EXPECT_TRUE(contains(svg, ">critical path<tspan")) << svg;
  EXPECT_TRUE(contains(svg, ">3 tasks, 5 \u00B5s</tspan>"));
  // The outline is where the box is.
  Element const c = box(svg, "c");
  for (Element const& element : boxes(svg, "critical")) {
    if (!element.hover.starts_with("c\n")) continue;
    EXPECT_EQ(element.number("x"), c.number("x"));
    EXPECT_EQ(element.number("width"), c.number("width"));
  }
  // Nothing to mark: no edges, or edges that close a circle.
  for (std::vector<EdgeRecord> const& edges :
       {std::vector<EdgeRecord>{}, {{1, 3}, {3, 1, EdgeReason::exclusion}}})
    EXPECT_FALSE(
        contains(svg_of({SchedulingGraph(trace.graph.nodes(), edges), trace.rows}), "critical"));
}

TEST(Timeline, TilesOfOneFamilyShareAHueAndStepsDifferInShade) {
  std::vector<TaskRecord> nodes;
  TaskId id = 0;
  for (int step = 0; step != 6; ++step) {
    for (int i = 0; i != 2; ++i) {
      for (int j = 0; j != 2; ++j) {
        ++id;
        nodes.push_back(ran(
            id,
            "tile " + std::to_string(i) + "," + std::to_string(j) + " step " + std::to_string(step),
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
    nodes.push_back(
        ran(id, std::string("task ") + static_cast<char>('a' + id), 0, id * 10, id * 10 + 10));
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
      EXPECT_TRUE(apart("x", "width") || apart("y", "height")) << all[a].hover << "\n"
                                                               << all[b].hover;
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
  EXPECT_TRUE(shows(
      svg,
      "3 tasks on 1 row  \u00B7  total span 4 \u00B5s  \u00B7  busy 75 %  \u00B7  1 still running"
      "  \u00B7  1 failed  \u00B7  1 cancelled  \u00B7  2 not begun"))
      << texts(svg)[1];
  EXPECT_TRUE(contains(svg, "boom \u2014 failed\n"));
  EXPECT_TRUE(contains(svg, "runs \u2014 running\n"));
  // Once in the picture and once in the legend.
  EXPECT_EQ(count(svg, "url(#trellis-failed)"), 2u);
  EXPECT_TRUE(shows(svg, "failed"));
  std::string const fine =
      svg_of({SchedulingGraph({ran(6, "fine", 0, 4'000, 5'000)}, {}), {"worker 0"}});
  EXPECT_EQ(count(fine, "url(#trellis-failed)"), 0u);
  EXPECT_FALSE(shows(fine, "failed"));
}

TEST(Timeline, AnyLabelLeavesItWellFormed) {
  std::string const bad =
      "\" <b> & ]]> ' \\ \n\t \x01\x7F \xFF \xED\xA0\x80 \xEF\xBF\xBF \xE4\xBA\xA4 # "
      "18446744073709551617";
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
    std::string const svg =
        svg_of({SchedulingGraph({ran(1, "a", 0, 5, 5 + span)}, {}), {"worker 0"}});
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
    EXPECT_TRUE(std::abs(digit - 1) < 1e-9 || std::abs(digit - 2) < 1e-9 ||
                std::abs(digit - 5) < 1e-9)
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

}  // namespace
}  // namespace trellis
