// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_WORKLET_HPP
#define TRELLIS_WORKLET_HPP

#include <worklets/Trellis_Signature.hpp>

/// With this header you write worklets that map. A worklet is a class that derives from its kind.
/// It has a control signature and, if need be, an execution signature (see Trellis_Signature.hpp).
/// Its const call operator runs for one item, on any space:
///
///     struct CellAverage : trellis::MapCells {
///       using ControlSignature = void(Topology, Field(Point), Field(Out));
///       using ExecutionSignature = _3(_2);
///       template <class Values>
///       KOKKOS_FUNCTION double operator()(Values const& at_points) const { ... }
///     };
///     trellis::invoke("average", trellis::ResourcePolicy(graph), CellAverage(), grid, in, out);
///
/// A kind of your own is a class like the ones below. `WorkletScheduler` runs its worklets, see
/// Trellis_Invoke.hpp.
namespace trellis {

/// Runs for each item. All fields have the same number of items, whatever domain they name.
struct MapFields : worklets::Words {
  using kind = MapFields;
  using domain = worklets::Item;
};

/// Runs for each cell of a `Topology`. It gets the values of a `Field(Point)` at the points of its
/// cell, and gives a `Field(AtomicAdd, Point)` a value for each of them. (Other ways to write into
/// point fields do not compile, as cells share points.)
struct MapCells : worklets::Words {
  using kind = MapCells;
  using domain = worklets::Cell;
};

/// Runs for each point of a `Topology`.
struct MapPoints : worklets::Words {
  using kind = MapPoints;
  using domain = worklets::Point;
};

}  // namespace trellis

#endif
