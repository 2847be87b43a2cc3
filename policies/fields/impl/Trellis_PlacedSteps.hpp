// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLACEDSTEPS_HPP
#define TRELLIS_IMPL_PLACEDSTEPS_HPP

#include <fields/Trellis_PlacementPolicy.hpp>
#include <fields/impl/Trellis_MemoryOrder.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// This header finds the steps of an iteration whose tasks are at given places. A model makes its
/// iterations from them, and the choice of places compares them.
namespace trellis::Impl {

/// A field, or a copy of it, at one target; or the memory of a probe.
struct PlacedSlot {
  int field;  ///< -1: memory of a probe
  int place;
  std::size_t bytes;
  bool is_kept;  ///< it has memory between iterations
};

struct PlacedStep {
  enum class Kind : unsigned char { task, copy, probe };
  struct Use {
    int slot;
    bool makes;
  };
  Kind kind = Kind::task;
  int task = -1;   ///< task of the graph
  int field = -1;  ///< field that is copied
  int from = -1;   ///< targets; for a task both are where it runs
  int to = -1;
  std::size_t bytes = 0;    ///< bytes that a probe copies
  std::vector<int> before;  ///< steps before it
  std::vector<Use> uses;    ///< each slot once; for a copy the source comes first
};

/// The steps of an iteration. Each field is computed at one place, or exists there before the
/// iteration. From there it is copied once to each place that needs it: where tasks read it, and
/// where it has its memory between iterations.
struct PlacedSteps {
  std::vector<PlacedSlot> slots;
  /// The steps of tasks come first, with the tasks' own positions.
  std::vector<PlacedStep> steps;
  struct Field {
    int base = -1;  ///< the target that has the field itself, not a copy
    // For a field with a second home: the sides that are up to date after the iteration.
    bool is_valid_at_home = false;
    bool is_valid_at_second = false;
  };
  std::vector<Field> fields;
  /// A field that would have to be copied over the host though the graph has no host; -1: none.
  int stuck = -1;

  [[nodiscard]] int slot(int field, int place) const;  ///< -1: the field is not there
};

/// Makes the steps. `places` has the place of each task; `probes` are copies that come first.
[[nodiscard]] PlacedSteps place_steps(PlacementGraph const& graph, std::span<int const> places,
                                      std::span<TransferProbe const> probes = {});

/// True if the two targets copy to each other without the host.
[[nodiscard]] bool is_direct(PlacementGraph const& graph, int from, int to);
/// Returns the target that is the host; -1 if there is none.
[[nodiscard]] int host_of(PlacementGraph const& graph);

/// Returns the memory of the steps that is not kept.
[[nodiscard]] MemoryGraph memory_of(PlacementGraph const& graph, PlacedSteps const& placed);
[[nodiscard]] std::vector<std::size_t> rooms_of(PlacementGraph const& graph);

/// Returns how many bytes do not fit, summed over the places, when the steps run one by one in the
/// best order found. For `most_sets` see `find_order`.
[[nodiscard]] std::size_t missing_bytes(PlacementGraph const& graph, std::span<int const> places,
                                        std::size_t most_sets = 1 << 16);

/// Returns places of all tasks that fit, as close to `wanted` as is found; empty if none are found.
/// Tasks of one unit stay together. `allowed` has the targets of each task; null means those that
/// it is eligible for.
///
/// The result is `wanted` itself if that fits. Otherwise, if there are at most 4096 ways, all are
/// tried, beginning with those in which fewer of the later units have moved. If there are more, a
/// search from several beginnings moves units as long as the number of missing bytes falls.
[[nodiscard]] std::vector<int> find_fitting(PlacementGraph const& graph,
                                            std::span<int const> wanted,
                                            std::vector<std::vector<int>> const* allowed = nullptr);

}  // namespace trellis::Impl

#endif
