// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the policy says which graph and which Views: parallel_for("label", ResourcePolicy(graph,
#include <Trellis.hpp>

struct Nothing {
  KOKKOS_FUNCTION void operator()(int) const {}
};
struct Sum {
  KOKKOS_FUNCTION void operator()(int i, double& s) const { s += i; }
};

#ifdef TRELLIS_COMPILE_OK
// Where the names of both are in sight, what Kokkos takes goes to Kokkos.
void launch(trellis::TaskGraph& graph, double& s) {
  using namespace Kokkos;
  using namespace trellis;
  Nothing functor;
  parallel_for("task", ResourcePolicy(graph, 10), functor);
  parallel_for(ResourcePolicy(graph, 10), functor);
  parallel_reduce(ResourcePolicy(graph, 10), Sum{});
  parallel_for("loop", RangePolicy<>(0, 10), functor);
  parallel_for("loop", RangePolicy<>(0, 10), Nothing{});
  parallel_for("loop", 10, KOKKOS_LAMBDA(int){});
  parallel_for(10, functor);
  parallel_reduce("sum", RangePolicy<>(0, 10), Sum{}, s);
  parallel_reduce("sum", 10, Sum{}, s);
  parallel_reduce(10, Sum{}, Kokkos::Min<double>(s));
}
#else
void launch() {
  trellis::parallel_for("loop", Kokkos::RangePolicy<>(0, 10), Nothing{});
}
#endif
