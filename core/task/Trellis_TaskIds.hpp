// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKIDS_HPP
#define TRELLIS_IMPL_TASKIDS_HPP

#include <Trellis_TaskId.hpp>

#include <atomic>
#include <cstdint>

namespace trellis::Impl {

/// Gives out the ids of a graph's tasks. Threads take them in blocks, so that two threads that
/// submit into different scopes share no cache line for it.
///
/// INVARIANT. Each id is given to one task. Within a scope ids grow in the order of submission. An
/// id is larger than those of the tasks that are named in `after`, and than that of the task whose
/// body submits. A thread asks for an id above these, and takes a new block where its own has none.
/// A new block is above all that have been taken.
class TaskIds {
 public:
  struct Block {
    TaskId next = 1;
    TaskId end = 1;
  };

  /// `dense`: without gaps, for records and the serial order. Then the caller holds the graph's
  /// lock.
  explicit TaskIds(bool dense) : m_block_size(dense ? 1 : 64) {}

  /// Returns the next id of the caller's block that is above another id. It counts as given once
  /// the caller adds 1 to `next`.
  [[nodiscard]] TaskId peek(Block& block, TaskId above) {
    if (block.next >= block.end || block.next <= above) {
      TaskId const before = take(m_block_size);
      block = {before + 1, before + 1 + m_block_size};
    }
    return block.next;
  }
  /// Takes so many ids in a row, and returns the number before the first one. There are no gaps: if
  /// a submission failed, the id that it had looked at is the first.
  TaskId take_row(Block& block, std::uint64_t count) {
    if (m_block_size != 1 || block.next == block.end || count == 0) return take(count);
    TaskId const before = block.next - 1;
    block.next = block.end;
    take(count - 1);
    return before;
  }
  /// Returns the number before the first one.
  TaskId take(std::uint64_t count) { return m_last.fetch_add(count, std::memory_order_relaxed); }

 private:
  std::uint64_t const m_block_size;
  std::atomic<TaskId> m_last{0};
};

}  // namespace trellis::Impl

#endif
