// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <task/Trellis_TaskSlab.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace trellis::Impl {

TaskSlab::~TaskSlab() {
  for (Task* block : m_blocks) delete[] block;
}

Vector<Task*> TaskSlab::blocks() const {
  std::lock_guard const lock(m_lock);
  return m_blocks;
}

Task* TaskSlab::new_block() {
  std::unique_ptr<Task[]> block(new Task[block_size]);
  for (int k = 0; k + 1 < block_size; ++k) block[k].next = &block[k + 1];
  if (m_with_extras)
    for (int k = 0; k < block_size; ++k) block[k].extras_memory();
  std::lock_guard const lock(m_lock);
  m_blocks.push_back(block.get());
  return block.release();
}

Task* TaskSlab::take_kept() {
  std::lock_guard const lock(m_lock);
  return std::exchange(m_kept, nullptr);
}

Task& TaskSlab::acquire() {
  if (m_available == nullptr) m_available = m_freed.exchange(nullptr, std::memory_order_acquire);
  if (m_available == nullptr) m_available = take_kept();
  if (m_available == nullptr) m_available = new_block();
  Task& task = *m_available;
  m_available = task.next;
  if (m_available != nullptr) m_available->prefetch();  // a worker has written it last
  return task;
}

/// Cuts the first tasks off a list.
TaskSlab::Chain TaskSlab::cut(Task*& list) {
  constexpr int enough = 32;
  Chain chain;
  if (list == nullptr) return chain;
  chain = {list, list, 1};
  for (; chain.count < enough && chain.last->next != nullptr; ++chain.count)
    chain.last = chain.last->next;
  list = std::exchange(chain.last->next, nullptr);
  return chain;
}

TaskSlab::Chain TaskSlab::acquire_chain() {
  std::lock_guard const lock(m_lock);
  if (m_kept == nullptr) m_kept = m_freed.exchange(nullptr, std::memory_order_acquire);
  return cut(m_kept);
}

TaskSlab::Chain TaskSlab::acquire_last_chain() {
  Chain chain = acquire_chain();
  if (chain.first != nullptr) return chain;
  if (m_available == nullptr) m_available = new_block();
  return cut(m_available);
}

void TaskSlab::recycle_chain(Task* first, Task* last) noexcept {
  Task* head = m_freed.load(std::memory_order_relaxed);
  do {
    last->next = head;
  } while (!m_freed.compare_exchange_weak(head, first, std::memory_order_release,
                                          std::memory_order_relaxed));
}

}  // namespace trellis::Impl
