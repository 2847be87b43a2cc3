// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MICRO_RING_HPP
#define TRELLIS_MICRO_RING_HPP

#include "Measure.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace micro {

/// A field on a ring, cut into tiles, in two copies that take turns. A tile's next step reads the
/// tile and both its neighbours.
class Ring {
 public:
  explicit Ring(std::int64_t tiles)
      : m_fields{make_field("even", tiles), make_field("odd", tiles)} {
    for (std::size_t f = 0; f != 2; ++f)
      for (std::int64_t t = 0; t != tiles; ++t)
        m_tiles[f].push_back(
            Kokkos::subview(m_fields[f], std::pair(t * cells_per_tile, (t + 1) * cells_per_tile)));
  }

  /// Even, so that the next call goes on with the same copy.
  [[nodiscard]] std::int64_t steps() const {
    return std::max<std::int64_t>(4, task_count / static_cast<std::int64_t>(m_tiles[0].size()));
  }
  [[nodiscard]] View const& field(std::size_t copy) const { return m_fields[copy]; }

  void submit(trellis::TaskGraph& graph) const { submit(graph, steps()); }
  void submit(trellis::TaskGraph& graph, std::int64_t step_count) const {
    submit_tasks(graph, step_count * static_cast<std::int64_t>(m_tiles[0].size()));
  }

  /// The first `count` tasks.
  void submit_tasks(trellis::TaskGraph& graph, std::int64_t count) const {
    using namespace trellis;
    std::size_t const last = m_tiles[0].size() - 1;
    for (std::size_t step = 0; count > 0; ++step) {
      std::vector<View> const& from = m_tiles[step % 2];
      std::vector<View> const& to = m_tiles[(step + 1) % 2];
      for (std::size_t t = 0; t <= last && count > 0; ++t, --count)
        parallel_for("tile",
                     ResourcePolicy(graph, 1, on<Space>, read(from[t == 0 ? last : t - 1]),
                                    read(from[t]), read(from[t == last ? 0 : t + 1]), write(to[t])),
                     Nothing());
    }
  }

 private:
  static constexpr std::int64_t cells_per_tile = 64;

  static View make_field(std::string const& label, std::int64_t tiles) {
    return View(label, static_cast<std::size_t>(tiles * cells_per_tile));
  }

  std::array<View, 2> m_fields;
  std::array<std::vector<View>, 2> m_tiles;
};

}  // namespace micro

#endif
