// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GENERATE_HPP
#define TRELLIS_GENERATE_HPP

#include <Trellis_Future.hpp>
#include <annotations/Trellis_LateView.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <patterns/Trellis_HostTask.hpp>
#include <patterns/Trellis_ParallelScan.hpp>
#include <worklets/Trellis_Invoke.hpp>
#include <worklets/Trellis_Worklet.hpp>
#include <worklets/impl/Trellis_Generation.hpp>

#include <cstdint>
#include <utility>

/// With this header worklets generate new items: none, one or several from each item of their
/// domain.
///
/// One parameter of the control signature is `Counts`, the number of new items from each item. The
/// call operator runs once for each new item. An `In` argument belongs to the source item, an `Out`
/// argument to the new one. `VisitIndex` numbers the new items of one source, and `WorkIndex` all
/// new items; `SourceIndex` is the number of the source. Outputs are arrays that tasks allocate
/// (`LateView`, `LateCells`). Tasks count the new items, allocate, and generate, so no thread
/// waits.
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
/// New items are in the order of their sources. `invoke` returns their number, as a Future that is
/// ready when the items exist. Items have 64-bit numbers. A negative count is the failure of the
/// task that adds the counts up.
namespace trellis {

/// Makes cells, and values for each of them, from cells.
struct GenerateCells : worklets::Words {
  using kind = GenerateCells;
  using domain = worklets::Cell;
  static constexpr bool generates = true;
};
/// Makes items from items: values and keys.
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
