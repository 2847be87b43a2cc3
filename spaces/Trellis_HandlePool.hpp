// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HANDLEPOOL_HPP
#define TRELLIS_HANDLEPOOL_HPP

#include <mutex>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Things of a device (events, streams) that cost much to make and little to use again. Knows no
/// backend: who holds the pool makes and destroys them. For any thread.
template <class Handle>
class HandlePool {
 public:
  /// One that somebody has put back, or what `make()` returns.
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
  /// False: the pool is closed and does not take it.
  [[nodiscard]] bool put(Handle handle) {
    std::lock_guard const lock(m_mutex);
    if (m_closed) return false;
    m_free.push_back(handle);
    return true;
  }
  /// Hands out all it has, for the last time: what is put back later is for its owner to destroy.
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
