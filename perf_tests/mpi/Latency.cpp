// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cores.hpp"
#include "Endpoint.hpp"
#include "Parts.hpp"

#include <algorithm>
#include <memory>

namespace mpi_perf {
namespace {

using Pattern = Traffic::Pattern;

/// All ways to send this, against the bare one, which is the first.
void compare_ways(World const& world, Options const& options, Report& report,
                  Traffic const& traffic, std::vector<int> const& workers, bool with_plan) {
  bool const has_one =
      std::all_of(workers.begin(), workers.end(), [](int number) { return number == 1; });
  Bound const bound(has_one ? Cores(world).own() : -1);
  auto const comm = trellis::mpi::Communicator::duplicate(
      traffic.pattern == Pattern::self ? MPI_COMM_SELF : MPI_COMM_WORLD);
  auto const endpoint = std::make_shared<Endpoint>(world, traffic, comm);
  std::vector<Way> ways{bare_way(world, endpoint), persistent_way(world, endpoint)};
  for (int const number : workers) {
    auto const graph = make_graph(number);
    ways.push_back(trellis_way(world, endpoint, graph));
    // What is held back must fit.
    ways.push_back(submitted_way(world, endpoint, make_graph(number, 1 << 20)));
    if (with_plan) ways.push_back(plan_way(world, endpoint, graph));
  }
  std::int64_t const steps = steps_that_take(world, ways.front(), options.seconds, 20'000);
  std::vector<Times> const all = compare(world, ways, steps, options.repetitions);
  for (Times const& each : all) {
    auto const messages = static_cast<double>(traffic.messages());
    report.add(each, {{"pattern", traffic.name()},
                      {"bytes", traffic.bytes},
                      {"in_flight", traffic.in_flight},
                      {"tags", traffic.one_tag ? 1 : 2 * traffic.in_flight},
                      {"messages", each.steps * traffic.messages()},
                      {"added_us", 1e6 * added_per_step(each, all.front()) / messages},
                      {"added_us_fastest",
                       1e6 * (each.fastest_step() - all.front().fastest_step()) / messages},
                      {"ratio_to_bare", ratio_per_step(each, all.front())}});
  }
}

std::vector<Report::Column> const columns{
    {"workers", "workers"},      {"us_per_message", "us/message"},
    {"added_us", "added us"},    {"added_us_fastest", "(fastest)"},
    {"ratio_to_bare", "/ bare"}, {"messages_per_second", "messages/s"}};

}  // namespace

void run_latency(World const& world, Options const& options, Report& report) {
  std::vector<std::int64_t> bytes = options.bytes;
  if (bytes.empty() && options.smoke)
    bytes = {8, 1 << 18};
  else if (bytes.empty() && options.quick)
    bytes = {8, 4096, 1 << 18};
  else if (bytes.empty())
    bytes = {8, 64, 512, 4096, 1 << 15, 1 << 18, 1 << 20, 1 << 23};
  for (Pattern const pattern : {Pattern::ping_pong, Pattern::exchange, Pattern::self}) {
    if (pattern != Pattern::self && world.size() < 2) continue;
    for (std::int64_t const size : bytes) {
      Traffic const traffic{pattern, static_cast<std::size_t>(size), 1, false};
      report.begin_table(
          "latency", std::string(traffic.name()) + ", " + std::to_string(size) + " bytes", columns);
      compare_ways(world, options, report, traffic, options.workers, true);
    }
  }
}

void run_in_flight(World const& world, Options const& options, Report& report) {
  std::vector<std::int64_t> bytes = options.bytes;
  if (bytes.empty()) bytes = {8, 4096, 1 << 16};
  std::vector<int> windows = options.in_flight;
  if (windows.empty() && options.smoke)
    windows = {4};
  else if (windows.empty() && options.quick)
    windows = {1, 16, 64};
  else if (windows.empty())
    windows = {1, 4, 16, 64, 256};
  if (options.smoke) bytes.resize(1);
  Pattern const pattern = world.size() < 2 ? Pattern::self : Pattern::exchange;
  for (std::int64_t const size : bytes)
    for (int const window : windows)
      for (bool const one_tag : {false, true}) {
        Traffic const traffic{pattern, static_cast<std::size_t>(size), window, one_tag};
        report.begin_table("in_flight",
                           std::to_string(window) + " messages of " + std::to_string(size) +
                               " bytes each way" + (one_tag ? ", one tag" : ""),
                           columns);
        compare_ways(world, options, report, traffic, options.workers, !one_tag);
      }
}

}  // namespace mpi_perf
