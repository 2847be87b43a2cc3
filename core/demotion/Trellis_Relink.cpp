// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <base/Trellis_Reserve.hpp>
#include <base/Trellis_SmallSet.hpp>
#include <demotion/Trellis_Remains.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Link.hpp>
#include <policy/Trellis_PolicyEdges.hpp>
#include <scope/Trellis_NearAccesses.hpp>
#include <scope/Trellis_Scope.hpp>
#include <failure/Trellis_Failure.hpp>
#include <task/Trellis_Provisional.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <trace/Trellis_Recorder.hpp>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

/// Changes the table, the exclusive areas and the edges around a task to what remains of its
/// accesses. Trellis_Demotion.cpp shows why that is right.
namespace trellis::Impl {

namespace {

/// What orders a task besides its accesses.
struct Reasons {
  TaskId id;
  Scope const* scope;
  bool synchronizing;
  std::span<TaskId const> after;  ///< explicit, or kept on a device
  std::span<TagPtr const> tags;

  explicit Reasons(Task const& task)
      : id(task.id), scope(task.scope), synchronizing(task.marks.synchronizing), tags(task.tags()) {
    if (task.has_tags_or_after) after = task.extras->after;
  }
};

/// True if `after` must wait for the end of `before` for another reason than accesses.
bool stay_ordered(std::deque<TagRule> const& rules, Reasons const& before, Reasons const& after) {
  if (before.synchronizing || after.synchronizing) return true;
  if (std::find(after.after.begin(), after.after.end(), before.id) != after.after.end())
    return true;
  return std::any_of(rules.begin(), rules.end(), [&](TagRule const& rule) {
    return rule.constraint == Constraint::ordered && before.scope == after.scope &&
           before.id < after.id && rule.holds(tag_of(before.tags, rule), tag_of(after.tags, rule));
  });
}

}  // namespace

// --- a pending task ------------------------------------------------------------------------------

/// Changes the edges that lead to a pending task T which gives up accesses, and those past it.
///
/// Unlike a running task, T may have unfinished predecessors. So besides the order between T and
/// what is behind it, two orders may be lost with an edge that ends or begins at T:
/// - T waits for a task that it still conflicts with, through a predecessor that it need not wait
///   for.
/// - A task behind T waits for one before T, if their only path led through T.
///
/// INVARIANT. Let A be before T, and B be T or behind it, in the order that the edges of the scope
/// make. Afterwards there is a path from A to B if they must be ordered (by a conflict, or for
/// another reason), or A is complete. For that all pairs (A, B) on the two sides of a cut are
/// looked at, from the inside to the outside. The search goes no further where a pair gets an edge,
/// as that is a path for all pairs beyond.
///
/// INVARIANT (no task is missed). The lock of the scope is held, so no task is submitted to it,
/// none of its tasks demotes, and no edge within it is added. T is held back, so no task behind it
/// can start, and adding 1 to their counts is safe. Tasks before T may run, and be complete and
/// reused, at any time. So all that is needed of a task is copied first, under its own lock, while
/// it is live. An edge from it is added under that lock, too, if it is still live. If it is not,
/// there is nothing to wait for, and only its failure is handed on. A task that was complete before
/// it was copied has not failed: while there is a failure that `wait` has not reported, the whole
/// demotion is refused before anything has changed.
///
/// Where T has taken the place of tasks before it, the table does not know them any more. So they
/// become unindexed accesses there, as T itself does: see `enter_before`.
struct Demotions::Relink {
  struct Access {
    AreaEntry* entry;
    Mode mode;
    StatePtr state;
    [[nodiscard]] AccessKind kind() const { return {mode, state.get()}; }
  };
  /// The copy of a task.
  struct Node {
    Task* task;
    TaskId id;
    Vector<Access> accesses{};
    Vector<TaskId> after{};
    Vector<TagPtr> tags{};
    Vector<TaskId> successors{};
    Vector<Node*> before{};
    Vector<Node*> behind{};
    std::optional<Reasons> reasons{};  ///< refers to the copies
  };

  Demotions& demotions;
  Recorder* const recorder = demotions.m_recorder;
  std::deque<Node> nodes{};
  std::unordered_map<TaskId, Node*> by_id{};
  Node* self = nullptr;  ///< T's
  std::unordered_map<TaskId, Vector<TaskId>> recorded_before{};

  /// Called under the lock of the task, or while it is held back.
  void copy(Node& node) const {
    Task const& task = *node.task;
    node.accesses.clear();
    task.for_each_access([&](TaskAccess const& access) {
      if (access.mode != Mode::none)
        node.accesses.push_back({access.entry, access.mode, task.state_of(access)});
    });
    node.reasons.emplace(task);
    node.after.assign(node.reasons->after.begin(), node.reasons->after.end());
    if (task.runs_on_device())  // the order is kept there
      for (OnDevice::Predecessor const& each : task.on_device->predecessors)
        node.after.push_back(each.id);
    node.tags.assign(node.reasons->tags.begin(), node.reasons->tags.end());
    node.reasons->after = node.after;
    node.reasons->tags = node.tags;
  }

  /// Copies the tasks of the scope. False when a task has failed, as T may have to be cancelled:
  /// then it is too late.
  [[nodiscard]] bool look(Task& task) {
    Scope* const scope = task.scope;
    demotions.m_kernel.slab().for_each([&](Task& other) {
      TaskId const id = other.live_id.load(std::memory_order_acquire);
      auto const is_of_scope = [&] { return other.scope == scope && !other.is_recorded(); };
      if (id == 0 || Provisional::is(id) || !is_of_scope()) return;
      std::lock_guard const lock(other.lock);  // while live under it, the task does not change
      if (!other.is_live_locked(id) || !is_of_scope()) return;
      Node& node = nodes.emplace_back(Node{&other, id});
      copy(node);
      // (A successor is pending, so it is the same task as long as the lock is held.)
      other.for_each_successor([&](Task* next) { node.successors.push_back(next->id); });
      by_id.emplace(id, &node);
    });
    auto const join_nodes = [&](TaskId first, TaskId second) {
      auto const a = by_id.find(first);
      auto const b = by_id.find(second);
      if (a == by_id.end() || b == by_id.end() || is_in(a->second->behind, b->second)) return;
      a->second->behind.push_back(b->second);
      b->second->before.push_back(a->second);
    };
    for (Node const& node : nodes) {
      for (TaskId const next : node.successors) join_nodes(node.id, next);
      for (TaskId const before : node.after) join_nodes(before, node.id);
    }
    self = by_id.at(task.id);
    return demotions.m_kernel.failures().unreported() == nullptr;
  }

  [[nodiscard]] static bool conflict(Node const& first, Node const& second) {
    for (Access const& a : first.accesses)
      for (Access const& b : second.accesses)
        if (a.kind().depends_on(b.kind()) &&
            (a.entry == b.entry || overlaps(a.entry->area, b.entry->area)))
          return true;
    return false;
  }
  /// True if the second task must wait for the end of the first.
  [[nodiscard]] bool depends(Node const& first, Node const& second) const {
    return conflict(first, second) ||
           stay_ordered(demotions.m_rules, *first.reasons, *second.reasons);
  }
  /// True if that is so, or if the policy wants it.
  [[nodiscard]] bool needed(Node const& first, Node const& second) const {
    return depends(first, second) || demotions.m_policy_edges.has(first.id, second.id);
  }

  /// Adds an edge to a task that cannot start meanwhile.
  void join(Node& first, Node& second) {
    // A dependency leads to a task that was submitted later. An edge that leads back is a policy's.
    if (recorder && first.id < second.id)
      recorder->edge(first.id, second.id,
                     conflict(first, second) ? EdgeReason::access : EdgeReason::demotion);
    first.behind.push_back(&second);
    second.before.push_back(&first);
    bool const is_live = link(*first.task, first.id, *second.task, [](bool) {});
    demotions.m_policy_edges.set_carries(first.id, second.id, true);
    if (is_live || !demotions.m_kernel.failures().any()) return;
    if (FailurePtr const failure = demotions.m_kernel.failures().poisons(first.id))
      inherit(*second.task, failure);
  }

  /// Records edges to `behind` from tasks that were complete before they could be copied, if their
  /// recorded path to `behind` led through `node`, which is no longer between them. (Tasks that
  /// were submitted after `behind` are left out: their path leads over an edge of a policy.)
  void record_done_before(Node const& node, Node const& behind) {
    auto const found = recorded_before.find(node.id);
    if (found == recorded_before.end()) return;
    for (TaskId const id : found->second)
      if (id < behind.id) recorder->edge(id, behind.id, EdgeReason::demotion);
  }

  /// Called when T has demoted, and its edges to others are those that it had.
  void change() {
    copy(*self);
    if (recorder)
      recorder->note([&] {
        for (EdgeRecord const& edge : recorder->edges(true))
          if (!edge.released && !by_id.contains(edge.from))
            recorded_before[edge.to].push_back(edge.from);
      });
    std::set<std::pair<Node*, Node*>> seen;
    Vector<std::pair<Node*, Node*>> next;
    auto const look_at = [&](Node* before, Node* behind) {
      if (seen.emplace(before, behind).second) next.emplace_back(before, behind);
    };
    Vector<Node*> cut;  // what T no longer has to wait for
    for (Node* before : self->before)
      if (!needed(*before, *self)) cut.push_back(before);
    for (Node* before : cut) look_at(before, self);
    for (Node* behind : self->behind) {
      bool const is_cut = !needed(*self, *behind);
      if (is_cut) record_done_before(*self, *behind);
      for (Node* before : is_cut ? self->before : cut) look_at(before, behind);
    }
    while (!next.empty()) {
      auto const [before, behind] = next.back();
      next.pop_back();
      bool const is_cut = behind == self && is_in(cut, before);
      if (!is_cut) {
        if (is_in(before->behind, behind)) continue;
        if (needed(*before, *behind)) {
          join(*before, *behind);
          continue;
        }
      }
      record_done_before(*before, *behind);
      for (Node* further : before->before) look_at(further, behind);
      if (behind == self) continue;
      for (Node* further : behind->behind) look_at(before, further);
    }
    for (Node* before : cut)
      with_live({before->task, before->id}, [&](Task& first) {
        std::uint32_t const count = first.successor_count;
        first.keep_successors([&](Task* successor) { return successor != self->task; });
        self->task->unfinished.fetch_sub(static_cast<std::int32_t>(count - first.successor_count),
                                         std::memory_order_acq_rel);
      });
    for (Node* before : self->before) {
      demotions.m_policy_edges.set_carries(before->id, self->id, depends(*before, *self));
      if (recorder && !conflict(*before, *self)) recorder->release(before->id, self->id);
    }
  }

  /// Lets tasks that are submitted later find the tasks before T, as T was in their place in the
  /// table. `areas`: those that T has given up or changed, and all that overlap them.
  ///
  /// T's own access has displaced accesses in the table: what it covers, the group before its own,
  /// and accesses whose place it has (or another one behind it, since they are
  /// `partly_superseded`). Each of these conflicts with T, or is before one that does, so it is
  /// before T. So its task is among those copied here, or complete. The other copied tasks still
  /// have their place in the table; to be found twice is harmless.
  ///
  /// An access that has noted T as behind it does not rely on that any more.
  void enter_before(SmallSet<AreaEntry> const& areas) {
    areas.for_each([&](AreaEntry* entry) {
      for (AreaEntry::Unindexed& unindexed : entry->unindexed)
        if (unindexed.behind == self->id) unindexed.behind = 0;
    });
    SmallSet<Node> seen;
    seen.insert(self);
    Vector<Node*> next{self};
    while (!next.empty()) {
      Node* const here = next.back();
      next.pop_back();
      for (Node* before : here->before)
        if (seen.insert(before)) next.push_back(before);
      if (here == self) continue;
      for (Access const& access : here->accesses) {
        auto const is_it = [&](AreaEntry::Unindexed const& unindexed) {
          return unindexed.who.id == here->id && unindexed.mode == access.mode &&
                 unindexed.state == access.state;
        };
        auto const& there = access.entry->unindexed;
        if (areas.contains(access.entry) && std::none_of(there.begin(), there.end(), is_it))
          AccessTable::put_in(*access.entry, access.kind(), access.state, *here->task, here->id, 0);
      }
    }
  }
};

// --- any task ------------------------------------------------------------------------------------

/// False when it is too late.
bool Demotions::apply(Remains& remains, HandOut& out) {
  Task& task = remains.task;
  std::optional<Relink> relink;
  if (remains.is_pending && !relink.emplace(Relink{*this}).look(task)) return false;
  bool const by_chains = !relink && knows_its_chains(remains);
  SmallSet<AreaEntry> const open = take_out(remains);
  auto const change = [&] { set_accesses(remains); };
  if (relink)
    m_exclusion.change_pending(task, change, out.granted);
  else if (exclusion_looks_at(remains))
    m_exclusion.change(task, change, out.granted);
  else
    change();
  if (m_recorder) m_recorder->demoted(task);
  if (relink) {
    if (m_recorder)
      for (Relink::Node& node : relink->nodes)
        with_live({node.task, node.id}, [&](Task& other) { m_exclusion.forget_groups(other); });
    relink->change();
    scope_of(task).relinked = scope_of(task).newest;
    relink->enter_before(open);
  }
  std::size_t const successors = release_edges(remains, open, by_chains, out.ready);
  put_in(remains, open, successors);
  return true;
}

/// Takes the task out of the table where something does not remain, and where another access of it
/// overlaps that. For one of its accesses may have covered another, which then has no place of its
/// own in the table. Returns the areas that may now be open to others.
SmallSet<AreaEntry> Demotions::take_out(Remains const& remains) {
  SmallSet<AreaEntry> areas;
  for (AreaEntry* entry : remains.changed) {
    areas.insert(entry);
    for (AreaEntry::Overlap const& overlap : entry->overlaps) areas.insert(overlap.entry());
  }
  remains.task.for_each_access([&](TaskAccess const& access) {
    if (areas.contains(access.entry))
      scope_of(remains.task).table.take_out(*access.entry, remains.task.id);
  });
  return areas;
}

void Demotions::set_accesses(Remains& remains) {
  Task& task = remains.task;
  remains.accesses.erase_if(
      [](Remains::Access const& mine) { return mine.what == Remains::What::a_part; });
  task.clear_accesses();
  if (task.has_objects) remains.states_before = std::exchange(task.extras->states, {});
  for (Remains::Access& mine : remains.accesses) {
    mine.access.state = -1;
    task.add_access(mine.access);
    std::uint32_t const last = task.access_count - 1;
    if (mine.state != nullptr) task.set_state(last, *mine.state);
    mine.access = task.access(last);
  }
}

/// True if a thread may read the accesses of the task under the mutex of Exclusion. None does if
/// the task excludes no other before and after, and cannot sleep: its body runs here, and it has no
/// children, which might sleep. (The lock of its children is held, so it gets none.)
bool Demotions::exclusion_looks_at(Remains const& remains) {
  Task const& task = remains.task;
  Frame const* const frame = Frame::top;
  bool const runs_here =
      frame != nullptr && &frame->task == &task && frame->what == Frame::What::runs;
  return !runs_here || task.inner != nullptr || task.exclusive || remains.any_exclusive();
}

/// Puts the task into the table where it has a new access, or where it has been taken out.
void Demotions::put_in(Remains const& remains, SmallSet<AreaEntry> const& open,
                       std::size_t successors) {
  Task& task = remains.task;
  // To know which task is behind only saves edges, so it is looked up only where that costs less.
  constexpr std::size_t enough = 1 << 14;
  bool const asks = successors != 0 && remains.accesses.size() * successors <= enough;
  for (std::uint32_t k = 0; k < task.access_count; ++k) {
    Remains::Access const& mine = remains.accesses[k];
    if (!mine.is_there()) continue;
    if (mine.what == Remains::What::all && !open.contains(mine.access.entry)) continue;
    task.access(k).was_put_in = true;
    TaskId behind = 0;
    if (asks) {
      std::unique_lock<SpinLock> const lock = remains.lock();
      task.for_each_successor([&](Task* next) {
        bool const is_of_scope = next->scope == task.scope && next->id > task.id;
        if (behind == 0 && is_of_scope && conflict(task, mine.access, *next)) behind = next->id;
      });
    }
    AccessTable::put_in(*mine.access.entry, task.kind(mine.access), task.state_of(mine.access),
                        task, task.id, behind);
  }
}

namespace {

/// Walks along the edges from the tasks in `stack`, and calls `f(next)` for each successor once. It
/// goes on behind `next` if `f` returns true.
template <class Stack, class F>
void walk_from(Stack& stack, SmallSet<Task>& seen, F&& f) {
  while (!stack.empty()) {
    Task& here = *stack.back();
    stack.shrink(stack.size() - 1);
    Vector<Task*> behind;
    {
      std::lock_guard const lock(here.lock);
      here.for_each_successor([&](Task* next) { behind.push_back(next); });
    }
    for (Task* next : behind)
      if (seen.insert(next) && f(*next)) stack.push_back(next);
  }
}

}  // namespace

/// True if the tasks behind this one by what it keeps form chains of edges as the table makes them,
/// see WHERE THE WALK GOES. Called before the accesses change.
bool Demotions::knows_its_chains(Remains const& remains) {
  Task const& task = remains.task;
  if (m_recorder != nullptr || task.id <= scope_of(task).relinked) return false;
  bool const has_part =
      remains.any([](Remains::Access const& mine) { return mine.what == Remains::What::is_part; });
  bool knows = true;
  std::size_t k = 0;
  task.for_each_access([&](TaskAccess const& access) {
    bool const remains_there = remains.accesses[k++].what == Remains::What::all;
    if (access.is_unindexed() && access.mode != Mode::none)
      knows = knows && !remains_there && !has_part;
  });
  return knows;
}

/// Removes the edges to successors that no longer conflict, and adds those that the walk finds.
/// `touched`: see WHERE THE WALK GOES. Returns the number of successors left.
std::size_t Demotions::release_edges(Remains const& remains, SmallSet<AreaEntry> const& touched,
                                     bool by_chains, Vector<Task*>& ready) {
  Task& task = remains.task;
  SmallVector<Task*, 16> successors;
  SmallVector<Task*, 16> freed;
  SmallVector<Task*, 16> from;
  std::uint32_t known = 0;
  std::optional<Conflicts> conflicts_with;
  // Other tasks of the scope are related to the task as before. (Tasks of another scope are
  // successors only if they have asked for it.)
  auto const is_touched = [&](Task const& other) {
    bool any = false;
    if (other.scope == task.scope)
      other.for_each_access(
          [&](TaskAccess const& access) { any = any || touched.contains(access.entry); });
    return any;
  };
  {
    std::unique_lock<SpinLock> const lock = remains.lock();
    known = task.successor_count;
    if (known == 0) return 0;
    conflicts_with.emplace(task, known);
    for (auto* const some : {&successors, &freed, &from}) some->reserve(known);
    task.for_each_successor([&](Task* successor) {
      if (!is_touched(*successor)) return successors.push_back(successor);
      bool const conflicts = (*conflicts_with)(*successor);
      bool const stays = conflicts || trigger_between(task, *successor) == Trigger::launch ||
                         stay_ordered(m_rules, Reasons(task), Reasons(*successor));
      m_policy_edges.set_carries(task.id, successor->id, stays);
      bool const is_of_policy = !stays && m_policy_edges.has(task.id, successor->id);
      (stays || is_of_policy ? successors : freed).push_back(successor);
      if (m_recorder && !conflicts) m_recorder->release(task.id, successor->id);
      // The walk also goes past some successors that stay for another reason than accesses. With a
      // record, such an edge is no link of a path in the dependency graph. An edge of a policy
      // hands on no failure.
      if (!stays || (m_recorder && !conflicts)) from.push_back(successor);
    });
  }
  if (from.empty()) return known;

  auto const is_touched_one = [&](Remains::Access const& mine) {
    return touched.contains(mine.access.entry);
  };
  if (by_chains && !remains.any(is_touched_one)) from.clear();
  SmallSet<Task> direct;
  if (!from.empty()) {
    direct.insert_all(successors);
    direct.insert_all(freed);
  }
  // Without a record the tasks in the list need not be looked at.
  SmallSet<Task> seen_anew;
  walk_from(from, m_recorder ? seen_anew : direct, [&](Task& next) {
    if (by_chains && !is_touched(next)) return false;
    if (!(*conflicts_with)(next)) return true;
    if (m_recorder) {
      m_recorder->edge(task.id, next.id, EdgeReason::access);
      if (direct.contains(&next)) return false;
    }
    if (trigger_between(task, next) == Trigger::launch)
      next.on_device->predecessors.push_back({&task, task.id});
    next.unfinished.fetch_add(1, std::memory_order_relaxed);
    successors.push_back(&next);
    return false;
  });
  std::sort(successors.begin(), successors.end(),
            [](Task const* a, Task const* b) { return a->id < b->id; });
  {
    std::unique_lock<SpinLock> const lock = remains.lock();
    for (std::uint32_t k = known; k < task.successor_count; ++k)
      successors.push_back(task.successor(k));
    task.clear_successors();
    for (Task* successor : successors) task.add_successor(successor);
  }
  for (Task* successor : freed) trigger(*successor, nullptr, ready);
  return successors.size();
}

}  // namespace trellis::Impl
