// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The log of task states, from events made by hand.
#include "Timing.hpp"

#include <Trellis_Observer.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;

#if TRELLIS_TEST_HAS_SPDLOG

/// A folder that is gone after the test.
class StateLog : public testing::Test {
 protected:
  StateLog() { std::filesystem::create_directories(m_folder); }
  ~StateLog() override { std::filesystem::remove_all(m_folder); }

  [[nodiscard]] std::string path() const { return (m_folder / "states.log").string(); }
  [[nodiscard]] std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  // Of each test and process another one: several may run at once.
  std::filesystem::path m_folder =
      std::filesystem::path(testing::TempDir()) /
      (std::string("trellis_") + testing::UnitTest::GetInstance()->current_test_info()->name() +
       '_' + std::to_string(getpid()));
};

constexpr TaskState pending = TaskState::pending, ready = TaskState::ready,
                    running = TaskState::running, done = TaskState::done,
                    failed = TaskState::failed, cancelled = TaskState::cancelled;

TEST_F(StateLog, HasALineForEachChange) {
  {
    TaskObserver const log = make_state_log(path(), "graph");
    log({.id = 7, .label = "scale", .state = pending, .time_ns = 1});
    log({.id = 7, .label = "scale", .state = ready, .time_ns = 123456});
    log({.id = 7, .label = "scale", .state = running, .row = 0, .time_ns = 1020003});
    log({.id = 8,
         .parent = 7,
         .label = "child",
         .state = running,
         .row = 12,
         .time_ns = 99999999999});
    log({.id = 8,
         .parent = 7,
         .label = "child",
         .state = done,
         .row = 12,
         .time_ns = 100000000000});
    log({.id = 7, .label = "scale", .state = failed, .row = 0, .time_ns = 100000000001});
    log({.id = 9, .label = "", .state = cancelled, .time_ns = 100000000002});
  }
  EXPECT_EQ(content(),
            "[graph]        0.001 us  #7 \"scale\"  pending\n"
            "[graph]      123.456 us  #7 \"scale\"  ready\n"
            "[graph]     1020.003 us  #7 \"scale\"  running  row 0\n"
            "[graph] 99999999.999 us  #8 \"child\"  running  row 12  child of #7\n"
            "[graph] 100000000.000 us  #8 \"child\"  done  row 12  child of #7\n"
            "[graph] 100000000.001 us  #7 \"scale\"  failed  row 0\n"
            "[graph] 100000000.002 us  #9 \"\"  cancelled\n");
}

TEST_F(StateLog, OfAGraphWithoutANameHasNoBrackets) {
  make_state_log(path())({.id = 1, .label = "a", .state = done, .row = 2});
  EXPECT_EQ(content(), "       0.000 us  #1 \"a\"  done  row 2\n");
}

TEST_F(StateLog, KeepsAnEventOnItsLineWhateverTheNamesHold) {
  make_state_log(path(), "a\nb")(
      {.id = 1, .label = "say \"x\\y\"\n\tz\x01 {} %v \xC3\xA4\xFF", .state = done});
  EXPECT_EQ(content(),
            "[a\\nb]        0.000 us  #1 \"say \\\"x\\\\y\\\"\\n\\tz\xEF\xBF\xBD {} %v "
            "\xC3\xA4\xEF\xBF\xBD\"  "
            "done\n");
}

TEST_F(StateLog, OverwritesTheFile) {
  std::ofstream(path()) << "what was there before";
  (void)make_state_log(path());
  EXPECT_EQ(content(), "");
}

TEST_F(StateLog, IsInTheFileAfterAFailureAndAfterTheLastCopy) {
  TaskObserver log = make_state_log(path());
  TaskObserver copy = log;
  log({.id = 1, .label = "a", .state = running, .row = 0});
  log({.id = 1, .label = "a", .state = failed, .row = 0});
  EXPECT_EQ(content(),
            "       0.000 us  #1 \"a\"  running  row 0\n"
            "       0.000 us  #1 \"a\"  failed  row 0\n");
  log({.id = 2, .label = "b", .state = cancelled});
  EXPECT_THAT(content(), HasSubstr("#2 \"b\"  cancelled\n"));
  log = nullptr;
  copy({.id = 3, .label = "c", .state = done, .row = 0});
  copy = nullptr;
  EXPECT_THAT(content(), HasSubstr("#3 \"c\"  done  row 0\n"));
}

TEST_F(StateLog, GoesToTheStandardStreams) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  make_state_log("stderr", "one")({.id = 1, .label = "a", .state = done});
  make_state_log("stdout", "two")({.id = 2, .label = "b", .state = ready});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[two]        0.000 us  #2 \"b\"  ready\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[one]        0.000 us  #1 \"a\"  done\n");
}

TEST_F(StateLog, NamesThePathThatCannotBeWritten) {
  std::ofstream(path()) << "no folder";
  std::string const beneath_a_file = path() + "/states.log";
  std::string const a_folder = std::filesystem::path(path()).parent_path().string();
  for (std::string const& destination : {beneath_a_file, a_folder, std::string()}) {
    Error const error = error_of([&] { (void)make_state_log(destination); });
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    EXPECT_THAT(error.what(), HasSubstr('"' + destination + '"'));
  }
}

TEST_F(StateLog, MakesNoFolders) {
  std::filesystem::path const folder = std::filesystem::path(path()).parent_path();
  std::string const destination = (folder / "typo" / "deeper" / "states.log").string();
  EXPECT_THAT(error_of([&] { (void)make_state_log(destination); }).what(),
              testing::AllOf(HasSubstr('"' + destination + '"'), HasSubstr("there is no folder")));
  Environment const log("TRELLIS_LOG", destination.c_str());
  EXPECT_EQ(error_of([] { TaskGraph graph; }).kind(), Error::Kind::bad_input);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(StateLog, OfAGraphThatCannotBeMadeIsNotThere) {
  Environment const log("TRELLIS_LOG", path().c_str()), policy("TRELLIS_POLICY", "best");
  EXPECT_EQ(error_of([] { TaskGraph graph; }).kind(), Error::Kind::bad_input);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(StateLog, OfSeveralThreadsHasWholeLinesInTheOrderOfEach) {
  constexpr std::uint64_t count = 10000;
  std::array<std::string, 2> const labels{"first", "a second one of another length"};
  {
    TaskObserver const log = make_state_log(path());
    std::vector<std::thread> threads;
    for (std::string const& label : labels)
      threads.emplace_back([log, &label] {
        for (std::uint64_t k = 1; k <= count; ++k) log({.id = k, .label = label, .state = ready});
      });
    for (std::thread& thread : threads) thread.join();
  }
  std::array<std::uint64_t, 2> seen{};
  std::ifstream file(path());
  for (std::string line; std::getline(file, line);) {
    std::size_t const which = line.find(labels[0]) == std::string::npos ? 1 : 0;
    ASSERT_EQ(line, "       0.000 us  #" + std::to_string(++seen[which]) + " \"" + labels[which] +
                        "\"  ready");
  }
  EXPECT_THAT(seen, testing::Each(count));
}

#else

TEST(StateLog, SaysThatItNeedsSpdlog) {
  Error const error = error_of([] { (void)make_state_log("states.log"); });
  EXPECT_EQ(error.kind(), Error::Kind::bad_input);
  EXPECT_THAT(error.what(),
              testing::AllOf(HasSubstr("\"states.log\""), HasSubstr("without spdlog")));
}

#endif

}  // namespace
}  // namespace trellis
