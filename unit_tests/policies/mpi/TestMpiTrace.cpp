// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traces of several ranks: one file each, with one clock, and what is needed to join messages.
#include "MpiTest.hpp"

#include <Trellis_Recorded.hpp>

#include <mpi/impl/Trellis_RankClock.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

std::int64_t ns(Json const& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

/// A message in the files of all ranks: when its task began, and was complete.
struct Seen {
  std::string communicator;
  int from, to, tag, number;
  std::int64_t begin, end;
};

class MpiTrace : public MpiTest {
 protected:
  static TaskGraphOptions recorded() {
    TaskGraphOptions options;
    options.workers = 2;
    options.record = true;
    return options;
  }
  /// "folder/NAME", and the folder is there. The merging tool is tested with what is left in it.
  [[nodiscard]] std::string path(std::string const& name) const {
    std::filesystem::path const folder =
        std::filesystem::path(TRELLIS_TEST_TRACES) / ("ranks_" + std::to_string(size));
    if (rank == 0) std::filesystem::create_directories(folder);
    MPI_Barrier(comm.comm());
    std::filesystem::remove(folder / (name + "." + std::to_string(rank) + ".json"));  // of old runs
    return (folder / name).string();
  }
  static Json read(std::string const& name) {
    std::ifstream file(name);
    EXPECT_TRUE(file) << name;
    return Json::parse(file);
  }
  /// Of all ranks.
  [[nodiscard]] std::vector<Json> read_all(std::string const& name) const {
    std::vector<Json> all;
    for (int k = 0; k < size; ++k) all.push_back(read(name + "." + std::to_string(k) + ".json"));
    return all;
  }
  /// Those of one way with one peer and one tag.
  static std::vector<Seen> messages(std::vector<Json> const& traces, std::string const& way) {
    std::vector<Seen> all;
    for (Json const& trace : traces) {
      int const rank = trace.at("otherData").at("rank");
      std::map<int, std::vector<std::size_t>> of_task;
      for (Json const& event : trace.at("traceEvents")) {
        if (event.at("ph") != "X" || !event.at("args").contains("messages")) continue;
        Json const& args = event.at("args");
        std::int64_t const begin = ns(event.at("ts")), end = begin + ns(event.at("dur"));
        auto const [found, is_new] = of_task.try_emplace(args.at("id").get<int>());
        if (!is_new) {  // the time from the end of its body until it was complete
          for (std::size_t const k : found->second) all[k].end = end;
          continue;
        }
        for (Json const& said : args.at("messages")) {
          if (said.at("way") != way || !said.contains("number") || !said.at("peer").is_number())
            continue;
          int const peer = said.at("peer");
          Json const& communicators = trace.at("otherData").at("communicators");
          Json const& communicator = communicators.at(said.at("communicator").get<std::size_t>());
          bool const is_send = way == "send";
          found->second.push_back(all.size());
          all.push_back({communicator.at("name"), is_send ? rank : peer, is_send ? peer : rank,
                         said.at("tag"), said.at("number"), begin, end});
        }
      }
    }
    return all;
  }
  static auto key(Seen const& seen) {
    return std::tuple(seen.communicator, seen.from, seen.to, seen.tag, seen.number);
  }
  /// Each send has its receive, which ends after the send has begun, as far as clocks say.
  static void expect_pairs(std::vector<Json> const& traces, std::size_t count) {
    auto const sends = messages(traces, "send"), receives = messages(traces, "recv");
    EXPECT_EQ(sends.size(), count);
    EXPECT_EQ(receives.size(), count);
    std::map<decltype(key(sends.front())), Seen> found;
    for (Seen const& send : sends)
      EXPECT_TRUE(found.emplace(key(send), send).second) << "two have one number";
    for (Seen const& receive : receives) {
      auto const send = found.find(key(receive));
      ASSERT_NE(send, found.end()) << receive.from << " to " << receive.to << ", tag "
                                   << receive.tag << ", number " << receive.number;
      auto const uncertainty = [&](int of) {
        return traces[static_cast<std::size_t>(of)].at("otherData").at("clock_uncertainty_ns");
      };
      EXPECT_GE(receive.end + uncertainty(receive.to).get<std::int64_t>() +
                    uncertainty(receive.from).get<std::int64_t>(),
                send->second.begin);
    }
  }
  [[nodiscard]] std::int64_t comm_min(std::int64_t of) const {
    MPI_Allreduce(MPI_IN_PLACE, &of, 1, MPI_INT64_T, MPI_MIN, comm.comm());
    return of;
  }
  [[nodiscard]] std::int64_t comm_max(std::int64_t of) const { return -comm_min(-of); }
  static std::int64_t ns_of_first_task(Trace const& trace) {
    return static_cast<std::int64_t>(trace.graph.nodes().front().started_ns);
  }
  [[nodiscard]] bool is_one_machine() const {
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(comm.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    int ranks = 0;
    MPI_Comm_size(here, &ranks);
    MPI_Comm_free(&here);
    return ranks == size;
  }
};

TEST_F(MpiTrace, OfARingHasOneClockAndAllMessages) {
  constexpr int steps = 5;
  Kokkos::View<double*, HostSpace> x("x", 100), y("y", 100);
  Kokkos::View<double**, Kokkos::LayoutRight, HostSpace> u("u", 8, 8);
  Kokkos::View<double, HostSpace> sum("sum");
  std::string const name = path("ring");
  {
    TaskGraph graph(recorded());
    for (int step = 0; step < steps; ++step) {
      mpi::send("to the right", graph, comm, x, right, 1);
      mpi::recv("from the left", graph, comm, y, left, 1);
      mpi::sendrecv(graph, comm, Kokkos::subview(u, Kokkos::ALL, 1), left, 2,
                    Kokkos::subview(u, Kokkos::ALL, 7), right, 2);
      host_task("work", ResourcePolicy(graph, trellis::read(y), read_write(x)),
                [=] { x(0) += y(0); });
      mpi::allreduce("sum", graph, comm, sum, mpi::sum);
    }
    graph.wait();
    mpi::write_trace(comm, graph, name);
  }
  bool const same_clock = is_one_machine();
  if (rank != 0) return;
  std::vector<Json> const traces = read_all(name);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (int k = 0; k < size; ++k) {
    Json const& trace = traces[static_cast<std::size_t>(k)];
    Json const& about = trace.at("otherData");
    EXPECT_EQ(about.at("rank"), k);
    EXPECT_EQ(about.at("size"), size);
    EXPECT_EQ(about.at("run"), traces[0].at("otherData").at("run"));
    EXPECT_EQ(about.at("run").get<std::string>().size(), 16u);
    std::int64_t const offset = about.at("clock_offset_ns"),
                       uncertainty = about.at("clock_uncertainty_ns");
    if (k == 0) {
      EXPECT_EQ(offset, 0);
      EXPECT_EQ(uncertainty, 0);
    } else {
      EXPECT_GT(uncertainty, 0);
      if (same_clock) {
        EXPECT_LE(std::abs(offset), uncertainty);
      }
    }
    ASSERT_EQ(about.at("communicators").size(), 1u);
    Json ranks = Json::array();
    for (int r = 0; r < size; ++r) ranks.push_back(r);
    EXPECT_EQ(about.at("communicators")[0], (Json{{"name", comm.name()}, {"ranks", ranks}}));
    std::vector<int> collectives;
    std::set<int> seen;
    for (Json const& event : trace.at("traceEvents")) {
      EXPECT_EQ(event.at("pid"), k);
      if (event.contains("ts")) first = std::min(first, ns(event.at("ts")));
      if (event.at("name") == "process_name") {
        EXPECT_EQ(event.at("args").at("name"), "rank " + std::to_string(k));
      }
      if (event.at("ph") != "X") continue;
      Json const& args = event.at("args");
      bool const is_message = event.at("name") == "to the right" ||
                              event.at("name") == "from the left" || event.at("name") == "sendrecv";
      if (!is_message) {
        EXPECT_FALSE(args.contains("messages")) << event;
      }
      EXPECT_EQ(args.contains("collective"), event.at("name") == "sum") << event;
      if (args.contains("collective") && seen.insert(args.at("id").get<int>()).second)
        collectives.push_back(args.at("collective").at("number"));
    }
    EXPECT_THAT(collectives, testing::ElementsAre(0, 1, 2, 3, 4));
  }
  EXPECT_GE(first, 0) << "times are since the first graph was made";
  expect_pairs(traces, static_cast<std::size_t>(2 * steps * size));
}

/// In nanoseconds, by how much the clock of this rank is ahead.
std::int64_t s_ahead = 0;
std::int64_t other_now() {
  return Impl::nanoseconds(std::chrono::steady_clock::now()) + s_ahead;
}

TEST_F(MpiTrace, OfClocksThatAreHoursApartIsAsOfOne) {
  if (!is_one_machine()) GTEST_SKIP() << "its clocks are those of one machine, and changed";
  s_ahead = rank == 0 ? 400'000'000 : rank * 3'600'000'000'000;
  Kokkos::View<int*, HostSpace> x("x", 3), y("y", 3);
  std::string const name = path("clocks");
  TaskGraph graph(recorded());
  for (int k = 0; k < 3; ++k) {
    mpi::recv(graph, comm, y, left, 1);
    mpi::send(graph, comm, x, right, 1);
  }
  graph.wait();
  Trace trace = graph.trace();
  std::int64_t const origin = Impl::nanoseconds(trace.origin);
  trace.origin += std::chrono::nanoseconds(s_ahead);
  Impl::write_traces(comm, [&] { return trace; }, name, &other_now);
  std::int64_t const first = comm_min(origin), own = ns_of_first_task(trace);
  Json const file = read(name + "." + std::to_string(rank) + ".json");
  Json const& about = file.at("otherData");
  std::int64_t const uncertainty = about.at("clock_uncertainty_ns");
  std::int64_t const apart = (rank == 0 ? 0 : 400'000'000) - (rank == 0 ? 0 : s_ahead);
  EXPECT_LE(std::abs(about.at("clock_offset_ns").get<std::int64_t>() - apart), uncertainty);
  // Zero is wrong by the uncertainty of the rank whose graph was the first.
  double const wrong = static_cast<double>(uncertainty + comm_max(uncertainty));
  bool found = false;
  for (Json const& event : file.at("traceEvents")) {
    if (found || event.at("ph") != "X" || event.at("args").at("id") != 1) continue;
    EXPECT_NEAR(static_cast<double>(ns(event.at("ts"))), static_cast<double>(origin + own - first),
                wrong);
    found = true;
  }
  EXPECT_TRUE(found);
  if (rank == 0) expect_pairs(read_all(name), static_cast<std::size_t>(3 * size));
}

TEST_F(MpiTrace, PeersAreRanksOfTheCommunicatorOfTheTrace) {
  // Ranks in the other order, in two halves, which are gone when the trace is written.
  Kokkos::View<int*, HostSpace> x("x", 3), y("y", 3);
  std::string const name = path("halves");
  {
    TaskGraph graph(recorded());
    {
      auto const half = comm.split(rank % 2, -rank);
      int const next = (half.rank() + 1) % half.size();
      int const before = (half.rank() + half.size() - 1) % half.size();
      mpi::recv(graph, half, y, before, 4);
      mpi::send(graph, half, x, next, 4);
      graph.wait();
    }
    mpi::write_trace(comm, graph, name);
  }
  if (rank != 0) return;
  std::vector<Json> const traces = read_all(name);
  std::set<std::pair<int, int>> expected, found;
  for (int k = 0; k < size; ++k)
    expected.emplace(k, k >= 2 ? k - 2 : size - 1 - (size - 1 - k) % 2);
  for (Seen const& send : messages(traces, "send")) found.emplace(send.from, send.to);
  EXPECT_EQ(found, expected);
  expect_pairs(traces, static_cast<std::size_t>(size));
}

TEST_F(MpiTrace, MessagesOfAPlanAreCounted) {
  Kokkos::View<int*, HostSpace> x("x", 3), y("y", 3);
  std::string const name = path("plan");
  TaskGraph graph(recorded());
  Plan const plan = graph.record("exchange", [&] {
    mpi::send(graph, comm, x, right, 3);
    mpi::recv(graph, comm, y, left, 3);
  });
  graph.replay(plan, 2);
  mpi::send(graph, comm, x, right, 3);
  mpi::recv(graph, comm, y, left, 3);
  graph.replay(plan, 3);
  graph.wait();
  mpi::write_trace(comm, graph, name);
  if (rank != 0) return;
  expect_pairs(read_all(name), static_cast<std::size_t>(6 * size));
}

TEST_F(MpiTrace, WhatCannotBeJoinedIsSaidToBeSo) {
  Kokkos::View<int*, HostSpace> x("x", 3), y("y", 3);
  std::string const name = path("any");
  // Two communicators of the program's, with one name.
  MPI_Comm raw[2];
  for (MPI_Comm& each : raw) {
    MPI_Comm_dup(comm.comm(), &each);
    MPI_Comm_set_name(each, "twins");
  }
  {
    TaskGraph graph(recorded());
    mpi::recv("any", graph, comm, y, MPI_ANY_SOURCE, 5);
    mpi::send(graph, comm, x, right, 5);
    mpi::send("to nobody", graph, comm, x, MPI_PROC_NULL, 6);
    for (MPI_Comm const& each : raw) {
      mpi::recv("twin", graph, each, y, left, 0);
      mpi::send("twin", graph, each, x, right, 0);
    }
    mpi::recv("any tag", graph, comm, y, left, MPI_ANY_TAG);
    mpi::send(graph, comm, x, right, 8);
    graph.wait();
    mpi::write_trace(comm, graph, name);
  }
  for (MPI_Comm& each : raw) MPI_Comm_free(&each);
  if (rank != 0) return;
  for (Json const& trace : read_all(name)) {
    std::map<std::string, Json> said;
    for (Json const& event : trace.at("traceEvents"))
      if (event.at("ph") == "X") said[event.at("name")] = event.at("args").at("messages").at(0);
    EXPECT_EQ(said.at("any").at("peer"), "any");
    EXPECT_EQ(said.at("any").at("tag"), 5);
    EXPECT_FALSE(said.at("any").contains("number"));
    EXPECT_TRUE(said.at("any tag").at("peer").is_number());
    EXPECT_EQ(said.at("any tag").at("tag"), "any");
    EXPECT_EQ(said.at("to nobody").at("peer"), "none");
    Json const& communicators = trace.at("otherData").at("communicators");
    ASSERT_EQ(communicators.size(), 2u) << communicators;
    EXPECT_FALSE(communicators[0].contains("ambiguous"));
    EXPECT_EQ(communicators[1].at("name"), "twins");
    EXPECT_EQ(communicators[1].at("ambiguous"), true);
  }
}

TEST_F(MpiTrace, WhereOneRankFailsAllSayThat) {
  {
    TaskGraph graph(recorded());
    EXPECT_THAT(text_of([&] { mpi::write_trace(comm, graph, "no/such/folder/trace"); }),
                AllOf(HasSubstr("Trellis: cannot write the trace \"no/such/folder/trace." +
                                std::to_string(rank) + ".json\""),
                      HasSubstr("its folder must be there")));
  }
  std::string const name = path("refused");
  TaskGraphOptions options = recorded();
  options.record = rank != size - 1;
  TaskGraph graph(options);
  std::string const text = text_of([&] { mpi::write_trace(comm, graph, name); });
  EXPECT_THAT(
      text, HasSubstr(rank == size - 1 ? "does not record its graphs"
                                       : "Trellis: the trace of rank " + std::to_string(size - 1) +
                                             " could not be written; that rank says why"));
  EXPECT_FALSE(std::filesystem::exists(name + "." + std::to_string(rank) + ".json"))
      << "nothing is written";
}

TEST_F(MpiTrace, ARawCommunicatorAndATraceDo) {
  std::string const name = path("raw");
  TaskGraph graph(recorded());
  host_task("alone", ResourcePolicy(graph), [] {});
  graph.wait();
  Trace const trace = graph.trace();
  mpi::write_trace(MPI_COMM_WORLD, trace, name);
  if (rank != 0) return;
  for (Json const& each : read_all(name)) {
    EXPECT_EQ(each.at("otherData").at("communicators"), Json::array());
    EXPECT_EQ(each.at("otherData").at("tasks_run"), 1);
  }
}

}  // namespace
}  // namespace trellis
