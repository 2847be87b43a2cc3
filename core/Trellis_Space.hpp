// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACE_HPP
#define TRELLIS_SPACE_HPP

#include <string_view>

namespace trellis::Impl {

class DeviceAdapter;
class WideSpace;

/// What the engine knows about an execution space. A backend implements this once
/// (`spaces/<Backend>/`), or DeviceAdapter if launches return before the work is done. Instances
/// travel through the engine as opaque pointers.
class SpaceAdapter {
 public:
  SpaceAdapter() = default;
  SpaceAdapter(SpaceAdapter const&) = delete;
  SpaceAdapter& operator=(SpaceAdapter const&) = delete;
  virtual ~SpaceAdapter() = default;

  /// The device itself, if launches return before the work is done; else null.
  [[nodiscard]] DeviceAdapter* device() const { return m_device; }

  /// The execution space's own name, e.g. "OpenMP".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Makes an instance with `threads` threads. On a host space it is called once per thread that
  /// will use the instance, on that thread and outside of any parallel region; on a device once per
  /// stream, by any thread.
  virtual void* make_instance(int threads) = 0;
  virtual void destroy_instance(void* instance) noexcept = 0;
  /// True if an instance may have several threads.
  [[nodiscard]] virtual bool is_parallel() const { return true; }

  /// True if its tasks run on any worker's own instance.
  [[nodiscard]] bool is_plain() const { return m_is_plain; }

 private:
  friend class DeviceAdapter;
  friend class WideSpace;
  DeviceAdapter* m_device = nullptr;
  bool m_is_plain = true;
};

/// When the successor of an edge may start: as soon as the predecessor has been launched (the
/// device keeps the order), or when it is complete.
enum class Trigger : unsigned char { launch, completion };

}  // namespace trellis::Impl

#endif
