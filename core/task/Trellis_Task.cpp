// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <plan/Trellis_PlanState.hpp>
#include <task/Trellis_Region.hpp>
#include <task/Trellis_Result.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <task/Trellis_Reserve.hpp>

#include <cstddef>
#include <mutex>
#include <utility>

namespace trellis::Impl {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // supported, though it need not be
static_assert(sizeof(void*) != 8 ||
                  (offsetof(Task, ops) == 64 && offsetof(Task, access_count) == 128),
              "what the two lines before are for no longer fits into them");
#pragma GCC diagnostic pop

Task::Task() = default;
Task::~Task() = default;

bool conflict(Task const& a, TaskAccess const& access, Task const& b) {
  Manner const manner = a.manner(access);
  bool found = false;
  b.for_each_access([&](TaskAccess const& other) {
    found = found ||
            (manner.depends_on(b.manner(other)) && overlaps(access.entry->area, other.entry->area));
  });
  return found;
}

bool conflict(Task const& a, Task const& b) {
  bool found = false;
  a.for_each_access([&](TaskAccess const& access) { found = found || conflict(a, access, b); });
  return found;
}

std::string describe(Task const& task, Area const* about) {
  std::string const number = task.is_recorded() ? "recorded #" + std::to_string(task.node.index + 1)
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
      // A field of a model is accessed where its memory is, and in a range that stands for it.
      std::string access =
          task.manner(task.access(k)).text() + ' ' + name_of(entry.area, *entry.resource);
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

TaskState state_of_whole(Task const& task) {
  if (task.failure == nullptr) return TaskState::done;
  bool const was_asked = task.failure->is_asked && task.failure->origin == task.id;
  return was_asked ? TaskState::cancelled : TaskState::failed;
}

void inherit(Task& task, FailurePtr const& failure) {
  auto const key = [](Failure const& each) { return std::pair(each.origin, each.place); };
  FailurePtr replaced;  // destroyed without the lock
  std::lock_guard const lock(task.lock);
  if (task.failure == nullptr || key(*failure) < key(*task.failure))
    replaced = std::exchange(task.failure, failure);
}

std::string describe_or_short(Task const& task) noexcept try {
  return describe(task);
} catch (std::bad_alloc const&) {
  return short_text;
}

std::string text_of(Task const& task, SubmissionLock& graph) {
  RegionHold const lock(guard_of(task), graph);  // labels of resources
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
  RegionHold const region(guard, graph);
  std::lock_guard const lock(task.lock);  // under its lock it cannot become complete
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

/// Cuts the first ones off a list.
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

namespace trellis {

std::uint64_t ReadyTask::id() const {
  return m_task->public_id();
}
std::string_view ReadyTask::label() const {
  return m_task->label.view();
}
int ReadyTask::priority() const {
  return m_task->priority;
}
std::optional<PlannedPlace> ReadyTask::place() const {
  if (m_task->is_recorded()) {
    Impl::PlanState const& plan = *m_task->node.plan;
    if (m_task->node.index >= plan.tasks.size()) return std::nullopt;  // a piece, see PlanPiece
    return PlannedPlace{plan.number, m_task->node.index};
  }
  if (m_task->region_kind == Impl::RegionKind::parts) {
    Impl::Region const& region = *m_task->region;
    if (region.is_planned && region.plan_number != 0)
      return PlannedPlace{region.plan_number, m_task->node.index};
  }
  Impl::AnyTag const* const of_model = m_task->tag(typeid(PlannedPlace));
  if (of_model == nullptr) return std::nullopt;
  return static_cast<Impl::TagOf<PlannedPlace> const*>(of_model)->value;
}
Impl::AnyTag const* ReadyTask::find_tag(std::type_index type) const {
  return m_task->tag(type);
}

}  // namespace trellis
