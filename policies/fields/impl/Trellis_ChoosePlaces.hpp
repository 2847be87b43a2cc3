// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CHOOSEPLACES_HPP
#define TRELLIS_IMPL_CHOOSEPLACES_HPP

#include <fields/Trellis_PlacementPolicy.hpp>
#include <fields/impl/Trellis_PlacedSteps.hpp>

#include <compare>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

/// This header chooses the places of tasks when the times of tasks and copies are known.
namespace trellis::Impl {

/// All costs are in one unit.
struct PlacementCosts {
  std::function<double(int task, int target)> time;  ///< for an eligible target
  /// The time of a copy between two targets that copy to each other directly.
  std::function<double(int from, int to, std::size_t bytes)> transfer;
};

/// A smaller value is better.
struct PlacementValue {
  double makespan = 0;
  double work = 0;  ///< time of all tasks and all copies
  friend auto operator<=>(PlacementValue const&, PlacementValue const&) = default;
};

/// Returns the value of an iteration with these places. Its steps run as a list schedule in virtual
/// time, the step with the longest path after it first (see `simulate`). The host runs as many
/// tasks at a time as it has lanes, a device one. Each device has one copy at a time in each
/// direction.
[[nodiscard]] PlacementValue value_of(PlacementGraph const& graph, std::span<int const> places,
                                      PlacementCosts const& costs);

/// Returns the best places found among those that fit; empty if none fit.
///
/// Chains of tasks (see `coalesce_paths`) go to types of targets, and over the devices of a type by
/// `choose_targets`. The result is exact if there are at most 4096 ways for that. Otherwise it is
/// that of a search that begins with all chains on one type, and with the first chains on one type
/// and the others on another. If chains fit nowhere, tasks are placed one by one (`find_fitting`).
[[nodiscard]] std::vector<int> choose_places(PlacementGraph const& graph,
                                             PlacementCosts const& costs, Balance balance);

}  // namespace trellis::Impl

#endif
