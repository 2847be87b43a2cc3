// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/Trellis_DeviceTasks.hpp>
#include <children/Trellis_Children.hpp>
#include <scope/Trellis_Ordering.hpp>
#include <engine/Trellis_Features.hpp>
#include <engine/Trellis_Submission.hpp>
#include <task/Trellis_Provisional.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

/// Orders a task that is being submitted: finds the entries of its accesses, and adds the edges
/// that lead to it.
namespace trellis::Impl {

namespace {

/// Notes that access `k` of a task that is being submitted is to this entry.
inline void take_entry(FoundEntries& found, std::size_t k, AccessRequest const& request,
                       AreaEntry& entry) {
  found.of[k] = &entry;
  // `connect` asks whether that task is done. By then its line has come from the worker that runs
  // it.
  Mode const mode = request.mode;
  if (!entry.current.empty() && conflict(mode, entry.mode))
    prefetch_to_write(entry.current.back().task);
  for (AreaEntry::Overlap const& overlap : entry.overlaps) prefetch_to_write(overlap.entry());
  if (mode == Mode::exclusive || request.state != nullptr) found.is_special = true;
}

/// Finds the entries for a child, with its additional checks, or with prefetches where look-ups
/// miss the caches.
[[gnu::noinline]] void find_children_or_far(TaskSpec const& spec, Scope& scope, TaskId last,
                                            FoundEntries& found) {
  AccessTable& table = scope.table;
  AccessRequest const* const requests = spec.accesses.data();
  std::size_t const count = spec.accesses.size();
  bool const is_child = spec.parent.task != nullptr;
  bool const is_far = table.misses_caches();
  Few<std::uint64_t> hashes(count);
  for (std::size_t k = 0; k < count; ++k) {
    bool const may_be_expected = is_far && !is_child && requests[k].counts();
    found.of[k] = may_be_expected ? table.expected(k, requests[k].area, last) : nullptr;
    if (found.of[k] == nullptr) hashes[k] = requests[k].area.hash();
  }
  if (is_far) {
    for (std::size_t k = 0; k < count; ++k)
      if (found.of[k] == nullptr) table.prefetch_bucket(hashes[k]);
    for (std::size_t k = 0; k < count; ++k)
      if (found.of[k] == nullptr) table.prefetch_entry(hashes[k]);
  }
  for (std::size_t k = 0; is_child && k < count; ++k)
    if (requests[k].counts()) Children::check_within(scope, requests[k], hashes[k]);
  for (std::size_t k = 0; k < count; ++k) {
    if (!requests[k].counts()) continue;
    AreaEntry* const known = found.of[k];
    AreaEntry& entry = known != nullptr ? *known : table.find_or_make(requests[k], hashes[k], last);
    if (is_far) table.follow(k, entry);
    take_entry(found, k, requests[k], entry);
  }
}

/// A few tasks that another one has been ordered after. Several of its accesses often lead to the
/// same ones, and each check of one locks it.
class FewIds {
 public:
  [[nodiscard]] bool contains(TaskId id) const {
    for (std::size_t k = 0; k < m_count; ++k)
      if (m_ids[k] == id) return true;
    return false;
  }
  void add(TaskId id) {
    if (m_count == most) m_count = 0;
    m_ids[m_count++] = id;
  }

 private:
  static constexpr std::size_t most = 16;  // nine in a halo of two dimensions
  std::size_t m_count = 0;
  TaskId m_ids[most];
};

/// Makes `task` wait for another one, if that is not done. `on_device`: `task` runs on a device.
///
/// Memory order: that the other is done is read with acquire order or under its lock, so `task`,
/// published after this, happens after the other's body. If the other is not done, the edge's
/// decrement of `unfinished` orders the two.
[[gnu::always_inline]] inline bool make_wait(LiveAccess before, Task& task, bool on_device,
                                             AsyncStreams& streams, std::int32_t& edges) {
  Task& other = *before.task;
  if (!other.is_live(before.id)) return false;
  std::lock_guard const lock(other.lock);
  if (!other.is_live_locked(before.id)) return false;
  if (on_device && trigger_between(other, task) == Trigger::launch) {
    task.on_device->predecessors.push_back({&other, before.id});
    if (other.launched) return true;
  } else if (other.launched) {
    streams.note_awaited();
  }
  if (other.last_successor() != &task) {
    other.add_successor(&task);
    ++edges;
  }
  return true;
}

}  // namespace

/// Finds the entries of the accesses, and makes new ones where needed. `last`: id of the newest
/// task.
void Submission::find_entries(TaskSpec const& spec, Scope& scope, TaskId last,
                              FoundEntries& found) {
  AccessTable& table = scope.table;
  if (spec.parent.task == nullptr && !table.misses_caches()) {
    std::size_t k = 0;
    for (AccessRequest const& request : spec.accesses) {
      if (request.counts())
        take_entry(found, k, request, table.find_or_make(request, last));
      else
        found.of[k] = nullptr;
      ++k;
    }
  } else {
    find_children_or_far(spec, scope, last, found);
  }
  if (found.is_special)
    for (std::size_t k = 0; k < spec.accesses.size(); ++k)
      if (found.of[k] != nullptr && spec.accesses[k].state != nullptr)
        table.check_symmetric(*found.of[k], spec.accesses[k]);
}

/// Connects a task in a graph that records, or a task with states or exclusive accesses. These are
/// noted before the accesses are entered.
void Submission::connect_noted(Task& task, TaskSpec const& spec, Scope& scope,
                               FoundEntries const& found, std::int32_t& edges) {
  FewIds awaited, done;  // the record needs each of them only once
  Heard heard;           // of the access that is entered
  auto const after_access = [&](LiveAccess before) {
    // The record gets each edge from a task that has demoted, whatever other order there is between
    // the two.
    if (before.task == nullptr) return order_after(before, task, EdgeReason::access, edges);
    if (heard.has_ended(before.id)) return false;
    if (awaited.contains(before.id)) return true;
    if (done.contains(before.id)) return false;
    bool const kept = order_after(before, task, EdgeReason::access, edges, heard);
    bool const may_differ = heard.since != 0 || heard.unknown_before != 0;  // for other accesses
    if (kept || !may_differ) (kept ? awaited : done).add(before.id);
    return kept;
  };
  for (std::size_t k = 0; k < spec.accesses.size(); ++k) {
    if (found.of[k] == nullptr) continue;
    task.add_access({found.of[k], spec.accesses[k].mode});
    scope.table.check_label(*found.of[k], spec.accesses[k], task.id);
  }
  if (found.is_special) note_special(task, spec, found);
  if (m_recorder) m_recorder->submitted(task);
  std::uint32_t n = 0;
  for (std::size_t k = 0; k < spec.accesses.size(); ++k) {
    if (found.of[k] == nullptr) continue;
    heard = AccessTable::heard(*found.of[k], spec.accesses[k]);
    enter_access(task, task.access(n++), task.id, scope, after_access);
  }
  for (std::uint32_t k = 0; found.is_special && k < task.access_count; ++k)
    task.access(k).generation = task.access(k).entry->generation;
}

/// Connects the accesses of a task that is not special, in a graph that does not record.
void Submission::connect_accesses(Task& task, TaskSpec const& spec, Scope& scope,
                                  FoundEntries const& found, std::int32_t& edges) {
  FewIds awaited;
  bool const on_device = task.runs_on_device();
  bool const any_failed = m_failures.any();
  bool any_live = false;
  Heard heard;
  auto const order_once = [&](LiveAccess before) __attribute__((always_inline)) {
    assert(before.task != nullptr);  // the graph does not record
    assert(before.id < task.id || Provisional::is(before.id));
    if (heard.has_ended(before.id)) return false;
    bool is_live = awaited.contains(before.id);
    if (!is_live && make_wait(before, task, on_device, m_features.device_tasks.streams(), edges)) {
      awaited.add(before.id);
      is_live = true;
    }
    bool const kept = is_live || inherit_from(before.id, task, heard);
    any_live = any_live || kept;
    return kept;
  };
  std::size_t k = 0;
  for (AccessRequest const& request : spec.accesses) {
    AreaEntry* const entry = found.of[k++];
    if (entry == nullptr) continue;
    task.add_access({entry, request.mode});
    any_live = false;
    if (any_failed) [[unlikely]] {
      scope.table.check_label(*entry, request, task.id);
      heard = AccessTable::heard(*entry, request);
    }
    scope.table.enter(*entry, request.mode, task, task.id, order_once);
    // Most accesses find a task in flight to come after, which shows that the allocation is still
    // the same.
    if (!any_live && !any_failed) scope.table.check_label(*entry, request, task.id);
  }
}

/// Enters the accesses of a task, and everything else that orders it. `found`: null where there are
/// none. Returns the number of edges.
std::int32_t Submission::connect(Task& task, TaskSpec const& spec, Scope& scope,
                                 FoundEntries const* found, WorkerSlot* slot) {
  std::int32_t edges = 0;
  // This is set before there is any edge, as a demotion in another scope reads it without this
  // lock.
  for (TaskHandle const& before : spec.after) task.tags_or_after().after.push_back(before.id);
  if (found != nullptr) {
    if (m_recorder != nullptr || found->is_special) [[unlikely]]
      connect_noted(task, spec, scope, *found, edges);
    else
      connect_accesses(task, spec, scope, *found, edges);
  } else if (m_recorder) {
    m_recorder->submitted(task);
  }
  for (TaskHandle const& before : spec.after)
    order_after({before.task, before.id}, task, EdgeReason::after, edges);
  if (!m_rules.empty())
    order_by_rules(m_rules, task, task.id, scope, [&](LiveAccess before) {
      return order_after(before, task, EdgeReason::rule, edges);
    });
  if (task.marks.synchronizing || scope.barrier.task != nullptr || m_recorder)
    synchronize(task, scope, edges);
  if (edges != 0) {
    std::atomic<std::uint64_t>& all = slot != nullptr ? slot->counts.edges : m_edges;
    all.store(all.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(edges),
              std::memory_order_relaxed);
  }
  return edges;
}

/// Adds the edges by synchronizing tasks. The record also gets the edges from tasks that are done,
/// as the dependency graph does not depend on timing.
void Submission::synchronize(Task& task, Scope& scope, std::int32_t& edges) {
  order_by_barrier(
      task, task.id, scope,
      [&](auto&& come_after) {
        if (task.scope != nullptr) {
          for (LiveAccess const child : scope.children) come_after(child);
        } else {
          m_slab.for_each([&](Task& other) {
            TaskId const id = other.live_id.load(std::memory_order_acquire);
            if (id != 0 && !Provisional::is(id) && other.scope_kind == ScopeKind::graph)
              come_after({&other, id});
          });
          if (FailurePtr const failure = m_failures.unreported()) inherit(task, failure);
        }
        if (m_recorder)
          for (TaskId const id : scope.recorded)
            m_recorder->edge(id, task.id, EdgeReason::synchronizing);
        scope.recorded.clear();
      },
      [&](LiveAccess before) {
        return order_after(before, task, EdgeReason::synchronizing, edges) || m_recorder;
      });
  if (m_recorder && !task.marks.synchronizing) scope.recorded.push_back(task.id);
}

/// Records an edge. False when there is no task to wait for: it has demoted what the two had in
/// common, and only the record knows it.
bool Submission::record_edge(LiveAccess before, Task const& task, EdgeReason reason) {
  m_recorder->edge(before.id, task.id, reason, before.task == nullptr);
  return before.task != nullptr;
}

/// Makes `task` wait for another one. False when that one is done and no task need be ordered after
/// it any more.
bool Submission::order_after(LiveAccess before, Task& task, EdgeReason reason, std::int32_t& edges,
                             Heard const& heard) {
  bool const has_id = !Provisional::is(before.id);
  assert(before.id < task.id || !has_id);
  if (heard.has_ended(before.id)) return false;
  if (m_recorder && has_id && !record_edge(before, task, reason)) return true;
  return make_wait(before, task, task.runs_on_device(), m_features.device_tasks.streams(), edges) ||
         inherit_from(before.id, task, heard);
}

/// True if this task, which is done, has failed. Then `task` gets its failure.
bool Submission::inherit_from(TaskId before, Task& task, Heard const& heard) {
  if (!m_failures.any()) return false;
  FailurePtr const failure = m_failures.poisons(before, before < heard.unknown_before);
  if (failure != nullptr) inherit(task, failure);
  return failure != nullptr;
}

}  // namespace trellis::Impl
