// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <kernel/Trellis_Link.hpp>
#include <demotion/Trellis_Relink.hpp>
#include <policy/Trellis_PolicyEdges.hpp>
#include <task/Trellis_Provisional.hpp>
#include <failure/Trellis_Failure.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <trace/Trellis_Recorder.hpp>
#include <base/Trellis_Reserve.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>
#include <mutex>
#include <set>

namespace trellis::Impl {

namespace {

template <class T>
bool is_in(Vector<T*> const& nodes, T const* node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

/// Called under the lock of the task, or while it is held back.
void Relink::copy(Task& task, Node& node) const {
  node.synchronizing = task.marks.synchronizing;
  node.accesses.clear();
  task.for_each_access([&](TaskAccess const& access) {
    if (access.mode != Mode::none)
      node.accesses.push_back({access.entry, access.mode, task.state_of(access)});
  });
  if (task.has_tags_or_after) node.explicit_before = task.extras->after;
  if (!m_rules.empty()) node.tags.assign(task.tags().begin(), task.tags().end());
}

bool Relink::look(Task& task) {
  Scope* const scope = task.scope;
  Vector<std::pair<Node*, Vector<Task*>>> successors;
  Vector<std::pair<Node*, Vector<OnDevice::Predecessor>>> on_device;
  m_slab.for_each([&](Task& other) {
    TaskId const id = other.live_id.load(std::memory_order_acquire);
    if (id == 0 || Provisional::is(id) || other.scope != scope || other.is_recorded()) return;
    std::lock_guard const lock(other.lock);  // while live under it, the task does not change
    if (other.live_id.load(std::memory_order_relaxed) != id || other.scope != scope ||
        other.is_recorded())
      return;
    Node& node = m_nodes.emplace_back(Node{&other, id, false});
    copy(other, node);
    m_newest = std::max(m_newest, id);
    m_node_of.emplace(&other, &node);
    Vector<Task*> next;
    other.for_each_successor([&](Task* successor) { next.push_back(successor); });
    successors.emplace_back(&node, std::move(next));
    if (other.runs_on_device() && !other.on_device->predecessors.empty())
      on_device.emplace_back(&node, other.on_device->predecessors);
  });
  auto const join_nodes = [](Node& first, Node& second) {
    if (is_in(first.behind, &second)) return;
    first.behind.push_back(&second);
    second.before.push_back(&first);
  };
  for (auto const& [node, next] : successors)
    for (Task* successor : next)
      if (auto const found = m_node_of.find(successor); found != m_node_of.end())
        join_nodes(*node, *found->second);
  for (auto const& [node, before] : on_device)
    for (OnDevice::Predecessor const& each : before)
      if (auto const found = m_node_of.find(each.task);
          found != m_node_of.end() && found->second->id == each.id) {
        join_nodes(*found->second, *node);
        node->before_on_device.push_back(found->second);
      }
  m_node = m_node_of.at(&task);
  return m_failures.unreported() == nullptr;
}

bool Relink::conflict(Node const& first, Node const& second) const {
  for (Access const& a : first.accesses)
    for (Access const& b : second.accesses)
      if (a.kind().depends_on(b.kind()) &&
          (a.entry == b.entry || overlaps(a.entry->area, b.entry->area)))
        return true;
  return false;
}

/// True if the second task must wait for the end of the first, also if only a policy wants it.
bool Relink::needed(Node const& first, Node const& second) const {
  return depends(first, second) || m_policy_edges.has(first.id, second.id);
}

bool Relink::depends(Node const& first, Node const& second) const {
  if (first.synchronizing || second.synchronizing || conflict(first, second)) return true;
  if (std::find(second.explicit_before.begin(), second.explicit_before.end(), first.id) !=
      second.explicit_before.end())
    return true;
  if (is_in(second.before_on_device, &first)) return true;  // the order is kept there
  auto const tag_of = [](Node const& node, TagRule const& rule) -> AnyTag const& {
    for (TagPtr const& tag : node.tags)
      if (tag->type() == rule.type) return *tag;
    return *rule.by_default;
  };
  for (TagRule const& rule : m_rules)
    if (rule.constraint == Constraint::ordered && first.id < second.id &&
        rule.holds(tag_of(first, rule), tag_of(second, rule)))
      return true;
  return false;
}

/// Adds an edge to a task that cannot start meanwhile.
void Relink::join(Node& first, Node& second) {
  // A dependency leads to a task that was submitted later. An edge that leads back is a policy's.
  if (m_recorder && first.id < second.id)
    m_recorder->edge(first.id, second.id,
                     conflict(first, second) ? EdgeReason::access : EdgeReason::demotion);
  if (is_in(first.behind, &second)) return;
  first.behind.push_back(&second);
  second.before.push_back(&first);
  bool const is_live = link(*first.task, first.id, *second.task, [](bool) {});
  m_policy_edges.set_carries(first.id, second.id, true);
  if (is_live || !m_failures.any()) return;
  if (FailurePtr const failure = m_failures.poisons(first.id)) inherit(*second.task, failure);
}

/// Records edges to `behind` from tasks that were complete before they could be copied, if their
/// recorded path to `behind` led through `node`, which is no longer between them. (Tasks that were
/// submitted after `behind` are left out: their path leads over an edge of a policy.)
void Relink::record_done_before(Node const& node, Node const& behind) {
  if (m_recorder == nullptr) return;
  auto const found = m_recorded_before.find(node.id);
  if (found == m_recorded_before.end()) return;
  for (TaskId const id : found->second)
    if (id < behind.id) m_recorder->edge(id, behind.id, EdgeReason::demotion);
}

void Relink::change(Vector<Task*>& ready) {
  Task& task = *m_node->task;
  copy(task, *m_node);
  for (Node* before : m_node->before)
    if (!needed(*before, *m_node)) m_free_before.push_back(before);
  for (Node* behind : m_node->behind)
    if (!needed(*m_node, *behind)) m_free_behind.push_back(behind);
  if (m_recorder)
    m_recorder->note([&] {
      std::unordered_set<TaskId> live;
      for (Node const& node : m_nodes) live.insert(node.id);
      for (EdgeRecord const& edge : m_recorder->edges(true))
        if (!edge.released && !live.contains(edge.from))
          m_recorded_before[edge.to].push_back(edge.from);
    });
  bridge();
  find_before();
  find_behind();

  // Both lists are final, and edges added since stay.
  for (Node* before : m_free_before) {
    std::int32_t gone = 0;
    with_live(*before, [&](Task& first) {
      std::uint32_t const count = first.successor_count;
      first.keep_successors([&](Task* successor) { return successor != &task; });
      gone = static_cast<std::int32_t>(count - first.successor_count);
    });
    if (gone > 0) task.unfinished.fetch_sub(gone, std::memory_order_acq_rel);
  }
  auto const is_free = [&](Task* successor) {
    auto const found = m_node_of.find(successor);
    return found != m_node_of.end() && is_in(m_free_behind, found->second);
  };
  Vector<Task*> freed;
  {
    std::lock_guard const lock(task.lock);
    task.for_each_successor([&](Task* successor) {
      if (is_free(successor)) freed.push_back(successor);
    });
    task.keep_successors([&](Task* successor) { return !is_free(successor); });
  }
  auto const note = [&](Node const& first, Node const& second) {
    m_policy_edges.set_carries(first.id, second.id, depends(first, second));
    if (m_recorder && !conflict(first, second)) m_recorder->release(first.id, second.id);
  };
  for (Node* behind : m_node->behind) note(*m_node, *behind);
  for (Node* before : m_node->before) note(*before, *m_node);
  for (Task* successor : freed) trigger(*successor, nullptr, ready);
}

/// Joins tasks before T to tasks behind it where T was the only link.
void Relink::bridge() {
  using Pair = std::pair<Node*, Node*>;
  std::set<Pair> seen;
  Vector<Pair> next;
  auto const look_at = [&](Node* before, Node* behind) {
    if (behind != m_node && seen.emplace(before, behind).second) next.emplace_back(before, behind);
  };
  Vector<Node*> const behind_task = m_node->behind;
  for (Node* behind : behind_task) {
    bool const is_free_behind = is_in(m_free_behind, behind);
    if (is_free_behind) record_done_before(*m_node, *behind);
    for (Node* before : m_node->before)
      if (is_free_behind || is_in(m_free_before, before)) look_at(before, behind);
  }
  while (!next.empty()) {
    auto const [before, behind] = next.back();
    next.pop_back();
    if (is_in(before->behind, behind)) continue;
    if (needed(*before, *behind)) {
      join(*before, *behind);
      continue;
    }
    record_done_before(*before, *behind);
    for (Node* further : before->before) look_at(further, behind);
    for (Node* further : behind->behind) look_at(before, further);
  }
}

/// Adds the edges that T still needs to tasks before a predecessor that it no longer waits for.
void Relink::find_before() {
  SmallSet<Node> seen;
  seen.insert_all(m_node->before);
  Vector<Node*> next = m_free_before;
  while (!next.empty()) {
    Node* const here = next.back();
    next.pop_back();
    record_done_before(*here, *m_node);
    for (Node* before : Vector<Node*>(here->before)) {
      if (!seen.insert(before)) continue;
      if (needed(*before, *m_node))
        join(*before, *m_node);
      else
        next.push_back(before);
    }
  }
}

/// Adds the edges that T still needs to tasks behind a successor that no longer waits for it.
void Relink::find_behind() {
  SmallSet<Node> seen;
  seen.insert_all(m_node->behind);
  Vector<Node*> next = m_free_behind;
  while (!next.empty()) {
    Node* const here = next.back();
    next.pop_back();
    for (Node* behind : Vector<Node*>(here->behind)) {
      if (!seen.insert(behind)) continue;
      if (needed(*m_node, *behind))
        join(*m_node, *behind);
      else
        next.push_back(behind);
    }
  }
}

/// Lets tasks that are submitted later find the tasks before T, as T was in their place in the
/// table.
///
/// T's own access has displaced accesses in the table: what it covers, the group before its own,
/// and accesses whose place it has (or another one behind it, since they are `partly_superseded`).
/// Each of these conflicts with T, or is before one that does, so it is before T. So its task is
/// among those copied here, or complete. The other copied tasks still have their place in the
/// table; to be found twice is harmless.
///
/// An access that has noted T as behind it does not rely on that any more.
void Relink::enter_before(SmallSet<AreaEntry> const& areas) {
  areas.for_each([&](AreaEntry* entry) {
    for (AreaEntry::Unindexed& unindexed : entry->unindexed)
      if (unindexed.behind == m_node->id) unindexed.behind = 0;
  });
  SmallSet<Node> seen;
  seen.insert(m_node);
  Vector<Node*> next{m_node};
  for (Node* before : m_free_before) next.push_back(before);
  while (!next.empty()) {
    Node* const here = next.back();
    next.pop_back();
    if (here != m_node)
      for (Access const& access : here->accesses)
        if (areas.contains(access.entry) &&
            std::none_of(access.entry->unindexed.begin(), access.entry->unindexed.end(),
                         [&](AreaEntry::Unindexed const& unindexed) {
                           return unindexed.who.id == here->id && unindexed.mode == access.mode &&
                                  unindexed.state == access.state;
                         }))
          AccessTable::put_in(*access.entry, access.kind(), access.state, *here->task, here->id, 0);
    for (Node* before : here->before)
      if (seen.insert(before)) next.push_back(before);
  }
}

}  // namespace trellis::Impl
