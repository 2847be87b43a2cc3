// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_TEAM_HPP
#define TRELLIS_MPI_PERF_TEAM_HPP

#include <atomic>
#include <thread>
#include <vector>

namespace mpi_perf {

/// Threads by hand, the calling one among them, for what has no tasks. They look for work all the
/// time, so a team lives no longer than a run.
class Team {
 public:
  explicit Team(int threads) {
    for (int k = 1; k < threads; ++k) m_threads.emplace_back([this, k] { work(k); });
  }
  Team(Team const&) = delete;
  Team& operator=(Team const&) = delete;
  ~Team() {
    m_call = nullptr;
    m_round.fetch_add(1, std::memory_order_release);
    for (std::thread& each : m_threads) each.join();
  }

  [[nodiscard]] int size() const { return static_cast<int>(m_threads.size()) + 1; }

  /// Calls `f(k)` on each thread, and returns when all are through.
  template <class F>
  void run(F const& f) {
    m_function = &f;
    m_call = [](void const* function, int k) { (*static_cast<F const*>(function))(k); };
    m_left.store(static_cast<int>(m_threads.size()), std::memory_order_relaxed);
    // What the others are to do is there for who sees the new round ...
    m_round.fetch_add(1, std::memory_order_release);
    f(0);
    // ... and what they have done for who sees that none is left.
    wait([this] { return m_left.load(std::memory_order_acquire) == 0; });
  }
  /// Calls `f(k)` for each k in [begin, end), a thread those that lie next to each other.
  template <class F>
  void for_each(int begin, int end, F const& f) {
    run([&](int thread) {
      int const count = end - begin;
      for (int k = begin + thread * count / size(); k < begin + (thread + 1) * count / size(); ++k)
        f(k);
    });
  }

 private:
  template <class Condition>
  static void wait(Condition const& is_so) {
    for (int looks = 1; !is_so(); ++looks)
      if (looks % 1000 == 0) std::this_thread::yield();
  }
  void work(int k) {
    for (unsigned round = 0;; ++round) {
      wait([&] { return m_round.load(std::memory_order_acquire) != round; });
      if (m_call == nullptr) return;
      m_call(m_function, k);
      m_left.fetch_sub(1, std::memory_order_release);
    }
  }

  void (*m_call)(void const*, int) = nullptr;
  void const* m_function = nullptr;
  alignas(64) std::atomic<unsigned> m_round{0};
  alignas(64) std::atomic<int> m_left{0};
  std::vector<std::thread> m_threads;  ///< the last member: they use the others
};

}  // namespace mpi_perf

#endif
