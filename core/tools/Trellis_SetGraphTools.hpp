// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SETGRAPHTOOLS_HPP
#define TRELLIS_IMPL_SETGRAPHTOOLS_HPP

#include <Trellis_Observer.hpp>

#include <string>

namespace trellis {
struct Trace;
}

/// What graphs ask of this library (see GraphTools), in several sources.
namespace trellis::Impl {

class Engine;

/// Works like `make_state_log`, for `TaskGraphOptions::log`: only the first graph of the process
/// that writes to a file overwrites it.
[[nodiscard]] TaskObserver make_graph_log(std::string const& destination,
                                          std::string const& graph_name);

/// Returns what a closed graph has recorded; no tasks if it does not record.
[[nodiscard]] Trace trace_at_end(Engine& engine);
/// Returns the analysis and the predictions of this trace. Requires that the graph records.
[[nodiscard]] std::string analysis_at_end(Engine& engine, Trace const& trace);

/// Throws `Error` when the file of `TRELLIS_ANALYSIS` cannot be written. `graph` is the graph's
/// name.
void check_analysis_at_end(std::string const& graph);
/// Writes what `TRELLIS_ANALYSIS` asks for, for a closed graph. Writes nothing if it is not set, or
/// if the graph has no tasks or does not record. Reports errors on the standard error stream.
void write_analysis_at_end(Engine& engine) noexcept;

/// Tells once, on the standard error stream, that the folder of `TRELLIS_TRACE` cannot be made. The
/// program goes on: the end of a graph tries again, and else writes to the folder for temporary
/// files.
void check_trace_at_end();
/// Writes what `TRELLIS_TRACE` asks for, for a closed graph that records, and tells where. Each
/// graph has a folder of its own in that folder, which no other graph, process or run writes to.
/// The page `index.html` in the common folder leads to them all. Where only `TRELLIS_RECORD` is
/// set, tells what was recorded. Reports errors on the standard error stream.
void write_trace_at_end(Engine& engine) noexcept;

}  // namespace trellis::Impl

#endif
