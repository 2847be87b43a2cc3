// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_THISWORKER_HPP
#define TRELLIS_THISWORKER_HPP

/// With this header a task's body knows which worker runs it, e.g. to use an array with an element
/// for each worker. (`PerWorker` is such an array, and does without the index.)
namespace trellis::this_worker {

/// The index of the worker whose task's body the calling thread runs: `0 <= index() <
/// graph.concurrency()` for the graph of that task.
///
/// Bodies of one graph that are under way on different threads have different indices. It does not
/// change while a body runs, nor while it waits. But a body that waits (`self.wait()`, `get()`) may
/// run the tasks that it waits for on its own stack, and these have the same index: what is kept
/// under it may have changed when the wait is over. When the thread runs bodies of several graphs,
/// on top of each other, the index is that in the graph of the innermost one.
///
/// Throws `Error` outside of all bodies: also in a functor that runs on another thread of a
/// worker's pool, in what a task on a device launches, and in a functor's destructor.
[[nodiscard]] int index();

}  // namespace trellis::this_worker

#endif
