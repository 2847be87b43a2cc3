// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ACCESSTABLE_HPP
#define TRELLIS_IMPL_ACCESSTABLE_HPP

#include <Trellis_Access.hpp>
#include <Trellis_Area.hpp>
#include <Trellis_Graph.hpp>
#include <task/Trellis_AccessRequest.hpp>
#include <task/Trellis_AnyState.hpp>
#include <access/Trellis_AreaIndex.hpp>
#include <access/Trellis_EntrySlab.hpp>
#include <base/Trellis_LargePages.hpp>
#include <access/Trellis_Patience.hpp>
#include <base/Trellis_SmallVector.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis::Impl {

struct Task;
struct TaskAccess;
class TaskSlab;
class FailureLog;

struct AreaEntry;

/// An allocation (or a Token) and those of its areas that have been accessed. Areas are absolute
/// addresses, so two resources never conflict, and a View that aliases part of an allocation falls
/// into its resource.
class Resource {
 public:
  Resource(std::string name, std::uintptr_t first, std::uintptr_t past)
      : label(std::move(name)), begin(first), end(past) {}

  void add(AreaEntry& entry);
  /// Forgets entries whose `resource` is null.
  void drop_retired();
  /// Calls f(entry) for a superset of the entries that overlap `area`.
  template <class F>
  void for_each_candidate(Area const& area, F&& f) const {
    if (m_index != nullptr)
      m_index->for_each_candidate(area, [&](void* item) { f(*static_cast<AreaEntry*>(item)); });
    else if (!entries.empty())
      f(*entries.back());
  }

  std::string label;
  std::uintptr_t begin;
  std::uintptr_t end;
  ViewShape shape{};                          ///< of the View with the most dimensions
  std::uint64_t identity = Identity::within;  ///< of the allocation, as far as it is known
  /// Failures of tasks before this one belong to an earlier allocation at the same addresses.
  TaskId since = 0;
  /// It is not known whether tasks before this one accessed the same allocation.
  TaskId unknown_before = 0;
  std::uint64_t looked_at_in =
      0;  ///< number of the iteration that was the last to look at `identity`
  SmallVector<AreaEntry*, 1> entries;

 private:
  /// Holds all entries, once there are two: most allocations are accessed only as a whole.
  std::unique_ptr<AreaIndex> m_index;
};

/// Tells which failures of earlier tasks an access inherits. Failures from before `since` ended
/// with their allocation. For failures from before `unknown_before` it is unknown whether they did.
/// Their memory must have been there until the program knew that the task was complete. So they
/// count until the program has waited for the task.
///
/// A task from before `since` may still be live. Its body is destroyed, and with that the last
/// reference to the allocation is gone, before its successors are triggered. What the task did
/// happens before the new allocation, by the reference count and the allocator, so nothing is
/// ordered after it.
struct Heard {
  TaskId since = 0;
  TaskId unknown_before = 0;
  [[nodiscard]] bool has_ended(TaskId before) const { return before < since; }
};

/// The name of an area for messages, like `name_of` of a request. The caller holds the lock of its
/// scope.
[[nodiscard]] std::string name_of(Area const& area, Resource const& resource);

/// True if an access in one mode depends on an access in the other.
[[nodiscard]] inline bool conflict(Mode a, Mode b) {
  return IOMatrix::dependent[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

/// A task that accesses an area. The task is done when its `live_id` is no longer `id`. `task` is
/// null if the task has demoted its accesses; such an access is only kept for the record.
struct LiveAccess {
  Task* task;
  TaskId id;
};

/// The accesses to exactly one area, in two groups of one mode each.
///
/// INVARIANT. Members of a group are independent of each other (readers; atomic adds; or a single
/// writer). Each member of `current` depends on each member of `previous`, and is ordered after
/// everything before `previous`. A new access that conflicts with `current` need only be ordered
/// after `current`. One that does not has the same mode, as two different modes always conflict. So
/// it joins `current` and is ordered after `previous`. This also holds for a new access to another,
/// overlapping area: what both areas share is ordered within this one.
///
/// A new member of `current` replaces the members that it is ordered after. They are known if the
/// group is `partly_superseded`: an access W after all its members conflicts with the group and
/// overlaps its area in part. (If it covered the area, it would have ended the group.) An access
/// that joins the group conflicts with W as the members do, so it is ordered after W, and thus
/// after them. Without this rule, consider a tile that is read with its halo, and written by other
/// tasks piece by piece. It would have a reader of each step in flight, and each new writer would
/// get an edge to all of them. A write to the area of such a group needs no edge to its members
/// either, as it conflicts with W. W may give up what the two share. If W is pending, Relink enters
/// the accesses before W anew; if W runs, all of these are complete, and none has failed.
///
/// This does not hold for user-defined states, nor for a task that has demoted its accesses. Those
/// accesses are `unindexed`, and each new access is compared with them one by one.
///
/// A program may have a hundred thousand areas, which are then in no cache, so the number of cache
/// lines touched counts. An access to an area touches three lines of its entry, and one line of
/// each entry that overlaps it. (The source file checks where a line ends.)
struct alignas(64) AreaEntry {
  // First line: read for an area that overlaps an accessed one.
  SmallVector<LiveAccess, 1> current;
  SmallVector<LiveAccess, 1> previous;
  TaskId last_used = 0;
  std::uint32_t generation = 0;    ///< of `current`: tells whether two members were in it together
  Mode mode = Mode::none;          ///< of `current`
  bool reused = false;             ///< has been used by more than one task
  bool partly_superseded = false;  ///< `current` is, until an access joins it

  // Second line: read for an area that is accessed.
  AreaEntry* follower = nullptr;  ///< see AccessTable::expected
  Resource* resource = nullptr;
  /// Another entry whose area shares a byte with this one.
  class Overlap {
   public:
    Overlap(AreaEntry* entry, bool covered)
        : m_bits(reinterpret_cast<std::uintptr_t>(entry) | std::uintptr_t{covered}) {}
    Overlap() = default;
    [[nodiscard]] AreaEntry* entry() const {
      return reinterpret_cast<AreaEntry*>(m_bits & ~std::uintptr_t{1});
    }
    /// True if the area of the entry that owns this covers the other one.
    [[nodiscard]] bool covered() const { return (m_bits & 1) != 0; }

   private:
    std::uintptr_t m_bits;  ///< the address of the entry, whose last bits are 0, and `covered`
  };
  SmallVector<Overlap, 5> overlaps;  ///< all of these

  // Third line, if the area has up to two strides.
  Area area;

  struct Unindexed;
  Vector<Unindexed> unindexed;
  std::uint32_t recorded = 0;  ///< the recorder's
  std::uint32_t joined = 0;    ///< of `join_accesses`: its place there, if it is there

  struct Unindexed {
    LiveAccess who;
    Mode mode;
    StatePtr state;
    /// A later task that was ordered after this access, or 0. Demotion ends that order only when
    /// the two no longer conflict, and then the access is entered anew.
    TaskId behind = 0;
    [[nodiscard]] AccessKind kind() const { return {mode, state.get()}; }
  };
};

/// A table forgets nothing while it keeps fewer entries (of 320 bytes) than this: 40 MB, which a
/// mesh of ten thousand tiles with halos on all sides needs. Tests set it.
inline std::atomic<std::size_t> table_kept = std::size_t{1} << 17;

/// Derives dependencies from accesses. One thread at a time uses it, under the lock of its scope.
///
/// An access to a known area costs one hash look-up and a visit to the members of its groups. It
/// also visits the groups of overlapping areas, which are known from the first access. A new area
/// asks the resource's index for its neighbours. Entries that have not been used for long are
/// forgotten, so memory follows the program's working set.
class AccessTable {
 public:
  /// `keep_all`: finished tasks remain in the table, so that the edges do not depend on timing
  /// (recording).
  AccessTable(TaskSlab& tasks, FailureLog const& failures, bool keep_all)
      : m_tasks(tasks), m_failures(failures), m_keep_all(keep_all), m_buckets(64), m_mask(63) {}
  AccessTable(AccessTable const&) = delete;
  AccessTable& operator=(AccessTable const&) = delete;
  ~AccessTable() { forget_all(); }
  [[nodiscard]] bool keeps_all() const { return m_keep_all; }

  /// Returns the entry for an area, and makes it if it is new. `submitted`: id of the newest task.
  AreaEntry& find_or_make(AccessRequest const& request, TaskId submitted) {
    return find_or_make(request, request.area.hash(), submitted);
  }
  AreaEntry& find_or_make(AccessRequest const& request, std::uint64_t hash, TaskId submitted) {
    AreaEntry* const entry = look_up(request.area, hash);
    if (entry == nullptr) return make(request, hash, submitted);
    use(*entry, submitted);
    return *entry;
  }
  [[nodiscard]] AreaEntry const* find(Area const& area, std::uint64_t hash) const {
    return look_up(area, hash);
  }
  /// With many areas each look-up misses the caches, first for the bucket, then for the entry. The
  /// functions below avoid that; with few areas they cost more than they save. (256 entries take 80
  /// KB.)
  [[nodiscard]] bool misses_caches() const { return m_slab.size() > 256; }
  /// A program returns to its areas in the same order time and again. The next task of a sweep
  /// moves each of its accesses one tile further. So each entry knows its follower: the entry that
  /// the next task had in the same place of its list of accesses. The follower is fetched a whole
  /// task ahead. If access `k` of a task is the follower of the previous task's access `k`, this
  /// finds it without its hash and without a bucket, and marks it as used. Otherwise it returns
  /// null.
  [[nodiscard]] AreaEntry* expected(std::size_t k, Area const& area, TaskId submitted) {
    AreaEntry* const before = k < trail_length ? m_trail[k] : nullptr;
    AreaEntry* const entry = before != nullptr ? before->follower : nullptr;
    if (entry == nullptr || entry->area != area) return nullptr;
    use(*entry, submitted);
    return entry;
  }
  void follow(std::size_t k, AreaEntry& entry) {
    if (k >= trail_length) return;
    AreaEntry* const before = std::exchange(m_trail[k], &entry);
    if (before != nullptr && before->follower != &entry) before->follower = &entry;
    if (entry.follower != nullptr) prefetch(*entry.follower);
  }
  /// Prefetches what is not expected, for all accesses of a task at once: first the buckets, then
  /// the entries.
  void prefetch_bucket(std::uint64_t hash) const { prefetch_to_read(&m_buckets[hash & m_mask]); }
  void prefetch_entry(std::uint64_t hash) const {
    for_each_like(hash, [&](AreaEntry& first) { return prefetch(first), true; });
  }

  /// Enters an access of `task` and calls `order_after(LiveAccess)` for each access that it depends
  /// on. That call returns false when the other task is done and is never needed again.
  template <class OrderAfter>
  void enter(AreaEntry& entry, Mode mode, Task& task, TaskId id, OrderAfter&& order_after);
  /// Does the same if there may be unindexed accesses. It is not inlined, so that other calls do
  /// not pay for its size.
  void enter_beside_unindexed(AreaEntry& entry, Mode mode, Task& task, TaskId id,
                              FunctionRef<bool(LiveAccess)> order_after);
  /// Does the same for a user-defined state.
  void enter(AreaEntry& entry, StatePtr const& state, Task& task, TaskId id,
             FunctionRef<bool(LiveAccess)> order_after);
  /// An allocation may have been freed and another one made at its address; then the label of the
  /// new one counts. This does not apply while a task other than `self` uses the area, as the
  /// allocation is then the old one.
  ///
  /// The identity of the allocation is updated likewise; a known identity implies the label.
  void check_label(AreaEntry& entry, AccessRequest const& request, TaskId self) {
    std::uint64_t const identity = request.identity();
    if (identity >= Identity::first_allocation) {
      if (identity != entry.resource->identity) renew(entry, request, identity, self);
      return;
    }
    if (request.ops->may_have_label != nullptr &&
        !request.ops->may_have_label(request.subject, entry.resource->label))
      relabel(entry, request, self);
  }
  /// Call this after `check_label`.
  [[nodiscard]] static Heard heard(AreaEntry const& entry, AccessRequest const& request);
  /// Throws when the state of a request disagrees with one in the table.
  void check_symmetric(AreaEntry const& entry, AccessRequest const& request) const;

  /// Removes a task that has demoted from an entry. From now on the task is compared one by one:
  /// each access that it still has is put in as an unindexed one.
  void take_out(AreaEntry& entry, TaskId id);
  /// `behind` is as in AreaEntry::Unindexed.
  static void put_in(AreaEntry& entry, AccessKind kind, StatePtr const& state, Task& task,
                     TaskId id, TaskId behind) {
    entry.unindexed.push_back({{&task, id}, kind.mode, state, behind});
  }
  void drop_retired(Vector<LiveAccess>& tasks) const {
    std::erase_if(tasks, [&](LiveAccess const& task) { return is_retired(task); });
  }
  /// Returns a task that is not done and accesses a part of this area, for a task of another graph.
  /// Its `task` is null if there is none. No access is entered.
  [[nodiscard]] LiveAccess find_live(Area const& area);
  [[nodiscard]] bool empty() const { return m_slab.size() == 0; }
  [[nodiscard]] bool is_small() const { return m_buckets.size() <= 256 && m_patience.is_new(); }
  /// Restores the initial state. Requires that all tasks are done.
  void clear() {
    if (!empty()) forget_all();
    m_any_unindexed = false;
    m_entered_beside_unindexed = 0;
    m_collect_at = table_kept;
  }
  /// Drops the unindexed accesses of tasks that are done and no longer needed, or all.
  void drop_unindexed(bool all = false);

 private:
  static void prefetch(AreaEntry const& entry) {
    prefetch_to_write(&entry);
    prefetch_to_read(&entry.follower);
    prefetch_to_read(&entry.area);
  }
  static void use(AreaEntry& entry, TaskId submitted) {
    if (entry.last_used == submitted + 1) return;
    entry.reused = true;
    entry.last_used = submitted + 1;
  }
  template <class OrderAfter>
  void visit(SmallVector<LiveAccess, 1>& group, TaskId self, OrderAfter&& order_after) const;
  template <class OrderAfter>
  [[gnu::noinline]] void visit_many(SmallVector<LiveAccess, 1>& group, TaskId self,
                                    OrderAfter&& order_after) const;
  template <class OrderAfter>
  struct ByCall {
    OrderAfter& order_after;
    [[gnu::noinline]] bool operator()(LiveAccess before) const { return order_after(before); }
  };
  template <class OrderAfter>
  void enter_groups(AreaEntry& entry, Mode mode, Task& task, TaskId id, OrderAfter&& order_after);
  template <class OrderAfter>
  void order_behind(AreaEntry& other, Mode mode, TaskId self, OrderAfter&& order_after) const;
  void begin_path() {
    m_before.clear();
    m_demoted_before.clear();
    m_released.clear();
  }
  template <class OrderAfter>
  bool note(LiveAccess before, OrderAfter&& order_after) {
    if (before.task == nullptr) {
      if (m_demoted_before.insert(before.id).second) m_released.push_back(before.id);
      return true;
    }
    m_before.insert(before.id);
    return order_after(before);
  }
  /// Orders a new access after the unindexed accesses that conflict with it, of this and of
  /// overlapping entries. It omits those to which a path through another task is known. Then it
  /// drops what the new access covers.
  void order_behind_unindexed(AreaEntry& entry, AccessKind kind, TaskId self,
                              FunctionRef<bool(LiveAccess)> order_after);
  /// True if the task is done and never needed again.
  [[nodiscard]] bool is_retired(LiveAccess const& access) const;
  /// Drops members that are done. It keeps one of the failed members, which stands for all of them.
  void compact(SmallVector<LiveAccess, 1>& group, TaskId since) const;

  /// The address of an entry, whose last bits are 0, with some bits of its hash there. So hardly
  /// any entry is touched except the one looked for. 0: there is no entry.
  using Bucket = std::uintptr_t;
  static constexpr Bucket tag_bits = alignof(AreaEntry) - 1;
  static constexpr Bucket no_longer = 1;     ///< a removed one, so those behind count
  static constexpr Bucket in_every_tag = 2;  ///< so that no tag looks like `no_longer`
  [[nodiscard]] static Bucket tag_of(std::uint64_t hash) {
    return (static_cast<Bucket>(hash >> 58) & tag_bits) | in_every_tag;
  }
  /// Calls `is_it(entry)` for entries that may have this hash, until it returns true.
  template <class IsIt>
  void for_each_like(std::uint64_t hash, IsIt&& is_it) const {
    Bucket const tag = tag_of(hash);
    Bucket const* const buckets = m_buckets.data();
    for (std::size_t k = hash & m_mask; buckets[k] != 0; k = (k + 1) & m_mask)
      if ((buckets[k] & tag_bits) == tag &&
          is_it(*reinterpret_cast<AreaEntry*>(buckets[k] & ~tag_bits)))
        return;
  }
  [[nodiscard]] AreaEntry* look_up(Area const& area, std::uint64_t hash) const {
    AreaEntry* found = nullptr;
    for_each_like(hash, [&](AreaEntry& entry) {
      bool const is_it = entry.area == area;
      if (is_it) found = &entry;
      return is_it;
    });
    return found;
  }
  void forget_all();
  AreaEntry& make(AccessRequest const& request, std::uint64_t hash, TaskId submitted);
  void renew(AreaEntry& entry, AccessRequest const& request, std::uint64_t identity, TaskId self);
  static void set_identity(Resource& resource, std::uint64_t identity, TaskId self);
  void relabel(AreaEntry& entry, AccessRequest const& request, TaskId self);
  Resource& resource_for(AccessRequest const& request, TaskId submitted);
  [[nodiscard]] Vector<Resource*> sharing_addresses(std::uintptr_t begin, std::uintptr_t end);
  void put_into_bucket(AreaEntry& entry, std::uint64_t hash);
  void take_out_of_bucket(AreaEntry const& entry);
  void fill_buckets(std::size_t count);
  /// Calls f(entry) for each entry in use.
  template <class F>
  void for_each_entry(F&& f) {
    m_slab.for_each([&](AreaEntry& entry) {
      if (entry.resource != nullptr) f(entry);
    });
  }
  /// True if its last use is before `before`, and it holds no failure that still cancels later
  /// tasks.
  [[nodiscard]] bool can_be_forgotten(AreaEntry const& entry, TaskId before) const;
  /// Forgets these entries, and then resources that have no entry left.
  void forget(Vector<AreaEntry*> const& gone);
  /// How much it keeps, in entries. A resource takes about as much as an entry. Entries that many
  /// others overlap count for more, as each access looks at all that overlap its area. So of random
  /// areas that are never used again only a few thousand are kept.
  [[nodiscard]] std::size_t kept() const {
    return m_slab.size() + m_resources.size() + m_crowd / few_overlaps;
  }
  static constexpr std::size_t few_overlaps = 8;
  [[nodiscard]] static std::size_t crowd_of(AreaEntry const& entry) {
    return std::max(entry.overlaps.size(), few_overlaps) - few_overlaps;
  }
  void link(AreaEntry& entry, AreaEntry& other);
  void unlink(AreaEntry& entry);
  [[nodiscard]] TaskId oldest_live_task(TaskId submitted) const;

  TaskSlab& m_tasks;
  FailureLog const& m_failures;
  bool m_keep_all;
  bool m_any_unindexed = false;  ///< true if there may be an unindexed access
  std::size_t m_entered_beside_unindexed = 0;
  // Scratch data of one entering. `m_before`: tasks with a path to the entering task.
  // `m_demoted_before`: tasks that would have one, had they not given up what the two had in
  // common; this says nothing about the tasks before them. `m_released`: those of the latter that
  // are to be recorded, unless a path is found.
  HashSet<TaskId> m_before;
  HashSet<TaskId> m_demoted_before;
  Vector<TaskId> m_released;
  /// open addressing; the size is a power of two, at most half full
  std::vector<Bucket, TableAllocator<Bucket>> m_buckets;
  std::size_t m_mask;  ///< of positions in it
  EntrySlab<AreaEntry> m_slab;
  std::size_t m_no_longer = 0;  ///< buckets
  std::size_t m_crowd = 0;      ///< overlaps, without the first few of each entry
  static constexpr std::size_t trail_length = 8;
  AreaEntry* m_trail[trail_length] =
      {};  ///< entries of the newest tasks, by place; none is forgotten
  Patience m_patience;
  std::size_t m_collect_at = table_kept;      ///< of `kept`
  Map<std::uintptr_t, Resource> m_resources;  ///< by begin; disjoint
};

// -------------------------------------------------------------------------------------------------

// By id, not by address: a member may be a finished task whose memory the new task now uses.
template <class OrderAfter>
inline void AccessTable::visit(SmallVector<LiveAccess, 1>& group, TaskId self,
                               OrderAfter&& order_after) const {
  std::size_t const size = group.size();
  if (size > 1) return visit_many(group, self, order_after);
  if (size == 0) return;
  LiveAccess const access = *group.begin();
  if (access.id != self && !order_after(access) && !m_keep_all) group.clear();
}

template <class OrderAfter>
void AccessTable::visit_many(SmallVector<LiveAccess, 1>& group, TaskId self,
                             OrderAfter&& order_after) const {
  LiveAccess* const members = group.begin();
  std::size_t const size = group.size();
  std::size_t kept = 0;
  for (std::size_t k = 0; k < size; ++k) {
    LiveAccess const access = members[k];
    if (access.id != self && !order_after(access) && !m_keep_all) continue;
    if (kept != k) members[kept] = access;
    ++kept;
  }
  if (kept != size) group.shrink(kept);
}

template <class OrderAfter>
[[gnu::always_inline]] inline void AccessTable::order_behind(AreaEntry& other, Mode mode,
                                                             TaskId self,
                                                             OrderAfter&& order_after) const {
  visit(conflict(mode, other.mode) ? other.current : other.previous, self, order_after);
}

template <class OrderAfter>
void AccessTable::enter(AreaEntry& entry, Mode mode, Task& task, TaskId id,
                        OrderAfter&& order_after) {
  if (m_any_unindexed)
    enter_beside_unindexed(entry, mode, task, id, order_after);
  else
    enter_groups(entry, mode, task, id, order_after);
}

template <class OrderAfter>
[[gnu::always_inline]] inline void AccessTable::enter_groups(AreaEntry& entry, Mode mode,
                                                             Task& task, TaskId id,
                                                             OrderAfter&& order_after) {
  bool const writes = mode == Mode::write || mode == Mode::read_write;
  // The inlined code for the own groups calls this.
  ByCall<std::remove_reference_t<OrderAfter>> const by_call{order_after};
  entry.last_used = id;
  for (AreaEntry::Overlap const overlap : entry.overlaps) {
    AreaEntry& other = *overlap.entry();
    if (other.current.empty()) continue;
    if (!conflict(mode, other.mode)) {  // most halos, which read
      if (!other.previous.empty()) visit(other.previous, id, by_call);
      continue;
    }
    visit(other.current, id, by_call);
    other.partly_superseded = true;
    if (writes && overlap.covered()) {
      // An access that conflicts with what was there conflicts with this write, too.
      other.current.clear();
      other.previous.clear();
      other.mode = Mode::none;
    }
  }
  // A write conflicts with every access that follows the group, and is ordered after it.
  bool const is_behind = entry.partly_superseded && writes && !m_keep_all;
  if (!is_behind) order_behind(entry, mode, id, order_after);
  if (mode == entry.mode && !writes) {
    // Exclusion knows more about exclusive accesses that meet in a group; the record keeps all.
    if (entry.partly_superseded && mode != Mode::exclusive && !m_keep_all) entry.current.clear();
    if (entry.current.size() == entry.current.capacity())
      compact(entry.current, entry.resource->since);
  } else {
    if (writes) {  // no access joins a write, so these are not needed again
      entry.previous.clear();
      entry.current.clear();
    } else {
      entry.previous.take(entry.current);
    }
    entry.mode = mode;
    ++entry.generation;
  }
  entry.partly_superseded = false;
  entry.current.push_back({&task, id});
}

/// True if accesses of the two make them dependent on each other. Requires that these do not
/// change.
[[nodiscard]] bool conflict(Task const& a, Task const& b);
/// True if this access of the first task makes them dependent.
[[nodiscard]] bool conflict(Task const& a, TaskAccess const& access, Task const& b);

}  // namespace trellis::Impl

#endif
