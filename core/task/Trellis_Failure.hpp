// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FAILURE_HPP
#define TRELLIS_IMPL_FAILURE_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>
#include <task/Trellis_FailurePtr.hpp>
#include <threads/Trellis_Unlocked.hpp>
#include <task/Trellis_Reserve.hpp>

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace trellis::Impl {

/// Why a task did not end well: a body threw, here or in a task that this one depends on.
struct Failure {
  TaskId origin = 0;         ///< the task whose body threw
  std::uint64_t place = 0;   ///< where in a replay, if that is the origin
  std::string origin_text;   ///< `task "name" (#id, file:line)` of that task and what it accessed
  std::string what;          ///< what the body threw, as text
  std::exception_ptr cause;  ///< what the body threw
  /// The program asked the task to stop; if its body threw, then for that reason, as far as anybody
  /// knows. `wait()` does not report it.
  bool is_asked = false;
  /// not null: this task's body did not throw, but a part of it failed
  std::shared_ptr<Failure const> of_part;
  mutable std::atomic<bool> observed{false};  ///< a `get()` has thrown it
};
/// A copy, or a short one where there is no memory for it.
[[nodiscard]] std::string copy_or_short(std::string const& text);
/// The failure of a task of which a part has failed with this one.
[[nodiscard]] FailurePtr of_part(FailurePtr const& failure);

/// What a task throws that waits for its parts when one has failed. If it leaves the body, the
/// part's failure stays the task's.
class PartFailed final : public Error {
  using Error::Error;
};

/// The failed and cancelled tasks of a graph by id, so that tasks submitted later and futures asked
/// later learn of them though the task itself is long recycled. Keeps the newest `capacity`; what
/// `wait()` has reported no longer cancels.
class FailureLog {
 public:
  static constexpr std::size_t capacity = 1 << 16;

  void note(TaskId task, std::string const& task_text, FailurePtr failure);
  /// For `find` alone.
  void note_for_futures(TaskId task, TaskId told_as, std::string const& task_text,
                        FailurePtr failure);
  /// The failure that makes a new task fail which depends on `task`, or null. `unless_known`: null
  /// as well when the program knows that the task is complete.
  [[nodiscard]] FailurePtr poisons(TaskId task, bool unless_known = false) const;
  /// The program has waited for the task, and so for the one whose failure this one may have.
  void note_known(TaskId task) {
    if (any()) set_known(task);
  }
  struct Entry {
    FailurePtr failure;
    std::string task_text;
    std::uint64_t report = 0;  ///< number of the report that it is, or will be, in
    TaskId told_as = 0;        ///< what to tell `make_error` that the task is
    bool is_known = false;     ///< the program has waited for the task
  };
  /// The failure of this task, reported or not; null when it has none.
  [[nodiscard]] Entry find(TaskId task) const;
  /// What has failed since the last call. From now on none of that cancels later tasks.
  struct Report {
    static constexpr std::size_t max_origins = 64;
    Vector<FailurePtr> origins;    ///< in order of submission; the first `max_origins`
    std::size_t origin_count = 0;  ///< how many bodies threw
    std::size_t cancelled_count = 0;
    FailurePtr asked;  ///< the first task that was asked to stop

    /// What has failed later.
    void add(Report&& later);
  };
  Report report();
  /// Forgets all failures.
  void clear();
  /// The first origin that `report` would return, or the first task that was asked to stop, which
  /// cancels later tasks alike; or null.
  [[nodiscard]] FailurePtr unreported() const;
  /// True when a failure has been added since the log was made. Cheap; checked for each finished
  /// predecessor.
  [[nodiscard]] bool any() const noexcept { return m_any.load(std::memory_order_acquire); }

 private:
  void insert(TaskId task, Entry&& entry);
  void set_known(TaskId task);

  mutable QuietLock<std::mutex> m_mutex;
  HashMap<TaskId, Entry> m_failures;
  std::deque<TaskId, FromReserve<TaskId>> m_order;  ///< oldest first
  std::uint64_t m_reports = 0;                      ///< made so far
  Report m_unreported;
  std::atomic<bool> m_any{false};
};

}  // namespace trellis::Impl

#endif
