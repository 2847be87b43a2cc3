// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKGRAPHOPTIONS_HPP
#define TRELLIS_TASKGRAPHOPTIONS_HPP

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace trellis {

// Each of these comes with the header of its topic.
class Orchestration;
class SchedulingPolicy;
struct TaskEvent;
struct Warning;

/// How a graph runs. An option that is not set here is taken from the environment, else from the
/// default. `TRELLIS_HELP=1` lists the variables with the values in force. A flag is 1, true, on or
/// yes, or 0, false, off or no.
struct TaskGraphOptions {
  /// The name of the graph in messages, state logs, counters over time and the analysis.
  std::string name = "TaskGraph";
  /// Threads that run tasks at the same time. A thread that enters `wait()` takes the place of a
  /// worker, which finishes its current task first; until then there is one more. To exclude two
  /// tasks from each other use a Token. `TRELLIS_WORKERS`; default: the hardware threads this
  /// process may use (or Kokkos' concurrency, if smaller), divided by `threads_per_worker`; at most
  /// 4096.
  std::optional<int> workers;
  /// Threads of each worker's instance. `TRELLIS_THREADS_PER_WORKER`; default 1.
  std::optional<int> threads_per_worker;
  /// Where threads run. "core": the main thread and each worker on a core of its own, as far as
  /// there are cores, or on `threads_per_worker` of them. A list of processors such as "0,2-5": the
  /// main thread on the first one, and the workers on the next ones. "none": where the system puts
  /// them. If the graph ends on the main thread, that thread runs where it ran before. Cores are
  /// those that the process may use. `TRELLIS_BIND`; default "none".
  std::optional<std::string> bind;
  /// Number of tasks that may be submitted and not complete. A thread that submits more runs tasks
  /// itself until there is room, or sleeps while there is nothing to run. Tasks submitted from
  /// inside a task, or by a functor's destructor, may exceed it. So may all tasks while all
  /// progress depends on an open `Completion`, as the submitting thread may be the one that
  /// completes it. `TRELLIS_IN_FLIGHT`; default 2048, or 128 for each worker if that is more.
  std::optional<std::size_t> in_flight;
  /// Streams of each asynchronous device, besides those given by the user. A plan that is a graph
  /// of the device has up to four times as many branches. More streams keep more kernels side by
  /// side and cost more waits between them. `TRELLIS_STREAMS`; default 8.
  std::optional<int> streams;
  /// Keep both graphs and time stamps. Memory then grows with each task. `TRELLIS_RECORD` (a flag);
  /// default no.
  std::optional<bool> record;
  /// Called at every change of a task's state.
  std::function<void(TaskEvent const&)> observer = nullptr;
  /// Where to write a line for every change of a task's state, as in `make_state_log`; empty:
  /// nowhere. The first graph of the process that writes to a file overwrites the file, later ones
  /// append. Its folder must be there. `TRELLIS_LOG`; default nowhere.
  std::optional<std::string> log;
  /// A file that gets a row every 10 ms: how many tasks have been spawned since the last row, and
  /// how many are ready, running and in flight. Every fork-join that starts or ends has a row, too.
  /// When the graph ends a picture is drawn beside it, `file.svg` for `file.csv`. Empty: nothing is
  /// written, but `statistics()` counts. The first graph of the process that writes to a file
  /// overwrites it, later ones append. With MPI each rank has a file of its own, `file-rank-3.csv`.
  /// `TRELLIS_STATISTICS`; default: nothing is counted.
  std::optional<std::string> statistics;
  /// `TRELLIS_POLICY`: "work_stealing" (default), "fifo", "priority", "shake" or "shake:SEED".
  std::shared_ptr<SchedulingPolicy> policy;
  /// How fork-joins run, and which fusable tasks are held back and run as one; see
  /// `make_orchestration` for names. `TRELLIS_ORCHESTRATION`; default "native".
  std::shared_ptr<Orchestration> orchestration;
  /// Run each task inside the call that submits it, one by one in the order of submission; `policy`
  /// is then ignored. Threads that submit to one serial graph take turns. The deadlock search does
  /// not see a task of another graph that waits there for its turn. `TRELLIS_SERIAL` (a flag) takes
  /// precedence over this option; default no.
  std::optional<bool> serial;
  /// Warn of what looks wrong in the annotations, see the user's guide. Views that tasks name are
  /// then kept a little longer than their last user has them, and tasks cost more. `TRELLIS_WARN`
  /// (a flag); default no.
  std::optional<bool> warn;
  /// Seconds. If no task has been completed for this time though some are in flight, the standard
  /// error stream gets what each of them waits for. It also gets how many submitting threads wait
  /// for room (`in_flight`). 0: never. A separate thread checks this. `TRELLIS_WATCHDOG`; default
  /// 0.
  std::optional<double> watchdog;
  /// Gets the warnings. By default they go to the standard error stream.
  std::function<void(Warning const&)> on_warning = nullptr;
};

}  // namespace trellis

#endif
