// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Serial/Trellis_SpaceSerial.hpp>

#ifdef KOKKOS_ENABLE_SERIAL

namespace trellis::Impl {

SpaceAdapter& AdapterOf<Kokkos::Serial>::get() {
  static SerialAdapter adapter;
  return adapter;
}

}  // namespace trellis::Impl

#endif
