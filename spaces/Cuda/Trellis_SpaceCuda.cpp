// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Cuda/Trellis_SpaceCuda.hpp>

#ifdef KOKKOS_ENABLE_CUDA

#include <common/Trellis_KokkosInternals.hpp>
#include <common/Trellis_StreamAdapter.hpp>

#include <cuda_runtime_api.h>

namespace trellis::Impl {

namespace {

struct CudaRuntime {
  using Space = Kokkos::Cuda;
  using Code = cudaError_t;
  using Stream = cudaStream_t;
  using Event = cudaEvent_t;
  using Graph = cudaGraph_t;
  using GraphExec = cudaGraphExec_t;

  static constexpr Code success = cudaSuccess;
  static constexpr Code not_ready = cudaErrorNotReady;
  static constexpr unsigned own_order = cudaStreamNonBlocking;
  static constexpr unsigned with_time = cudaEventDefault;
  static constexpr unsigned without_time = cudaEventDisableTiming;
  static constexpr cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;

  static char const* name() { return "Cuda"; }
  static char const* error_name(Code code) { return cudaGetErrorName(code); }
  static char const* error_text(Code code) { return cudaGetErrorString(code); }
  static Code last_error() { return cudaGetLastError(); }

  static Stream stream_of(Space const& space) { return space.cuda_stream(); }
  static int device_of(Space const& space) { return space.cuda_device(); }
  static auto scratch_of(Space const& space) { return scratch_addresses(space); }

  static constexpr RuntimeCall count_devices{&cudaGetDeviceCount, "cudaGetDeviceCount"};
  static constexpr RuntimeCall get_device{&cudaGetDevice, "cudaGetDevice"};
  static constexpr RuntimeCall set_device{&cudaSetDevice, "cudaSetDevice"};
  static constexpr RuntimeCall create_stream{&cudaStreamCreateWithFlags,
                                             "cudaStreamCreateWithFlags"};
  static constexpr RuntimeCall destroy_stream{&cudaStreamDestroy, "cudaStreamDestroy"};
  static constexpr RuntimeCall create_event{&cudaEventCreateWithFlags, "cudaEventCreateWithFlags"};
  static constexpr RuntimeCall destroy_event{&cudaEventDestroy, "cudaEventDestroy"};
  static constexpr RuntimeCall record_event{&cudaEventRecord, "cudaEventRecord"};
  static constexpr RuntimeCall wait_for_event{&cudaStreamWaitEvent, "cudaStreamWaitEvent"};
  static constexpr RuntimeCall query_event{&cudaEventQuery, "cudaEventQuery"};
  static constexpr RuntimeCall time_between{&cudaEventElapsedTime, "cudaEventElapsedTime"};
  static constexpr RuntimeCall begin_capture{&cudaStreamBeginCapture, "cudaStreamBeginCapture"};
  static constexpr RuntimeCall end_capture{&cudaStreamEndCapture, "cudaStreamEndCapture"};
  static constexpr RuntimeCall destroy_graph{&cudaGraphDestroy, "cudaGraphDestroy"};
  static constexpr RuntimeCall instantiate{&cudaGraphInstantiateWithFlags,
                                           "cudaGraphInstantiateWithFlags"};
  static constexpr RuntimeCall launch_graph{&cudaGraphLaunch, "cudaGraphLaunch"};
  static constexpr RuntimeCall destroy_executable{&cudaGraphExecDestroy, "cudaGraphExecDestroy"};
  static Code update(GraphExec executable, Graph graph) {
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    return cudaGraphExecUpdate(executable, graph, &info);
#else
    cudaGraphNode_t node;
    cudaGraphExecUpdateResult result;
    return cudaGraphExecUpdate(executable, graph, &node, &result);
#endif
  }
};

}  // namespace

DeviceAdapter& AdapterOf<Kokkos::Cuda>::get() {
  return StreamAdapter<CudaRuntime>::of_default();
}

DeviceAdapter& AdapterOf<Kokkos::Cuda>::get(int device) {
  return StreamAdapter<CudaRuntime>::of(device);
}

}  // namespace trellis::Impl

#endif
