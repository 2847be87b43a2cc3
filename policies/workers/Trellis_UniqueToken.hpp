// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_UNIQUETOKEN_HPP
#define TRELLIS_UNIQUETOKEN_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Spaces.hpp>
#include <Trellis_TaskGraph.hpp>
#include <annotations/impl/Trellis_SharedState.hpp>
#include <threads/Trellis_ThreadSlot.hpp>

#include <Kokkos_Core.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

/// With this header threads in kernels of tasks that run at the same time get different numbers, as
/// from `Kokkos::Experimental::UniqueToken` within one instance.
namespace trellis {

namespace Impl {

/// Tells which numbers are taken.
///
/// INVARIANT. A thread that finds false by `exchange` has the number until it stores false again,
/// with release order. The `exchange` of the next owner reads that with acquire order. So what one
/// owner does with a number happens before what the next owner does with it.
struct TakenNumbers final : SharedState {
  explicit TakenNumbers(int count) : taken(std::make_unique<Cell[]>(std::size_t(count))) {}
  struct alignas(64) Cell {
    std::atomic<bool> is_taken{false};
  };
  std::unique_ptr<Cell[]> const taken;
};

}  // namespace Impl

/// Hands out numbers in `[0, size())`, each to one thread at a time, across all tasks of a graph
/// that run at the same time. A number is an index into memory that exists once for each thread.
///
///     trellis::UniqueToken<> token(graph);
///     View<double**> work("work", token.size(), n);
///     ... KOKKOS_LAMBDA(int i) {
///       trellis::AcquireUniqueToken const mine(token);
///       auto row = Kokkos::subview(work, mine.value(), Kokkos::ALL);
///     }
///
/// `acquire()` waits while all numbers are taken, so do not wait for a task while you have one. A
/// thread gets its previous number again, unless another thread has it. Copies are the same object.
/// On a device this is Kokkos' own token, which works across all streams and has as many numbers as
/// Kokkos gives it.
template <class ExecutionSpace = Kokkos::DefaultExecutionSpace,
          bool on_device = Impl::DeviceSpace<ExecutionSpace>>
class UniqueToken {
 public:
  using execution_space = ExecutionSpace;
  using size_type = int;

  /// Makes as many numbers as threads run tasks of this graph now: `workers() *
  /// threads_per_worker()`. If `set_threads` adds threads later, `acquire()` may have to wait.
  explicit UniqueToken(TaskGraph const& graph)
      : UniqueToken(graph.workers() * graph.threads_per_worker()) {}
  /// Makes `size` numbers. Throws `Error` when `size` is not positive.
  explicit UniqueToken(int size) : m_numbers(make(size)), m_size(size) {}

  [[nodiscard]] KOKKOS_FUNCTION int size() const { return m_size; }
  [[nodiscard]] KOKKOS_FUNCTION int acquire() const {
    KOKKOS_IF_ON_HOST((return take();))
    KOKKOS_IF_ON_DEVICE((Kokkos::abort("Trellis: the UniqueToken of a host space on a device");
                         __builtin_unreachable();))
  }
  KOKKOS_FUNCTION void release(int number) const {
    KOKKOS_IF_ON_HOST(
        (m_numbers.get()->taken[number].is_taken.store(false, std::memory_order_release);))
    KOKKOS_IF_ON_DEVICE((static_cast<void>(number);))
  }

 private:
  static Impl::TakenNumbers* make(int size) {
    if (size < 1)
      throw Error(Error::Kind::bad_input,
                  "Trellis: a UniqueToken cannot have " + std::to_string(size) + " numbers");
    return new Impl::TakenNumbers(size);
  }
  [[nodiscard]] int take() const {
    Impl::TakenNumbers::Cell* const cells = m_numbers.get()->taken.get();
    int number = Impl::thread_slot() % m_size;
    for (int tried = 0; cells[number].is_taken.load(std::memory_order_relaxed) ||
                        cells[number].is_taken.exchange(true, std::memory_order_acquire);) {
      if (++number == m_size) number = 0;
      if (++tried % m_size == 0) std::this_thread::yield();
    }
    return number;
  }

  Impl::SharedHandle<Impl::TakenNumbers> m_numbers;
  int m_size;
};

template <class ExecutionSpace>
class UniqueToken<ExecutionSpace, true>
    : public Kokkos::Experimental::UniqueToken<ExecutionSpace,
                                               Kokkos::Experimental::UniqueTokenScope::Global> {
 public:
  explicit UniqueToken(TaskGraph const&) {}
};

/// Holds a number as long as it exists. It keeps a reference to the token, which must outlive it.
template <class Numbers>
class AcquireUniqueToken {
 public:
  AcquireUniqueToken(Numbers const&& temporary) = delete;
  KOKKOS_FUNCTION explicit AcquireUniqueToken(Numbers const& token)
      : m_token(token), m_value(m_token.acquire()) {}
  AcquireUniqueToken(AcquireUniqueToken const&) = delete;
  AcquireUniqueToken& operator=(AcquireUniqueToken const&) = delete;
  KOKKOS_FUNCTION ~AcquireUniqueToken() { m_token.release(m_value); }

  [[nodiscard]] KOKKOS_FUNCTION int value() const { return m_value; }

 private:
  Numbers const& m_token;
  int const m_value;
};

}  // namespace trellis

#endif
