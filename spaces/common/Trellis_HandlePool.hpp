// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HANDLEPOOL_HPP
#define TRELLIS_HANDLEPOOL_HPP

#include <mutex>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Keeps handles of a device (events, streams) that are costly to make and cheap to reuse. It knows
/// no backend: the pool's owner makes and destroys them. Any thread may use it.
template <class Handle>
class HandlePool {
 public:
  /// Returns a handle that was put back, or what `make()` returns.
  template <class Make>
  Handle take(Make&& make) {
    {
      std::lock_guard const lock(m_mutex);
      if (!m_free.empty()) {
        Handle const handle = m_free.back();
        m_free.pop_back();
        return handle;
      }
    }
    return std::forward<Make>(make)();
  }
  /// Returns false if the pool is closed and does not take it.
  [[nodiscard]] bool put(Handle handle) {
    std::lock_guard const lock(m_mutex);
    if (m_closed) return false;
    m_free.push_back(handle);
    return true;
  }
  /// Hands out all its handles, for the last time; the owner must destroy those that are put back
  /// later.
  [[nodiscard]] std::vector<Handle> close() {
    std::lock_guard const lock(m_mutex);
    m_closed = true;
    return std::exchange(m_free, {});
  }

 private:
  std::mutex m_mutex;
  std::vector<Handle> m_free;
  bool m_closed = false;
};

}  // namespace trellis::Impl

#endif
