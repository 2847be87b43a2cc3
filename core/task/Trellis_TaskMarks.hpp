// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKMARKS_HPP
#define TRELLIS_IMPL_TASKMARKS_HPP

#include <bit>
#include <cstdint>

namespace trellis::Impl {

/// The special properties of a task in one byte, which it takes over from its TaskSpec in one
/// piece. They tell which features want to see the task at its stations. Most tasks have none of
/// these marks, and each station checks that first.
struct TaskMarks {
  bool main_thread : 1 = false;
  bool is_resumed : 1 = false;    ///< a body that runs again and again, see Engine::pop
  bool is_fusable : 1 = false;    ///< may be held back, see FusionPool
  bool is_fork_join : 1 = false;  ///< a thread waits for it, see ForkJoins
  bool synchronizing : 1 = false;
  bool is_replay : 1 = false;  ///< its body is a plan, see Plans::run_plan
  /// It runs on a device, or with another number of threads than a worker has.
  bool runs_elsewhere : 1 = false;

  bool has_own_queue : 1 = false;  ///< when ready it goes to a queue of its own, see Kernel::push

  [[nodiscard]] bool none() const { return std::bit_cast<std::uint8_t>(*this) == 0; }
};

}  // namespace trellis::Impl

#endif
