// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_RECORDING_HPP
#define TRELLIS_EXAMPLE_RECORDING_HPP

#include <Trellis_Recorded.hpp>
#include <cstddef>
#include <filesystem>

/// This header writes the files that show a recorded run. Its functions throw `std::runtime_error`
/// when they cannot write.
namespace example {

/// The most tasks that each file shows. For a longer run these are tasks that began next to each
/// other in its middle.
inline constexpr std::size_t tasks_in_trace = 5000;
inline constexpr std::size_t tasks_in_timeline = 500;
inline constexpr std::size_t tasks_in_graph = 60;

/// Writes `trace.json`, `timeline.svg` and `analysis.txt` into a folder. The last one says how
/// parallel the whole run was, and how long it would take on other machines.
void write_timeline(std::filesystem::path const& folder, trellis::Trace const& trace);

/// Writes `graph.dot` into a folder.
void write_graph(std::filesystem::path const& folder, trellis::Trace const& trace);

}  // namespace example

#endif
