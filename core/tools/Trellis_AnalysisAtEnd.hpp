// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ANALYSISATEND_HPP
#define TRELLIS_IMPL_ANALYSISATEND_HPP

#include <string>

namespace trellis {
struct Trace;
}

namespace trellis::Impl {

class Engine;

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

}  // namespace trellis::Impl

#endif
