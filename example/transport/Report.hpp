// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TRANSPORT_REPORT_HPP
#define TRELLIS_EXAMPLE_TRANSPORT_REPORT_HPP

#include <Trellis_Recorded.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "Options.hpp"

/// This header has the program's findings and the functions that report them.
namespace transport {

/// The findings of the steps with one ratio. Bytes are of all fields.
struct RatioFindings {
  trellis::ThreadRatio ratio;
  std::vector<double> seconds;  ///< of a step, in each repetition
  std::size_t predicted = 0;    ///< with the limit, that is it
  std::size_t measured = 0;
  std::uint64_t allocated = 0;  ///< blocks, in the first step
  std::uint64_t allocated_later = 0;
  std::size_t held_back = 0;  ///< tasks that had to wait for memory
};

/// The findings of steps whose tasks may run on the host or on devices. Times are of the devices'
/// virtual clock.
struct HybridFindings {
  Problem problem;
  std::int64_t host_ns = 0;    ///< of an iteration, with all tasks on the host
  std::int64_t hybrid_ns = 0;  ///< with the places that were chosen
  int copies = 0;              ///< in an iteration, with these
  int steps = 0;               ///< until they were chosen, and the first one with them
  /// How many tasks of each kind are where.
  std::map<std::string, std::map<std::string, int>> assignment;
  bool agrees = true;  ///< in every bit with the plain loop: both, and a serial graph
};

struct Findings {
  std::string space;
  std::string kokkos_version;
  std::vector<double> seconds_plain;  ///< with one thread
  std::vector<RatioFindings> ratios;
  trellis::GraphAnalysis analysis;  ///< of a step, by the times of one thread
  struct Iteration {
    trellis::ThreadRatio ratio;
    double seconds;
  };
  std::vector<Iteration> feedback;
  std::vector<HybridFindings> hybrid;
  bool agrees = true;  ///< in every bit with the plain loop
  bool agrees_serially = true;
};

[[nodiscard]] std::string text_of(trellis::ThreadRatio const& ratio);
void print(Options const& options, Findings const& found);
/// Writes `summary.json`. Throws `std::runtime_error` when it cannot write.
void write_summary(Options const& options, Findings const& found);

}  // namespace transport

#endif
