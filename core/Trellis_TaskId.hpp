// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKID_HPP
#define TRELLIS_TASKID_HPP

#include <cstdint>

namespace trellis {

/// Number of a task, from 1; 0 is no task. A task that is submitted later to the same graph, or as
/// a child of the same task, has a larger number. So has a task that a task's body submits. In a
/// graph that is recorded or runs serially, the numbers have no gaps.
using TaskId = std::uint64_t;

}  // namespace trellis

#endif
