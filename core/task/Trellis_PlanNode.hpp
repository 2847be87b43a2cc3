// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANNODE_HPP
#define TRELLIS_IMPL_PLANNODE_HPP

#include <Trellis_TaskId.hpp>

#include <cstdint>

namespace trellis::Impl {

struct PlanState;

/// Returns a new number, never 0, by which scheduling policies know a plan or an iteration.
[[nodiscard]] std::uint64_t new_plan_number();

/// The data that a plan keeps of one of its tasks, see PlanState. The task is never done before the
/// plan is gone: its `live_id` and its `id` keep the values that they were recorded with.
struct alignas(64) PlanNode {  // each is written by the thread that runs its task
  /// This bit is set in the ids of recorded tasks, and in no others.
  static constexpr TaskId recorded = TaskId{1} << 63;

  PlanState* plan = nullptr;
  std::int32_t first_edges = 0;  ///< edges to the task within one round
  std::int32_t edges = 0;        ///< also with those from the round before
  /// The number of its successors in its own round. Those of the next round come behind them.
  std::uint32_t own_round = 0;
  /// The number of its successors that a failure reaches. The others come last; their edges serve
  /// the counts alone, see PlanState.
  std::uint32_t carrying = 0;
  TaskId run_id = 0;                     ///< of its next or current run, see Plans::number_runs
  std::uint32_t index = 0;               ///< in the order of submission
  std::uint32_t component = 0;           ///< see PlanComponent
  std::uint64_t round : 63 = 0;          ///< how often it has run in this replay
  std::uint64_t follows_itself : 1 = 0;  ///< each run depends on the one before
};

}  // namespace trellis::Impl

#endif
