// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Cuda/Trellis_SpaceCuda.hpp>

#ifdef KOKKOS_ENABLE_CUDA

#include <Trellis_Error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

namespace trellis::Impl {

namespace {

/// The memory that Kokkos keeps for the kernels of an instance. It is replaced when one needs more.
using Scratch = std::array<void const*, 14>;
Scratch scratch_of(Kokkos::Cuda const& space) {
  auto const& internal = *space.impl_internal_space_instance();
  Scratch scratch{internal.m_scratchSpace, internal.m_scratchFlags, internal.m_scratchUnified,
                  internal.m_scratchFunctor};
  std::copy(std::begin(internal.m_team_scratch_ptr), std::end(internal.m_team_scratch_ptr),
            scratch.begin() + 4);
  return scratch;
}
bool was_replaced(Scratch const& before, Scratch const& now) {
  for (std::size_t k = 0; k < now.size(); ++k)
    if (before[k] != nullptr && before[k] != now[k]) return true;
  return false;
}

/// The capture that this thread is at, or 0.
thread_local std::uint64_t t_capture = 0;
/// Something that it has captured uses memory that is no more.
thread_local bool t_scratch_replaced = false;
std::atomic<std::uint64_t> last_capture{0};

}  // namespace

/// Bodies are handed the address of the Kokkos::Cuda in it.
struct CudaAdapter::Instance : Kokkos::Cuda {
  Instance(Kokkos::Cuda const& space, cudaStream_t stream) : Kokkos::Cuda(space), owned(stream) {}

  /// Before the first launch in a capture.
  void join_capture() {
    if (t_capture == 0 || capture == t_capture) return;
    capture = t_capture;
    scratch = scratch_of(*this);
  }

  cudaStream_t owned;         ///< null: the user's
  std::uint64_t capture = 0;  ///< the latest one that it took part in
  Scratch scratch{};          ///< at its last launch in that
};

namespace {

Kokkos::Cuda const& space_of(void const* instance) {
  return *static_cast<Kokkos::Cuda const*>(instance);
}

/// What is made, launched and captured in this scope belongs to the device. Recording, waiting and
/// asking need no current device.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (cudaGetDevice(&m_before) != cudaSuccess) m_before = -1;
    if (m_before == device)
      m_before = -1;
    else
      cudaSetDevice(device);
  }
  OnDevice(OnDevice const&) = delete;
  OnDevice& operator=(OnDevice const&) = delete;
  ~OnDevice() {
    if (m_before >= 0) cudaSetDevice(m_before);
  }

 private:
  int m_before = -1;
};

}  // namespace

CudaAdapter::CudaAdapter(int device, bool is_default)
    : m_number(device), m_name(is_default ? "Cuda" : "Cuda device " + std::to_string(device)) {
  // Graphs that end after this give back what they have, see the destroy functions.
  Kokkos::push_finalize_hook([this] { close_pools(); });
}

void CudaAdapter::check(cudaError_t code, char const* call) const {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // it is told here and not again, unless the device is lost
  throw std::runtime_error("Trellis: " + m_name + ": " + call + " says " + cudaGetErrorName(code) +
                           ": " + cudaGetErrorString(code));
}

// --- instances

void* CudaAdapter::make_instance(int /*threads*/) {
  Instance* const instance = m_instances.take([this] {
    OnDevice const here(m_number);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    try {
      return new Instance(Kokkos::Cuda(stream), stream);
    } catch (...) {
      cudaStreamDestroy(stream);
      throw;
    }
  });
  return static_cast<Kokkos::Cuda*>(instance);
}

void* CudaAdapter::copy_instance(void const* theirs) {
  return static_cast<Kokkos::Cuda*>(new Instance(space_of(theirs), nullptr));
}

CudaAdapter::Instance* CudaAdapter::ours(void* instance) {
  return static_cast<Instance*>(static_cast<Kokkos::Cuda*>(instance));
}

void CudaAdapter::destroy_instance(void* instance) noexcept {
  if (ours(instance)->owned == nullptr || !m_instances.put(ours(instance))) destroy(ours(instance));
}

void CudaAdapter::destroy(Instance* instance) noexcept {
  cudaStream_t const stream = instance->owned;
  OnDevice const here(instance->cuda_device());
  delete instance;  // Kokkos' part first
  if (stream != nullptr) cudaStreamDestroy(stream);
}

bool CudaAdapter::can_wait_for(DeviceAdapter const& other) const {
  return dynamic_cast<CudaAdapter const*>(&other) != nullptr;
}

bool CudaAdapter::same_queue(void const* a, void const* b) const {
  return space_of(a).cuda_stream() == space_of(b).cuda_stream();
}

// --- events

// Kokkos does not ask whether a kernel could be launched.
void CudaAdapter::check_launch(void* instance) {
  check(cudaGetLastError(), "the launch");
  if (t_capture == 0) return;
  Scratch const now = scratch_of(space_of(instance));
  if (was_replaced(ours(instance)->scratch, now)) t_scratch_replaced = true;
  ours(instance)->scratch = now;
}

void* CudaAdapter::record_event(void* instance, bool timed) {
  Event* const event = (timed ? m_timed_events : m_events).take([&] {
    OnDevice const here(m_number);
    auto made = std::make_unique<Event>(Event{nullptr, timed});
    check(
        cudaEventCreateWithFlags(&made->handle, timed ? cudaEventDefault : cudaEventDisableTiming),
        "cudaEventCreateWithFlags");
    return made.release();
  });
  cudaError_t const code = cudaEventRecord(event->handle, space_of(instance).cuda_stream());
  if (code != cudaSuccess) {
    release_event(event);
    check(code, "cudaEventRecord");
  }
  return event;
}

void CudaAdapter::enqueue_wait(void* instance, void* event) {
  ours(instance)->join_capture();
  check(
      cudaStreamWaitEvent(space_of(instance).cuda_stream(), static_cast<Event*>(event)->handle, 0),
      "cudaStreamWaitEvent");
}

bool CudaAdapter::has_passed(void* event) {
  cudaError_t const code = cudaEventQuery(static_cast<Event*>(event)->handle);
  if (code == cudaErrorNotReady) {
    cudaGetLastError();  // else the next launch would seem to have failed
    return false;
  }
  check(code, "the device");
  return true;
}

void CudaAdapter::release_event(void* event) noexcept {
  auto* const ours = static_cast<Event*>(event);
  if (!(ours->timed ? m_timed_events : m_events).put(ours)) destroy(ours);
}

void CudaAdapter::destroy(Event* event) noexcept {
  cudaEventDestroy(event->handle);
  delete event;
}

std::int64_t CudaAdapter::nanoseconds_between(void* earlier, void* later) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, static_cast<Event*>(earlier)->handle,
                             static_cast<Event*>(later)->handle),
        "cudaEventElapsedTime");
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

void CudaAdapter::close_pools() noexcept {
  for (Instance* const instance : m_instances.close()) destroy(instance);
  for (Event* const event : m_events.close()) destroy(event);
  for (Event* const event : m_timed_events.close()) destroy(event);
}

// --- graphs

bool CudaAdapter::begin_capture(void* instance) {
  OnDevice const here(m_number);
  // The relaxed mode, for Kokkos allocates and copies when a file's first kernel is launched, and
  // when an instance is made: none of that belongs into the graph, and none of it waits for a
  // stream that captures. In another mode it would fail, partly without a word.
  check(cudaStreamBeginCapture(space_of(instance).cuda_stream(), cudaStreamCaptureModeRelaxed),
        "cudaStreamBeginCapture");
  t_capture = ++last_capture;
  t_scratch_replaced = false;
  ours(instance)->join_capture();
  return true;
}

void* CudaAdapter::end_capture(void* instance, void* old) {
  OnDevice const here(m_number);
  t_capture = 0;
  cudaGraph_t captured = nullptr;
  cudaError_t const code = cudaStreamEndCapture(space_of(instance).cuda_stream(), &captured);
  if (code != cudaSuccess && captured != nullptr) cudaGraphDestroy(captured);
  check(code, "cudaStreamEndCapture");
  struct Destroy {
    cudaGraph_t graph;
    ~Destroy() { cudaGraphDestroy(graph); }
  } const destroy{captured};
  if (t_scratch_replaced)
    throw std::runtime_error(
        "Trellis: " + m_name +
        ": a kernel made Kokkos replace scratch memory that an earlier one of the graph uses");

  auto executable = static_cast<cudaGraphExec_t>(old);
  if (executable != nullptr) {
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    if (cudaGraphExecUpdate(executable, captured, &info) == cudaSuccess) return executable;
#else
    cudaGraphNode_t node;
    cudaGraphExecUpdateResult result;
    if (cudaGraphExecUpdate(executable, captured, &node, &result) == cudaSuccess) return executable;
#endif
    cudaGetLastError();  // it has another shape: a new one
  }
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiateWithFlags(&made, captured, 0), "cudaGraphInstantiateWithFlags");
  if (executable != nullptr) release_graph(executable);
  return made;
}

void CudaAdapter::launch_graph(void* instance, void* graph) {
  OnDevice const here(m_number);
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), space_of(instance).cuda_stream()),
        "cudaGraphLaunch");
}

// One that is being executed is freed when it is over.
void CudaAdapter::release_graph(void* graph) noexcept {
  cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

// --- devices

namespace {

/// Made at first use, never destroyed: static objects may still refer to them.
std::vector<CudaAdapter*> const& cuda_adapters() {
  static std::vector<CudaAdapter*> const& all = *[] {
    int count = 0;
    cudaError_t const code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess)
      throw std::runtime_error(std::string("Trellis: cudaGetDeviceCount says ") +
                               cudaGetErrorName(code) + ": " + cudaGetErrorString(code));
    auto* const made = new std::vector<CudaAdapter*>;
    int const chosen = Kokkos::Cuda().cuda_device();
    for (int device = 0; device < count; ++device)
      made->push_back(new CudaAdapter(device, device == chosen));
    return made;
  }();
  return all;
}

}  // namespace

DeviceAdapter& AdapterOf<Kokkos::Cuda>::get() {
  static DeviceAdapter& adapter =
      *cuda_adapters().at(static_cast<std::size_t>(Kokkos::Cuda().cuda_device()));
  return adapter;
}

DeviceAdapter& AdapterOf<Kokkos::Cuda>::get(int device) {
  std::vector<CudaAdapter*> const& all = cuda_adapters();
  if (device < 0 || device >= static_cast<int>(all.size()))
    throw Error(Error::Kind::bad_input, "Trellis: there is no Cuda device " +
                                            std::to_string(device) + ": the process sees " +
                                            std::to_string(all.size()));
  return *all[static_cast<std::size_t>(device)];
}

}  // namespace trellis::Impl

#endif
