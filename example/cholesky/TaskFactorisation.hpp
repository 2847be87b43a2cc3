// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CHOLESKY_TASKFACTORISATION_HPP
#define TRELLIS_EXAMPLE_CHOLESKY_TASKFACTORISATION_HPP

#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <kernels/Trellis_Blas.hpp>
#include <kernels/Trellis_Lapack.hpp>

#include <cstdint>
#include <string>

#include "TiledMatrix.hpp"

/// This header has the factorisation as tasks: the textbook's loop over tiles, in which each call
/// is a task. Nothing in it specifies what may overlap.
namespace cholesky {

/// Returns how many tasks are on the longest path from the task that changes tile (i, j) in step k
/// to the end, itself included; k <= j <= i.
///
/// The indices of the successors of a task add up to more than its own. For one successor the sum
/// is larger by exactly one. After potrf (k, k, k) this is trsm (k + 1, k, k), and after trsm (i,
/// k, k) it is the update of the tile to the right, (i, k + 1, k). After an update comes the next
/// task on its tile, (i, j, k + 1). All paths end with potrf of the last tile, whose indices add up
/// to 3 (tiles - 1).
constexpr int longest_path(int tiles, int i, int j, int k) {
  return 3 * tiles - 2 - i - j - k;
}

/// Returns how many tasks a factorisation has, and how many edges its dependency graph has.
constexpr std::int64_t task_count(std::int64_t tiles) {
  return tiles * (tiles + 1) * (tiles + 2) / 6;
}
constexpr std::int64_t edge_count(std::int64_t tiles) {
  std::int64_t const t = tiles;
  // Except in the first step, each task waits for the previous one on its tile. Besides, trsm and
  // syrk wait for one other tile, gemm for two.
  std::int64_t const others = t * (t - 1) + t * (t - 1) * (t - 2) / 3;
  return task_count(t - 1) + others;
}

/// The order of ready tasks: the one with the longest path behind it first, or any. Tasks on a
/// shorter path can wait. The path determines the total time on many workers. On few workers there
/// is other work at all times, and it matters more what is in their caches.
enum class Order { longest_path_first, any };

/// Submits the factorisation A = L Lᵀ; L takes the place of A.
inline void factorise(trellis::TaskGraph& graph, TiledMatrix const& a, Order order) {
  namespace kernels = trellis::kernels;
  int const tiles = a.tiles();
  auto const policy = [&](int i, int j, int k) {
    int const urgency = order == Order::any ? 0 : longest_path(tiles, i, j, k);
    return trellis::ResourcePolicy(graph, trellis::priority(urgency));
  };
  auto const named = [](char const* kernel, int i, int j) {
    return std::string(kernel) + " " + std::to_string(i) + "," + std::to_string(j);
  };
  auto const in_step = [](int k) { return " step " + std::to_string(k); };

  for (int k = 0; k < tiles; ++k) {
    kernels::potrf(named("potrf", k, k), policy(k, k, k), "L", a(k, k));
    for (int i = k + 1; i < tiles; ++i)
      kernels::trsm(named("trsm", i, k), policy(i, k, k), "R", "L", "T", "N", 1.0, a(k, k),
                    a(i, k));
    for (int i = k + 1; i < tiles; ++i) {
      for (int j = k + 1; j < i; ++j)
        kernels::gemm(named("gemm", i, j) + in_step(k), policy(i, j, k), "N", "T", -1.0, a(i, k),
                      a(j, k), 1.0, a(i, j));
      kernels::syrk(named("syrk", i, i) + in_step(k), policy(i, i, k), "L", "N", -1.0, a(i, k), 1.0,
                    a(i, i));
    }
  }
}

/// True if each task of a recorded factorisation has the longest path behind it that its priority
/// says.
[[nodiscard]] bool priorities_are_paths(trellis::Graph const& graph);

}  // namespace cholesky

#endif
