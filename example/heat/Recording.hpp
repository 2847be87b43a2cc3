// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RECORDING_HPP
#define TRELLIS_EXAMPLE_HEAT_RECORDING_HPP

#include <Trellis_Graph.hpp>
#include <cstddef>
#include <filesystem>

/// With this header a reader can see a recorded run: how far steps overlapped, and the files that
/// show it.
namespace heat {

/// Most steps (labels "step ...") that had begun and not ended at one moment.
[[nodiscard]] int steps_under_way(trellis::Graph const& graph);

/// Most tasks that each file shows. Of a longer run those are shown that began next to each other
/// in its middle.
inline constexpr std::size_t tasks_in_trace = 5000;
inline constexpr std::size_t tasks_in_timeline = 500;
inline constexpr std::size_t tasks_in_graph = 60;

/// Writes `trace.json`, `timeline.svg` and `graph.dot` into a folder. Throws `std::runtime_error`
/// when it cannot write.
void write_recording(std::filesystem::path const& folder, trellis::Trace const& trace);

}  // namespace heat

#endif
