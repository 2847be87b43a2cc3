// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: use trellis::RandomPool
#include <Trellis.hpp>
#include <Trellis_Threads.hpp>

#include <Kokkos_Random.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> x) {
  using Kokkosian = Kokkos::Random_XorShift64_Pool<>;
#ifdef TRELLIS_COMPILE_OK
  trellis::RandomPool<Kokkosian> const pool(1);
  trellis::parallel_for(
      "noise", trellis::ResourcePolicy(graph, 10, trellis::write(x)), KOKKOS_LAMBDA(int i) {
        auto generator = pool.get_state();
        x(i) = generator.drand();
        pool.free_state(generator);
      });
#else
  Kokkosian const pool(1);
  trellis::parallel_for(
      "noise", trellis::ResourcePolicy(graph, 10, trellis::write(x), trellis::atomic_add(pool)),
      KOKKOS_LAMBDA(int i) {
        auto generator = pool.get_state();
        x(i) = generator.drand();
        pool.free_state(generator);
      });
#endif
}
