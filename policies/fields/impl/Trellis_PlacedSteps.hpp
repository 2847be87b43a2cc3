// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLACEDSTEPS_HPP
#define TRELLIS_IMPL_PLACEDSTEPS_HPP

#include <fields/Trellis_PlacementPolicy.hpp>
#include <fields/impl/Trellis_MemoryOrder.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// What a pass consists of when its tasks are at given places. A model makes its passes of this,
/// and who chooses places looks at what would come of them.
namespace trellis::Impl {

/// A field, or a copy of it, at one target; or the memory of a probe.
struct PlacedSlot {
  int field;  ///< -1: of a probe
  int place;
  std::size_t bytes;
  bool is_kept;  ///< it has memory between passes
};

struct PlacedStep {
  enum class Kind : unsigned char { task, copy, probe };
  struct Use {
    int slot;
    bool makes;
  };
  Kind kind = Kind::task;
  int task = -1;   ///< of the graph
  int field = -1;  ///< that is copied
  int from = -1;   ///< targets; of a task both are where it runs
  int to = -1;
  std::size_t bytes = 0;    ///< that a probe copies
  std::vector<int> before;  ///< steps
  std::vector<Use> uses;    ///< each slot once; of what copies first the source
};

/// Each field is computed at one place, or is there before the pass. From there it is copied to
/// each place that needs it, once: where tasks read it, and where it has its memory between passes.
struct PlacedSteps {
  std::vector<PlacedSlot> slots;
  /// Those of tasks first, with the tasks' own positions.
  std::vector<PlacedStep> steps;
  struct Field {
    int base = -1;  ///< the target where it is itself, and not a copy of it
    // With a second home: what will be up to date after the pass.
    bool is_valid_at_home = false;
    bool is_valid_at_second = false;
  };
  std::vector<Field> fields;
  /// A field that would have to be copied over the host, of which the graph has none; -1: none.
  int stuck = -1;

  [[nodiscard]] int slot(int field, int place) const;  ///< -1: it is not there
};

/// `places`: of each task. `probes`: copies that come before all else.
[[nodiscard]] PlacedSteps place_steps(PlacementGraph const& graph, std::span<int const> places,
                                      std::span<TransferProbe const> probes = {});

/// May the two copy to each other without the host?
[[nodiscard]] bool is_direct(PlacementGraph const& graph, int from, int to);
/// The target that is the host; -1: none.
[[nodiscard]] int host_of(PlacementGraph const& graph);

/// The memory of the steps that is not kept.
[[nodiscard]] MemoryGraph memory_of(PlacementGraph const& graph, PlacedSteps const& placed);
[[nodiscard]] std::vector<std::size_t> rooms_of(PlacementGraph const& graph);

/// How many bytes do not fit, summed over the places, when the steps run one by one in the best
/// order that is found. `most_sets`: see `find_order`.
[[nodiscard]] std::size_t missing_bytes(PlacementGraph const& graph, std::span<int const> places,
                                        std::size_t most_sets = 1 << 16);

/// Places of all tasks that fit, as near to `wanted` as is found; empty: none are. Tasks of one
/// unit go together. `allowed`: targets of a task; null: those that it is eligible for.
///
/// `wanted` itself if that fits. Else all ways are tried while there are up to 4096, those first in
/// which fewer of the later units are elsewhere; and beyond that units change their places as long
/// as less is missing, from several beginnings.
[[nodiscard]] std::vector<int> find_fitting(PlacementGraph const& graph,
                                            std::span<int const> wanted,
                                            std::vector<std::vector<int>> const* allowed = nullptr);

}  // namespace trellis::Impl

#endif
