// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TRACEATEND_HPP
#define TRELLIS_IMPL_TRACEATEND_HPP

namespace trellis::Impl {

class Engine;

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
