// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_STDEXEC_EXECUTION_HPP
#define TRELLIS_TEST_STDEXEC_EXECUTION_HPP

#include <utility>

/// The names of stdexec that `as_sender` and its tests use, for machines that do not have it. No
/// algorithms, and no checks: whether real senders and receivers are satisfied, only stdexec tells
/// (`test_sender`).
namespace stdexec {

struct sender_t {};
struct receiver_t {};
struct operation_state_t {};
template <class... Signatures>
struct completion_signatures {};

struct set_value_t {
  template <class Receiver, class... Value>
  void operator()(Receiver&& receiver, Value&&... value) const noexcept {
    std::forward<Receiver>(receiver).set_value(std::forward<Value>(value)...);
  }
};
struct set_error_t {
  template <class Receiver, class Problem>
  void operator()(Receiver&& receiver, Problem&& problem) const noexcept {
    std::forward<Receiver>(receiver).set_error(std::forward<Problem>(problem));
  }
};
struct set_stopped_t {
  template <class Receiver>
  void operator()(Receiver&& receiver) const noexcept {
    std::forward<Receiver>(receiver).set_stopped();
  }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

template <class Sender, class Receiver>
auto connect(Sender&& sender, Receiver receiver) {
  return std::forward<Sender>(sender).connect(std::move(receiver));
}
template <class Operation>
void start(Operation& operation) noexcept {
  operation.start();
}

}  // namespace stdexec

#endif
