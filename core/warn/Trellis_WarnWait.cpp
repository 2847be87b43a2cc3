// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <warn/Trellis_WarnFlow.hpp>

#include <algorithm>
#include <string>
#include <utility>

/// Waits that keep tasks apart without need.
///
/// WHAT MAY BE SAID. It cannot be observed whether the host reads what the tasks before a `wait()`
/// have written. So there must be signs that it does not: (1) these tasks leave nothing but large
/// Views. (2) Tasks after the wait read all of that, before any of it is written again. (3) The
/// thread that waited submitted the next task so soon that it cannot have read it. (4) Some task
/// after the wait is independent of some task that was waited for, so the two could have run side
/// by side. All this must happen three times at one place in the source.
namespace trellis::Impl {

namespace {

/// More than any host reads in a nanosecond.
constexpr std::uint64_t bytes_per_ns = 1000;
/// Hosts read Views of this size, or smaller ones: a time step, a flag, a norm.
constexpr std::uint64_t small_bytes = 4096;
constexpr int times_until_reported = 3;

}  // namespace

void WarnFlow::first_task_after_wait() {
  if (!std::exchange(m_wait.is_first, false) || m_wait.sinks.empty() ||
      m_wait.thread != std::this_thread::get_id())
    return;
  auto const gap = std::chrono::steady_clock::now() - m_wait.returned;
  auto const ns = std::chrono::duration_cast<std::chrono::nanoseconds>(gap).count();
  m_wait.is_candidate = static_cast<std::uint64_t>(ns) < m_wait.bytes / bytes_per_ns;
}

/// Examines the newest task.
void WarnFlow::task_after_wait(Label const& label, bool is_plain) {
  if (!m_wait.is_candidate || m_wait.kept || !is_plain) return;
  WarnOrder::Node const& node = m_order.newest();
  if (node.may_be_anywhere() || (!node.before.empty() && node.before.back() > m_wait.last)) return;
  for (Sequence const sink : m_wait.sinks) {
    if (std::binary_search(node.before.begin(), node.before.end(), sink)) continue;
    WarnOrder::Node const* const apart = m_order.find(sink);
    if (apart == nullptr) return;
    m_wait.kept = label;
    m_wait.apart = apart->label;
    return;
  }
}

/// What was in the area before the wait is read, or it is lost and still counts as unread.
void WarnFlow::over_after_wait(WarnArea& area, bool is_read) {
  if (area.output_of == 0 || area.output_of != m_wait.number) return;
  area.output_of = 0;
  if (is_read) --m_wait.unread;
}

void WarnFlow::check_wait() {
  if (!m_wait.is_candidate || !m_wait.kept || m_wait.unread != 0) return;
  std::source_location const& site = m_wait.site;
  if (++m_idle_waits[{site.file_name(), site.line()}] < times_until_reported) return;
  Warning warning;
  warning.kind = WarningKind::serialising_wait;
  warning.task = "wait()";
  warning.place = std::string(site.file_name()) + ':' + std::to_string(site.line());
  warning.resource = m_wait.resource;
  warning.area = m_wait.area;
  auto const name = [](Label const& task) { return "task " + task.text(); };
  warning.text = "wait() (" + warning.place + ") keeps " + name(*m_wait.kept) +
                 " from running beside " + name(m_wait.apart) +
                 ", and each time tasks read all that was waited for (\"" + warning.resource +
                 "\" " + warning.area +
                 " and the like), the host none of it. Leave it out; what the host needs of a "
                 "single task, get() waits for";
  m_teller.note(std::move(warning));
}

void WarnFlow::waited(std::source_location const& site) {
  check_wait();
  Wait wait;
  wait.site = site;
  wait.number = m_wait.number + 1;
  wait.last = m_order.last();
  bool leaves_only_views = true;
  for (Sequence task = m_wait.last + 1; task <= wait.last; ++task) {
    WarnOrder::Node const* const node = m_order.find(task);
    leaves_only_views = leaves_only_views && node != nullptr && node->writes_only_views;
    if (leaves_only_views && !node->has_next) wait.sinks.push_back(task);
  }
  bool may_be_looked_at = !leaves_only_views;
  for (auto const& [begin, allocation] : m_allocations) {
    if (may_be_looked_at || allocation->hold == nullptr) continue;
    std::uint64_t bytes = 0;
    for (auto const& each : allocation->areas) {
      WarnArea& area = *each;
      if (area.writer <= m_wait.last) continue;
      area.output_of = wait.number;
      ++wait.unread;
      std::uint64_t size = area.area.run();
      for (int k = 0; k < area.area.rank(); ++k) size *= area.area.dimension(k).extent;
      bytes += size;
      wait.resource = allocation->label;
      wait.area = area_text(area.area, allocation->begin, allocation->shape);
    }
    wait.bytes += std::min<std::uint64_t>(bytes, allocation->end - allocation->begin);
    may_be_looked_at = bytes > 0 && allocation->end - allocation->begin <= small_bytes;
  }
  if (may_be_looked_at) wait.sinks.clear();
  m_order.forget(m_wait.last);
  wait.is_first = true;
  wait.thread = std::this_thread::get_id();
  m_wait = std::move(wait);
  m_wait.returned = std::chrono::steady_clock::now();
}

}  // namespace trellis::Impl
