// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ANALYSISATEND_HPP
#define TRELLIS_IMPL_ANALYSISATEND_HPP

#include <string>

namespace trellis::Impl {

class Engine;

/// Throws `Error` when the file of `TRELLIS_ANALYSIS` cannot be written. `graph` is the graph's
/// name.
void check_analysis_at_end(std::string const& graph);

/// Writes what `TRELLIS_ANALYSIS` asks for, for a closed graph. Writes nothing if it is not set, or
/// if the graph has no tasks or does not record. Reports errors on the standard error stream.
void write_analysis_at_end(Engine& engine) noexcept;

}  // namespace trellis::Impl

#endif
