// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_NOTSERVING_HPP
#define TRELLIS_IMPL_NOTSERVING_HPP

#include <device/Trellis_LaunchQueue.hpp>
#include <kernel/Trellis_Kernel.hpp>

namespace trellis::Impl {

/// While an object exists the calling thread does not serve the launch queue, as it runs user code
/// that is no launch. No lock is held.
class NotServing {
 public:
  NotServing(Kernel& kernel, LaunchQueue& queue, WorkerSlot& slot) : m_queue(queue) {
    if (queue.is_proxy()) [[unlikely]]
      m_serves = kernel.stop_serving(slot);
  }
  NotServing(NotServing const&) = delete;
  NotServing& operator=(NotServing const&) = delete;
  ~NotServing() {
    if (m_serves && m_queue.is_proxy()) m_queue.serve();
  }

 private:
  LaunchQueue& m_queue;
  bool m_serves = false;  ///< serve again afterwards
};

}  // namespace trellis::Impl

#endif
