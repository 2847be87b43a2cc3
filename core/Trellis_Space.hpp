// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACE_HPP
#define TRELLIS_SPACE_HPP

#include <cstdint>
#include <string_view>

namespace trellis {

/// What the engine knows of an execution space. A backend implements this once
/// (`spaces/<Backend>/`); instances, events and graphs travel through the engine as opaque
/// pointers.
///
/// An adapter stands for one device: two GPUs are two adapters.
class SpaceAdapter {
 public:
  virtual ~SpaceAdapter() = default;

  /// The execution space's own name, e.g. "OpenMP".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Makes an instance with `threads` threads. Called once per thread that will use it, on that
  /// thread and outside of any parallel region; of an asynchronous space once per stream, by any
  /// thread.
  virtual void* make_instance(int threads) = 0;
  virtual void destroy_instance(void* instance) noexcept = 0;

  /// True when a launch returns before the work is done. All below is for such spaces only; the
  /// engine calls it for one thread at a time.
  [[nodiscard]] virtual bool asynchronous() const { return false; }
  /// True when an instance of this space can wait, on the device, for an event of `other`: an edge
  /// between the two then triggers on launch.
  [[nodiscard]] virtual bool can_wait_for(SpaceAdapter const& /*other*/) const { return false; }

  /// An instance of the user's, taken over for as long as the graph needs it; goes back through
  /// `destroy_instance`. Null: this space has none of its own.
  virtual void* copy_instance(void const* /*theirs*/) { return nullptr; }
  /// Is what is launched on the two done in order?
  [[nodiscard]] virtual bool same_queue(void const* a, void const* b) const { return a == b; }

  /// Throws when something could not be launched since the last call, on this thread. (What could
  /// be launched is waited for all the same.)
  virtual void check_launch(void* /*instance*/) {}
  /// An event that passes when everything launched on the instance so far is done. `timed`: its
  /// time can be asked for.
  virtual void* record_event(void* /*instance*/, bool /*timed*/) { return nullptr; }
  /// What is launched on the instance from now on waits for the event. May outlive the event's
  /// handle.
  virtual void enqueue_wait(void* /*instance*/, void* /*event*/) {}
  /// Throws what the device reports, if it has failed; then no event of the instance that has been
  /// recorded so far passes any more. Other instances are asked on their own.
  [[nodiscard]] virtual bool has_passed(void* /*event*/) { return true; }
  virtual void release_event(void* /*event*/) noexcept {}
  /// From one timed event that has passed to another; negative if that passed first.
  [[nodiscard]] virtual std::int64_t nanoseconds_between(void* /*from*/, void* /*to*/) { return 0; }
  /// The device's time has nothing to do with the host's.
  [[nodiscard]] virtual bool has_own_clock() const { return false; }
  /// A thread waits for the device and has nothing else to do. (A device with a clock of its own
  /// lets it go on.)
  virtual void host_is_idle() {}

  /// Until `end_capture` what is launched on the instance is not done but becomes a graph, together
  /// with what is launched on other instances behind an event recorded there; those must be joined
  /// again by an event. False: this device has no graphs.
  virtual bool begin_capture(void* /*instance*/) { return false; }
  /// The graph, ready to be launched. `old`: an earlier one, to be updated in place where that is
  /// possible, or replaced; or null. Throws when what was launched cannot be captured; then nothing
  /// of it will be done, and `old` is still there.
  virtual void* end_capture(void* /*instance*/, void* /*old*/) { return nullptr; }
  virtual void launch_graph(void* /*instance*/, void* /*graph*/) {}
  virtual void release_graph(void* /*graph*/) noexcept {}
};

/// When the successor of an edge may go on: as soon as the predecessor has been launched (the
/// device keeps the order), or when it is complete.
enum class Trigger : unsigned char { launch, completion };

}  // namespace trellis

#endif
