// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PROGRESSSOURCE_HPP
#define TRELLIS_IMPL_PROGRESSSOURCE_HPP

#include <base/Trellis_OneForAll.hpp>

#include <atomic>
#include <concepts>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace trellis::Impl {

/// A function of the program's that asks something outside of the graph how far it is.
///
/// INVARIANT (no request is forgotten). `idle` becomes `asked` when the program asks. Only the
/// thread that calls the function makes it `idle` again: it sets `called`, calls, and if the
/// function says that nothing is left, goes from `called` to `idle`. If the program has asked
/// meanwhile, the thread finds `asked` instead, and leaves it. All operations are sequentially
/// consistent, so the next call sees what was started before `ask()`.
///
/// `m_calls` is held during a call, by the thread that removes the function, and while the function
/// reports what it waits for. A function is called again and again, and a thread that locks a mutex
/// again at once keeps the others out. So the function is not called while others want the mutex.
class ProgressSource {
 public:
  explicit ProgressSource(bool of_main) : m_of_main(of_main) {}
  ProgressSource(ProgressSource const&) = delete;
  ProgressSource& operator=(ProgressSource const&) = delete;
  virtual ~ProgressSource() = default;

  /// True if only the main thread may call it.
  [[nodiscard]] bool is_of_main() const { return m_of_main; }
  [[nodiscard]] bool is_asked() const { return m_state.load(std::memory_order_relaxed) != idle; }
  /// True when it was idle.
  [[nodiscard]] bool ask() { return m_state.exchange(asked, std::memory_order_seq_cst) == idle; }
  /// Calls the function if it is asked for. True when it is idle now, and was not before.
  [[nodiscard]] bool call();
  /// Removes the function, which is not called any more. True when it was not idle. Called by the
  /// function itself, it takes effect when that call is over, and `call` returns true.
  [[nodiscard]] bool take_away();

  /// True if the calling thread calls such a function.
  [[nodiscard]] static bool is_calling() { return t_called != nullptr; }
  /// True if it calls one of this graph.
  [[nodiscard]] static bool is_calling(void const* engine) {
    return t_called != nullptr && t_called->m_engine == engine;
  }
  /// A line for each thing that it waits for, see StallReport. Any thread may ask, between two
  /// calls.
  [[nodiscard]] std::string tell() {
    BetweenCalls const between(*this);
    return m_is_taken_away ? std::string() : report();
  }
  /// Called before the first request.
  void belongs_to(void const* engine) { m_engine = engine; }

 protected:
  /// False: nothing is left to ask for.
  virtual bool advance() = 0;
  [[nodiscard]] virtual std::string report() const { return {}; }
  virtual void drop() noexcept = 0;

 private:
  enum State : int { idle, asked, called };
  class BetweenCalls {
   public:
    explicit BetweenCalls(ProgressSource& of) : m_of(of) {
      m_of.m_others.fetch_add(1, std::memory_order_relaxed);
      m_of.m_calls.lock();
    }
    BetweenCalls(BetweenCalls const&) = delete;
    BetweenCalls& operator=(BetweenCalls const&) = delete;
    ~BetweenCalls() {
      m_of.m_others.fetch_sub(1, std::memory_order_relaxed);
      m_of.m_calls.unlock();
    }

   private:
    ProgressSource& m_of;
  };
  TRELLIS_IMPL_ONE_FOR_ALL static inline constinit thread_local ProgressSource const* t_called =
      nullptr;

  bool const m_of_main;
  void const* m_engine = nullptr;
  std::atomic<int> m_state{idle};
  std::atomic<int> m_others{0};  ///< threads that want the mutex for something other than a call
  std::mutex m_calls;
  bool m_is_taken_away = false;  ///< guarded by m_calls
};

template <class F>
class ProgressFunction final : public ProgressSource {
 public:
  template <class G>
  ProgressFunction(bool of_main, G&& function)
      : ProgressSource(of_main), m_function(std::in_place, std::forward<G>(function)) {}

 private:
  bool advance() override { return (*m_function)(); }
  [[nodiscard]] std::string report() const override {
    if constexpr (requires(F const& f) {
                    { f.report() } -> std::convertible_to<std::string>;
                  })
      return m_function->report();
    else
      return {};
  }
  void drop() noexcept override { m_function.reset(); }
  std::optional<F> m_function;
};

}  // namespace trellis::Impl

#endif
