// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What TRELLIS_TRACE writes, and what TRELLIS_RECORD says.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <trace/Trellis_GraphTools.hpp>
#include <trace/Trellis_TaskCounters.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
namespace fs = std::filesystem;

/// A variable of the program may be a graph.
bool const has_tools_for_a_graph_that_is_initialized_first = Impl::graph_tools() != nullptr;

class TraceFolder : public Timed {
 protected:
  fs::path const folder =
      fs::path(testing::TempDir()) / ("trellis_trace" + std::to_string(getpid()));

  void SetUp() override {
    Timed::SetUp();
    fs::remove_all(folder);
    setenv("TRELLIS_TRACE", folder.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TRELLIS_TRACE");
    fs::remove_all(folder);
    Timed::TearDown();
  }

  static std::string text_of(fs::path const& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static std::set<std::string> names_in(fs::path const& folder) {
    std::set<std::string> names;
    if (fs::exists(folder))
      for (fs::directory_entry const& entry : fs::directory_iterator(folder))
        names.insert(entry.path().filename().string());
    return names;
  }
  /// Runs a graph of this name and returns what is said on the standard error stream.
  static std::string run(std::string const& name, int tasks = 3,
                         std::optional<bool> record = std::nullopt) {
    testing::internal::CaptureStderr();
    {
      TaskGraphOptions options = with_workers(2);
      options.name = name;
      options.record = record;
      TaskGraph graph(options);
      Block x("x");
      for (int k = 0; k < tasks; ++k) task(graph, "step " + std::to_string(k), {updates(x)}, [] {});
      graph.wait();
    }
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(TraceFolder, MayBeOfAGraphThatIsMadeBeforeMain) {
  EXPECT_TRUE(has_tools_for_a_graph_that_is_initialized_first);
}

TEST_F(TraceFolder, HasAllFilesOfAGraph) {
  std::string const said = run("pump");
  EXPECT_THAT(said, HasSubstr("the trace of pump (3 tasks) is in " + (folder / "pump-1").string()));
  EXPECT_THAT(said, HasSubstr("open " + (folder / "index.html").string()));
  EXPECT_THAT(names_in(folder), UnorderedElementsAre("pump-1", "index.html"));
  EXPECT_THAT(names_in(folder / "pump-1"),
              UnorderedElementsAre("analysis.txt", "graph.dot", "graph.svg", "index.html",
                                   "statistics.csv", "statistics.svg", "statistics.txt",
                                   "summary.txt", "timeline.svg", "trace.json"));
  EXPECT_THAT(text_of(folder / "pump-1" / "trace.json"), HasSubstr("traceEvents"));
  EXPECT_THAT(text_of(folder / "pump-1" / "graph.dot"), HasSubstr("digraph"));
  EXPECT_THAT(text_of(folder / "pump-1" / "graph.svg"), HasSubstr("step 2"));
  EXPECT_THAT(text_of(folder / "pump-1" / "analysis.txt"), HasSubstr("what if"));
  EXPECT_THAT(text_of(folder / "pump-1" / "statistics.txt"), HasSubstr("step n"));
  // The common page is that of the only graph.
  EXPECT_THAT(text_of(folder / "index.html"), HasSubstr("pump-1/trace.json"));
  EXPECT_THAT(text_of(folder / "pump-1" / "index.html"),
              HasSubstr("\"trace.json\",\"trace.json\""));
}

TEST_F(TraceFolder, KeepsEachGraphAndLeadsToIt) {
  run("pump");
  run("pump");
  run("../a <b>");
  EXPECT_THAT(names_in(folder), UnorderedElementsAre("pump-1", "pump-2", "a-b-1", "index.html"));
  std::string const page = text_of(folder / "index.html");
  for (char const* own : {"pump-1/index.html", "pump-2/index.html", "a-b-1/index.html"})
    EXPECT_THAT(page, HasSubstr(own));
  EXPECT_THAT(page, HasSubstr("../a &lt;b&gt;"));
}

TEST_F(TraceFolder, KeepsEachProcess) {
  if (sanitized) GTEST_SKIP() << "a sanitizer does not know the threads of a process that forks";
  std::vector<pid_t> children;
  for (int k = 0; k < 4; ++k) {
    pid_t const child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int status = 1;
      {
        Impl::TaskCounters::set_rank(k / 2);  // two do not know that they are two
        TaskGraphOptions options = with_workers(1);
        options.name = "rank";
        TaskGraph graph(options);
        Block x("x");
        task(graph, "step", {updates(x)}, [] {});
        graph.wait();
        status = 0;
      }
      _exit(status);
    }
    children.push_back(child);
  }
  for (pid_t const child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::string const page = text_of(folder / "index.html");
  for (char const* own : {"rank-rank-0-1", "rank-rank-0-2", "rank-rank-1-1", "rank-rank-1-2"}) {
    EXPECT_THAT(text_of(folder / own / "index.html"), HasSubstr("</html>"));
    EXPECT_THAT(page, HasSubstr(std::string(own) + "/index.html"));
  }
}

TEST_F(TraceFolder, OfAGraphWithFailures) {
  testing::internal::CaptureStderr();
  {
    TaskGraph graph(with_workers(2));
    Block x("x");
    task(graph, "fails", {writes(x)}, [] { throw std::runtime_error("no"); });
    task(graph, "never", {reads(x)}, [] {});
    EXPECT_THROW(graph.wait(), Error);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("(2 tasks)"));
  EXPECT_THAT(text_of(folder / "TaskGraph-1" / "statistics.txt"), HasSubstr("1 failed"));
  EXPECT_THAT(text_of(folder / "TaskGraph-1" / "graph.svg"), HasSubstr("1 cancelled"));
}

TEST_F(TraceFolder, IsNotMadeForAnEmptyGraphOrOneThatDoesNotRecord) {
  EXPECT_THAT(run("empty", 0), HasSubstr("empty had no tasks, so there is no trace of it"));
  EXPECT_THAT(run("off", 3, false), IsEmpty());
  EXPECT_THAT(names_in(folder), IsEmpty());
}

TEST_F(TraceFolder, ThatCannotBeMadeIsToldAndTheTraceGoesElsewhere) {
  fs::path const temporary = folder / "tmp";
  fs::create_directories(temporary);
  std::ofstream(folder / "file") << "in the way";
  std::string const before = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "";
  setenv("TMPDIR", temporary.c_str(), 1);
  setenv("TRELLIS_TRACE", (folder / "file" / "deep").c_str(), 1);
  std::string const said = run("pump");
  if (before.empty())
    unsetenv("TMPDIR");
  else
    setenv("TMPDIR", before.c_str(), 1);
  EXPECT_THAT(said, HasSubstr("cannot make the folder \""));
  EXPECT_THAT(said, HasSubstr("(TRELLIS_TRACE): Not a directory"));
  fs::path const instead = temporary / ("trellis-trace-" + std::to_string(getuid()));
  EXPECT_THAT(said, HasSubstr("It goes to " + instead.string()));
  EXPECT_THAT(text_of(instead / "pump-1" / "index.html"), HasSubstr("</html>"));
}

TEST_F(TraceFolder, LeavesAPageOfTheProgramsOwn) {
  fs::create_directories(folder);
  std::ofstream(folder / "index.html") << "<html>mine</html>";
  setenv("TRELLIS_TRACE", folder.c_str(), 1);
  std::string const said = run("pump");
  EXPECT_EQ(text_of(folder / "index.html"), "<html>mine</html>");
  EXPECT_THAT(text_of(folder / "trellis.html"), HasSubstr("pump-1/trace.json"));
  EXPECT_THAT(said, HasSubstr("open " + (folder / "trellis.html").string()));
}

TEST_F(TraceFolder, IsNoFlag) {
  for (char const* value : {"1", "no", ""}) {
    setenv("TRELLIS_TRACE", value, 1);
    EXPECT_THAT(error_of([] { TaskGraph const graph(with_workers(1)); }).what(),
                HasSubstr("TRELLIS_TRACE is \"" + std::string(value) + "\", but must be a folder"));
  }
}

TEST_F(TraceFolder, WithoutOneARecordSaysWhatItKept) {
  unsetenv("TRELLIS_TRACE");
  setenv("TRELLIS_RECORD", "1", 1);
  std::string const said = run("pump");
  setenv("TRELLIS_RECORD", "0", 1);
  std::string const quiet = run("pump");
  unsetenv("TRELLIS_RECORD");
  EXPECT_THAT(said, HasSubstr("pump has recorded 3 tasks and 2 edges (TRELLIS_RECORD)"));
  EXPECT_THAT(said, HasSubstr("TRELLIS_TRACE=folder writes it"));
  EXPECT_THAT(quiet, IsEmpty());
}

}  // namespace
}  // namespace trellis
