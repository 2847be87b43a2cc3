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

/// Where tasks go when it is known what they, and copies, take.
namespace trellis::Impl {

/// In one unit.
struct PlacementCosts {
  std::function<double(int task, int target)> time;  ///< of an eligible one
  /// Between two targets that copy to each other directly.
  std::function<double(int from, int to, std::size_t bytes)> transfer;
};

/// The smaller, the better.
struct PlacementValue {
  double makespan = 0;
  double work = 0;  ///< of all tasks and all copies
  friend auto operator<=>(PlacementValue const&, PlacementValue const&) = default;
};

/// What a pass with these places is worth: its steps as a list schedule in virtual time, the one
/// with the longest path behind it first (see `simulate`). The host runs as many tasks at a time as
/// it has lanes, a device one; each device has one copy at a time on the way to it, and one away.
[[nodiscard]] PlacementValue value_of(PlacementGraph const& graph, std::span<int const> places,
                                      PlacementCosts const& costs);

/// The places with the least value that is found among those that fit; empty: none fit.
///
/// Chains of tasks (see `coalesce_paths`) go to types of targets, and over the devices of a type as
/// `choose_targets` says. Exact while there are up to 4096 ways for that; else the end of a search
/// that begins with all on one type, and with the first chains on one type and the others on
/// another. Where chains fit nowhere tasks are taken one by one (`find_fitting`).
[[nodiscard]] std::vector<int> choose_places(PlacementGraph const& graph,
                                             PlacementCosts const& costs, Balance balance);

}  // namespace trellis::Impl

#endif
