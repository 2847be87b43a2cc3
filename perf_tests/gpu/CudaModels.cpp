// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What somebody who knows the dependencies writes against CUDA by hand.
#include "Models.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpu {
namespace {

void check(cudaError_t code, char const* call) {
  if (code != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(code) + ": " +
                             cudaGetErrorString(code));
}

/// An event for each task that somebody on another stream waits for.
class StreamsAndEvents final : public Runner {
 public:
  explicit StreamsAndEvents(Shape const& shape)
      : m_shape(shape), m_events(shape.tasks().size(), nullptr) {
    for (int lane = 0; lane < Shape::lanes; ++lane) {
      cudaStream_t stream = nullptr;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      m_streams.push_back(stream);
      m_instances.emplace_back(stream);
    }
    for (ShapeTask const& task : shape.tasks())
      for (int const before : task.before)
        if (cudaEvent_t& event = m_events[static_cast<std::size_t>(before)];
            event == nullptr && shape.tasks()[static_cast<std::size_t>(before)].lane != task.lane)
          check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                "cudaEventCreateWithFlags");
  }
  ~StreamsAndEvents() override {
    for (cudaEvent_t const event : m_events)
      if (event != nullptr) cudaEventDestroy(event);
    m_instances.clear();
    for (cudaStream_t const stream : m_streams) cudaStreamDestroy(stream);
  }
  void submit() override {
    std::vector<ShapeTask> const& tasks = m_shape.tasks();
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      ShapeTask const& task = tasks[k];
      auto const lane = static_cast<std::size_t>(task.lane);
      for (int const before : task.before)
        if (tasks[static_cast<std::size_t>(before)].lane != task.lane)
          check(cudaStreamWaitEvent(m_streams[lane], m_events[static_cast<std::size_t>(before)], 0),
                "cudaStreamWaitEvent");
      Kokkos::parallel_for(
          Kokkos::RangePolicy<Kokkos::Cuda>(m_instances[lane], 0, task.work.elements), task.work);
      if (m_events[k] != nullptr)
        check(cudaEventRecord(m_events[k], m_streams[lane]), "cudaEventRecord");
    }
  }
  void wait() override {
    for (cudaStream_t const stream : m_streams)
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  Shape const& m_shape;
  std::vector<cudaStream_t> m_streams;
  std::vector<Kokkos::Cuda> m_instances;
  std::vector<cudaEvent_t> m_events;
};

__global__ void run_work(Work const work) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < work.elements) work(i);
}

class CudaGraph final : public Runner {
 public:
  explicit CudaGraph(Shape const& shape) {
    check(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaGraphCreate(&m_graph, 0), "cudaGraphCreate");
    std::vector<cudaGraphNode_t> nodes;
    for (ShapeTask const& task : shape.tasks()) {
      std::vector<cudaGraphNode_t> before;
      for (int const each : task.before) before.push_back(nodes[static_cast<std::size_t>(each)]);
      Work work = task.work;
      void* arguments[] = {&work};
      cudaKernelNodeParams parameters{};
      parameters.func = reinterpret_cast<void*>(&run_work);
      parameters.blockDim = dim3(128);
      parameters.gridDim = dim3(static_cast<unsigned>((work.elements + 127) / 128));
      parameters.kernelParams = arguments;
      nodes.emplace_back();
      check(
          cudaGraphAddKernelNode(&nodes.back(), m_graph, before.data(), before.size(), &parameters),
          "cudaGraphAddKernelNode");
    }
    check(cudaGraphInstantiateWithFlags(&m_executable, m_graph, 0),
          "cudaGraphInstantiateWithFlags");
  }
  ~CudaGraph() override {
    if (m_executable != nullptr) cudaGraphExecDestroy(m_executable);
    if (m_graph != nullptr) cudaGraphDestroy(m_graph);
    if (m_stream != nullptr) cudaStreamDestroy(m_stream);
  }
  void submit() override { check(cudaGraphLaunch(m_executable, m_stream), "cudaGraphLaunch"); }
  void wait() override { check(cudaStreamSynchronize(m_stream), "cudaStreamSynchronize"); }

 private:
  cudaStream_t m_stream = nullptr;
  cudaGraph_t m_graph = nullptr;
  cudaGraphExec_t m_executable = nullptr;
};

}  // namespace

std::vector<Model> cuda_models() {
  return {{"streams_and_events",
           "Kokkos::parallel_for on streams picked by hand, with events written by hand",
           [](Shape const& shape) -> std::unique_ptr<Runner> {
             return std::make_unique<StreamsAndEvents>(shape);
           }},
          {"cuda_graph", "a CUDA graph built node by node, made once",
           [](Shape const& shape) -> std::unique_ptr<Runner> {
             return std::make_unique<CudaGraph>(shape);
           }}};
}

}  // namespace gpu
