// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FUTURE_HPP
#define TRELLIS_FUTURE_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Label.hpp>
#include <impl/Trellis_Result.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <concepts>
#include <source_location>
#include <utility>

namespace trellis {

namespace Impl {
struct FutureInternals;
template <class F>
concept Continuation = !std::convertible_to<F, Label>;
}  // namespace Impl

/// The result of a task, available when the task is complete. Copies share the result, which
/// outlives the graph.
template <class T>
class Future {
 public:
  Future() = default;

  /// False when default constructed.
  [[nodiscard]] bool valid() const { return m_handle.valid(); }
  /// Number of the task, see TaskId; 0 when default constructed. A task that was recorded, or
  /// collected in an iteration of `iterate`, has not been submitted when its future is made. Its id
  /// is then a number that no other task has, larger than those of submitted tasks, and in no
  /// record.
  [[nodiscard]] TaskId id() const { return m_handle.id; }
  [[nodiscard]] bool is_done() const { return m_handle.is_done(); }

  /// Returns when the task is complete; does not throw for its failure. Outside of tasks, this
  /// thread runs tasks of the graph meanwhile. Inside a task, it runs the tasks that it waits for,
  /// or sleeps. Throws `Error` when the awaited task could never be complete before the waiting
  /// one.
  void wait() const {
    require_valid();
    m_handle.wait();
  }

  /// Returns the result. Waits as `wait()` does. The next replay replaces the result of a recorded
  /// task. When the task failed or was cancelled, throws an `Error` that names the task whose body
  /// threw and carries what it threw.
  T const& get() const {
    require_valid();
    m_handle.wait();
    if (auto const& missing = m_result->missing)
      throw Impl::make_error(missing->task, missing->task_text, *missing->failure);
    if (!m_result->value)
      throw Error(Error::Kind::bad_input,
                  "Trellis: this future has no result yet: its task is recorded in a plan that has "
                  "not been "
                  "replayed");
    return *m_result->value;
  }

  operator T() const = delete;  // Trellis: the value comes later, by .get() of the Future

  /// Submits a `host_task` that calls `f(value)`, or `f()`, when this task is complete; returns its
  /// future at once. The new task goes to the graph of this task, or, in a recording, into the
  /// plan. When this task fails or is cancelled, the new one is cancelled, and `f` is not called.
  /// See `host_task` for what `f` may be and return; if `f` returns a `Future<U>`, so does `then`.
  /// Throws `Error` when the graph is gone. (Defined in patterns/Trellis_Then.hpp.)
  template <Impl::Continuation F>
  auto then(F&& f, std::source_location site = std::source_location::current()) const;
  template <class F>
  auto then(Label label, F&& f) const;
  /// Submits it as a child of the running task whose TaskScope is given.
  template <class Scope, class F>
  auto then(Label label, Scope& self, F&& f) const;

 private:
  friend struct Impl::FutureInternals;
  void require_valid() const {
    if (!valid()) throw Error(Error::Kind::bad_input, "Trellis: this future belongs to no task");
  }
  Impl::TaskHandle m_handle;
  Impl::ResultPtr<T> m_result;
};

/// The future of a task without a result. It costs nothing to make or drop.
///
/// Once the graph is gone, `get()` no longer throws for a failed task: the graph reported the
/// failure when it ended.
template <>
class Future<void> {
 public:
  Future() = default;

  [[nodiscard]] bool valid() const { return m_handle.valid(); }
  [[nodiscard]] TaskId id() const { return m_handle.id; }
  [[nodiscard]] bool is_done() const { return m_handle.is_done(); }
  void wait() const {
    require_valid();
    m_handle.wait();
  }
  void get() const {
    require_valid();
    m_handle.wait_and_rethrow();
  }

  /// Works as `then` of a future with a value, but calls `f()`.
  template <Impl::Continuation F>
  auto then(F&& f, std::source_location site = std::source_location::current()) const;
  template <class F>
  auto then(Label label, F&& f) const;
  template <class Scope, class F>
  auto then(Label label, Scope& self, F&& f) const;

 private:
  friend struct Impl::FutureInternals;
  void require_valid() const {
    if (!valid()) throw Error(Error::Kind::bad_input, "Trellis: this future belongs to no task");
  }
  Impl::TaskHandle m_handle;
};

namespace Impl {

struct FutureInternals {
  template <class T>
  static TaskHandle handle(Future<T> const& future) {
    return future.m_handle;
  }
  template <class T>
  static ResultPtr<T> result(Future<T> const& future) {
    return future.m_result;
  }
  static Future<void> make(TaskHandle const& handle) {
    Future<void> future;
    future.m_handle = handle;
    return future;
  }
  template <class T>
  static Future<T> make(TaskHandle const& handle, ResultPtr<T>&& result) {
    Future<T> future;
    future.m_handle = handle;
    future.m_result = std::move(result);
    return future;
  }
};

}  // namespace Impl

}  // namespace trellis

#endif
