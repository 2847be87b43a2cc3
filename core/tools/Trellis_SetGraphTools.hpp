// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SETGRAPHTOOLS_HPP
#define TRELLIS_IMPL_SETGRAPHTOOLS_HPP

#include <Trellis_Observer.hpp>

#include <string>

/// What graphs ask of this library (see GraphTools), in several sources.
namespace trellis::Impl {

class Engine;

/// Works like `make_state_log`, for `TaskGraphOptions::log`: only the first graph of the process
/// that writes to a file overwrites it.
[[nodiscard]] TaskObserver make_graph_log(std::string const& destination,
                                          std::string const& graph_name);

/// Throws `Error` when the file of `TRELLIS_ANALYSIS` cannot be written. Only tells, once, when the
/// folder of `TRELLIS_TRACE` cannot be made. `graph` is the graph's name.
void check_end(std::string const& graph);
/// Writes what `TRELLIS_ANALYSIS` and `TRELLIS_TRACE` ask for, for a closed graph. Reports errors
/// on the standard error stream.
void write_end(Engine& engine) noexcept;

}  // namespace trellis::Impl

#endif
