// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SENDER_HPP
#define TRELLIS_SENDER_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Future.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <patterns/Trellis_Then.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <locks/Trellis_PlanRecording.hpp>

#if __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#else
#error "Trellis_Sender.hpp needs stdexec, whose <stdexec/execution.hpp> is not found"
#endif

#include <exception>
#include <type_traits>
#include <utility>

/// With this header, which `Trellis.hpp` does not include, futures are senders. The values of tasks
/// go into chains of `std::execution` (P2300), as in stdexec.
namespace trellis {

namespace Impl {

/// Completes an operation once: in the call, with the argument, or else in the destructor, as a
/// cancelled task does not call it. (A plan calls it in each round.)
template <class Operation>
class SenderCompletion {
 public:
  explicit SenderCompletion(Operation& operation) : m_operation(&operation) {}
  SenderCompletion(SenderCompletion&& other) noexcept
      : m_operation(std::exchange(other.m_operation, nullptr)) {}
  SenderCompletion& operator=(SenderCompletion&&) = delete;
  /// The operation may be gone after either of these.
  ~SenderCompletion() {
    if (m_operation != nullptr) m_operation->complete();
  }
  template <class... Value>
  void operator()(Value const&... value) noexcept {
    if (Operation* const operation = std::exchange(m_operation, nullptr))
      operation->complete_with(value...);
  }

 private:
  Operation* m_operation;
};

template <class T, class Receiver>
class FutureOperation {
 public:
  using operation_state_concept = stdexec::operation_state_t;

  FutureOperation(Future<T> future, Receiver&& receiver)
      : m_future(std::move(future)), m_receiver(std::move(receiver)) {}
  FutureOperation(FutureOperation&&) = delete;
  FutureOperation& operator=(FutureOperation&&) = delete;

  void start() noexcept {
    // While a plan is recorded, its tasks count as done.
    bool const is_in_plan = PlanRecording::top != nullptr &&
                            (FutureInternals::handle(m_future).id & PlanNode::recorded) != 0;
    if (!m_future.valid() || (!is_in_plan && m_future.is_done())) return complete();
    Future<T> const future = m_future;  // this may be gone as soon as the task is submitted
    try {
      Future<void> const completed = future.then("as_sender", SenderCompletion(*this));
      // In a serial graph only a waiting thread runs tasks.
      if (GraphInternals::is_serial(FutureInternals::handle(future))) completed.wait();
    } catch (...) {  // whatever was thrown, the completion has been destroyed
    }
  }

  /// Called within the task: a recorded task is not complete before its whole replay is.
  template <class... Value>
  void complete_with(Value const&... value) noexcept {
    stdexec::set_value(std::move(m_receiver), value...);
  }
  /// Called when the future has a value or a failure, or when the task will not run.
  void complete() noexcept {
    std::exception_ptr problem;
    try {
      if (m_future.valid() && !m_future.is_done())
        throw Error(Error::Kind::closed,
                    "Trellis: the graph of a sender takes no more tasks, or has no memory for one");
      m_future.get();
    } catch (Error const& error) {
      if (error.kind() == Error::Kind::cancelled && error.cause() == nullptr)
        return stdexec::set_stopped(std::move(m_receiver));
      problem = std::current_exception();
    } catch (...) {
      problem = std::current_exception();
    }
    if (problem != nullptr)
      stdexec::set_error(std::move(m_receiver), std::move(problem));
    else if constexpr (std::is_void_v<T>)
      stdexec::set_value(std::move(m_receiver));
    else
      stdexec::set_value(std::move(m_receiver), m_future.get());
  }

 private:
  Future<T> m_future;
  Receiver m_receiver;
};

template <class T>
struct ValueSignature {
  using type = stdexec::set_value_t(T const&);
};
template <>
struct ValueSignature<void> {
  using type = stdexec::set_value_t();
};

template <class T>
class FutureSender {
 public:
  using sender_concept = stdexec::sender_t;
  using completion_signatures =
      stdexec::completion_signatures<typename ValueSignature<T>::type,
                                     stdexec::set_error_t(std::exception_ptr),
                                     stdexec::set_stopped_t()>;

  explicit FutureSender(Future<T> future) : m_future(std::move(future)) {}

  template <class Receiver>
  FutureOperation<T, Receiver> connect(Receiver receiver) const {
    return {m_future, std::move(receiver)};
  }

 private:
  Future<T> m_future;
};

}  // namespace Impl

namespace experimental {

/// Returns a sender of the task's value. It can be connected any number of times, before or after
/// the task is complete, and inside a task. It completes with
///
/// - `set_value(T const&)`, a reference to the value in the future, or `set_value()`;
/// - `set_stopped()`, when `graph.cancel` was called for the task, or for one that it needs;
/// - `set_error(std::exception_ptr)`, with what `get()` throws.
///
/// It also completes with `set_error` when the graph takes no more tasks or has no memory for one.
///
/// It completes within a task "as_sender" of the graph, on the thread that runs this; at once, in
/// `start`, if the future's task is already complete. In a recording "as_sender" is a task of the
/// plan, and the first round completes the operation. A request to stop the receiver does not reach
/// the task, which others may wait for as well: call `graph.cancel(future)`. A thread that blocks,
/// as in `sync_wait`, runs no tasks meanwhile. So the main thread must not block for something that
/// needs a task with `main_thread`. A task must not block for one that comes after itself. Trellis
/// does not detect deadlocks of that kind.
///
///     auto sum = parallel_reduce("sum", ResourcePolicy(graph, Range(0, n), read(x)), f);
///     auto [root] = stdexec::sync_wait(
///         experimental::as_sender(sum) |
///         stdexec::then([](double s) { return std::sqrt(s); })).value();
template <class T>
[[nodiscard]] auto as_sender(Future<T> const& future) {
  return Impl::FutureSender<T>(future);
}

}  // namespace experimental

}  // namespace trellis

#endif
