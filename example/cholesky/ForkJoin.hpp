// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CHOLESKY_FORKJOIN_HPP
#define TRELLIS_EXAMPLE_CHOLESKY_FORKJOIN_HPP

#include <kernels/Trellis_Blas.hpp>
#include <kernels/Trellis_Lapack.hpp>

#include <Kokkos_Core.hpp>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "TiledMatrix.hpp"

/// This header has the reference: the same calls on the same tiles, by loops over tiles that each
/// end with a barrier.
namespace cholesky {

/// Threads with an instance each. This replaces `omp parallel for schedule(dynamic)` for a Kokkos
/// whose only host space is Serial.
class Team {
 public:
  explicit Team(int threads) : m_begin(threads), m_end(threads) {
    for (int t = 1; t < threads; ++t) m_others.emplace_back([this] { serve(); });
  }
  Team(Team const&) = delete;
  Team& operator=(Team const&) = delete;
  ~Team() {
    m_is_over = true;
    m_begin.arrive_and_wait();
    for (std::thread& other : m_others) other.join();
  }

  /// Calls `body(instance, index)` for all indices on all threads, this one included, and returns
  /// when all have returned. Throws the first exception that a body has thrown; then bodies that
  /// had not begun are left out.
  template <class Body>
  void parallel_for(int count, Body const& body) {
    // The two barriers order all of this with what the other threads do.
    m_body = std::ref(body);
    m_count = count;
    m_next.store(0, std::memory_order_relaxed);
    m_begin.arrive_and_wait();
    work(m_own);
    m_end.arrive_and_wait();
    if (m_failure) std::rethrow_exception(std::exchange(m_failure, nullptr));
  }

 private:
  void serve() {
    Space const own{Kokkos::NewInstance{}};
    for (;;) {
      m_begin.arrive_and_wait();
      if (m_is_over) return;
      work(own);
      m_end.arrive_and_wait();
    }
  }
  void work(Space const& instance) {
    try {
      for (int k; (k = m_next.fetch_add(1, std::memory_order_relaxed)) < m_count;)
        m_body(instance, k);
    } catch (...) {
      std::lock_guard const lock(m_mutex);
      if (!m_failure) m_failure = std::current_exception();
      m_next.store(m_count, std::memory_order_relaxed);
    }
  }

  Space const m_own{Kokkos::NewInstance{}};
  std::barrier<> m_begin;
  std::barrier<> m_end;
  std::function<void(Space const&, int)> m_body;
  int m_count = 0;
  bool m_is_over = false;
  std::atomic<int> m_next{0};
  std::mutex m_mutex;
  std::exception_ptr m_failure;
  std::vector<std::thread> m_others;
};

/// Computes A = L Lᵀ; L replaces A. Each step takes a tile on the diagonal, its column, and then
/// all tiles to the right of that.
inline void factorise(Team& team, TiledMatrix const& a) {
  namespace kernels = trellis::kernels;
  int const tiles = a.tiles();
  std::vector<std::pair<int, int>> rest;
  for (int k = 0; k < tiles; ++k) {
    team.parallel_for(
        1, [&](Space const& space, int) { kernels::potrf.function(space, "L", a(k, k)); });
    team.parallel_for(tiles - 1 - k, [&](Space const& space, int below) {
      kernels::trsm.function(space, "R", "L", "T", "N", 1.0, a(k, k), a(k + 1 + below, k));
    });
    rest.clear();
    for (int i = k + 1; i < tiles; ++i)
      for (int j = k + 1; j <= i; ++j) rest.emplace_back(i, j);
    team.parallel_for(static_cast<int>(rest.size()), [&](Space const& space, int index) {
      auto const [i, j] = rest[static_cast<std::size_t>(index)];
      if (i == j)
        kernels::syrk.function(space, "L", "N", -1.0, a(i, k), 1.0, a(i, i));
      else
        kernels::gemm.function(space, "N", "T", -1.0, a(i, k), a(j, k), 1.0, a(i, j));
    });
  }
}

}  // namespace cholesky

#endif
