// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "left.hpp"
#include "right.hpp"

#include <threads/Trellis_ThreadSlot.hpp>

void fill(trellis::TaskGraph& graph, Kokkos::View<double*> const& x) {
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, x.extent(0), trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = 1; });
}

trellis::Future<void> wait_for_itself(trellis::TaskGraph& graph) {
  return trellis::host_task("waits for itself", trellis::ResourcePolicy(graph),
                            [&graph] { wait_inside(graph); });
}

void add_balance(trellis::FieldGraph& model, trellis::Field<double*> const& flux,
                 trellis::Field<double*> const& rate) {
  using F = trellis::Field<double*>;
  trellis::parallel_for(
      "balance", trellis::ResourcePolicy(model, 10, trellis::read(flux), trellis::write(rate)),
      KOKKOS_LAMBDA(int i, F::read_view q, F::view r) { r(i) = q(i + 1) - q(i); });
}

trellis::Impl::SpaceAdapter* adapter_in_left() {
  return &trellis::Impl::space_adapter<Kokkos::DefaultHostExecutionSpace>();
}

int slot_in_left() {
  return trellis::Impl::thread_slot();
}
