// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPITRACE_HPP
#define TRELLIS_MPITRACE_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_TaskGraph.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <base/Trellis_FunctionRef.hpp>

#include <cstdint>
#include <string>

namespace trellis::Impl {

/// Writes the traces of all ranks. `trace` makes the trace of this rank; when it throws, this
/// throws on every rank. `now` is the steady clock in nanoseconds; tests pass clocks that differ.
void write_traces(mpi::Communicator const& comm, FunctionRef<Trace()> trace,
                  std::string const& path, std::int64_t (*now)() = nullptr);

}  // namespace trellis::Impl

namespace trellis::mpi {

/// Writes to `path.RANK.json` what a graph on each rank has recorded (`TaskGraphOptions::record`):
///
///     graph.wait();
///     mpi::write_trace(comm, graph, "out/trace");       // out/trace.0.json, out/trace.1.json, ...
///
/// The call is collective and blocks. Call it when this thread awaits no message, after
/// `graph.wait()`. The folder must exist. `trellis_merge_traces out/trace.*.json -o out/trace.json`
/// merges the files into one, with an arrow for each message.
///
/// Each file has the format of `Trace::write_chrome_json`. Its process has the number and name of
/// the rank in `comm`. Times count from the making of the first graph of all ranks, by the clock of
/// rank 0. Each rank asks rank 0 for its time 64 times or more, and takes the answer that came back
/// soonest. When it is taken, its error is at most half of the time between question and answer.
/// The drift of the clocks during the run is not corrected, so it adds to the error of early
/// events. `otherData` has the offset, its largest error, and the ranks of the communicators. The
/// `args` of a message have its direction, communicator, peer and tag, and the number of such
/// messages before it.
///
/// Throws `Error` on every rank when one of them cannot write its file, or has not recorded.
template <Impl::AnyCommunicator C>
void write_trace(C const& comm, TaskGraph const& graph, std::string const& path) {
  Impl::write_traces(Impl::communicator_of(comm), [&] { return graph.trace(); }, path);
}
/// Writes the traces that `graph.trace()` has returned on each rank.
template <Impl::AnyCommunicator C>
void write_trace(C const& comm, Trace const& trace, std::string const& path) {
  Impl::write_traces(Impl::communicator_of(comm), [&] { return trace; }, path);
}

}  // namespace trellis::mpi

#endif
