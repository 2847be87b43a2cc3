// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RIGHT_HPP
#define RIGHT_HPP

#include <Trellis.hpp>
#include <Trellis_Fields.hpp>

#define FROM_RIGHT __attribute__((visibility("default")))

/// The sum of x, when the tasks that write it have run.
FROM_RIGHT double sum(trellis::TaskGraph& graph, Kokkos::View<double*> const& x);
/// Waits for the graph, which is an error inside a task of it.
FROM_RIGHT void wait_inside(trellis::TaskGraph& graph);
/// Throws an `Error` in this library's own code.
FROM_RIGHT void fail();
/// Gives the model a task that computes `flux`.
FROM_RIGHT void add_flux(trellis::FieldGraph& model, trellis::Field<double*> const& flux);
FROM_RIGHT trellis::Impl::SpaceAdapter* adapter_in_right();
FROM_RIGHT int slot_in_right();

#endif
