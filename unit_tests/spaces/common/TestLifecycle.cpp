// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kokkos's life and a graph's: each case in a process of its own.
#include <Trellis.hpp>

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace trellis {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  int status;
  std::string error;  ///< what went to the standard error stream
};

/// Runs `f` in a child process, which has not initialised Kokkos.
Outcome in_process(std::function<void()> const& f) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  pid_t const child = fork();
  if (child == 0) {
    alarm(60);  // a child that hangs ends by a signal
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    f();
    std::fflush(nullptr);
    _exit(0);
  }
  close(ends[1]);
  Outcome outcome{};
  char buffer[4096];
  for (ssize_t size; (size = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.error.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return outcome;
}

/// Runs `f` and ends the process with 7 unless it throws an error of kind `closed` that says
/// `text`.
void expect_closed(char const* text, std::function<void()> const& f) {
  try {
    f();
  } catch (Error const& error) {
    if (error.kind() == Error::Kind::closed &&
        std::string(error.what()).find(text) != std::string::npos)
      return;
    std::fprintf(stderr, "another error: %s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(7);
}

void initialize() {
  Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
}

TEST(Lifecycle, AGraphBeforeInitializeIsAnError) {
  Outcome const outcome = in_process([] {
    TaskGraphOptions options;
    options.name = "early";
    expect_closed("early is made before Kokkos::initialize()", [&] { TaskGraph graph(options); });
  });
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST(Lifecycle, AGraphAfterFinalizeIsAnError) {
  Outcome const outcome = in_process([] {
    initialize();
    {
      TaskGraph graph;
    }
    Kokkos::finalize();
    expect_closed("after Kokkos::finalize()", [] { TaskGraph graph; });
  });
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST(Lifecycle, AGraphThatOutlivesFinalizeFinishesItsTasksAndSaysSo) {
  Outcome const outcome = in_process([] {
    initialize();
    TaskGraphOptions options;
    options.name = "survivor";
    options.workers = 2;
    auto graph = std::make_unique<TaskGraph>(options);
    std::optional<Kokkos::View<int*, Kokkos::HostSpace>> x(std::in_place, "x", 10);
    int seen = 0;
    host_task("slow", ResourcePolicy(*graph, write(*x)), [x = *x] {
      usleep(5000);
      x(0) = 4;
    });
    auto const number = host_task("look", ResourcePolicy(*graph, trellis::read(*x)),
                                  [x = *x, &seen] { return seen = x(0); });
    x.reset();
    Kokkos::finalize();
    if (seen != 4 || number.get() != 4)
      _exit(8);  // before Kokkos went away, and the result is still there
    for (auto const& use :
         {std::function<void()>([&] { host_task("late", ResourcePolicy(*graph), [] {}); }),
          std::function<void()>([&] { graph->wait(); }),
          std::function<void()>([&] { (void)graph->submitted(); })})
      expect_closed("survivor is used after Kokkos::finalize()", use);
    graph.reset();  // its end has nothing more to say
  });
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("survivor outlives Kokkos::finalize()"));
}

TEST(Lifecycle, AGraphThatOutlivesFinalizeReportsItsFailures) {
  Outcome const outcome = in_process([] {
    initialize();
    TaskGraph graph;
    host_task("bad", ResourcePolicy(graph), [] { throw std::runtime_error("boom"); });
    Kokkos::finalize();
  });
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("outlives Kokkos::finalize()"), HasSubstr("\"bad\""),
                                   HasSubstr("boom")));
}

TEST(Lifecycle, GraphsThatEndInTimeAreSilent) {
  Outcome const outcome = in_process([] {
    initialize();
    {
      TaskGraph one, other;
      host_task("task", ResourcePolicy(one), [] {});
    }
    Kokkos::finalize();
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.error, "");
}

TEST(Lifecycle, AStaticGraphIsClosedByFinalize) {
  Outcome const outcome = in_process([] {
    initialize();
    static TaskGraph graph;
    host_task("task", ResourcePolicy(graph), [] {});
    Kokkos::finalize();
    std::exit(0);  // runs the destructors of static objects
  });
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("outlives Kokkos::finalize()"));
}

TEST(Lifecycle, AFutureMayOutliveEverything) {
  Outcome const outcome = in_process([] {
    Future<int> number;
    Future<void> nothing;
    initialize();
    {
      TaskGraph graph;
      number = host_task("number", ResourcePolicy(graph), [] { return 5; });
      nothing = host_task("nothing", ResourcePolicy(graph), [] {});
    }
    Kokkos::finalize();
    nothing.get();
    if (number.get() != 5 || !number.is_done()) _exit(8);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.error;
}

TEST(Lifecycle, AFailureNobodyAskedForIsPrintedOnceAtTheGraphsEnd) {
  Outcome const outcome = in_process([] {
    initialize();
    {
      TaskGraph graph;
      Kokkos::View<int*, Kokkos::HostSpace> x("pressure", 1);
      host_task("bad", ResourcePolicy(graph, write(x)), [] { throw std::runtime_error("boom"); });
    }
    Kokkos::finalize();
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("\"bad\""), HasSubstr("write \"pressure\""), HasSubstr("boom")));
  EXPECT_EQ(outcome.error.find("\"bad\""), outcome.error.rfind("\"bad\""));
}

}  // namespace
}  // namespace trellis
