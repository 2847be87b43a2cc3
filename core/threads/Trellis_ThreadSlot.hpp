// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_THREADSLOT_HPP
#define TRELLIS_IMPL_THREADSLOT_HPP

#include <base/Trellis_OneForAll.hpp>

/// A small number that belongs to the calling thread. Tables with a value for each thread have it
/// at that index.
///
/// The number belongs to the thread and not to a worker of some graph. A kernel may run on a pool
/// of threads that no graph knows, and a thread may run tasks of several graphs. It is taken at the
/// first call and given back when the thread ends. Free numbers are reused, the smallest first. So
/// there are no more of them than there were threads with one at the same time.
///
/// INVARIANT. A number belongs to one thread at a time. A thread that gets a reused number takes it
/// under the mutex under which the last thread gave it back. So all that the last thread has
/// written at this index happens before.
namespace trellis::Impl {

/// `thread_slot` returns a number below this.
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
