// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PATHCOALESCING_HPP
#define TRELLIS_IMPL_PATHCOALESCING_HPP

#include <fields/Trellis_PlacementPolicy.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

/// This header has functions that place tasks of small graphs, without clocks or devices.
namespace trellis::Impl {

/// The consumers of each task.
using Consumers = std::vector<std::vector<int>>;
using Chains = std::vector<std::vector<int>>;

/// Joins tasks that follow each other into chains. `kinds` has the kind of each task. Tasks of
/// different kinds are in different chains, those of a negative kind in none. Edges are visited
/// breadth first from the tasks without predecessors:
///
/// - a source without a chain opens one;
/// - a target without one joins, if the source is the tail of its chain;
/// - a target that heads another chain brings that, if the source is the tail of its own;
/// - a target without one whose source is of another kind opens one.
///
/// In the end each task is in exactly one chain; tasks that no edge has reached are alone.
[[nodiscard]] Chains coalesce_paths(Consumers const& consumers, std::vector<int> const& kinds);

/// Returns the device, from 0 on, of each chain.
[[nodiscard]] std::vector<int> balance_chains(Chains const& chains, int devices, Balance how);

/// Predicts the times of copies from measured ones, in nanoseconds.
class TransferCosts {
 public:
  /// Adds a measured time. `from` and `to` are types of targets.
  void add(int from, int to, std::size_t bytes, std::int64_t nanoseconds);
  /// Returns the time of a copy. For a pair that is not measured it is that of the way back, or
  /// that over the host; else 0.
  [[nodiscard]] double cost(int from, int to, std::size_t bytes) const;
  /// True if the pair has been measured, or the way back.
  [[nodiscard]] bool knows(int from, int to) const { return known(from, to) != nullptr; }
  void set_host(int type) { m_host = type; }

 private:
  [[nodiscard]] std::map<std::size_t, std::int64_t> const* known(int from, int to) const;
  [[nodiscard]] static double fit(std::map<std::size_t, std::int64_t> const& least,
                                  std::size_t bytes);
  /// The least time for each size, as a copy may have waited for others.
  std::map<std::pair<int, int>, std::map<std::size_t, std::int64_t>> m_least;
  int m_host = 0;
};

/// Returns chains of tasks with equal choices. Tasks without choices are in no chain; tasks of one
/// unit are in one chain.
[[nodiscard]] Chains chains_of(PlacementGraph const& graph,
                               std::vector<std::set<int>> const& choices);
/// Returns the target of each task, for these types of targets. Chains of device tasks are spread
/// over the devices of a type.
[[nodiscard]] std::vector<int> choose_targets(PlacementGraph const& graph,
                                              std::vector<int> const& types, Balance balance);

}  // namespace trellis::Impl

#endif
