// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_DEVICEADAPTER_HPP
#define TRELLIS_DEVICEADAPTER_HPP

#include <Trellis_Space.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace trellis::Impl {

/// What the engine knows about a device: an execution space where a launch returns before the work
/// is done. Its instances are streams. Streams, events and graphs travel through the engine as
/// opaque pointers. The engine calls these functions from one thread at a time. `has_passed` is the
/// exception: one thread may call it while another calls anything else, unless the device has its
/// own clock.
///
/// An adapter stands for one device: two GPUs are two adapters.
class DeviceAdapter : public SpaceAdapter {
 public:
  DeviceAdapter() {
    m_device = this;
    m_is_plain = false;
  }

  /// Two devices with the same text take the same time for the same work.
  [[nodiscard]] virtual std::string type() const { return std::string(name()); }
  /// The host clock that goes with this device, in nanoseconds. A device with its own clock returns
  /// that one.
  [[nodiscard]] virtual std::int64_t host_time() const {
    auto const now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }

  /// True when an instance of this device can wait, on the device, for an event of `other`. An edge
  /// between the two devices then triggers on launch.
  [[nodiscard]] virtual bool can_wait_for(DeviceAdapter const& /*other*/) const { return false; }

  /// Takes over a user's instance for as long as the graph needs it; `destroy_instance` gives it
  /// back. Null if this space does not support that.
  virtual void* copy_instance(void const* /*theirs*/) { return nullptr; }
  /// True if work that is launched on the two instances runs in order.
  [[nodiscard]] virtual bool same_queue(void const* a, void const* b) const { return a == b; }

  /// Throws when a launch has failed since the last call on this thread. (The engine still waits
  /// for the launches that succeeded.)
  virtual void check_launch(void* /*instance*/) {}
  /// Returns an event that passes when everything launched on the instance so far is done. `timed`:
  /// the event keeps its time.
  virtual void* record_event(void* /*instance*/, bool /*timed*/) { return nullptr; }
  /// Makes everything launched on the instance from now on wait for the event. The wait may outlive
  /// the event's handle.
  virtual void enqueue_wait(void* /*instance*/, void* /*event*/) {}
  /// True when the event has passed. Throws the device's error if it has failed; then no event
  /// recorded so far on the instance passes any more. Other instances are checked separately.
  [[nodiscard]] virtual bool has_passed(void* /*event*/) { return true; }
  virtual void release_event(void* /*event*/) noexcept {}
  /// The time from one timed event that has passed to another; negative if the second passed first.
  [[nodiscard]] virtual std::int64_t nanoseconds_between(void* /*from*/, void* /*to*/) { return 0; }
  /// True when the device's time is unrelated to the host's.
  [[nodiscard]] virtual bool has_own_clock() const { return false; }
  /// True when a launch takes the host much longer than the submission of a task. Then an idle
  /// thread launches what other threads submit.
  [[nodiscard]] virtual bool launch_is_slow() const { return true; }
  /// Called when a thread waits for the device and has nothing else to do. A device with its own
  /// clock then advances it.
  virtual void host_is_idle() {}

  /// Begins to capture: until `end_capture`, work launched on the instance does not run but becomes
  /// a graph. Work on other instances behind an event recorded there joins the graph; an event must
  /// join those instances again. False if this device has no graphs.
  virtual bool begin_capture(void* /*instance*/) { return false; }
  /// Returns the graph, ready to be launched. `old` is null or an earlier graph, which is updated
  /// in place if possible, else replaced. Throws when the launched work cannot be captured; then
  /// none of it will run, and `old` still exists.
  virtual void* end_capture(void* /*instance*/, void* /*old*/) { return nullptr; }
  virtual void launch_graph(void* /*instance*/, void* /*graph*/) {}
  virtual void release_graph(void* /*graph*/) noexcept {}
};

}  // namespace trellis::Impl

#endif
