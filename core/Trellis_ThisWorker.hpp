// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_THISWORKER_HPP
#define TRELLIS_THISWORKER_HPP

/// With this header a task's body knows which worker runs it, e.g. to use an array with an element
/// for each worker. (`PerWorker` is such an array, and needs no index.)
namespace trellis::this_worker {

/// The index of the worker whose task's body the calling thread runs: `0 <= index() <
/// graph.concurrency()` for the graph of that task.
///
/// Bodies of one graph that are under way on different threads have different indices. The index
/// does not change while a body runs or waits. But a body that waits (`self.wait()`, `get()`) may
/// run the tasks that it waits for on its own stack, and these have the same index. So data kept
/// under the index may have changed after the wait. When the thread runs bodies of several graphs
/// on top of each other, the index is that in the graph of the innermost one.
///
/// Throws `Error` outside of all bodies. That includes a functor that runs on another thread of a
/// worker's pool, a kernel that a device task launches, and a functor's destructor.
[[nodiscard]] int index();

}  // namespace trellis::this_worker

#endif
