// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MICRO_READERS_HPP
#define TRELLIS_MICRO_READERS_HPP

#include "Measure.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace micro {

/// Tasks that all read the same Views, which nobody writes: no edges among them, only the price of
/// an access.
class Readers {
 public:
  Readers() {
    for (View& each : m_views) each = View("x", 1);
  }

  template <std::size_t count, class... Properties>
  void submit(trellis::TaskGraph& graph, Properties const&... properties) const {
    submit(std::make_index_sequence<count>(), graph, properties...);
  }

  /// Numbers of accesses that can be measured.
  static constexpr auto counts() { return std::make_index_sequence<most + 1>(); }
  static std::string name(std::string_view benchmark, std::size_t count) {
    return std::string(benchmark) + "/accesses:" + std::to_string(count);
  }

 private:
  static constexpr std::size_t most = 8;

  template <std::size_t... I, class... Properties>
  void submit(std::index_sequence<I...>, trellis::TaskGraph& graph,
              Properties const&... properties) const {
    using namespace trellis;
    for (int k = 0; k < task_count; ++k)
      parallel_for("reader",
                   ResourcePolicy(graph, 1, on<Space>, properties..., read(m_views[I])...),
                   Nothing());
  }

  std::array<View, most> m_views;
};

}  // namespace micro

#endif
