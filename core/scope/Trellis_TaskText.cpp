// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <scope/Trellis_Scope.hpp>
#include <impl/Trellis_Result.hpp>
#include <scope/Trellis_TaskText.hpp>
#include <task/Trellis_PlanNode.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace trellis::Impl {

std::string describe(Task const& task, Area const* about) {
  std::string const number = task.is_recorded()
                                 ? "recorded #" + std::to_string(task.node->index + 1)
                                 : '#' + std::to_string(task.id);
  std::string text = "task " + task.label.text(number) + " [" + std::string(task.ops->pattern);
  constexpr std::uint32_t most = 16;  // a task may have thousands of accesses
  std::uint32_t const enough = task.access_count <= most ? task.access_count : most - 1;
  if (enough == task.access_count) about = nullptr;
  std::uint32_t shown = 0;
  std::vector<std::string> said;
  auto const show = [&](bool those_about) {
    for (std::uint32_t k = 0; k < task.access_count && shown < enough; ++k) {
      AreaEntry const& entry = *task.access(k).entry;
      if (about != nullptr && overlaps(entry.area, *about) != those_about) continue;
      ++shown;
      // Texts may repeat: a field of a model is accessed where its memory is, and in a range that
      // represents it.
      std::string access =
          task.kind(task.access(k)).text() + ' ' + name_of(entry.area, *entry.resource);
      if (std::find(said.begin(), said.end(), access) != said.end()) continue;
      text += (said.empty() ? "; " : ", ") + access;
      said.push_back(std::move(access));
    }
  };
  if (about != nullptr) show(true);
  show(false);
  if (shown < task.access_count)
    text += " and " + std::to_string(task.access_count - shown) + " more";
  return text + ']';
}

std::string name_of(AccessRequest const& request, ResourceInfo const& info, Task const& task) {
  Resource const* same = nullptr;
  task.for_each_access([&](TaskAccess const& access) {
    Resource const& each = *access.entry->resource;
    bool const is_in = each.begin <= request.area.begin() && request.area.end() <= each.end;
    bool const is_it = info.begin >= info.end || info.label == each.label || info.label.empty();
    if (is_in && is_it && each.shape.rank >= info.shape.rank) same = &each;
  });
  return same != nullptr ? name_of(request.area, *same) : name_of(request, info);
}

std::string describe_or_short(Task const& task, SubmissionLock& graph) try {
  std::lock_guard const lock(graph);
  return describe(task);
} catch (std::bad_alloc const&) {
  return short_text;
}

std::string text_of(Task const& task, SubmissionLock& graph) {
  ScopeHold const lock(guard_of(task), graph);  // labels of resources
  return describe(task);
}

bool look_at(LiveAccess const& asked, SubmissionLock& graph, FunctionRef<void(Task const&)> f) {
  Task& task = *asked.task;
  Task* guard = nullptr;
  {
    std::lock_guard const lock(task.lock);
    if (task.live_id.load(std::memory_order_relaxed) != asked.id) return false;
    guard = guard_of(task);
  }
  ScopeHold const scope(guard, graph);
  std::lock_guard const lock(task.lock);  // under it the task cannot become complete
  if (task.live_id.load(std::memory_order_relaxed) != asked.id) return false;
  f(task);
  return true;
}

std::string text_of(LiveAccess const& asked, SubmissionLock& graph) {
  return text_of(asked, graph, [](Task const& task) { return describe(task); });
}

std::string text_of(LiveAccess const& asked, SubmissionLock& graph,
                    FunctionRef<std::string(Task const&)> text) {
  std::string found = "task #" + std::to_string(asked.id);
  (void)look_at(asked, graph, [&](Task const& task) { found = text(task); });
  return found;
}

}  // namespace trellis::Impl
