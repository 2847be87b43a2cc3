// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPITRACE_HPP
#define TRELLIS_MPITRACE_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_TaskGraph.hpp>
#include <mpi/Trellis_Communicator.hpp>
#include <task/Trellis_FunctionRef.hpp>

#include <cstdint>
#include <string>

namespace trellis::Impl {

/// `trace` makes the one of this rank; when it throws, this throws on every rank. `now`: the steady
/// clock in nanoseconds, for tests of clocks that are not the same.
void write_traces(mpi::Communicator const& comm, FunctionRef<Trace()> trace,
                  std::string const& path, std::int64_t (*now)() = nullptr);

}  // namespace trellis::Impl

namespace trellis::mpi {

/// Writes what a graph on each rank has recorded (`TaskGraphOptions::record`), to `path.RANK.json`:
///
///     graph.wait();
///     mpi::write_trace(comm, graph, "out/trace");       // out/trace.0.json, out/trace.1.json, ...
///
/// Collective, and blocks; it belongs where no message of this thread's is awaited, after
/// `graph.wait()`. The folder must be there. `trellis_merge_traces out/trace.*.json -o
/// out/trace.json` makes one file of them, with an arrow for each message.
///
/// Each file is one of `Trace::write_chrome_json`. Its process has the number and name of the rank
/// in `comm`. Times are since the first graph of all ranks was made, by the clock of rank 0: each
/// rank asks for its time 64 times or more, and takes the answer that came back soonest. It is
/// wrong by half of that time at most, when it is taken. What clocks drift apart during the run is
/// not corrected, so early events are wrong by that as well. `otherData` has the offset, how wrong
/// it may be, and which ranks the communicators have; the `args` of a message have its direction,
/// communicator, peer and tag, and how many messages of these came before it.
///
/// Throws `Error` on every rank when one of them cannot write its file, or has not recorded.
template <Impl::AnyCommunicator C>
void write_trace(C const& comm, TaskGraph const& graph, std::string const& path) {
  Impl::write_traces(Impl::communicator_of(comm), [&] { return graph.trace(); }, path);
}
/// The same for what `graph.trace()` has said on each rank.
template <Impl::AnyCommunicator C>
void write_trace(C const& comm, Trace const& trace, std::string const& path) {
  Impl::write_traces(Impl::communicator_of(comm), [&] { return trace; }, path);
}

}  // namespace trellis::mpi

#endif
