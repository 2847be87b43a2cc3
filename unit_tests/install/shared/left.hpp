// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LEFT_HPP
#define LEFT_HPP

#include <Trellis.hpp>
#include <Trellis_Fields.hpp>

#define FROM_LEFT __attribute__((visibility("default")))

/// Submits a task that fills x with ones.
FROM_LEFT void fill(trellis::TaskGraph& graph, Kokkos::View<double*> const& x);
/// Submits a task in which the other library waits for the graph of the task.
FROM_LEFT trellis::Future<void> wait_for_itself(trellis::TaskGraph& graph);
/// Gives the model a task that computes `rate`, and reads `flux`, whose task another library gives.
FROM_LEFT void add_balance(trellis::FieldGraph& model, trellis::Field<double*> const& flux,
                           trellis::Field<double*> const& rate);
/// What the engine knows of the calling thread and of Kokkos, as this library sees it.
FROM_LEFT trellis::Impl::SpaceAdapter* adapter_in_left();
FROM_LEFT int slot_in_left();

#endif
