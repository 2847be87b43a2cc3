// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACESIMULATED_HPP
#define TRELLIS_SPACESIMULATED_HPP

#include <Simulated/Trellis_SimulatedDevice.hpp>
#include <common/Trellis_AdapterOf.hpp>
#include <common/Trellis_BodyTraits.hpp>
#include <common/Trellis_KokkosInternals.hpp>
#include <common/Trellis_RunOn.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// With this header tasks run on the simulated device: `on<trellis::Simulated>`, and Views in
/// `SimulatedSpace`.
namespace trellis {

class SimulatedSpace;

/// The simulated devices of this program. A task with `on<trellis::Simulated>` is launched on a
/// stream of one of them and runs there with an instance of a host space. It runs in a thread of
/// the device or, in virtual time, in the call that launches it. Base policies and the callables of
/// `space_task` name that host space (`Simulated::kernel_space` for a whole number), never
/// `Simulated`. A task costs `SimulatedDeviceOptions::kernel_units`, and `index_units` for each
/// index of its range.
///
/// Kokkos sees an execution space. With that it initialises Views in `SimulatedSpace`, and copies
/// them outside of tasks. Both happen at once and cost nothing.
class Simulated : public Impl::IdleExecutionSpace {
 public:
  using execution_space = Simulated;
  using memory_space = SimulatedSpace;
  using device_type = Kokkos::Device<Simulated, SimulatedSpace>;
  using size_type = std::size_t;
  using index_type = std::ptrdiff_t;
  using array_layout = Kokkos::LayoutLeft;
  using scratch_memory_space = Kokkos::ScratchMemorySpace<Simulated>;
#ifdef KOKKOS_ENABLE_SERIAL
  using kernel_space = Kokkos::Serial;
#else
  using kernel_space = Kokkos::DefaultHostExecutionSpace;
#endif

  /// Makes `count` devices with these options in place of the earlier ones. They are numbered from
  /// 0 and share a clock. Throws `Error` when the earlier ones still have streams (of a graph) or
  /// memory (of a View). Without a call there is one device, in real time, that costs nothing.
  static void configure(SimulatedDeviceOptions const& options, int count = 1);
  /// Makes devices that differ, one for each element. They have the clock of the first one.
  static void configure_each(std::vector<SimulatedDeviceOptions> const& options);
  [[nodiscard]] static int device_count();
  /// Returns a device. Throws `Error` when there is no such device.
  [[nodiscard]] static SimulatedDevice& device(int number = 0);
  /// Returns the clock of all devices.
  [[nodiscard]] static SimulatedClock& clock() { return device().clock(); }

  // Kokkos requires these members of an execution space.
  static constexpr char const* name() { return "Simulated"; }
  /// Nothing is launched on an instance of this class, so there is nothing to wait for: see
  /// `SimulatedDevice::synchronize`.
  void fence(std::string const& = {}) const {}
#ifdef KOKKOS_ENABLE_DEPRECATED_CODE_4
  static int concurrency() { return 1; }
#else
  int concurrency() const { return 1; }
#endif
  void print_configuration(std::ostream& out, bool verbose = false) const;
  friend bool operator==(Simulated const&, Simulated const&) { return true; }
};

/// The memory of a simulated device, as a Kokkos memory space. Only tasks on `Simulated` can touch
/// its Views; host tasks that name one do not compile. In virtual time, host code outside of tasks
/// gets a fault if it touches one, see SimulatedDevice. A `deep_copy` task goes over the device's
/// link.
///
/// `Kokkos::view_alloc("x", trellis::SimulatedSpace(2))` puts a View on device 2. All devices can
/// touch it, like GPUs that are peers.
class SimulatedSpace {
 public:
  using memory_space = SimulatedSpace;
  using execution_space = Simulated;
  using device_type = Kokkos::Device<Simulated, SimulatedSpace>;
  using size_type = std::size_t;
  using index_type = std::ptrdiff_t;

  explicit SimulatedSpace(int device = 0) : m_device(&Simulated::device(device)) {}

  void* allocate(std::size_t bytes) const { return allocate("", bytes); }
  void* allocate(char const* label, std::size_t bytes, std::size_t = 0) const {
    return m_device->allocate(bytes, label);
  }
  template <class ExecutionSpace>
    requires Kokkos::is_execution_space_v<ExecutionSpace>
  void* allocate(ExecutionSpace const&, std::size_t bytes) const {
    return allocate("", bytes);
  }
  template <class ExecutionSpace>
    requires Kokkos::is_execution_space_v<ExecutionSpace>
  void* allocate(ExecutionSpace const&, char const* label, std::size_t bytes,
                 std::size_t = 0) const {
    return allocate(label, bytes);
  }
  void deallocate(void* pointer, std::size_t) const { m_device->deallocate(pointer); }
  void deallocate(char const*, void* pointer, std::size_t, std::size_t = 0) const {
    m_device->deallocate(pointer);
  }

  static constexpr char const* name() { return "Simulated"; }

 private:
  SimulatedDevice* m_device;
};

/// Host memory that the simulated devices can touch, too, as `SharedHostPinnedSpace` is for GPUs.
/// Tasks on `Simulated` and host tasks may name Views in it.
class SimulatedHostPinnedSpace {
 public:
  using memory_space = SimulatedHostPinnedSpace;
  using execution_space = Kokkos::DefaultHostExecutionSpace;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;
  using index_type = std::ptrdiff_t;

  void* allocate(std::size_t bytes) const { return m_host.allocate(bytes); }
  void* allocate(char const* label, std::size_t bytes, std::size_t logical = 0) const {
    return m_host.allocate(label, bytes, logical);
  }
  template <class ExecutionSpace>
    requires Kokkos::is_execution_space_v<ExecutionSpace>
  void* allocate(ExecutionSpace const&, std::size_t bytes) const {
    return allocate(bytes);
  }
  template <class ExecutionSpace>
    requires Kokkos::is_execution_space_v<ExecutionSpace>
  void* allocate(ExecutionSpace const&, char const* label, std::size_t bytes,
                 std::size_t logical = 0) const {
    return allocate(label, bytes, logical);
  }
  void deallocate(void* pointer, std::size_t bytes) const { m_host.deallocate(pointer, bytes); }
  void deallocate(char const* label, void* pointer, std::size_t bytes,
                  std::size_t logical = 0) const {
    m_host.deallocate(label, pointer, bytes, logical);
  }

  static constexpr char const* name() { return "SimulatedHostPinned"; }

 private:
  Kokkos::HostSpace m_host;
};

namespace Impl {

template <>
struct AdapterOf<Simulated> {
  static constexpr bool exists = true;
  static DeviceAdapter& get(int number = 0) { return Simulated::device(number); }
  static std::size_t available_bytes(int number) {
    SimulatedDevice const& device = Simulated::device(number);
    return device.options().memory - device.live_bytes();
  }
};

/// Keeps instances of a host space for the threads that work for devices. One thread uses an
/// instance for as long as a piece of work takes.
class HostInstances {
 public:
  explicit HostInstances(SpaceAdapter& space);
  void* take();
  void give_back(void* instance);

 private:
  SpaceAdapter& m_space;
  struct Idle;
  std::shared_ptr<Idle> m_idle;
};
HostInstances& host_instances(SpaceAdapter& space);

class HostInstance {
 public:
  explicit HostInstance(SpaceAdapter& space)
      : m_all(host_instances(space)), m_instance(m_all.take()) {}
  HostInstance(HostInstance const&) = delete;
  HostInstance& operator=(HostInstance const&) = delete;
  ~HostInstance() { m_all.give_back(m_instance); }
  [[nodiscard]] void* get() const { return m_instance; }

 private:
  HostInstances& m_all;
  void* m_instance;
};

/// Returns how many indices a body runs over; 0 if it has no range.
template <class Body>
double count_indices(Body const& body) {
  if constexpr (requires { body.range.n; })
    return static_cast<double>(body.range.n);
  else if constexpr (requires { body.range.end - body.range.begin; })
    return static_cast<double>(body.range.end - body.range.begin);
  else if constexpr (requires { body.range.league_size; })
    return static_cast<double>(body.range.league_size);
  else if constexpr (requires { body.range.upper[0] - body.range.lower[0]; }) {
    double count = 1;
    for (std::size_t k = 0; k < std::size(body.range.upper); ++k)
      count *= static_cast<double>(body.range.upper[k] - body.range.lower[k]);
    return count;
  } else
    return 0;
}

template <class Destination, class Source>
struct SimulatedCopyBody;

template <>
struct RunOn<Simulated> {
  using body_space = Simulated::kernel_space;
  /// Launches the body. The body and the label live until the task is complete.
  template <class Written, class Body>
  static void run(Body& body, void* instance, Label const& label) {
    using Host = std::conditional_t<std::is_same_v<Written, Simulated>, body_space, Written>;
    auto work = [&body, &label] {
      HostInstance const host(AdapterOf<Host>::get());
      body.run(host.get(), label);
    };
    if constexpr (requires { body.direction(); }) {
      SimulatedDevice::copy(instance, body.bytes(), body.direction(), std::move(work),
                            label.string());
    } else {
      SimulatedDeviceOptions const& options = SimulatedDevice::options_of(instance);
      SimulatedDevice::launch(instance,
                              {std::move(work), label.string(),
                               options.kernel_units + options.index_units * count_indices(body)});
    }
  }
  template <class Default, class Destination, class Source>
  using copy_body = SimulatedCopyBody<Destination, Source>;
};

template <class Space>
struct CanTouch<Space, SimulatedSpace> : std::false_type {};
template <class MemorySpace>
struct CanTouch<Simulated, MemorySpace> : std::false_type {};
template <>
struct CanTouch<Simulated, SimulatedSpace> : std::true_type {};
template <>
struct CanTouch<Simulated, SimulatedHostPinnedSpace> : std::true_type {};

/// Returns the same elements as a View that any host space can use.
template <class V>
auto as_host_view(V const& view) {
  using Traits = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  if constexpr (V::rank() == 0) {
    return Kokkos::View<typename V::data_type, Kokkos::HostSpace, Traits>(view.data());
  } else {
    Kokkos::LayoutStride layout;
    for (std::size_t k = 0; k < V::rank(); ++k) {
      layout.dimension[k] = view.extent(k);
      layout.stride[k] = view.stride(k);
    }
    return Kokkos::View<typename V::data_type, Kokkos::LayoutStride, Kokkos::HostSpace, Traits>(
        view.data(), layout);
  }
}

template <class Destination, class Source>
struct SimulatedCopyBody {
  static constexpr BodyTraits traits{.pattern = "deep_copy", .copies_between_spaces = true};
  Destination destination;
  Source source;

  void run(void* instance, Label const&) {
    auto const& host = *static_cast<Simulated::kernel_space const*>(instance);
    if constexpr (Kokkos::is_view_v<Source>)
      Kokkos::deep_copy(host, as_host_view(destination), as_host_view(source));
    else
      Kokkos::deep_copy(host, as_host_view(destination), source);
  }
  [[nodiscard]] std::size_t bytes() const {
    return destination.size() * sizeof(typename Destination::value_type);
  }
  [[nodiscard]] SimulatedCopy direction() const {
    if constexpr (!is_here<Destination>)
      return SimulatedCopy::to_host;
    else if constexpr (!Kokkos::is_view_v<Source>)
      return SimulatedCopy::inside;
    else if constexpr (is_here<Source>)
      return &owner(source) == &owner(destination) ? SimulatedCopy::inside
                                                   : SimulatedCopy::from_host;
    else
      return SimulatedCopy::from_host;
  }
  /// Returns the device that does the copy.
  [[nodiscard]] SpaceAdapter& space() const {
    if constexpr (is_here<Destination>)
      return owner(destination);
    else
      return owner(source);
  }

 private:
  template <class V>
  static constexpr bool is_here = std::is_same_v<typename V::memory_space, SimulatedSpace>;
  template <class V>
  static SimulatedDevice& owner(V const& view) {
    for (int k = 1; k < Simulated::device_count(); ++k)
      if (Simulated::device(k).owns(view.data())) return Simulated::device(k);
    return Simulated::device();
  }
};

/// Exists while host code does what a device would do.
class AsDevice {
 public:
  AsDevice() : m_open(Simulated::device()) {}

 private:
  SimulatedDevice::OpenMemory m_open;
};

/// Kokkos asks this of its spaces outside of tasks.
template <>
struct OwnSpace<Simulated> {
  using AtOnce = AsDevice;
  using Host = Simulated::kernel_space;
};
struct CopiedAtOnce {
  static void copy(void* to, void const* from, std::size_t bytes);
};
template <>
struct OwnSpace<SimulatedSpace> : CopiedAtOnce {
  static constexpr bool host_may_touch = false;
};
template <>
struct OwnSpace<SimulatedHostPinnedSpace> : CopiedAtOnce {
  static constexpr bool host_may_touch = true;
};

}  // namespace Impl
}  // namespace trellis

namespace Kokkos {

/// The code of device tasks is host code. Trellis checks whether a task may touch a View.
template <class Host>
  requires is_execution_space_v<Host> && std::is_same_v<typename Host::memory_space, HostSpace>
struct SpaceAccessibility<Host, trellis::SimulatedSpace> {
  enum : bool { accessible = true, assignable = false, deepcopy = true };
  using space = Host;
};

}  // namespace Kokkos

TRELLIS_IMPL_DEVICE_MEMORY_SPACE(trellis::SimulatedSpace);
TRELLIS_IMPL_HOST_MEMORY_SPACE(trellis::SimulatedHostPinnedSpace);

#endif
