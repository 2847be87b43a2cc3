// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_COMPLETIONLISTS_HPP
#define TRELLIS_IMPL_COMPLETIONLISTS_HPP

#include <Trellis_TaskId.hpp>
#include <base/Trellis_Reserve.hpp>

#include <vector>

namespace trellis::Impl {

struct Task;

/// What one completion collects, see Trellis_Finish.hpp. Only the thread that completes the task
/// uses it. A worker slot keeps it, so that a completion allocates nothing.
struct CompletionLists {
  Vector<Task*> ready;
  Vector<TaskId> spared;  ///< successors that a failure does not reach
};

}  // namespace trellis::Impl

#endif
