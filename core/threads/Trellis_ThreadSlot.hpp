// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_THREADSLOT_HPP
#define TRELLIS_IMPL_THREADSLOT_HPP

#include <task/Trellis_OneForAll.hpp>

/// A small number of the calling thread's own. What is kept for each thread stands in a table at
/// that place.
///
/// It belongs to the thread and not to a worker of some graph: a kernel may run on a pool of
/// threads that no graph knows, and a thread may run tasks of several graphs. It is taken at the
/// first call and given back when the thread ends; free numbers are used again, the smallest first,
/// so there are no more of them than there were threads with one at the same time.
///
/// INVARIANT. A number belongs to one thread at a time. Who gets one that another thread has had
/// takes it under the mutex under which that thread has given it back, so all that it has written
/// at this place happens before.
namespace trellis::Impl {

/// What `thread_slot` returns is below this.
inline constexpr int most_thread_slots = 1 << 16;

TRELLIS_IMPL_ONE_FOR_ALL inline constinit thread_local int t_thread_slot = -1;

/// Throws `Error` when all are taken.
int take_thread_slot();

[[nodiscard]] inline int thread_slot() {
  int const slot = t_thread_slot;
  return slot >= 0 ? slot : take_thread_slot();
}

}  // namespace trellis::Impl

#endif
