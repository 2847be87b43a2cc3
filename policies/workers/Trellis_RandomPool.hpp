// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RANDOMPOOL_HPP
#define TRELLIS_RANDOMPOOL_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Spaces.hpp>
#include <annotations/impl/Trellis_SharedState.hpp>
#include <workers/Trellis_PerWorker.hpp>

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

/// With this header tasks that run at the same time draw random numbers from one of Kokkos' pools.
/// (For numbers that are the same in every run see Trellis_RandomStreams.hpp.)
namespace trellis {

namespace Impl {

/// Has a Kokkos pool. Each thread takes a state from it when it first needs one, and another one
/// when it needs several at a time. From then on the state belongs to the thread. When that thread
/// has ended, a thread that is started later may take over its states.
template <class Pool>
class RandomStates final : public SharedState {
 public:
  using Generator = typename Pool::generator_type;
  struct State {
    Generator generator;
    bool is_taken;
    std::unique_ptr<State> next;
  };

  RandomStates(std::uint64_t seed, std::uint64_t count)
      : m_pool(make_pool(seed, count)), m_count(count) {}

  [[nodiscard]] State& take() {
    std::unique_ptr<State>* place = &m_states.local();
    while (*place != nullptr && (*place)->is_taken) place = &(*place)->next;
    if (*place == nullptr) *place = make_state();
    (*place)->is_taken = true;
    return **place;
  }

 private:
  static Pool make_pool(std::uint64_t seed, std::uint64_t count) {
    if constexpr (std::is_constructible_v<Pool, std::uint64_t, std::uint64_t>) {
      return Pool(seed, count);
    } else {  // Kokkos 4
      Pool pool;
      pool.init(seed, static_cast<int>(count));
      return pool;
    }
  }
  std::unique_ptr<State> make_state() {
    std::uint64_t const index = m_used.fetch_add(1, std::memory_order_relaxed);
    if (index >= m_count)
      throw Error(Error::Kind::bad_input,
                  "Trellis: a RandomPool of " + std::to_string(m_count) +
                      " states is asked for more: more threads draw from it than that, or "
                      "free_state(...) is missing behind some get_state()");
    using Index = std::conditional_t < KOKKOS_VERSION<50000, int, std::uint64_t>;
    return std::unique_ptr<State>(
        new State{m_pool.get_state(static_cast<Index>(index)), false, nullptr});
  }

  Pool const m_pool;
  std::uint64_t const m_count;
  std::atomic<std::uint64_t> m_used{0};
  PerWorker<std::unique_ptr<State>> const m_states{"RandomPool"};
};

}  // namespace Impl

/// One of Kokkos' pools of random number generators, e.g. `Kokkos::Random_XorShift64_Pool<>`, for
/// tasks that run at the same time. It is used like that pool:
///
///     trellis::RandomPool<Kokkos::Random_XorShift64_Pool<>> pool(seed);
///     trellis::parallel_for("noise", trellis::ResourcePolicy(graph, n, trellis::write(x)),
///                           KOKKOS_LAMBDA(int i) {
///                             auto generator = pool.get_state();
///                             x(i) = generator.drand();
///                             pool.free_state(generator);
///                           });
///
/// Kokkos itself chooses a state by the number of a thread in its own instance. This is 0 on every
/// worker of one thread, so tasks that run at the same time would draw the same numbers. Here each
/// thread has states of its own, so no annotation is needed. The thread that runs a task is not
/// deterministic, though, and so are not the numbers that the task draws.
///
/// Copies are the same pool. `Kokkos::fill_random(instance, x, pool, range)` takes it, too. On a
/// device this is Kokkos' pool, made from the seed alone, which locks its states there.
template <class Pool,
          bool on_device = Impl::DeviceSpace<typename Pool::device_type::execution_space>>
class RandomPool {
  using States = Impl::RandomStates<Pool>;

 public:
  using device_type = typename Pool::device_type;

  /// One of Kokkos' generators.
  class generator_type : public Pool::generator_type {
   private:
    friend class RandomPool;
    explicit generator_type(typename States::State& state)
        : Pool::generator_type(state.generator), m_state(&state) {}
    typename States::State* m_state;
  };

  /// Makes the pool. There must be a state for each thread that draws, including those of workers'
  /// pools, and one more for each further generator that a thread has at the same time.
  explicit RandomPool(std::uint64_t seed, std::uint64_t states = 4096)
      : m_states(new States(seed, states)) {}

  /// Returns a generator for the calling thread alone, until the same thread passes it to
  /// `free_state`. It works only on the host. Throws `Error` when there are no states left.
  [[nodiscard]] KOKKOS_FUNCTION generator_type get_state() const {
    KOKKOS_IF_ON_HOST((return generator_type(m_states.get()->take());))
    KOKKOS_IF_ON_DEVICE((Kokkos::abort("Trellis: the RandomPool of a host space on a device");
                         __builtin_unreachable();))
  }
  KOKKOS_FUNCTION void free_state(generator_type const& generator) const {
    KOKKOS_IF_ON_HOST((put(generator);))
    KOKKOS_IF_ON_DEVICE((static_cast<void>(generator);))
  }

 private:
  static void put(generator_type const& generator) {
    using Generator = typename Pool::generator_type;
    typename States::State& state = *generator.m_state;
    std::destroy_at(&state.generator);  // it cannot be assigned
    std::construct_at(&state.generator, static_cast<Generator const&>(generator));
    state.is_taken = false;
  }

  Impl::SharedHandle<States> m_states;
};

template <class Pool>
class RandomPool<Pool, true> : public Pool {
 public:
  explicit RandomPool(std::uint64_t seed) : Pool(seed) {}
};

}  // namespace trellis

#endif
