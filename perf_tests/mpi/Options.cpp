// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <algorithm>

namespace mpi_perf {
namespace {

std::vector<std::string> const& all_parts() {
  static std::vector<std::string> const all{"latency", "submission", "in_flight", "overlap",
                                            "heat",    "cg",         "stencil",   "weak_scaling"};
  return all;
}
std::string list_of_parts() {
  std::string list;
  for (std::string const& each : all_parts()) list += (list.empty() ? "" : ", ") + each;
  return list;
}

}  // namespace

void describe(CLI::App& app, Options& options) {
  app.add_flag("--quick", options.quick,
               "Fewer sizes and repetitions: everything in a minute or two");
  app.add_flag("--smoke", options.smoke, "Everything for a moment: it says nothing about speed");
  app.add_option("--part", options.parts,
                 "Parts of the program: " + list_of_parts() + "; default all")
      ->delimiter(',')
      ->check(CLI::IsMember(all_parts()));
  app.add_option("--bytes", options.bytes, "Sizes of messages")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t(1), std::int64_t(1) << 30));
  app.add_option("--in-flight", options.in_flight, "Messages under way at the same time")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--workers", options.workers, "Threads of each rank; default 1")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--columns", options.columns, "Columns of the stencil on each rank")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--network", options.network_us,
                 "What a message takes, in us, in the network that weak_scaling foretells")
      ->check(CLI::Range(0.01, 1e4))
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "Runs of each, of which the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--seconds", options.seconds, "Of one run by hand")
      ->check(CLI::Range(1e-6, 100.0));
  app.add_option("--output", options.output, "The JSON file")->capture_default_str();
}

void complete(Options& options) {
  constexpr std::int64_t most_memory = std::int64_t{1} << 32;
  auto const largest = [](auto const& all, std::int64_t none) {
    return all.empty() ? none : std::int64_t{*std::max_element(all.begin(), all.end())};
  };
  std::int64_t const bytes = largest(options.bytes, 1);
  std::int64_t const messages = largest(options.in_flight, 1);
  if (2 * bytes * messages > most_memory)
    throw CLI::ValidationError("--in-flight",
                               std::to_string(messages) + " messages of " + std::to_string(bytes) +
                                   " bytes each way need more than 4 GiB on each rank");
  if (options.parts.empty()) options.parts = all_parts();
  if (options.workers.empty()) options.workers = {1};
  if (options.repetitions == 0) options.repetitions = options.smoke ? 1 : options.quick ? 9 : 31;
  if (options.seconds == 0) options.seconds = options.smoke ? 1e-4 : 1e-3;
}

}  // namespace mpi_perf
