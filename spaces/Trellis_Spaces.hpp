// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACES_HPP
#define TRELLIS_SPACES_HPP

/// This header has all execution spaces that this Kokkos has and that Trellis can run tasks on.
#include <Cuda/Trellis_SpaceCuda.hpp>
#include <HIP/Trellis_SpaceHIP.hpp>
#include <OpenMP/Trellis_SpaceOpenMP.hpp>
#include <Serial/Trellis_SpaceSerial.hpp>
#include <Trellis_Error.hpp>
#include <common/Trellis_AdapterOf.hpp>
#include <common/Trellis_RunOn.hpp>
#include <base/Trellis_OneForAll.hpp>

#include <string>

namespace trellis::Impl {

/// Returns the adapter of an execution space, for the engine.
template <class ExecutionSpace>
SpaceAdapter& space_adapter() {
  static_assert(AdapterOf<ExecutionSpace>::exists,
                "Trellis: there is no space adapter for this execution space");
  return AdapterOf<ExecutionSpace>::get();
}

/// Returns the adapter of one of its devices.
template <class ExecutionSpace>
SpaceAdapter& space_adapter(int device) {
  if constexpr (requires { AdapterOf<ExecutionSpace>::get(device); }) {
    return AdapterOf<ExecutionSpace>::get(device);
  } else {
    if (device != 0)
      throw Error(Error::Kind::bad_input, "Trellis: " + std::string(ExecutionSpace::name()) +
                                              " has no devices to choose from, so device(" +
                                              std::to_string(device) + ") is none");
    return space_adapter<ExecutionSpace>();
  }
}

/// A space whose instances are streams of a device.
template <class ExecutionSpace>
concept DeviceSpace = requires { typename AdapterOf<ExecutionSpace>::result_space; };

/// Tells core about Kokkos. Every program that includes this header does so before `main`.
bool register_kokkos();
TRELLIS_IMPL_ONE_FOR_ALL inline bool const kokkos_is_registered = register_kokkos();

}  // namespace trellis::Impl

#endif
