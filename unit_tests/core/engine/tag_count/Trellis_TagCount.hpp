// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TAGCOUNT_HPP
#define TRELLIS_IMPL_TAGCOUNT_HPP

#include <kernel/Trellis_Kernel.hpp>
#include <task/Trellis_Task.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace trellis::Impl {

/// A feature that only tests have: it counts the tasks that have a tag of the type `Counted`.
///
/// INVARIANT. A task is counted as made before it can run, and as completed at most once. So a
/// thread that reads `completed` first never finds more of them than of `made`.
class TagCount {
 public:
  enum class Counted { no, yes };

  explicit TagCount(Kernel const& /*kernel*/) {}

  // At the stations, see Features.
  void made(Task const& task) {
    if (is_counted(task)) m_made.fetch_add(1, std::memory_order_relaxed);
  }
  void completed(Task const& task) {
    if (is_counted(task)) m_completed.fetch_add(1, std::memory_order_release);
  }

  [[nodiscard]] std::uint64_t completed() const {
    return m_completed.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t made() const { return m_made.load(std::memory_order_relaxed); }

 private:
  static bool is_counted(Task const& task) {
    if (!task.has_tags_or_after) return false;
    auto const& tags = task.extras->tags;
    return std::any_of(tags.begin(), tags.end(),
                       [](TagPtr const& tag) { return tag->type() == typeid(Counted); });
  }

  std::atomic<std::uint64_t> m_made{0};
  std::atomic<std::uint64_t> m_completed{0};
};

}  // namespace trellis::Impl

#endif
