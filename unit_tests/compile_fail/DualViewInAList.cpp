// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: this resource does something when a task uses it
// LINES: 15
#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>

#include <Kokkos_DualView.hpp>

void submit(trellis::AccessList& list, Kokkos::DualView<double*, trellis::Simulated> const& x) {
#ifdef TRELLIS_COMPILE_OK
  list.read(x.view_host());
#else
  list.read(x);
#endif
}
