// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PERWORKER_HPP
#define TRELLIS_PERWORKER_HPP

#include <Trellis_Token.hpp>
#include <annotations/impl/Trellis_SharedState.hpp>
#include <threads/Trellis_ThreadSlot.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

/// With this header tasks that run at the same time each have a value of their own: a sum, a
/// buffer, a histogram.
namespace trellis {

namespace Impl {

/// Has a T for each thread slot, made when the slot's thread first asks for it.
///
/// INVARIANT. Only the thread that has a slot makes the slot's entry, and returns it from `local`.
/// So no two threads do so at the same time (see Trellis_ThreadSlot.hpp; a later owner of the slot
/// happens after an earlier one). A thread that looks at all entries finds them by pointers that
/// were stored with release order. Their contents are ordered by the tasks' accesses to the token,
/// or by a wait.
template <class T>
class PerThread final : public SharedState {
 public:
  PerThread(std::string label, std::function<T()> make)
      : m_token(std::move(label)), m_make(std::move(make)) {}
  PerThread(PerThread const&) = delete;
  PerThread& operator=(PerThread const&) = delete;
  ~PerThread() {
    clear();
    for (std::atomic<Block*>& block : m_blocks) delete block.load(std::memory_order_relaxed);
  }

  [[nodiscard]] Token const& token() const { return m_token; }
  [[nodiscard]] T& local() {
    int const slot = thread_slot();
    Block const* const block = m_blocks[block_of(slot)].load(std::memory_order_acquire);
    Entry* const entry =
        block != nullptr ? (*block)[place_of(slot)].load(std::memory_order_relaxed) : nullptr;
    return entry != nullptr ? entry->value : make_local(slot);
  }
  template <class F>
  void for_each(F&& f) const {
    for_each_place([&](std::atomic<Entry*> const& place) {
      if (Entry* const entry = place.load(std::memory_order_acquire)) f(entry->value);
    });
  }
  void clear() {
    for_each_place([](std::atomic<Entry*>& place) {
      delete place.exchange(nullptr, std::memory_order_acq_rel);
    });
  }

 private:
  static constexpr std::size_t block_size = 256;
  /// Values of different threads share no cache line, nor two lines that are fetched together.
  struct alignas(128) Entry {
    explicit Entry(std::function<T()> const& make) : value(make()) {}
    T value;
  };
  using Block = std::array<std::atomic<Entry*>, block_size>;

  static std::size_t block_of(int slot) { return static_cast<std::size_t>(slot) / block_size; }
  static std::size_t place_of(int slot) { return static_cast<std::size_t>(slot) % block_size; }

  T& make_local(int slot) {
    auto entry = std::make_unique<Entry>(m_make);
    std::atomic<Block*>& block = m_blocks[block_of(slot)];
    if (block.load(std::memory_order_acquire) == nullptr) {
      auto made = std::make_unique<Block>();
      Block* none = nullptr;
      if (block.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel))
        static_cast<void>(made.release());
    }
    std::atomic<Entry*>& place = (*block.load(std::memory_order_acquire))[place_of(slot)];
    if (Entry* const made = place.load(std::memory_order_relaxed))
      return made->value;  // `m_make` has called `local`
    place.store(entry.get(), std::memory_order_release);
    return entry.release()->value;
  }
  template <class F>
  void for_each_place(F&& f) const {
    for (std::atomic<Block*> const& each : m_blocks)
      if (Block* const block = each.load(std::memory_order_acquire))
        for (std::atomic<Entry*>& place : *block) f(place);
  }

  Token const m_token;
  std::function<T()> const m_make;
  std::array<std::atomic<Block*>, most_thread_slots / block_size> m_blocks{};
};

}  // namespace Impl

/// Has a T for each thread on which tasks run, so that tasks which run at the same time can update
/// one without a lock:
///
///     trellis::PerWorker<double> sums("sums");
///     for (auto const& tile : tiles)
///       trellis::host_task("add up", trellis::ResourcePolicy(graph, trellis::read(tile),
///                          trellis::atomic_add(sums)),
///                          [=] { sums.local() += sum_of(tile); });
///     auto total = trellis::host_task("total", trellis::ResourcePolicy(graph,
///                          trellis::read(sums)),
///                          [=] { return sums.combine(0.0, std::plus<>()); });
///
/// It is one resource (its `token()`). Tasks that use `local()` name it in `atomic_add`, and run at
/// the same time. A task that reads all values names it in `read`. One that changes them names it
/// in `write` or `read_write`. Such tasks are ordered with the others.
///
/// Copies are the same object, which lives until the last copy is gone; functors capture it by
/// value. On the host, any thread may ask for its value, also the threads of a worker's pool in a
/// kernel, and those of several graphs. The assignment of tasks to values is not deterministic: a
/// sum of floating-point numbers is rounded in another order each time.
///
/// A body that waits (`self.wait()`, `get()`) may run other tasks on its own stack, which use the
/// same `local()`: do not leave it half changed during a wait.
template <class T>
class PerWorker {
 public:
  using value_type = T;

  /// Each value is `T()` at first.
  explicit PerWorker(std::string label = "PerWorker")
    requires std::default_initializable<T>
      : PerWorker(std::move(label), [] { return T(); }) {}
  /// Each value is a copy of `initial` at first.
  PerWorker(std::string label, T const& initial)
    requires std::copy_constructible<T>
      : PerWorker(std::move(label), [initial] { return T(initial); }) {}
  /// `make()` makes each value, on the thread that it is for. It may run on several threads at a
  /// time.
  template <std::invocable Make>
    requires(std::same_as<std::invoke_result_t<Make&>, T>)
  PerWorker(std::string label, Make make)
      : m_values(new Impl::PerThread<T>(std::move(label), std::move(make))) {}

  /// Returns the token that annotations name.
  [[nodiscard]] Token const& token() const { return m_values.get()->token(); }

  /// Returns the calling thread's value, made at the first call. It works only on the host. Throws
  /// what making the value throws.
  [[nodiscard]] KOKKOS_FUNCTION T& local() const {
    KOKKOS_IF_ON_HOST((return m_values.get()->local();))
    KOKKOS_IF_ON_DEVICE(
        (Kokkos::abort("Trellis: PerWorker::local() on a device"); __builtin_unreachable();))
  }

  /// Calls `f(value)` for each existing value. Requires, like all functions below, that no task
  /// updates any: call it in a task that has such an access, or after a wait.
  template <class F>
  void for_each(F&& f) const {
    m_values.get()->for_each(f);
  }
  /// Returns `op(... op(op(initial, value), value) ..., value)` with all existing values.
  template <class R, class Op>
  [[nodiscard]] R combine(R initial, Op op) const {
    for_each([&](T const& value) { initial = op(std::move(initial), value); });
    return initial;
  }
  /// Returns how many values exist.
  [[nodiscard]] std::size_t size() const {
    std::size_t count = 0;
    for_each([&](T const&) { ++count; });
    return count;
  }
  /// Destroys all values; `local` makes them anew.
  void clear() const { m_values.get()->clear(); }

 private:
  Impl::SharedHandle<Impl::PerThread<T>> m_values;
};

}  // namespace trellis

#endif
