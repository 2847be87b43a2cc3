// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "right.hpp"

#include <threads/Trellis_ThreadSlot.hpp>

double sum(trellis::TaskGraph& graph, Kokkos::View<double*> const& x) {
  return trellis::parallel_reduce(
             "sum", trellis::ResourcePolicy(graph, x.extent(0), trellis::read(x)),
             KOKKOS_LAMBDA(int i, double& s) { s += x(i); })
      .get();
}

void wait_inside(trellis::TaskGraph& graph) {
  graph.wait();
}

void fail() {
  throw trellis::Error(trellis::Error::Kind::bad_input, "from the right");
}

void add_flux(trellis::FieldGraph& model, trellis::Field<double*> const& flux) {
  using F = trellis::Field<double*>;
  trellis::parallel_for(
      "flux", trellis::ResourcePolicy(model, 11, trellis::write(flux)),
      KOKKOS_LAMBDA(int i, F::view q) { q(i) = 3 * i; });
}

trellis::Impl::SpaceAdapter* adapter_in_right() {
  return &trellis::Impl::space_adapter<Kokkos::DefaultHostExecutionSpace>();
}

int slot_in_right() {
  return trellis::Impl::thread_slot();
}
