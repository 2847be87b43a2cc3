// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_COMMANDLINE_HPP
#define TRELLIS_EXAMPLE_COMMANDLINE_HPP

#include <CLI/CLI.hpp>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "Ranks.hpp"

/// This header lets all ranks read one command line, and one of them answer it.
namespace example {

/// `prints`: CLI11 prints its messages on this rank. Throws `Ended` after `--help` and after a
/// malformed command line.
inline void parse_on_ranks(CLI::App& app, int argc, char** argv, bool prints) {
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::ostringstream nowhere;
    throw Ended{prints ? app.exit(error) : app.exit(error, nowhere, nowhere)};
  }
}

// These throw `std::runtime_error`.

[[noreturn]] inline void fail(std::string const& why) {
  throw std::runtime_error(why);
}

inline void require_at_least(char const* option, std::int64_t least, std::int64_t value) {
  if (value < least)
    fail(std::string(option) + " must be at least " + std::to_string(least) + ", it is " +
         std::to_string(value));
}

/// Expands one number to both directions.
inline void both_directions(char const* option, std::vector<int>& numbers, int least) {
  if (numbers.size() == 1) numbers.push_back(numbers.front());
  if (numbers.size() != 2)
    fail(std::string(option) + " takes one number or two, not " + std::to_string(numbers.size()));
  for (int const number : numbers) require_at_least(option, least, number);
}

}  // namespace example

#endif
