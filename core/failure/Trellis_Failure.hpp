// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FAILURE_HPP
#define TRELLIS_IMPL_FAILURE_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>
#include <impl/Trellis_FailurePtr.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <base/Trellis_Reserve.hpp>

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
  std::uint64_t place = 0;   ///< the place in a replay, if that is the origin
  std::string origin_text;   ///< `task "name" (#id, file:line)` of that task and what it accessed
  std::string what;          ///< what the body threw, as text
  std::exception_ptr cause;  ///< what the body threw
  /// The program asked the task to stop. If its body threw, it is assumed to have thrown for that
  /// reason. `wait()` does not report it.
  bool is_asked = false;
  /// not null: this task's body did not throw, but a child of it failed
  std::shared_ptr<Failure const> of_child;
  mutable std::atomic<bool> observed{false};  ///< a `get()` has thrown it
};
/// Returns a copy, or a short text if there is no memory for it.
[[nodiscard]] std::string copy_or_short(std::string const& text);
/// Returns the failure of a task with a child that has failed with this one.
[[nodiscard]] FailurePtr of_child(FailurePtr const& failure);

/// What a task throws when it waits for its children and one has failed. If it leaves the body, the
/// child's failure remains that of the task.
class ChildFailed final : public Error {
  using Error::Error;
};

/// The failed and cancelled tasks of a graph by id. So later tasks and futures learn of them though
/// the task itself has long been recycled. Keeps the newest `capacity`; failures that `wait()` has
/// reported no longer cancel.
class FailureLog {
 public:
  static constexpr std::size_t capacity = 1 << 16;

  void note(TaskId task, std::string const& task_text, FailurePtr failure);
  /// Notes a failure only for `find`.
  void note_for_futures(TaskId task, TaskId shown_as, std::string const& task_text,
                        FailurePtr failure);
  /// Returns the failure that a new task inherits if it depends on `task`, or null. `unless_known`:
  /// null also when the program knows that the task is complete.
  [[nodiscard]] FailurePtr poisons(TaskId task, bool unless_known = false) const;
  /// Notes that the program has waited for the task, and so for the one whose failure it may have.
  void note_known(TaskId task) {
    if (any()) set_known(task);
  }
  struct Entry {
    FailurePtr failure;
    std::string task_text;
    std::uint64_t report = 0;  ///< number of the report that contains it, or will
    TaskId shown_as = 0;       ///< the id for the task in `make_error`
    bool is_known = false;     ///< the program has waited for the task
  };
  /// Returns the failure of this task, reported or not; null if there is none.
  [[nodiscard]] Entry find(TaskId task) const;
  /// What has failed since the last call. From now on none of that cancels later tasks.
  struct Report {
    static constexpr std::size_t max_origins = 64;
    Vector<FailurePtr> origins;    ///< in order of submission; the first `max_origins`
    std::size_t origin_count = 0;  ///< how many bodies threw
    std::size_t cancelled_count = 0;
    FailurePtr asked;  ///< the first task that was asked to stop

    void add(Report&& later);
  };
  Report report();
  void clear();
  /// Returns the first origin that `report` would return, or null. It may also be the first task
  /// that was asked to stop, which cancels later tasks in the same way.
  [[nodiscard]] FailurePtr unreported() const;
  /// True when a failure has been added since the log was made. It is cheap; each finished
  /// predecessor checks it.
  [[nodiscard]] bool any() const noexcept { return m_any.load(std::memory_order_acquire); }

 private:
  void insert(TaskId task, Entry&& entry);
  void set_known(TaskId task);

  mutable DeferringLock<std::mutex> m_mutex;
  HashMap<TaskId, Entry> m_failures;
  std::deque<TaskId, FromReserve<TaskId>> m_order;  ///< oldest first
  std::uint64_t m_reports = 0;                      ///< made so far
  Report m_unreported;
  std::atomic<bool> m_any{false};
};

}  // namespace trellis::Impl

#endif
