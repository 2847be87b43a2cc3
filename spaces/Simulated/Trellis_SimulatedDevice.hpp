// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SIMULATEDDEVICE_HPP
#define TRELLIS_SIMULATEDDEVICE_HPP

#include <Simulated/Trellis_SimulatedClock.hpp>
#include <Simulated/Trellis_SimulatedLog.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <base/Trellis_OneForAll.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trellis {

namespace Impl {
class SimulatedDeviceState;
}  // namespace Impl

/// The properties of a simulated device. All times are in nanoseconds. By default nothing costs
/// anything.
struct SimulatedDeviceOptions {
  std::string name = "Simulated";
  int number = 0;
  /// Other devices may share it. If it is null, a device in real time uses the clock that all such
  /// devices share, and a device in virtual time has its own.
  std::shared_ptr<SimulatedClock> clock = {};
  /// Used only if `clock` is null.
  bool virtual_time = false;

  std::int64_t launch_latency = 0;        ///< host time for each launch and copy
  std::int64_t graph_launch_latency = 0;  ///< host time for the launch of a whole graph
  std::int64_t start_overhead = 0;        ///< from the launch to the start on an idle device
  double units_per_ns = 1;                ///< speed: units of work in a nanosecond
  double kernel_units = 0;                ///< units of a launch that names no cost
  double index_units = 0;                 ///< units for each index of a task's range, see Simulated
  int concurrent_kernels = 0;     ///< how many run at once, each at full speed; 0: any number
  double link_bytes_per_ns = 0;   ///< to and from the host, one copy each way at a time; 0: no cost
  std::int64_t link_latency = 0;  ///< latency of each copy over the link
  double memory_bytes_per_ns = 0;  ///< for copies inside the device; 0: no cost
  std::size_t memory = std::size_t{1} << 30;

  /// In real time idle threads launch what other threads submit, as on a GPU. If this is false, a
  /// task that does not wait for the host is launched when its submission returns.
  bool launch_is_slow = false;
  bool graphs = true;
  bool log = true;
};

/// A piece of work for a stream of a simulated device.
struct SimulatedWork {
  std::function<void()> function = {};
  std::string name = {};
  double units = -1;  ///< cost; negative: as the device's options say
};

/// The direction of a copy, seen from the device.
enum class SimulatedCopy : unsigned char { from_host, to_host, inside };

/// Every call to a failed device throws this.
class TRELLIS_IMPL_ONE_FOR_ALL SimulatedDeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Simulates an asynchronous device in software: streams, events, graphs, memory, and their costs.
/// Instances are streams. The semantics are those of CUDA:
///
/// - Work that throws fails its device. Nothing after it runs, and from then on every call to the
///   device throws `SimulatedDeviceError`, until `reset`. A device that waits for an event of a
///   failed one fails, too. Work that runs on another stream at that time goes on. The events of
///   that stream do not pass before this work has ended. After that a query of one throws `Error`.
/// - A capture becomes invalid by `uncapturable`, or when a stream in it waits for an event from
///   outside. It must end on the stream on which it began, and streams that joined it must be
///   joined back. An event recorded in a capture cannot be queried, nor waited for outside. A
///   violation throws `Error`, and the device goes on.
/// - Work must not use devices itself and in virtual time must not wait for other work.
/// - In virtual time, and if there is `mprotect`, the memory of all devices with one clock is
/// guarded: it is accessible only while work of one of them runs. Host code that touches it gets a
/// fault. In
///   real time work and host code run side by side, and the memory is not guarded.
///
/// Several threads may call all functions.
class SimulatedDevice final : public Impl::DeviceAdapter {
 public:
  explicit SimulatedDevice(SimulatedDeviceOptions const& options = {});
  ~SimulatedDevice() override;
  SimulatedDevice(SimulatedDevice const&) = delete;
  SimulatedDevice& operator=(SimulatedDevice const&) = delete;

  [[nodiscard]] SimulatedDeviceOptions const& options() const;
  [[nodiscard]] SimulatedClock& clock() const;

  // A task body calls these functions with the instance that it is given.

  /// Launches on a stream of any simulated device.
  static void launch(void* instance, SimulatedWork work);
  /// Copies on a stream; `function` does the copy.
  static void copy(void* instance, std::size_t bytes, SimulatedCopy direction,
                   std::function<void()> function, std::string name = "copy");
  /// Stands for an operation that cannot be part of a graph, such as an allocation. Throws if the
  /// stream is capturing, and makes the capture invalid. `what` is for the message.
  static void uncapturable(void* instance, std::string_view what);
  /// Waits for all work launched on the stream.
  static void synchronize(void* instance);
  /// Waits for all of the device's streams.
  void synchronize();
  /// Returns the stream's number. Streams are numbered in the order in which they were made.
  [[nodiscard]] static int stream_number(void const* instance);
  /// Returns the options of the stream's device.
  [[nodiscard]] static SimulatedDeviceOptions const& options_of(void const* instance);

  // These functions are the adapter.

  [[nodiscard]] std::string_view name() const override;
  /// Returns the name with the device's speed.
  [[nodiscard]] std::string type() const override;
  [[nodiscard]] std::int64_t host_time() const override { return clock().now(); }
  void* make_instance(int threads = 1) override;
  void destroy_instance(void* instance) noexcept override;
  [[nodiscard]] bool can_wait_for(Impl::DeviceAdapter const& other) const override;
  void* copy_instance(void const* theirs) override;
  [[nodiscard]] bool same_queue(void const* a, void const* b) const override;
  void* record_event(void* instance, bool timed = false) override;
  void enqueue_wait(void* instance, void* event) override;
  [[nodiscard]] bool has_passed(void* event) override;
  void release_event(void* event) noexcept override;
  [[nodiscard]] std::int64_t nanoseconds_between(void* earlier, void* later) override;
  [[nodiscard]] bool has_own_clock() const override { return clock().is_virtual(); }
  [[nodiscard]] bool launch_is_slow() const override { return options().launch_is_slow; }
  void host_is_idle() override;
  bool begin_capture(void* instance) override;
  void* end_capture(void* instance, void* old = nullptr) override;
  void launch_graph(void* instance, void* graph) override;
  void release_graph(void* graph) noexcept override;

  // These functions are about errors.

  /// Makes the device fail now, as if its work had failed.
  void fail(std::string const& text);
  [[nodiscard]] bool has_failed() const;
  /// Forgets the failure, and everything that has not run. Earlier events no longer pass.
  void reset();

  // These functions are about memory.

  /// Throws `Error` when the device has not enough memory left. `label` is for the message.
  void* allocate(std::size_t bytes, std::string_view label = {});
  void deallocate(void* pointer) noexcept;
  [[nodiscard]] std::size_t live_bytes() const;
  [[nodiscard]] std::size_t most_live_bytes() const;
  /// True if the address is in the device's memory.
  [[nodiscard]] bool owns(void const* pointer) const;
  /// Makes the memory of all devices with this clock accessible while it exists. It is for code
  /// that acts for the device, e.g. on the header of a View's allocation.
  class OpenMemory {
   public:
    explicit OpenMemory(SimulatedDevice const& device);
    OpenMemory(OpenMemory const&) = delete;
    OpenMemory& operator=(OpenMemory const&) = delete;
    ~OpenMemory();

   private:
    Impl::SimulatedMachine& m_machine;
  };

  // These functions tell what has happened.

  [[nodiscard]] std::vector<SimulatedRecord> log() const;
  void clear_log();
  /// Return the number of streams, events and graphs that are not given back yet.
  [[nodiscard]] int live_streams() const;
  [[nodiscard]] int live_events() const;
  [[nodiscard]] int live_graphs() const;
  /// Returns how long a stream was busy with completed work.
  [[nodiscard]] std::int64_t busy(int stream) const;
  /// Returns how long at least one piece of work ran.
  [[nodiscard]] std::int64_t busy() const;
  /// Returns `busy()` as a fraction of the clock's makespan.
  [[nodiscard]] double utilisation() const;

 private:
  std::shared_ptr<Impl::SimulatedDeviceState> m_state;
};

}  // namespace trellis

#endif
