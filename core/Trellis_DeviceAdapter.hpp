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
/// opaque pointers. The engine calls all of this from one thread at a time, but for `has_passed`:
/// one thread asks while another may do anything else, unless the device has a clock of its own.
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
  /// What a clock of the host says, in nanoseconds: of a device with a clock of its own that one.
  [[nodiscard]] virtual std::int64_t host_time() const {
    auto const now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }

  /// True when an instance of this device can wait, on the device, for an event of `other`: an edge
  /// between the two then triggers on launch.
  [[nodiscard]] virtual bool can_wait_for(DeviceAdapter const& /*other*/) const { return false; }

  /// Takes over a user's instance for as long as the graph needs it; it goes back through
  /// `destroy_instance`. Null: this space does not support that.
  virtual void* copy_instance(void const* /*theirs*/) { return nullptr; }
  /// Does what is launched on the two run in order?
  [[nodiscard]] virtual bool same_queue(void const* a, void const* b) const { return a == b; }

  /// Throws when, since the last call on this thread, something could not be launched. (The engine
  /// still waits for what could be launched.)
  virtual void check_launch(void* /*instance*/) {}
  /// An event that passes when everything launched on the instance so far is done. `timed`: the
  /// event keeps its time.
  virtual void* record_event(void* /*instance*/, bool /*timed*/) { return nullptr; }
  /// Everything launched on the instance from now on waits for the event. The wait may outlive the
  /// event's handle.
  virtual void enqueue_wait(void* /*instance*/, void* /*event*/) {}
  /// Throws what the device reports if it has failed; then no event recorded so far on the instance
  /// passes any more. Other instances are checked separately.
  [[nodiscard]] virtual bool has_passed(void* /*event*/) { return true; }
  virtual void release_event(void* /*event*/) noexcept {}
  /// The time from one timed event that has passed to another; negative if the second passed first.
  [[nodiscard]] virtual std::int64_t nanoseconds_between(void* /*from*/, void* /*to*/) { return 0; }
  /// True when the device's time is unrelated to the host's.
  [[nodiscard]] virtual bool has_own_clock() const { return false; }
  /// True when a launch takes the host much longer than the submission of a task. Then a thread that
  /// has nothing else to do launches what others submit.
  [[nodiscard]] virtual bool launch_is_slow() const { return true; }
  /// A thread waits for the device and has nothing else to do. (A device with its own clock then
  /// advances it.)
  virtual void host_is_idle() {}

  /// Until `end_capture`, what is launched on the instance does not run but becomes a graph,
  /// together with what is launched on other instances behind an event recorded there; an event
  /// must join those again. False: this device has no graphs.
  virtual bool begin_capture(void* /*instance*/) { return false; }
  /// The graph, ready to be launched. `old` is null or an earlier graph, which is updated in place
  /// if possible, or else replaced. Throws when what was launched cannot be captured; then none of
  /// it will run, and `old` still exists.
  virtual void* end_capture(void* /*instance*/, void* /*old*/) { return nullptr; }
  virtual void launch_graph(void* /*instance*/, void* /*graph*/) {}
  virtual void release_graph(void* /*graph*/) noexcept {}
};

}  // namespace trellis::Impl

#endif
