// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: use trellis::RandomPool, trellis::UniqueToken
#include <Trellis.hpp>
#include <Trellis_Threads.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  trellis::UniqueToken<> const token(graph);
  trellis::host_task("work", trellis::ResourcePolicy(graph),
                     [=] { token.release(token.acquire()); });
#else
  Kokkos::Experimental::UniqueToken<Kokkos::DefaultHostExecutionSpace> const token;
  trellis::host_task("work", trellis::ResourcePolicy(graph, trellis::read(token)),
                     [=] { token.release(token.acquire()); });
#endif
}
