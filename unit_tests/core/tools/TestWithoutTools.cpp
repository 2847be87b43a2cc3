// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program that does not link Trellis::tools is told when it asks for them.
#include <Kokkos_Core.hpp>
#include <Trellis.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Observation.hpp>

#include <gmock/gmock.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

namespace trellis {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

char const* const sentence_ends =
    ", and this program is not linked with it (CMake: target_link_libraries(program "
    "Trellis::tools))";

class WithoutTools : public testing::Test {
 protected:
  WithoutTools()
      : m_folder(std::filesystem::temp_directory_path() /
                 ("trellis_without_tools_" + std::to_string(getpid()))) {}
  ~WithoutTools() override {
    for (char const* name : {"TRELLIS_TRACE", "TRELLIS_LOG", "TRELLIS_ANALYSIS", "TRELLIS_WARN",
                             "TRELLIS_STATISTICS", "TRELLIS_RECORD", "TRELLIS_HELP"})
      unsetenv(name);
    std::filesystem::remove_all(m_folder);
  }

  /// Runs one task in a graph, and returns what it writes to the standard error stream.
  static std::string run(TaskGraphOptions const& options = {}) {
    CaptureStderr();
    {
      TaskGraph graph(options);
      int ran = 0;
      host_task("only", ResourcePolicy(graph), [&] { ++ran; });
      graph.wait();
      EXPECT_EQ(ran, 1);
    }
    return GetCapturedStderr();
  }
  static std::string error_of(TaskGraphOptions const& options) {
    try {
      TaskGraph const graph(options);
    } catch (Error const& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path const m_folder;
};

TEST_F(WithoutTools, WithoutVariablesNothingIsSaid) {
  EXPECT_EQ(run(), "");
}

/// One test, as the line comes once in a process.
TEST_F(WithoutTools, VariablesHaveNoEffectAndOneLineSaysSo) {
  setenv("TRELLIS_LOG", "", 1);
  setenv("TRELLIS_WARN", "0", 1);
  EXPECT_EQ(run(), "");  // nothing is asked for

  setenv("TRELLIS_TRACE", m_folder.c_str(), 1);
  setenv("TRELLIS_STATISTICS", (m_folder.string() + ".csv").c_str(), 1);
  setenv("TRELLIS_LOG", "stderr", 1);
  setenv("TRELLIS_ANALYSIS", "stderr", 1);
  setenv("TRELLIS_WARN", "1", 1);
  setenv("TRELLIS_RECORD", "1", 1);
  EXPECT_EQ(
      run(),
      std::string("Trellis: only Trellis::tools does what is asked by "
                  "TRELLIS_ANALYSIS, TRELLIS_TRACE, TRELLIS_RECORD, TRELLIS_WARN, TRELLIS_LOG, "
                  "TRELLIS_STATISTICS") +
          sentence_ends + '\n');
  EXPECT_EQ(run(), "");
  EXPECT_FALSE(std::filesystem::exists(m_folder));
  EXPECT_FALSE(std::filesystem::exists(m_folder.string() + ".csv"));

  EXPECT_TRUE(*TaskGraph().options().record);  // the program may look itself
  unsetenv("TRELLIS_RECORD");
  EXPECT_FALSE(*TaskGraph().options().record);  // for nothing
}

TEST_F(WithoutTools, BadValuesAreErrorsAllTheSame) {
  setenv("TRELLIS_TRACE", "1", 1);
  EXPECT_THAT(error_of({}), HasSubstr("TRELLIS_TRACE is \"1\", but must be a folder"));
}

TEST_F(WithoutTools, OptionsAreRefused) {
  TaskGraphOptions options;
  options.name = "garden";
  auto const refused = [](char const* option) {
    return AllOf(HasSubstr(std::string("Trellis: only Trellis::tools does what is asked by "
                                       "TaskGraphOptions::") +
                           option + " of garden"),
                 EndsWith(sentence_ends));
  };
  options.log = "stderr";
  EXPECT_THAT(error_of(options), refused("log"));
  options.log = "";
  EXPECT_EQ(error_of(options), "no error");
  options.statistics = m_folder;
  EXPECT_THAT(error_of(options), refused("statistics"));
  options.statistics = "";
  EXPECT_EQ(error_of(options), "no error");
  options.warn = true;
  EXPECT_THAT(error_of(options), refused("warn"));
}

TEST_F(WithoutTools, WhatIsOfTheEngineIsThere) {
  TaskGraphOptions options;
  options.record = true;
  options.statistics = "";
  int events = 0;
  options.observer = [&](TaskEvent const&) { ++events; };
  options.workers = 1;
  TaskGraph graph(options);
  host_task("one", ResourcePolicy(graph), [] {});
  host_task("two", ResourcePolicy(graph), [] {});
  graph.wait();
  EXPECT_EQ(graph.dependency_graph().nodes().size(), 2u);
  EXPECT_EQ(graph.trace().graph.find("two").size(), 1u);
  EXPECT_EQ(graph.statistics().completed, 2u);
  EXPECT_EQ(events, 8);
}

TEST_F(WithoutTools, TheListOfVariablesHasAll) {
  setenv("TRELLIS_HELP", "1", 1);
  EXPECT_THAT(run(), AllOf(HasSubstr("TRELLIS_TRACE = "), HasSubstr("TRELLIS_LOG = "),
                           HasSubstr("TRELLIS_ANALYSIS = "), HasSubstr("TRELLIS_STATISTICS = "),
                           HasSubstr("TRELLIS_WARN = ")));
}

}  // namespace
}  // namespace trellis
