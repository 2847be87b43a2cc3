// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counters over time.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_Statistics.hpp>
#include <trace/Trellis_TaskCounters.hpp>

#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Statistics : public Timed {
 protected:
  Statistics()
      : m_folder(std::filesystem::temp_directory_path() /
                 ("trellis_statistics_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(m_folder);
  }
  ~Statistics() override { std::filesystem::remove_all(m_folder); }

  [[nodiscard]] std::string file(std::string const& name) const { return m_folder / name; }
  [[nodiscard]] TaskGraphOptions counted(std::string const& name, int workers = 2) const {
    TaskGraphOptions options = with_workers(workers);
    options.statistics = name.empty() ? name : file(name);
    return options;
  }
  /// The cells of each row, by column.
  using Rows = std::vector<std::map<std::string, std::string>>;
  static Rows rows_of(std::string const& path) {
    std::ifstream in(path);
    auto const cells = [](std::string const& line) {
      std::vector<std::string> all(1);
      for (char const c : line) {
        if (c == ',')
          all.emplace_back();
        else
          all.back() += c;
      }
      return all;
    };
    std::string line;
    std::getline(in, line);
    std::vector<std::string> const names = cells(line);
    Rows rows;
    while (std::getline(in, line)) {
      std::vector<std::string> const row = cells(line);
      EXPECT_EQ(row.size(), names.size()) << line;
      rows.emplace_back();
      for (std::size_t k = 0; k < std::min(row.size(), names.size()); ++k)
        rows.back()[names[k]] = row[k];
    }
    return rows;
  }
  static double sum(Rows const& rows, std::string const& column) {
    double all = 0;
    for (auto const& row : rows)
      if (!row.at(column).empty()) all += std::stod(row.at(column));
    return all;
  }

 private:
  std::filesystem::path m_folder;
};

TEST_F(Statistics, CountWhatIsThere) {
  TaskGraph graph(counted("", 1));
  Block x("x");
  Gate end;
  Gate begun;
  task(graph, "runs", {updates(x)}, [&] {
    begun.open();
    EXPECT_TRUE(end.pass());
  });
  task(graph, "pending", {updates(x)}, [] {});
  EXPECT_TRUE(begun.pass());
  task(graph, "ready", {}, [] {});
  GraphStatistics const now = graph.statistics();
  EXPECT_EQ(now.spawned, 3u);
  EXPECT_EQ(now.completed, 0u);
  EXPECT_EQ(now.running, 1u);
  EXPECT_EQ(now.pending, 1u);
  EXPECT_EQ(now.ready, 1u);
  EXPECT_EQ(now.in_flight(), 3u);
  end.open();
  graph.wait();
  GraphStatistics const after = graph.statistics();
  EXPECT_EQ(after.spawned, 3u);
  EXPECT_EQ(after.completed, 3u);
  EXPECT_EQ(after.in_flight(), 0u);
}

TEST_F(Statistics, CountChildrenPlansIterationsFailuresAndWhatIsCancelled) {
  for (bool const is_serial : {false, true}) {
    TaskGraphOptions options = counted("");
    options.serial = is_serial;
    TaskGraph graph(options);
    Block x("x");
    std::uint64_t expected = 0;
    task(graph, "parent", {updates(x)}, [&] {
      child("a", {updates(x)}, [] {});
      child("b", {updates(x)}, [] {});
    });
    expected += 3;
    task(graph, "fails", {updates(x)}, [] { throw std::runtime_error("no"); });
    task(graph, "cancelled", {updates(x)}, [] {});
    expected += 2;
    EXPECT_THROW(graph.wait(), Error);
    Plan const plan = graph.record("plan", [&] {
      task(graph, "p", {updates(x)}, [] {});
      task(graph, "q", {reads(x)}, [] {});
    });
    graph.replay(plan, 5);
    expected += 1 + 5 * 2;
    graph.wait();
    EXPECT_EQ(graph.statistics().spawned, expected);
    std::uint64_t const before = graph.submitted();
    graph.iterate(Label("loop"), 7, [&] { task(graph, "t", {updates(x)}, [] {}); });
    graph.wait();
    expected += graph.submitted() - before;
    GraphStatistics const now = graph.statistics();
    EXPECT_EQ(now.spawned, expected);
    EXPECT_EQ(now.completed, expected);
    EXPECT_EQ(now.in_flight(), 0u);
    EXPECT_FALSE(graph.options().record.value());
  }
}

TEST_F(Statistics, AreWrittenAndAddUp) {
  int const count = 3000;
  {
    TaskGraph graph(counted("a.csv"));
    std::atomic<int> ran{0};
    // However busy the machine is, some row is written while this one runs.
    task(graph, "long", {}, [&] { std::this_thread::sleep_for(300ms), ++ran; });
    for (int k = 1; k < count; ++k) task(graph, "t", {}, [&] { compute_for(10us), ++ran; });
    graph.wait();
    EXPECT_EQ(ran, count);
  }
  Rows const rows = rows_of(file("a.csv"));
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(sum(rows, "spawned"), count);
  EXPECT_EQ(rows.back().at("in flight"), "0");
  EXPECT_EQ(rows.back().at("graph"), "TaskGraph");
  double before = 0;
  bool saw_running = false;
  for (auto const& row : rows) {
    double const time = std::stod(row.at("time [s]"));
    EXPECT_GE(time, before);
    before = time;
    double const running = std::stod(row.at("running"));
    saw_running = saw_running || running > 0;
    EXPECT_LE(running, 3);
    EXPECT_GE(std::stod(row.at("in flight")), running + std::stod(row.at("ready")));
  }
  EXPECT_TRUE(saw_running);
  std::ifstream picture(file("a.svg"));
  std::stringstream svg;
  svg << picture.rdbuf();
  EXPECT_THAT(svg.str(), AllOf(HasSubstr("<svg"), HasSubstr("in flight"), HasSubstr("polyline"),
                               HasSubstr("</svg>")));
}

TEST_F(Statistics, OfHeldTasksBatchesAndForkJoinsAreExact) {
  std::string const path = file("b.csv");
  {
    Impl::TaskCounters statistics(&path, "hand, made");
    for (int k = 0; k < 6; ++k) statistics.fusable();
    statistics.held(5);
    statistics.batch(3);
    statistics.batch(2);
    statistics.held(-2);
    // Faster than any sample.
    for (int depth = 0; depth < 100; ++depth) {
      statistics.fork_join(1);
      statistics.fork_join(1);
      statistics.fork_join(-1);
      statistics.fork_join(-1);
    }
    GraphStatistics const now = statistics.now();
    EXPECT_EQ(now.spawned_fusable, 6u);
    EXPECT_EQ(now.held, 3);
    EXPECT_EQ(now.batches, 2u);
    EXPECT_EQ(now.batched, 5u);
    EXPECT_EQ(now.fork_joins, 0);
  }
  // The name of the graph has a comma, so not with rows_of.
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line,
            "time [s],graph,spawned,spawned fusable,held back,batches,mean batch size,ready,"
            "running,in flight,fork-joins,fork-join children");
  int changes = 0;
  std::string last;
  double fusable = 0;
  while (std::getline(in, line)) {
    EXPECT_THAT(line, HasSubstr(",\"hand, made\","));
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 12) << line;
    std::string const cells = line.substr(line.find("made\",") + 6);
    if (cells.starts_with(",,,,,,,,")) {
      constexpr char const* expected[] = {"1,0", "2,0", "1,0", "0,0"};
      EXPECT_EQ(cells.substr(8), expected[changes % 4]) << changes;
      ++changes;
    } else {
      std::istringstream all(cells);
      std::string cell;
      std::getline(all, cell, ',');
      std::getline(all, cell, ',');
      fusable += std::stod(cell);
      last = cells;
    }
  }
  EXPECT_EQ(changes, 400);
  EXPECT_EQ(fusable, 6);
  EXPECT_THAT(last, HasSubstr(",3,"));
  std::ifstream csv(path);
  std::ostringstream svg;
  experimental::write_statistics_svg(csv, svg);
  EXPECT_THAT(svg.str(), AllOf(HasSubstr("hand, made"), HasSubstr("fork-joins")));
}

TEST_F(Statistics, OfRanksHaveFilesOfTheirOwn) {
  Impl::TaskCounters::set_rank(3);
  {
    TaskGraph const graph(counted("c.csv", 1));
  }
  Impl::TaskCounters::set_rank(-1);
  EXPECT_TRUE(std::filesystem::exists(file("c-rank-3.csv")));
  EXPECT_TRUE(std::filesystem::exists(file("c-rank-3.svg")));
  EXPECT_FALSE(std::filesystem::exists(file("c.csv")));
}

TEST_F(Statistics, OfSeveralGraphsShareAFile) {
  TaskGraphOptions named = counted("d.csv", 1);
  for (char const* name : {"one", "two"}) {
    named.name = name;
    TaskGraph graph(named);
    task(graph, "t", {}, [] {});
    graph.wait();
  }
  std::map<std::string, double> spawned;
  for (auto const& row : rows_of(file("d.csv")))
    spawned[row.at("graph")] += std::stod(row.at("spawned"));
  EXPECT_THAT(spawned, ElementsAre(std::pair<std::string const, double>("one", 1),
                                   std::pair<std::string const, double>("two", 1)));
}

TEST_F(Statistics, AreTakenFromTheEnvironment) {
  {
    Environment const set("TRELLIS_STATISTICS", file("e.csv").c_str());
    TaskGraph graph(with_workers(1));
    task(graph, "t", {}, [] {});
    graph.wait();
    EXPECT_EQ(graph.statistics().completed, 1u);
  }
  EXPECT_EQ(sum(rows_of(file("e.csv")), "spawned"), 1);
  Environment const wrong("TRELLIS_STATISTICS", "1");
  EXPECT_THAT(error_of([] { TaskGraph const graph; }).what(), HasSubstr("must be a file"));
}

TEST_F(Statistics, ThatCannotBeHadAreErrors) {
  TaskGraph graph(with_workers(1));
  EXPECT_THAT(error_of([&] { (void)graph.statistics(); }).what(), HasSubstr("counts nothing"));
  TaskGraphOptions options = with_workers(1);
  options.statistics = file("there/is/none.csv");
  Error const error = error_of([&] { TaskGraph const none(options); });
  EXPECT_EQ(error.kind(), Error::Kind::bad_input);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot write its statistics"), HasSubstr("none.csv")));
  std::ostringstream svg;
  std::istringstream other("a,b\n1,2\n");
  EXPECT_THAT(error_of([&] { experimental::write_statistics_svg(other, svg); }).what(),
              HasSubstr("no file of statistics"));
}

}  // namespace
}  // namespace trellis
