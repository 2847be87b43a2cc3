// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heat equation in one direction as a model: dT/dt = -(d/dx q) + S, q = -k dT/dx. Its tasks are
// added in any order. The model finds their order, and the memory that they need. An ordinary task
// advances the temperature between two iterations.
#include <Trellis.hpp>
#include <Trellis_Fields.hpp>

#include <cstdio>
#include <string>

using F = trellis::Field<double*>;

struct Flux {
  KOKKOS_FUNCTION void operator()(int face, F::read_view const& T, F::view const& q) const {
    int const cells = static_cast<int>(T.extent(0));
    q(face) = face == 0 || face == cells ? 0 : -0.25 * (T(face) - T(face - 1));
  }
};
struct Source {
  KOKKOS_FUNCTION void operator()(int cell, F::view const& s) const { s(cell) = cell == 3 ? 1 : 0; }
};
struct Balance {
  KOKKOS_FUNCTION void operator()(int cell, F::read_view const& q, F::read_view const& s,
                                  F::view const& rate) const {
    rate(cell) = q(cell) - q(cell + 1) + s(cell);
  }
};
struct Spread {
  KOKKOS_FUNCTION void operator()(int cell, F::read_view const& T, F::view const& spread) const {
    spread(cell) = T(cell) * T(cell);
  }
};

int main() {
  Kokkos::ScopeGuard kokkos;
  int const cells = 8, steps = 50;
  Kokkos::View<double*> temperature("T", cells), rate("dT/dt", cells);

  trellis::TaskGraph graph;
  auto const bytes = [](int count) { return static_cast<std::size_t>(count) * sizeof(double); };
  trellis::FieldGraph model(graph, {.name = "heat",
                                    .targets = {trellis::target<Kokkos::DefaultExecutionSpace>()},
                                    .memory_limit = bytes(2 * cells + 1)});
  F const T = model.bind("T", temperature);
  F const r = model.bind("dT/dt", rate);
  F const q = model.field<double*>("q", cells + 1);
  F const s = model.field<double*>("S", cells);
  F const spread = model.field<double*>("spread", cells);

  trellis::parallel_for(
      "balance",
      trellis::ResourcePolicy(model, cells, trellis::read(q), trellis::read(s), trellis::write(r)),
      Balance{});
  trellis::parallel_for("source", trellis::ResourcePolicy(model, cells, trellis::write(s)),
                        Source{});
  trellis::parallel_for(
      "flux", trellis::ResourcePolicy(model, cells + 1, trellis::read(T), trellis::write(q)),
      Flux{});
  // This one is not required, so it is left out.
  trellis::parallel_for(
      "spread", trellis::ResourcePolicy(model, cells, trellis::read(T), trellis::write(spread)),
      Spread{});
  model.require(r);

  std::string order;
  for (std::string const& label : model.order()) order += ' ' + label;
  std::printf("an iteration:%s\n", order.c_str());
  trellis::FieldMemory const memory = model.memory();
  std::printf("bytes: %zu bound, %zu transient, %zu at one time with one worker\n", memory.external,
              memory.transient, memory.peak());

  for (int step = 0; step < steps; ++step) {
    model.submit();
    trellis::parallel_for(
        "advance",
        trellis::ResourcePolicy(graph, cells, trellis::read(rate),
                                trellis::read_write(temperature)),
        KOKKOS_LAMBDA(int cell) { temperature(cell) += rate(cell); });
  }
  graph.wait();

  double heat = 0;
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), temperature);
  for (int cell = 0; cell < cells; ++cell) heat += host(cell);
  std::printf("heat after %d steps: %.6f\n", steps, heat);
  trellis::FieldPoolCounts const counts = model.pool().counts();
  std::printf("the pool has allocated %d blocks and used them again %d times\n",
              static_cast<int>(counts.allocated), static_cast<int>(counts.reused));
}
