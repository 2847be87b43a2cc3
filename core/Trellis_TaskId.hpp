// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKID_HPP
#define TRELLIS_TASKID_HPP

#include <cstdint>

namespace trellis {

/// Number of a task: its position in the order of submission, from 1. 0 is no task.
using TaskId = std::uint64_t;

}  // namespace trellis

#endif
