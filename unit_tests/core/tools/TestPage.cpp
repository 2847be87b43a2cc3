// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages for a browser. browse_page.py clicks through them.
#include "GraphTest.hpp"

#include <Trellis_Statistics.hpp>
#include <tools/Trellis_Page.hpp>

#include <gmock/gmock.h>

#include <iomanip>
#include <locale>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Impl::PageOptions;
using Impl::TraceLook;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

std::string page_of(Trace const& trace, PageOptions const& options = {}) {
  std::ostringstream out;
  Impl::write_page(out, TraceLook(trace), options);
  return out.str();
}

/// What the page's script reads.
Json data_of(std::string const& page) {
  std::string const begin = "<script type=\"application/json\" id=\"data\">";
  std::size_t const at = page.find(begin);
  EXPECT_NE(at, page.npos);
  std::size_t const from = at + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}
Json data_of(Trace const& trace, PageOptions const& options = {}) {
  return data_of(page_of(trace, options));
}

constexpr char const* hostile = "<b> & \"it's\" </script><!-- \xFF \x01 \\ \u00E4";

TEST(Page, IsOneFileWithAllParts) {
  std::ostringstream out;
  stencil(2, 3, 4).write_html(out);
  std::string const page = out.str();
  for (char const* part :
       {"<!DOCTYPE html>", "<h2>Timeline</h2>", "<h2>Graph</h2>", "<h2>Analysis</h2>",
        "<h2>Statistics</h2>", "parallel fraction", "prefers-color-scheme", "</html>"})
    EXPECT_THAT(page, HasSubstr(part));
  for (char const* outside : {" src=", "<link", "url(", "@import", "https:", "fetch(", "import("})
    EXPECT_THAT(page, Not(HasSubstr(outside))) << outside;
  EXPECT_EQ(count(page, "http:"), count(page, "http://www.w3.org/2000/svg"));  // a name
}

TEST(Page, HasTimesAccessesAndNeighbours) {
  std::vector<TaskRecord> nodes{ran(1, "a", 0, 1000, 1500), ran(2, "b", 1, 1600, 1900)};
  nodes[0].accesses = {{"x", "write", "[0, 4)"}};
  nodes[1].accesses = {{"x", "read", "[2, 4)", 3, true}, {"y", "write", "whole"}};
  nodes[1].file = "solver.cpp";
  nodes[1].line = 42;
  nodes[1].ready_ns = 1510;
  Json const data = data_of(
      {SchedulingGraph(nodes, {{1, 2, EdgeReason::access, true}, {1, 2, EdgeReason::after}}),
       {"worker 0", "worker 1"}});
  Json const& texts = data["texts"];
  auto const text = [&](Json const& index) { return texts[index.get<std::size_t>()]; };
  EXPECT_EQ(data["slice_begin"], Json({0, 600}));
  EXPECT_EQ(data["slice_time"], Json({500, 300}));
  EXPECT_EQ(data["ready"], Json({0, 510}));
  EXPECT_EQ(data["accesses"], Json({1, 2}));
  EXPECT_EQ(text(data["access"][0]), "write\tx\t[0, 4)");
  EXPECT_EQ(text(data["access"][1]), "read\tx #3\t[2, 4)");
  EXPECT_EQ(text(data["place"][1]), "solver.cpp:42");
  EXPECT_EQ(data["from"], Json({0, 0}));
  EXPECT_EQ(data["to"], Json({1, 1}));
  EXPECT_EQ(text(data["reason"][0]), "access, released");
  EXPECT_EQ(text(data["reason"][1]), "after");
  EXPECT_EQ(data["critical"], Json({0, 1}));
  EXPECT_EQ(data["rows"][1][0], "worker 1");
  EXPECT_THAT(data["notes"], IsEmpty());
}

TEST(Page, EscapesWhatLabelsHold) {
  std::vector<TaskRecord> nodes{ran(1, hostile, 0, 1, 2), task(2, hostile, TaskState::cancelled)};
  nodes[0].accesses = {{hostile, "write", "whole"}};
  PageOptions options;
  options.title = hostile;
  options.files = {{hostile, hostile}};
  std::string const page = page_of({SchedulingGraph(nodes, {{1, 2}}), {hostile}}, options);
  // The script elements are those of the page, and no label is mark-up.
  EXPECT_EQ(count(page, "</script"), 2u);
  EXPECT_EQ(count(page, "<script"), 2u);
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_EQ(count(page, "\x01"), 0u);
  Json const data = data_of(page);
  std::string const whole = "<b> & \"it's\" </script><!-- \uFFFD \x01 \\ \u00E4";
  EXPECT_EQ(data["title"], whole);
  EXPECT_EQ(data["texts"][data["label"][0].get<std::size_t>()], whole);
  EXPECT_NO_THROW((void)Json(page).dump()) << "not UTF-8";
}

TEST(Page, OfAnEmptyGraphSaysSo) {
  std::string const page = page_of({});
  EXPECT_THAT(page, HasSubstr("no tasks recorded"));
  Json const data = data_of(page);
  EXPECT_EQ(data["all"], 0);
  EXPECT_THAT(data["id"], IsEmpty());
  EXPECT_THAT(data["time"], IsEmpty());
}

TEST(Page, OfTasksThatHaveNotRun) {
  Json const data =
      data_of({SchedulingGraph({task(1, "a"), task(2, "b", TaskState::cancelled)}, {{1, 2}}), {}});
  EXPECT_EQ(data["state"], Json({0, 5}));
  EXPECT_EQ(data["family"], Json({-1, -1}));
  EXPECT_THAT(data["slice_task"], IsEmpty());
}

TEST(Page, KnowsWhatFailed) {
  Json const data = data_of(
      {SchedulingGraph(
           {ran(1, "a", 0, 1, 9, TaskState::failed), task(2, "b", TaskState::cancelled)}, {{1, 2}}),
       {"w"}});
  EXPECT_EQ(data["state"], Json({4, 5}));
  EXPECT_THAT(data["summary"].get<std::string>(), HasSubstr("1 failed"));
  EXPECT_THAT(data["summary"].get<std::string>(), HasSubstr("1 cancelled"));
}

TEST(Page, LeavesOutTheShortestOfTooManyTasks) {
  Trace const trace = stencil(3, 10, 30);
  PageOptions options;
  options.most_tasks = 50;
  options.most_edges = 10;
  options.most_accesses = 60;
  Json const data = data_of(trace, options);
  EXPECT_EQ(data["all"], 300);
  ASSERT_EQ(data["id"].size(), 50u);
  EXPECT_LE(data["from"].size(), 10u);
  EXPECT_EQ(data["access"].size(), 60u);
  EXPECT_EQ(data["critical"].size(), TraceLook(trace).critical.size());
  std::string notes;
  for (Json const& note : data["notes"]) notes += note.get<std::string>() + '\n';
  EXPECT_THAT(notes, HasSubstr("This page shows 50 of 300 tasks."));
  EXPECT_THAT(notes, HasSubstr("Of the accesses 40 are left out."));
  // All tasks count in the tables, and a grey bar stands for those that are left out.
  EXPECT_EQ(data["labels"][0][2], 300);
  ASSERT_EQ(data["hidden"].size(), 3u);
  EXPECT_THAT(data["hidden"][0].get<std::string>(), HasSubstr("9"));
  for (Json const& fold : data["folds"]) {
    std::size_t tasks = 0;
    for (Json const& node : fold["nodes"]) tasks += node[1].get<std::size_t>();
    EXPECT_EQ(tasks, 300u);
    EXPECT_EQ(fold["node"].size(), 50u);
  }
}

TEST(Page, ColumnsHaveAValueForEachTask) {
  Json const data = data_of(stencil(2, 5, 5));
  for (char const* column : {"id", "label", "family", "shade", "state", "submitted", "ready",
                             "kind", "place", "parent", "accesses"})
    EXPECT_EQ(data[column].size(), 25u) << column;
  for (char const* column :
       {"slice_task", "slice_row", "slice_lane", "slice_begin", "slice_time", "slice_late"})
    EXPECT_EQ(data[column].size(), 25u) << column;
}

TEST(Page, DoesNotDependOnTheFormatOfTheStream) {
  Trace const trace = stencil(2, 5, 5);
  std::ostringstream plain, odd;
  odd.imbue(std::locale(odd.getloc(), new Grouping));
  odd << std::setw(40) << std::setfill('*') << std::hex;
  trace.write_html(plain);
  trace.write_html(odd);
  EXPECT_EQ(plain.str(), odd.str());
}

TEST(Page, CountersAreThoseOfTheRecord) {
  std::vector<TaskRecord> nodes{ran(1, "a", 0, 20, 60), ran(2, "b", 1, 50, 100),
                                task(3, "c", TaskState::cancelled)};
  nodes[0].submitted_ns = 0;
  nodes[0].ready_ns = 10;
  nodes[1].submitted_ns = 10;
  nodes[1].ready_ns = 30;
  nodes[2].submitted_ns = 40;
  nodes[2].finished_ns = 100;
  Trace const trace{SchedulingGraph(nodes, {}), {"w0", "w1"}};
  Impl::Counters const counters = Impl::counters_of(TraceLook(trace), 11);  // every 10 ns
  EXPECT_THAT(counters.spawned, ElementsAre(1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3));
  EXPECT_THAT(counters.pending, ElementsAre(1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0));
  EXPECT_THAT(counters.ready, ElementsAre(0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(counters.running, ElementsAre(0, 0, 1, 1, 1, 2, 1, 1, 1, 1, 0));
}

TEST(Page, StatisticsAreInTheFormOfTheVariable) {
  std::string const csv = Impl::statistics_csv(TraceLook(stencil(2, 5, 5)), "a, \"b\"");
  std::istringstream in(csv);
  std::ostringstream svg;
  experimental::write_statistics_svg(in, svg);
  EXPECT_THAT(svg.str(), HasSubstr("a, \"b\""));
  EXPECT_THAT(svg.str(), HasSubstr("</svg>"));
  EXPECT_EQ(count(csv, "\n"), 1001u);
}

TEST(Page, StatisticsAsTextHaveLabelsAndRows) {
  Trace const trace = stencil(2, 5, 5);
  std::string const text = Impl::statistics_text(TraceLook(trace));
  EXPECT_THAT(text, HasSubstr("25 tasks on 2 rows"));
  EXPECT_THAT(text, HasSubstr("tile * step n"));
  EXPECT_THAT(text, HasSubstr("worker 1"));
}

TEST(Page, OfSeveralGraphsLeadsToEach) {
  std::ostringstream out;
  Impl::write_list_page(out, {{"a-1", "<a>", "3 tasks", "today"}, {"b-1", "b", "4 tasks", "then"}});
  EXPECT_THAT(out.str(), HasSubstr("href=\"a-1/index.html\">&lt;a&gt;</a>"));
  EXPECT_THAT(out.str(), HasSubstr("href=\"b-1/index.html\">b</a>"));
  EXPECT_THAT(out.str(), HasSubstr("2 graphs"));
}

}  // namespace
}  // namespace trellis
