// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANGRAPH_HPP
#define TRELLIS_IMPL_PLANGRAPH_HPP

#include <device/Trellis_CapturedGraph.hpp>

#include <cstddef>
#include <cstdint>

namespace trellis::Impl {

class DeviceAdapter;

/// Recorded tasks that all run on one device, as a graph of that device. Guarded by the mutex of
/// AsyncStreams, once they have been recorded. A graph waits for the end of its own previous
/// launch, so rounds overlap only within one launch. If many rounds are to run, a graph of several
/// rounds is launched as often as it fits.
///
/// SEVERAL ROUNDS. Such a graph has the edges within each round, those from each round to the next,
/// and one from each task's run to its next run. By the argument in PlanState, paths order all
/// conflicting tasks of two successive rounds, and thus those of all rounds.
struct PlanGraph {
  static constexpr std::size_t most_rounds = 8;
  static constexpr std::size_t most_nodes = 4096;  ///< of several rounds

  /// This many rounds are run one by one before a capture of several is worth its cost.
  static constexpr std::uint64_t rounds_before = 32;

  /// Branches of the graph for each stream that its tasks would otherwise have. Branches cost
  /// nothing in a graph, and fewer than the plan is wide delay tasks that could run.
  static constexpr std::size_t branches_per_stream = 4;

  DeviceAdapter* device = nullptr;  ///< null: there is none
  CaptureOrder order;
  CapturedGraph one;
  CapturedGraph several;
  std::size_t rounds = 0;  ///< of `several`; 0: such a graph cannot be captured
  std::uint64_t asked_for_several = 0;

  /// Does not change once the tasks are recorded.
  [[nodiscard]] bool exists() const { return device != nullptr; }
  /// Requires the lock of the streams.
  void release() noexcept {
    if (device == nullptr) return;
    one.release(*device);
    several.release(*device);
    *this = {};
  }
};

}  // namespace trellis::Impl

#endif
