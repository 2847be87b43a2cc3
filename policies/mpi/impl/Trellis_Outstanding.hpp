// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_OUTSTANDING_HPP
#define TRELLIS_IMPL_OUTSTANDING_HPP

#include <Trellis_Progress.hpp>
#include <mpi/impl/Trellis_Message.hpp>
#include <base/Trellis_Reserve.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <base/Trellis_SpinLock.hpp>

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

namespace trellis::Impl {

/// The requests of one graph that are under way, on all its communicators. A progress function of
/// the graph polls them, with MPI_Testsome where that can be trusted.
///
/// INVARIANT (every request is polled). A thread that starts a request adds it to the new ones, and
/// then asks the graph for progress. The progress function first takes over the new ones, and
/// reports that nothing is left only when it has none. If a request was added after this look, the
/// adding thread asks afterwards, and the function is called again (see ProgressSource).
///
/// MEMORY. A request that has been started must end whatever happens. So all memory needed after
/// its start comes from the reserve. An error without memory for its text is reported as
/// `std::bad_alloc`.
///
/// THREADS. Any thread may add, under `m_lock`. One thread at a time polls, or reports between two
/// calls of the function (see ProgressSource); it alone accesses the requests themselves. By
/// `m_lock` the start of a request happens before the poll that takes it over. By the task's
/// Completion MPI's writes to memory happen before the tasks that depend on it. `m_any_new` is
/// relaxed: the thread that sets it asks for progress afterwards, and the call that follows sees
/// it.
class Outstanding {
 public:
  /// Returns the one of this running task's graph. It is made at the first call, and kept as long
  /// as the graph exists. A thread that asks again for the same graph finds it at once.
  static Outstanding& of(TaskHandle const& task);

  explicit Outstanding(TaskHandle const& task);
  Outstanding(Outstanding const&) = delete;
  Outstanding& operator=(Outstanding const&) = delete;

  /// Adds a request that has been started. `is_kept`: `message` owns it and uses it again.
  void add(MPI_Request request, bool is_kept, Message& message, MessageCompletion&& completion);
  /// Returns a line for each request, for reports.
  [[nodiscard]] std::string report() const;
  [[nodiscard]] TaskHandle const& graph() const { return m_graph; }

 private:
  struct Entry {
    Message* message;
    MessageCompletion completion;
    bool is_kept;
    bool is_cancelled = false;  ///< MPI has been asked to
  };
  struct New {
    MPI_Request request;
    Entry entry;
  };
  bool poll();
  void take_new();
  void cancel_where_asked();

  TaskHandle const m_graph;  ///< names the graph, but no task
  mutable SpinLock m_lock;
  Vector<New> m_new;  ///< guarded by m_lock
  std::atomic<bool> m_any_new{false};

  // Only the thread that polls or reports uses these.
  Vector<New> m_taken;
  Vector<MPI_Request> m_requests;
  Vector<Entry> m_entries;  ///< the entries of m_requests
  Vector<int> m_indices;
  Vector<MPI_Status> m_statuses;
  std::size_t m_next = 0;
  unsigned m_polls = 0;

  Progress m_progress;
};

}  // namespace trellis::Impl

#endif
