// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_ROWS_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_ROWS_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// This header describes how a matrix lies before it is distributed: each rank has a block of rows,
/// and columns have their numbers in the whole matrix.
namespace cg {

using Global = std::int64_t;
using HostThreads = Kokkos::DefaultHostExecutionSpace;
template <class T>
using HostArray = Kokkos::View<T*, Kokkos::HostSpace>;

template <class T>
std::size_t to_size(T number) {
  return static_cast<std::size_t>(number);
}

/// Rank r has the rows [begin[r], begin[r + 1]).
struct Cut {
  std::vector<Global> begin;

  [[nodiscard]] Global all() const { return begin.back(); }
  [[nodiscard]] int of_rank(int rank) const {
    auto const r = static_cast<std::size_t>(rank);
    return static_cast<int>(begin[r + 1] - begin[r]);
  }
  [[nodiscard]] bool has(int rank, Global row) const {
    auto const r = static_cast<std::size_t>(rank);
    return begin[r] <= row && row < begin[r + 1];
  }
  [[nodiscard]] int owner(Global row) const {
    return static_cast<int>(std::upper_bound(begin.begin(), begin.end(), row) - begin.begin()) - 1;
  }
};

/// The rows of one rank: the entries of row i are [offsets(i), offsets(i + 1)), columns in
/// ascending order.
struct Rows {
  Cut cut;
  HostArray<int> offsets;
  HostArray<Global> columns;
  HostArray<double> values;

  [[nodiscard]] int count() const { return offsets.extent_int(0) - 1; }
};

/// Cuts [0, count) into pieces that are worth a task each.
inline std::vector<std::pair<int, int>> pieces_of(int count) {
  constexpr int most = 32, worth_it = 1024;
  int const pieces = std::clamp(count / worth_it, 1, most);
  std::vector<std::pair<int, int>> all;
  for (int k = 0; k < pieces; ++k)
    all.emplace_back(static_cast<int>(Global{k} * count / pieces),
                     static_cast<int>((Global{k} + 1) * count / pieces));
  return all;
}

}  // namespace cg

#endif
