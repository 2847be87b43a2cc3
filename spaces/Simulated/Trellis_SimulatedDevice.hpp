// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SIMULATEDDEVICE_HPP
#define TRELLIS_SIMULATEDDEVICE_HPP

#include <Simulated/Trellis_SimulatedClock.hpp>
#include <Simulated/Trellis_SimulatedLog.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <task/Trellis_OneForAll.hpp>

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

/// The properties of a simulated device. All times in nanoseconds; by default nothing costs
/// anything.
struct SimulatedDeviceOptions {
  std::string name = "Simulated";
  int number = 0;
  /// Shared with other devices. Null: in real time the clock that all such devices share, in
  /// virtual time a clock of its own.
  std::shared_ptr<SimulatedClock> clock = {};
  /// Used only if `clock` is null.
  bool virtual_time = false;

  std::int64_t launch_latency = 0;        ///< of the host's time, for each launch and copy
  std::int64_t graph_launch_latency = 0;  ///< the same for a whole graph
  std::int64_t start_overhead = 0;        ///< from the launch to the start on an idle device
  double units_per_ns = 1;                ///< speed: units of work in a nanosecond
  double kernel_units = 0;                ///< of work whose cost is not given
  double index_units = 0;         ///< the same for each index of a task's range, see Simulated
  int concurrent_kernels = 0;     ///< how many run at once, each at full speed; 0: any number
  double link_bytes_per_ns = 0;   ///< to and from the host, one copy each way at a time; 0: no cost
  std::int64_t link_latency = 0;  ///< of each copy over the link
  double memory_bytes_per_ns = 0;  ///< of copies inside the device; 0: no cost
  std::size_t memory = std::size_t{1} << 30;

  /// In real time threads that have nothing else to do launch what others submit, as on a GPU. Else
  /// a task is launched when its submission returns, if it does not wait for the host.
  bool launch_is_slow = false;
  bool graphs = true;
  bool log = true;
};

/// Work for a stream of a simulated device.
struct SimulatedWork {
  std::function<void()> function = {};
  std::string name = {};
  double units = -1;  ///< what it costs; negative: as the device's options say
};

/// Where a copy goes, seen from the device.
enum class SimulatedCopy : unsigned char { from_host, to_host, inside };

/// What every call to a failed device throws.
class TRELLIS_IMPL_ONE_FOR_ALL SimulatedDeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An asynchronous device in software: streams, events, graphs, memory, and their costs. Instances
/// are streams. Semantics are those of CUDA.
///
/// - Work that throws fails its device. Nothing behind it runs, and from then on every call to the
///   device throws `SimulatedDeviceError`, until `reset`. A device that waits for an event of a
///   failed one fails, too. What runs on another stream at that time goes on: until it has ended
///   events of that stream have not passed, and then to ask for one throws.
/// - A capture is invalid after `uncapturable`, and when a stream in it waits for an event from
///   outside. It must end on the stream on which it began, and streams that joined it must be
///   joined back. An event recorded in a capture cannot be queried, nor waited for outside. A
///   violation throws `Error`, and the device goes on.
/// - Work must not use devices itself, and in virtual time must not wait for other work.
/// - In virtual time, and if there is `mprotect`, the memory of all devices with one clock can only
///   be touched while work of one of them runs: host code that touches it gets a fault. In real
///   time, when work and host code run side by side, the memory is not guarded.
///
/// All functions may be called by several threads.
class SimulatedDevice final : public Impl::DeviceAdapter {
 public:
  explicit SimulatedDevice(SimulatedDeviceOptions const& options = {});
  ~SimulatedDevice() override;
  SimulatedDevice(SimulatedDevice const&) = delete;
  SimulatedDevice& operator=(SimulatedDevice const&) = delete;

  [[nodiscard]] SimulatedDeviceOptions const& options() const;
  [[nodiscard]] SimulatedClock& clock() const;

  // What a task body does with the instance that it is given.

  /// Launches on a stream of any simulated device.
  static void launch(void* instance, SimulatedWork work);
  /// `function` does the copy.
  static void copy(void* instance, std::size_t bytes, SimulatedCopy direction,
                   std::function<void()> function, std::string name = "copy");
  /// Stands for something that cannot be part of a graph, such as an allocation: throws if the
  /// stream is capturing, and the capture is then invalid. `what` is for the message.
  static void uncapturable(void* instance, std::string_view what);
  /// Waits for what has been launched on the stream.
  static void synchronize(void* instance);
  /// Waits for all of the device's streams.
  void synchronize();
  /// Streams are numbered in the order in which they were made.
  [[nodiscard]] static int stream_number(void const* instance);
  /// The options of the stream's device.
  [[nodiscard]] static SimulatedDeviceOptions const& options_of(void const* instance);

  // The adapter.

  [[nodiscard]] std::string_view name() const override;
  /// With its speed.
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

  // Errors.

  /// The device fails now, as if its work had.
  void fail(std::string const& text);
  [[nodiscard]] bool has_failed() const;
  /// Forgets the failure, and everything that has not run. Earlier events no longer pass.
  void reset();

  // Memory.

  /// Throws `Error` when the device has not enough memory left. `label` is for the message.
  void* allocate(std::size_t bytes, std::string_view label = {});
  void deallocate(void* pointer) noexcept;
  [[nodiscard]] std::size_t live_bytes() const;
  [[nodiscard]] std::size_t most_live_bytes() const;
  /// Is the address in the device's memory?
  [[nodiscard]] bool owns(void const* pointer) const;
  /// While one exists, the memory of all devices with this clock can be touched. For code that acts
  /// for the device, e.g. on the header of a View's allocation.
  class OpenMemory {
   public:
    explicit OpenMemory(SimulatedDevice const& device);
    OpenMemory(OpenMemory const&) = delete;
    OpenMemory& operator=(OpenMemory const&) = delete;
    ~OpenMemory();

   private:
    Impl::SimulatedMachine& m_machine;
  };

  // What happened.

  [[nodiscard]] std::vector<SimulatedRecord> log() const;
  void clear_log();
  /// Streams, events and graphs that are not given back yet.
  [[nodiscard]] int live_streams() const;
  [[nodiscard]] int live_events() const;
  [[nodiscard]] int live_graphs() const;
  /// How long a stream was busy with completed work.
  [[nodiscard]] std::int64_t busy(int stream) const;
  /// How long at least one piece of work ran.
  [[nodiscard]] std::int64_t busy() const;
  /// `busy()` as a fraction of the clock's makespan.
  [[nodiscard]] double utilisation() const;

 private:
  std::shared_ptr<Impl::SimulatedDeviceState> m_state;
};

}  // namespace trellis

#endif
