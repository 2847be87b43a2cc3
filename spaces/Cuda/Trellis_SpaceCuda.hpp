// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACECUDA_HPP
#define TRELLIS_SPACECUDA_HPP

// Another backend with streams and events (HIP) needs only a folder like this one: these two files
// with its names of the API calls, and one line in Trellis_Spaces.hpp. What does not depend on the
// API is shared: Trellis_HandlePool.hpp, Trellis_ResultSlot.hpp.

#include <Trellis_HandlePool.hpp>
#include <Trellis_AdapterOf.hpp>
#include <Trellis_DeviceAdapter.hpp>

#include <Kokkos_Core.hpp>

#ifdef KOKKOS_ENABLE_CUDA

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace trellis::Impl {

/// One device. Its instances are Kokkos::Cuda on streams of their own, which do not wait for the
/// default stream; events keep no time unless asked to. Streams and events go back to pools, which
/// are emptied when Kokkos ends: destroying an instance frees its scratch memory, and that would
/// stop the device.
///
/// Nothing here waits for the device. Any number of graphs may use an adapter at a time.
class CudaAdapter final : public DeviceAdapter {
 public:
  explicit CudaAdapter(int device, bool is_default);

  [[nodiscard]] std::string_view name() const override { return m_name; }
  [[nodiscard]] int number() const { return m_number; }

  void* make_instance(int threads) override;
  void destroy_instance(void* instance) noexcept override;
  /// A stream waits for events of any device.
  [[nodiscard]] bool can_wait_for(DeviceAdapter const& other) const override;

  void* copy_instance(void const* theirs) override;
  [[nodiscard]] bool same_queue(void const* a, void const* b) const override;

  void check_launch(void* instance) override;
  void* record_event(void* instance, bool timed) override;
  void enqueue_wait(void* instance, void* event) override;
  [[nodiscard]] bool has_passed(void* event) override;
  void release_event(void* event) noexcept override;
  /// Accurate to half a microsecond if the two are less than a few seconds apart: CUDA returns a
  /// float.
  [[nodiscard]] std::int64_t nanoseconds_between(void* earlier, void* later) override;

  /// The functors must reach their kernels as arguments, see Trellis_LaunchPolicy.hpp.
  /// `end_capture` throws when a kernel has made Kokkos replace scratch memory that the graph
  /// already uses. The next attempt then finds enough memory in the instances.
  bool begin_capture(void* instance) override;
  void* end_capture(void* instance, void* old) override;
  void launch_graph(void* instance, void* graph) override;
  void release_graph(void* graph) noexcept override;

 private:
  struct Instance;
  struct Event {
    cudaEvent_t handle;
    bool timed;
  };
  static Instance* ours(void* instance);
  static void destroy(Instance* instance) noexcept;
  static void destroy(Event* event) noexcept;
  void close_pools() noexcept;
  void check(cudaError_t code, char const* call) const;

  int const m_number;
  std::string const m_name;
  HandlePool<Instance*> m_instances;
  HandlePool<Event*> m_events;
  HandlePool<Event*> m_timed_events;
};

template <>
struct AdapterOf<Kokkos::Cuda> {
  static constexpr bool exists = true;
  /// Accessible from host and device: a result goes through it into a Future without a wait.
  using result_space = Kokkos::CudaHostPinnedSpace;

  /// The device that Kokkos was initialised with.
  static DeviceAdapter& get();
  /// Device `device`, as CUDA numbers the devices that the process sees. Throws `Error` when there
  /// is no such device.
  static DeviceAdapter& get(int device);
  /// The device of an instance.
  static DeviceAdapter& get(Kokkos::Cuda const& instance) { return get(instance.cuda_device()); }
};

}  // namespace trellis::Impl

#endif

#endif
