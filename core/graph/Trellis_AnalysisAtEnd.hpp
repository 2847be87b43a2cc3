// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ANALYSISATEND_HPP
#define TRELLIS_IMPL_ANALYSISATEND_HPP

#include <string>

namespace trellis::Impl {

class Engine;

/// Throws `Error` when the file of `TRELLIS_ANALYSIS` cannot be written. `graph`: its name.
void check_analysis_at_end(std::string const& graph);

/// What `TRELLIS_ANALYSIS` asks for, of a graph that is closed: nothing, if it is not set or the
/// graph has no tasks or does not record. What goes wrong is told on the standard error stream.
void write_analysis_at_end(Engine& engine) noexcept;

}  // namespace trellis::Impl

#endif
