// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <HIP/Trellis_SpaceHIP.hpp>

#ifdef KOKKOS_ENABLE_HIP

#include <common/Trellis_KokkosInternals.hpp>
#include <common/Trellis_StreamAdapter.hpp>

#include <hip/hip_runtime_api.h>

namespace trellis::Impl {

namespace {

struct HIPRuntime {
  using Space = Kokkos::HIP;
  using Code = hipError_t;
  using Stream = hipStream_t;
  using Event = hipEvent_t;
  using Graph = hipGraph_t;
  using GraphExec = hipGraphExec_t;

  static constexpr Code success = hipSuccess;
  static constexpr Code not_ready = hipErrorNotReady;
  static constexpr unsigned own_order = hipStreamNonBlocking;
  static constexpr unsigned with_time = hipEventDefault;
  static constexpr unsigned without_time = hipEventDisableTiming;
  static constexpr hipStreamCaptureMode relaxed = hipStreamCaptureModeRelaxed;

  static char const* name() { return "HIP"; }
  static char const* error_name(Code code) { return hipGetErrorName(code); }
  static char const* error_text(Code code) { return hipGetErrorString(code); }
  static Code last_error() { return hipGetLastError(); }

  static Stream stream_of(Space const& space) { return space.hip_stream(); }
  static int device_of(Space const& space) { return space.hip_device(); }
  static auto scratch_of(Space const& space) { return scratch_addresses(space); }

  static constexpr RuntimeCall count_devices{&hipGetDeviceCount, "hipGetDeviceCount"};
  static constexpr RuntimeCall get_device{&hipGetDevice, "hipGetDevice"};
  static constexpr RuntimeCall set_device{&hipSetDevice, "hipSetDevice"};
  static constexpr RuntimeCall create_stream{&hipStreamCreateWithFlags, "hipStreamCreateWithFlags"};
  static constexpr RuntimeCall destroy_stream{&hipStreamDestroy, "hipStreamDestroy"};
  static constexpr RuntimeCall create_event{&hipEventCreateWithFlags, "hipEventCreateWithFlags"};
  static constexpr RuntimeCall destroy_event{&hipEventDestroy, "hipEventDestroy"};
  static constexpr RuntimeCall record_event{&hipEventRecord, "hipEventRecord"};
  static constexpr RuntimeCall wait_for_event{&hipStreamWaitEvent, "hipStreamWaitEvent"};
  static constexpr RuntimeCall query_event{&hipEventQuery, "hipEventQuery"};
  static constexpr RuntimeCall time_between{&hipEventElapsedTime, "hipEventElapsedTime"};
  static constexpr RuntimeCall begin_capture{&hipStreamBeginCapture, "hipStreamBeginCapture"};
  static constexpr RuntimeCall end_capture{&hipStreamEndCapture, "hipStreamEndCapture"};
  static constexpr RuntimeCall destroy_graph{&hipGraphDestroy, "hipGraphDestroy"};
  static constexpr RuntimeCall instantiate{&hipGraphInstantiateWithFlags,
                                           "hipGraphInstantiateWithFlags"};
  static constexpr RuntimeCall launch_graph{&hipGraphLaunch, "hipGraphLaunch"};
  static constexpr RuntimeCall destroy_executable{&hipGraphExecDestroy, "hipGraphExecDestroy"};
  static Code update(GraphExec executable, Graph graph) {
    hipGraphNode_t node;
    hipGraphExecUpdateResult result;
    return hipGraphExecUpdate(executable, graph, &node, &result);
  }
};

}  // namespace

DeviceAdapter& AdapterOf<Kokkos::HIP>::get() {
  return StreamAdapter<HIPRuntime>::of_default();
}

DeviceAdapter& AdapterOf<Kokkos::HIP>::get(int device) {
  return StreamAdapter<HIPRuntime>::of(device);
}

}  // namespace trellis::Impl

#endif
