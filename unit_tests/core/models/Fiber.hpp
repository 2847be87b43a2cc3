// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_FIBER_HPP
#define TRELLIS_TEST_FIBER_HPP

#include <cstddef>
#include <ucontext.h>

namespace trellis::model {

/// A stack on which a thread of a program runs. One fiber runs at a time, until it switches.
class Fiber {
 public:
  /// The next switch to this fiber calls `start`, which never returns.
  void begin(void* stack, std::size_t size, void (*start)()) {
#if defined(__x86_64__)
    auto* top = reinterpret_cast<void**>(static_cast<char*>(stack) + size);
    *--top = nullptr;  // where a call has its return address, so the stack is aligned as there
    *--top = reinterpret_cast<void*>(start);
    top -= 6;  // registers, whatever is in them
    m_stack = top;
#else
    getcontext(&m_context);
    m_context.uc_stack.ss_sp = stack;
    m_context.uc_stack.ss_size = size;
    m_context.uc_link = nullptr;
    makecontext(&m_context, start, 0);
#endif
  }
  /// Goes on there; returns when another fiber switches back to this one.
  void switch_to(Fiber& other) {
#if defined(__x86_64__)
    trellis_model_switch(&m_stack, other.m_stack);
#else
    swapcontext(&m_context, &other.m_context);
#endif
  }

 private:
#if defined(__x86_64__)
  /// Keeps what a call has to keep, and takes another stack.
  static void trellis_model_switch(void** from, void* to) asm("trellis_model_switch");
  void* m_stack = nullptr;
#else
  ucontext_t m_context{};
#endif
};

}  // namespace trellis::model

#endif
