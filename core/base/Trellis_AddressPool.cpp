// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <base/Trellis_AddressPool.hpp>

#include <algorithm>
#include <utility>

namespace trellis::Impl {

AddressPool& AddressPool::get() {
  static auto* const pool = new AddressPool;  // resources may be destroyed late
  return *pool;
}

std::uint64_t AddressPool::take(std::uint64_t bytes) {
  std::lock_guard const lock(m_lock);
  if (bytes <= last - m_next) return std::exchange(m_next, m_next + bytes);
  auto const found = std::find_if(m_free.begin(), m_free.end(),
                                  [&](Range const& free) { return free.bytes >= bytes; });
  if (found == m_free.end()) return 0;
  std::uint64_t const begin = found->begin;
  found->begin += bytes;
  found->bytes -= bytes;
  if (found->bytes == 0) m_free.erase(found);
  return begin;
}

void AddressPool::give_back(std::uint64_t begin, std::uint64_t bytes) {
  if (bytes < huge) return;
  std::lock_guard const lock(m_lock);
  // Neighbours become one: a large range must find room where smaller ones have been.
  std::erase_if(m_free, [&](Range const& free) {
    bool const before = free.begin + free.bytes == begin;
    bool const behind = begin + bytes == free.begin;
    if (before) begin = free.begin;
    if (before || behind) bytes += free.bytes;
    return before || behind;
  });
  m_free.push_back({begin, bytes});
}

}  // namespace trellis::Impl
