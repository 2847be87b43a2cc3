// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Serial/Trellis_SpaceSerial.hpp>
#include <common/Trellis_RunHostLoop.hpp>

#ifdef KOKKOS_ENABLE_SERIAL

namespace trellis::Impl {

void AdapterOf<Kokkos::Serial>::run(HostLoop const& loop, Kokkos::Serial const& instance,
                                    Label const& label) {
  run_host_loop(loop, instance, label);
}

SpaceAdapter& AdapterOf<Kokkos::Serial>::get() {
  static SerialAdapter adapter;
  return adapter;
}

}  // namespace trellis::Impl

#endif
