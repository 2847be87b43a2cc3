// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_OUTSTANDING_HPP
#define TRELLIS_IMPL_OUTSTANDING_HPP

#include <Trellis_Progress.hpp>
#include <mpi/impl/Trellis_Message.hpp>
#include <task/Trellis_Reserve.hpp>
#include <kernel/Trellis_TaskHandle.hpp>
#include <threads/Trellis_SpinLock.hpp>

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

namespace trellis::Impl {

/// The requests of one graph that are under way, of all its communicators: a progress function of
/// the graph asks for them, with MPI_Testsome where that can be trusted.
///
/// INVARIANT (every request is asked for). Who starts one puts it among the new ones, and then asks
/// the graph for progress. The progress function takes over the new ones first, and says that
/// nothing is left only when it has none. If one was added after it had looked, whoever added it
/// asks afterwards, and the function is called again (see ProgressSource).
///
/// MEMORY. A request that has been started ends whatever happens. From its start on, everything
/// here comes from the reserve. An error without memory for its text is reported as
/// `std::bad_alloc`.
///
/// THREADS. Any thread adds, under `m_lock`. One thread at a time polls, or reports, between two
/// calls of the function (see ProgressSource); it alone has the requests themselves. What is
/// started before `add` happens before the poll that takes it over, by `m_lock`; what MPI has
/// written to memory happens before what depends on the task, by its Completion. `m_any_new` is
/// relaxed: whoever sets it asks for progress afterwards, and the call that follows sees it.
class Outstanding {
 public:
  /// Of the graph of this running task. It is made for the first one, and kept as long as the graph
  /// is there; a thread that asks again for the same graph finds it at once.
  static Outstanding& of(TaskHandle const& task);

  explicit Outstanding(TaskHandle const& task);
  Outstanding(Outstanding const&) = delete;
  Outstanding& operator=(Outstanding const&) = delete;

  /// A request that has been started; `is_kept`: it is used again by `message`, which has it.
  void add(MPI_Request request, bool is_kept, Message& message, MessageCompletion&& completion);
  /// For reports, a line for each.
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

  TaskHandle const m_graph;  ///< names no task
  mutable SpinLock m_lock;
  Vector<New> m_new;  ///< guarded by m_lock
  std::atomic<bool> m_any_new{false};

  // Of who polls, or reports.
  Vector<New> m_taken;
  Vector<MPI_Request> m_requests;
  Vector<Entry> m_entries;  ///< of them
  Vector<int> m_indices;
  Vector<MPI_Status> m_statuses;
  std::size_t m_next = 0;
  unsigned m_polls = 0;

  Progress m_progress;
};

}  // namespace trellis::Impl

#endif
