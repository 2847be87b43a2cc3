// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKMARKS_HPP
#define TRELLIS_IMPL_TASKMARKS_HPP

namespace trellis::Impl {

/// What a task is, in a byte, which a task takes over from its TaskSpec in one piece.
struct TaskMarks {
  bool main_thread : 1 = false;
  bool goes_on : 1 = false;     ///< a body that runs again and again, see Engine::pop
  bool is_fusable : 1 = false;  ///< may be held back, see FusionPool
  bool is_section : 1 = false;  ///< a thread waits for it, see Sections
  bool synchronizing : 1 = false;
};

}  // namespace trellis::Impl

#endif
