// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACECUDA_HPP
#define TRELLIS_SPACECUDA_HPP

#include <common/Trellis_AdapterOf.hpp>
#include <Trellis_DeviceAdapter.hpp>

#include <Kokkos_Core.hpp>

#ifdef KOKKOS_ENABLE_CUDA

namespace trellis::Impl {

/// The adapters are StreamAdapters over the CUDA runtime, one for each device.
template <>
struct AdapterOf<Kokkos::Cuda> {
  static constexpr bool exists = true;
  /// Host and device can access it, so a result goes through it into a Future without a wait.
  using result_space = Kokkos::CudaHostPinnedSpace;

  /// Returns the device that Kokkos was initialised with.
  static DeviceAdapter& get();
  /// Returns device `device`, as CUDA numbers the devices that the process sees. Throws `Error`
  /// when there is no such device.
  static DeviceAdapter& get(int device);
  /// Returns the device of an instance.
  static DeviceAdapter& get(Kokkos::Cuda const& instance) { return get(instance.cuda_device()); }
};

}  // namespace trellis::Impl

#endif

#endif
