// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the task's execution space cannot access the memory space of an annotated View
#include <Trellis.hpp>

// A device's memory, as far as Kokkos's access rules are concerned: no space is accessible from
// another unless said.
struct FarSpace {
  using memory_space = FarSpace;
  using execution_space = Kokkos::DefaultHostExecutionSpace;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;
  static constexpr char const* name() { return "Far"; }
};

#ifdef TRELLIS_COMPILE_OK
using Space = Kokkos::HostSpace;
#else
using Space = FarSpace;
#endif
using V = Kokkos::View<double*, Kokkos::Device<Kokkos::DefaultHostExecutionSpace, Space>,
                       Kokkos::MemoryUnmanaged>;

void submit(trellis::TaskGraph& graph, V const& x) {
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(x)), [] {});
}
