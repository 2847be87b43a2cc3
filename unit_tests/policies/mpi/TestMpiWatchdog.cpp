// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a graph says on every rank whose messages do not come.
#include "MpiTest.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

namespace trellis {
namespace {

using namespace Test;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

class MpiWatchdog : public MpiTest {};

TEST_F(MpiWatchdog, TellsTasksAndMessagesOnEveryRank) {
  Kokkos::View<double*, HostSpace> x("x", 4), halo("halo", 4);
  testing::internal::CaptureStderr();
  {
    setenv("TRELLIS_WATCHDOG", "0.2", 1);
    TaskGraphOptions options;
    options.workers = 2;
    options.name = "graph \"g\"";
    TaskGraph graph(options);
    unsetenv("TRELLIS_WATCHDOG");
    MPI_Barrier(comm.comm());
    auto const received = mpi::recv("border", graph, comm, halo, left, 7);
    host_task("next", ResourcePolicy(graph, read(halo)), [] {});
    mpi::allreduce("collective", ResourcePolicy(graph, after(received)), comm, halo, mpi::sum);
    auto const late = host_task("late", ResourcePolicy(graph),
                                [] { std::this_thread::sleep_for(std::chrono::seconds(1)); });
    mpi::send("now", ResourcePolicy(graph, after(late)), comm, x, right, 7);
    graph.wait();
    EXPECT_EQ(received.get().count, 4);
  }
  std::string const text = testing::internal::GetCapturedStderr();
  std::string const front = "[rank " + std::to_string(rank) + "] ";
  EXPECT_THAT(
      text, HasSubstr(front + "Trellis: no task of graph \"g\" has been completed for 0.2 s; 5 are "
                              "in flight (TRELLIS_WATCHDOG)\n"));
  EXPECT_THAT(text, ContainsRegex("task \"border\" \\(#[0-9]+, [^)]*TestMpiWatchdog.cpp:[0-9]+\\) "
                                  "\\[host_task; [^]]*\"halo\"[^\n]*: under way; nobody has said "
                                  "yet that it is over \\(Completion\\)\n"));
  EXPECT_THAT(text, ContainsRegex("task \"next\" [^\n]*: waits for #[0-9]+\n"));
  EXPECT_THAT(text, ContainsRegex("task \"now\" [^\n]*: waits for #[0-9]+\n"));
  EXPECT_THAT(text, HasSubstr(front + "  outstanding: recv of 4 MPI_DOUBLE (\"halo\") from rank " +
                              std::to_string(left) + ", tag 7, on rank " + std::to_string(rank) +
                              " of " + std::to_string(size) + " of " + comm.name() + "\n"));
  EXPECT_EQ(text.find("outstanding"), text.rfind("outstanding")) << "the only one: " << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(line, StartsWith(front));
}

/// By an entry of ctest of its own, with two ranks and an MPI that survives it: the second rank
/// ends while the first one waits for it.
TEST_F(MpiWatchdog, DISABLED_APeerThatHasEndedIsAnError) {
  ASSERT_EQ(size, 2);
  MPI_Barrier(comm.comm());
  if (rank == 1) _exit(0);
  // So much that it must be received before it has been sent.
  Kokkos::View<double*, HostSpace> x("x", 1 << 20), halo("halo", 4);
  TaskGraph graph;
  auto const received = mpi::recv("border", graph, comm, halo, 1, 7);
  host_task("next", ResourcePolicy(graph, read(halo)), [] {});
  std::string const text = error_of([&] { received.get(); }).what();
  auto const sent = mpi::send(graph, comm, x, 1, 8);
  EXPECT_THAT(text_of([&] { sent.get(); }), HasSubstr("(\"x\") to rank 1, tag 8"));
  EXPECT_THAT(text_of([&] { graph.wait(); }), HasSubstr("border"));
  int done = 0;
  host_task("local", ResourcePolicy(graph), [&] { done = 1; }).get();
  EXPECT_EQ(done, 1) << "the graph goes on";
  std::cout << (HasFailure() ? "failed" : "told: " + text) << std::endl;
  _exit(0);  // ranks cannot meet any more
}

}  // namespace
}  // namespace trellis
