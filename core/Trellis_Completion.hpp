// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_COMPLETION_HPP
#define TRELLIS_COMPLETION_HPP

#include <Trellis_Error.hpp>
#include <Trellis_TaskId.hpp>
#include <impl/Trellis_Result.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace trellis {

namespace Impl {

struct CompletionInternals;

/// The part of a `Completion` that does not depend on its value. Completions is the engine's side.
class OpenCompletion {
 public:
  OpenCompletion(OpenCompletion&& other) noexcept : m_task(std::exchange(other.m_task, {})) {}
  OpenCompletion& operator=(OpenCompletion&& other) noexcept {
    if (this == &other) return *this;
    drop();
    m_task = std::exchange(other.m_task, {});
    return *this;
  }

  /// False when it has been moved from, or after `done` or `fail`.
  [[nodiscard]] bool valid() const { return m_task.valid(); }
  /// The id of the task.
  [[nodiscard]] TaskId id() const { return m_task.id; }
  /// True if the task, or one that it is a child of, has been asked to stop; see
  /// `TaskGraph::cancel`. The task is still complete only after `done` or `fail`.
  [[nodiscard]] bool stop_requested() const;

  /// Completes the task as failed with this exception.
  void fail(std::exception_ptr const& cause);
  template <class E>
    requires std::derived_from<std::remove_cvref_t<E>, std::exception>
  void fail(E&& exception) {
    fail(std::make_exception_ptr(std::forward<E>(exception)));
  }

 protected:
  OpenCompletion() = default;
  explicit OpenCompletion(TaskHandle const& task) : m_task(task) {}
  ~OpenCompletion() { drop(); }
  void require_valid(char const* what) const;
  void say();

 private:
  void drop() noexcept;
  TaskHandle m_task;
};

}  // namespace Impl

/// The end of a task that is complete later than its body returns:
///
///     trellis::host_task("read", trellis::ResourcePolicy(graph, trellis::write(x)),
///                        [=](trellis::Completion<int> completion) {
///                          disk.start_reading(
///                              x.data(),
///                              [c = std::move(completion)](int got) mutable { c.done(got); });
///                        });
///
/// The body starts something and returns, and no thread is held. The task is complete when its body
/// has returned, its children are complete, and `done` or `fail` has been called. One of these is
/// called once, by any thread, also while the body runs. The task keeps its accesses until then.
/// What is done before `done` happens before the tasks that depend on it. A Completion that is
/// dropped without a call fails its task.
///
/// It can be moved from thread to thread, and one thread at a time may use it. It must not outlive
/// the program's use of Kokkos. Graphs do not either: the destructor of the graph, and `wait()`,
/// wait for it. Where no callback exists, see `TaskGraph::add_progress`.
template <class T = void>
class Completion : public Impl::OpenCompletion {
 public:
  /// Belongs to no task.
  Completion() = default;

  /// Completes the task and gives its future this value. If making the value throws, the Completion
  /// remains open. Throws `Error` when `done` or `fail` has been called before.
  template <class U = T>
    requires std::constructible_from<T, U&&>
  void done(U&& value) {
    require_valid("done");
    m_result->value.emplace(std::forward<U>(value));
    say();
  }

 private:
  friend struct Impl::CompletionInternals;
  Completion(Impl::TaskHandle const& task, Impl::Result<T>* result)
      : OpenCompletion(task), m_result(result) {}
  Impl::Result<T>* m_result = nullptr;  ///< of the task, which lives until `done` or `fail`
};

template <>
class Completion<void> : public Impl::OpenCompletion {
 public:
  Completion() = default;

  /// Completes the task. Throws `Error` when `done` or `fail` has been called before.
  void done() {
    require_valid("done");
    say();
  }

 private:
  friend struct Impl::CompletionInternals;
  explicit Completion(Impl::TaskHandle const& task) : OpenCompletion(task) {}
};

namespace Impl {

struct CompletionInternals {
  /// The Completion for the running body of this task, whose result has no value yet.
  static Completion<void> open(TaskHandle const& task) { return Completion<void>(count(task)); }
  template <class T>
  static Completion<T> open(TaskHandle const& task, Result<T>& result) {
    return Completion<T>(count(task), &result);
  }

 private:
  static TaskHandle const& count(TaskHandle const& task);
};

}  // namespace Impl

}  // namespace trellis

#endif
