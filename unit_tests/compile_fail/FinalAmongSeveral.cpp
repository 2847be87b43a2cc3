// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Kokkos calls the final of a reducer only if there is no other result
#include <Trellis.hpp>

struct Mean {
  using reducer = Mean;
  using value_type = double;
  using result_view_type = Kokkos::View<double, Kokkos::HostSpace>;
  explicit Mean(double& value) : m_view(&value) {}
  KOKKOS_FUNCTION void init(double& value) const { value = 0; }
  KOKKOS_FUNCTION void join(double& into, double const& from) const { into += from; }
  KOKKOS_FUNCTION void final(double& value) const { value /= 10; }
  KOKKOS_FUNCTION double& reference() const { return *m_view.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return m_view; }
  result_view_type m_view;
};

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  auto const one = KOKKOS_LAMBDA(int, double&){};
  trellis::parallel_reduce("mean", trellis::ResourcePolicy(graph, 10), one, trellis::reduced<Mean>);
#else
  auto const both = KOKKOS_LAMBDA(int, double&, int&){};
  trellis::parallel_reduce("both", trellis::ResourcePolicy(graph, 10), both, trellis::reduced<Mean>,
                           trellis::reduced<Kokkos::Sum<int>>);
#endif
}
