// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GENERATE_HPP
#define TRELLIS_GENERATE_HPP

#include <Trellis_Future.hpp>
#include <Trellis_LateView.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <patterns/Trellis_HostTask.hpp>
#include <patterns/Trellis_ParallelScan.hpp>
#include <worklets/Trellis_Invoke.hpp>
#include <worklets/Trellis_Worklet.hpp>
#include <worklets/impl/Trellis_Generation.hpp>

#include <cstdint>
#include <utility>

/// With this header worklets make new items: none, one or several of each item of their domain.
///
/// One parameter of the control signature is `Counts`: how many come of each. The call operator
/// runs once for each new item; what is `In` belongs to the item that it comes of, what is `Out` to
/// the new one. `VisitIndex` is the number among those of one item, `WorkIndex` that among all,
/// `SourceIndex` the number of the item that it comes of. Outputs are arrays that tasks allocate
/// (`LateView`, `LateCells`), so nobody waits: how many items there are going to be, the room for
/// them, and they themselves are tasks.
///
///     struct KeepCells : trellis::GenerateCells {
///       using ControlSignature = void(Topology, Counts, Topology(Out));
///       using ExecutionSignature = void(Vertices(_1), Vertices(_3));
///       template <class Old, class New>
///       KOKKOS_FUNCTION void operator()(Old const& old, New& cell) const {
///         for (int k = 0; k < old.size(); ++k) cell[k] = old[k];
///       }
///     };
///     trellis::LateCells<trellis::CellShape::hexahedron> kept("kept", grid.point_count());
///     trellis::Future<std::int64_t> const n = trellis::invoke(
///         "keep", trellis::ResourcePolicy(graph), KeepCells(), grid, counts, kept);
///
/// New items are in the order of those that they come of. `invoke` returns their number, as a
/// Future that is ready when they are there. Items are 64-bit numbers throughout. A negative count
/// is the failure of the task that adds the counts up.
namespace trellis {

/// Makes cells, and values for each of them, out of cells.
struct GenerateCells : worklets::Words {
  using kind = GenerateCells;
  using domain = worklets::Cell;
  static constexpr bool generates = true;
};
/// Makes items out of items: values and keys.
struct GenerateFields : worklets::Words {
  using kind = GenerateFields;
  using domain = worklets::Item;
  static constexpr bool generates = true;
};

template <class Worklet>
struct WorkletScheduler<GenerateCells, Worklet> {
  template <class Policy, class Bindings>
  static Future<std::int64_t> submit(Label&& label, Policy const& policy, Worklet const& worklet,
                                     Bindings& bindings) {
    return worklets::Impl::generate(label, policy, worklet, bindings).count();
  }
};
template <class Worklet>
struct WorkletScheduler<GenerateFields, Worklet> : WorkletScheduler<GenerateCells, Worklet> {};

}  // namespace trellis

#endif
