// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACE_HPP
#define TRELLIS_SPACE_HPP

#include <string_view>

/// What the engine knows of an execution space. A backend implements this once (`spaces/<Backend>/`);
/// instances and events travel through the engine as opaque pointers.
namespace trellis {

class SpaceAdapter {
 public:
  virtual ~SpaceAdapter() = default;

  /// The execution space's own name, e.g. "OpenMP".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Makes an instance with `threads` threads. Called once per thread that will use it, on that thread and
  /// outside of any parallel region.
  virtual void* make_instance(int threads) = 0;
  virtual void destroy_instance(void* instance) noexcept = 0;

  /// True when a launch returns before the work is done. All below is for such spaces only.
  [[nodiscard]] virtual bool asynchronous() const { return false; }
  /// True when an instance of this space can wait, on the device, for an event of `other`: an edge between
  /// the two then triggers on launch.
  [[nodiscard]] virtual bool can_wait_for(SpaceAdapter const& /*other*/) const { return false; }
  /// An event that passes when everything launched on the instance so far is done.
  virtual void* record_event(void* /*instance*/) { return nullptr; }
  virtual void enqueue_wait(void* /*instance*/, void* /*event*/) {}
  [[nodiscard]] virtual bool has_passed(void* /*event*/) { return true; }
  virtual void release_event(void* /*event*/) noexcept {}
};

/// When the successor of an edge may go on: as soon as the predecessor has been launched (the device keeps
/// the order), or when it is complete.
enum class Trigger : unsigned char { launch, completion };

}  // namespace trellis

#endif
