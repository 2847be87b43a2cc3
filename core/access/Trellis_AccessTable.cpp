// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <failure/Trellis_Failure.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>

namespace trellis::Impl {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // supported, though it need not be
static_assert(sizeof(void*) != 8 ||
                  (offsetof(AreaEntry, follower) == 64 && offsetof(AreaEntry, area) == 128),
              "what the two lines before are for no longer fits into them");
#pragma GCC diagnostic pop

/// Has no effect if it throws.
void Resource::add(AreaEntry& entry) {
  entries.push_back(&entry);
  if (m_index == nullptr && entries.size() < 2) return;
  try {
    if (m_index != nullptr) return m_index->insert(entry.area, &entry);
    auto index = std::make_unique<AreaIndex>(begin);
    for (AreaEntry* const each : entries) index->insert(each->area, each);
    m_index = std::move(index);
  } catch (...) {
    entries.shrink(entries.size() - 1);
    throw;
  }
}

void Resource::drop_retired() {
  entries.erase_if([&](AreaEntry* entry) {
    if (entry->resource != nullptr) return false;
    if (m_index != nullptr) m_index->erase(entry->area, entry);
    return true;
  });
}

std::string name_of(Area const& area, Resource const& resource) {
  std::string text = '"' + (resource.label.empty() ? "unlabeled" : resource.label) + '"';
  bool const is_whole =
      area.begin() == resource.begin && area.end() == resource.end && area.rank() == 0;
  bool const is_known = resource.begin < resource.end;
  if (!is_whole && is_known) text += ' ' + area_text(area, resource.begin, resource.shape);
  return text;
}

std::string name_of(AccessRequest const& request, ResourceInfo const& info) {
  Resource asked(info.label, info.begin, info.end);
  asked.shape = info.shape;
  return name_of(request.area, asked);
}

AreaEntry& AccessTable::make(AccessRequest const& request, std::uint64_t hash, TaskId submitted) {
  if (kept() >= m_collect_at && !m_keep_all) {
    // A program that sweeps over N areas returns to each after about N tasks, so areas that are
    // much older are no longer in use. If each task brings an area of its own, no area ever looks
    // old by that measure. So another measure applies to areas that have been used only once.
    TaskId const oldest = oldest_live_task(submitted);
    auto const older_than = [&](TaskId age) {
      return std::min(oldest, submitted > age ? submitted - age : 0);
    };
    m_patience.adapt();
    TaskId const sweep = 4 * m_slab.size();
    TaskId const before = older_than(sweep);
    TaskId const before_once = older_than(std::min(sweep, m_patience.tasks()));
    Vector<AreaEntry*> gone;
    for_each_entry([&](AreaEntry& entry) {
      if (can_be_forgotten(entry, entry.reused ? before : before_once)) gone.push_back(&entry);
    });
    forget(gone);
    m_collect_at = std::max<std::size_t>(table_kept, 2 * kept());
  }

  std::size_t const entries = m_slab.size() + 1;
  if (2 * (entries + m_no_longer) > m_buckets.size())
    fill_buckets(m_buckets.size() * (2 * entries > m_buckets.size() ? 2 : 1));
  Resource& resource = resource_for(request, submitted);
  auto const give_back = [&](AreaEntry* entry) { m_slab.give_back(*entry); };
  std::unique_ptr<AreaEntry, decltype(give_back)> made(&m_slab.make(), give_back);
  AreaEntry& entry = *made;
  entry.area = request.area;
  entry.last_used = submitted + 1;
  m_patience.met(hash, entry.last_used);
  entry.resource = &resource;
  try {
    resource.for_each_candidate(entry.area, [&](AreaEntry& other) {
      if (!overlaps(entry.area, other.area)) return;
      link(entry, other);
      link(other, entry);
    });
    resource.add(entry);
  } catch (...) {  // no memory
    unlink(entry);
    throw;
  }
  put_into_bucket(entry, hash);
  made.release();
  return entry;
}

/// Undoes the links of an entry.
void AccessTable::unlink(AreaEntry& entry) {
  m_crowd -= crowd_of(entry);
  for (AreaEntry::Overlap const& overlap : entry.overlaps) {
    AreaEntry& other = *overlap.entry();
    m_crowd -= crowd_of(other);
    other.overlaps.erase_if([&](auto const& each) { return each.entry() == &entry; });
    m_crowd += crowd_of(other);
  }
  entry.resource = nullptr;
}

void AccessTable::link(AreaEntry& entry, AreaEntry& other) {
  entry.overlaps.push_back({&other, contains(entry.area, other.area)});
  if (entry.overlaps.size() > few_overlaps) ++m_crowd;
}

void AccessTable::forget_all() {
  std::fill(m_buckets.begin(), m_buckets.end(), Bucket{0});
  m_no_longer = 0;
  m_crowd = 0;
  m_slab.clear();
  m_resources.clear();
  std::fill(std::begin(m_trail), std::end(m_trail), nullptr);
}

void AccessTable::relabel(AreaEntry& entry, AccessRequest const& request, TaskId self) {
  for (std::size_t k = entry.current.size(); k-- > 0;) {
    LiveAccess const newest = entry.current[k];
    if (newest.id == self) continue;
    if (newest.task != nullptr && newest.task->live_id.load(std::memory_order_acquire) == newest.id)
      return;
    break;
  }
  entry.resource = &resource_for(request, self - 1);
}

std::uint64_t Identity::next() {
  static std::atomic<std::uint64_t> last{first_allocation};
  return last.fetch_add(1, std::memory_order_relaxed);
}

/// Notes that an access of task `self` has found this allocation.
void AccessTable::set_identity(Resource& resource, std::uint64_t identity, TaskId self) {
  if (identity < Identity::first_allocation || identity == resource.identity) return;
  if (resource.identity >= Identity::first_allocation)
    resource.since = self;
  else if (resource.identity != Identity::by_address)
    resource.unknown_before = self;
  resource.identity = identity;
}

void AccessTable::renew(AreaEntry& entry, AccessRequest const& request, std::uint64_t identity,
                        TaskId self) {
  set_identity(*entry.resource, identity, self);
  if (request.ops->may_have_label != nullptr &&
      !request.ops->may_have_label(request.subject, entry.resource->label))
    entry.resource = &resource_for(request, self - 1);
}

Heard AccessTable::heard(AreaEntry const& entry, AccessRequest const& request) {
  Resource const& resource = *entry.resource;
  std::uint64_t const identity = request.identity();
  bool const is_unknown =
      identity == Identity::of_program || identity >= Identity::by_record ||
      (identity == Identity::within && resource.identity < Identity::by_address);
  return {resource.since, is_unknown ? ~TaskId{0} : resource.unknown_before};
}

void AccessTable::put_into_bucket(AreaEntry& entry, std::uint64_t hash) {
  std::size_t k = hash & m_mask;
  while (m_buckets[k] != 0 && m_buckets[k] != no_longer) k = (k + 1) & m_mask;
  if (m_buckets[k] == no_longer) --m_no_longer;
  m_buckets[k] = reinterpret_cast<Bucket>(&entry) | tag_of(hash);
}

void AccessTable::take_out_of_bucket(AreaEntry const& entry) {
  std::uint64_t const hash = entry.area.hash();
  Bucket const mine = reinterpret_cast<Bucket>(&entry) | tag_of(hash);
  std::size_t k = hash & m_mask;
  while (m_buckets[k] != mine) k = (k + 1) & m_mask;
  m_buckets[k] = no_longer;
  ++m_no_longer;
}

void AccessTable::fill_buckets(std::size_t count) {
  if (count == m_buckets.size())
    std::fill(m_buckets.begin(), m_buckets.end(), Bucket{0});
  else
    m_buckets = decltype(m_buckets)(count, Bucket{0});  // leaves it unchanged if it throws
  m_mask = count - 1;
  m_no_longer = 0;
  for_each_entry([&](AreaEntry& entry) { put_into_bucket(entry, entry.area.hash()); });
}

Resource& AccessTable::resource_for(AccessRequest const& request, TaskId submitted) {
  ResourceInfo info;
  request.ops->describe(request.subject, info);
  bool const is_allocation =
      info.begin < info.end;  // else the View is unmanaged, all we know is its area
  info.begin = std::min(info.begin, request.area.begin());
  info.end = std::max(info.end, request.area.end());

  Vector<Resource*> found = sharing_addresses(info.begin, info.end);
  auto const is_exact = [&](Resource const* other) {
    return other->begin == info.begin && other->end == info.end;
  };
  if (is_allocation && !m_keep_all && !std::all_of(found.begin(), found.end(), is_exact)) {
    // Two allocations cannot share addresses: what was here has been freed, or is a part that was
    // accessed before. Forget what no task in flight uses.
    TaskId const oldest = oldest_live_task(submitted);
    Vector<AreaEntry*> gone;
    for (Resource const* other : found)
      for (AreaEntry* const entry : other->entries)
        if (can_be_forgotten(*entry, oldest)) gone.push_back(entry);
    forget(gone);
    found = sharing_addresses(info.begin, info.end);
  }
  if (found.empty()) {
    if (info.label.empty()) info.label = "unlabeled";
    Resource& resource =
        m_resources.try_emplace(info.begin, std::move(info.label), info.begin, info.end)
            .first->second;
    if (is_allocation) resource.shape = info.shape;
    resource.identity = request.identity();
    return resource;
  }

  // The resource with the most entries absorbs the others and the new range.
  Resource& resource = **std::max_element(
      found.begin(), found.end(),
      [](Resource const* a, Resource const* b) { return a->entries.size() < b->entries.size(); });
  if (is_allocation && (info.shape.rank >= resource.shape.rank || info.label != resource.label ||
                        info.shape.element_bytes != resource.shape.element_bytes))
    resource.shape = info.shape;
  if (is_allocation && !info.label.empty()) resource.label = info.label;
  set_identity(resource, request.identity(), submitted + 1);
  for (Resource* other : found) {
    set_identity(*other, resource.identity, submitted + 1);
    resource.since = std::max(resource.since, other->since);
    resource.unknown_before = std::max(resource.unknown_before, other->unknown_before);
    info.begin = std::min(info.begin, other->begin);
    info.end = std::max(info.end, other->end);
    if (other == &resource) continue;
    for (AreaEntry* entry : other->entries) {
      entry->resource = &resource;
      resource.add(*entry);
    }
    m_resources.erase(other->begin);
  }
  if (resource.begin != info.begin) {
    auto node = m_resources.extract(resource.begin);
    node.key() = resource.begin = info.begin;
    m_resources.insert(std::move(node));
  }
  resource.end = info.end;
  return resource;
}

/// Returns the resources that share addresses with these, in order of address.
Vector<Resource*> AccessTable::sharing_addresses(std::uintptr_t begin, std::uintptr_t end) {
  Vector<Resource*> found;
  auto next = m_resources.upper_bound(begin);
  if (next != m_resources.begin() && std::prev(next)->second.end > begin) --next;
  for (; next != m_resources.end() && next->second.begin < end; ++next)
    found.push_back(&next->second);
  return found;
}

TaskId AccessTable::oldest_live_task(TaskId submitted) const {
  TaskId oldest = submitted + 1;  // the one being submitted
  m_tasks.for_each([&](Task const& task) {
    TaskId const id = task.live_id.load(std::memory_order_acquire);
    if (id != 0) oldest = std::min(oldest, id);
  });
  return oldest;
}

bool AccessTable::can_be_forgotten(AreaEntry const& entry, TaskId before) const {
  if (entry.last_used >= before) return false;
  // A failure that has not been reported yet still cancels tasks that come to this area.
  auto const poisons = [&](LiveAccess const& access) {
    return access.id >= entry.resource->since && m_failures.poisons(access.id) != nullptr;
  };
  auto const poisons_unindexed = [&](AreaEntry::Unindexed const& unindexed) {
    return poisons(unindexed.who);
  };
  return !m_failures.any() ||
         (std::none_of(entry.current.begin(), entry.current.end(), poisons) &&
          std::none_of(entry.previous.begin(), entry.previous.end(), poisons) &&
          std::none_of(entry.unindexed.begin(), entry.unindexed.end(), poisons_unindexed));
}

void AccessTable::forget(Vector<AreaEntry*> const& gone) {
  if (gone.empty()) return;
  Vector<AreaEntry*> neighbours;
  Vector<Resource*> touched;
  bool const one_by_one = gone.size() < m_slab.size() / 8;
  for (AreaEntry* const entry : gone) {
    for (auto const& overlap : entry->overlaps) neighbours.push_back(overlap.entry());
    touched.push_back(entry->resource);
    m_patience.forgot(entry->area.hash(), entry->last_used);
    if (one_by_one) take_out_of_bucket(*entry);
    entry->resource = nullptr;
  }
  auto const unique = [](auto& pointers) {
    std::sort(pointers.begin(), pointers.end());
    pointers.erase(std::unique(pointers.begin(), pointers.end()), pointers.end());
  };
  unique(neighbours);
  unique(touched);
  for (AreaEntry* entry : neighbours) {
    m_crowd -= crowd_of(*entry);
    entry->overlaps.erase_if(
        [](auto const& overlap) { return overlap.entry()->resource == nullptr; });
    m_crowd += crowd_of(*entry);
  }
  for (Resource* resource : touched) {
    resource->drop_retired();
    if (resource->entries.empty()) m_resources.erase(resource->begin);
  }
  std::fill(std::begin(m_trail), std::end(m_trail), nullptr);
  for (AreaEntry* const entry : gone) {
    m_crowd -= crowd_of(*entry);
    m_slab.give_back(*entry);
  }
  if (!one_by_one) fill_buckets(m_buckets.size());
}

LiveAccess AccessTable::find_live(Area const& area) {
  LiveAccess found{nullptr, 0};
  auto const look = [&](LiveAccess const& access, Mode mode) {
    bool const is_live = mode != Mode::none && access.task != nullptr &&
                         access.task->live_id.load(std::memory_order_acquire) == access.id;
    if (is_live) found = access;
  };
  for (Resource const* const resource : sharing_addresses(area.begin(), area.end()))
    resource->for_each_candidate(area, [&](AreaEntry const& entry) {
      if (found.task != nullptr || !overlaps(entry.area, area)) return;
      // (Members of `previous` have another mode, but not `none`.)
      for (LiveAccess const& each : entry.previous) look(each, Mode::read_write);
      for (LiveAccess const& each : entry.current) look(each, entry.mode);
      for (AreaEntry::Unindexed const& each : entry.unindexed) look(each.who, each.mode);
    });
  return found;
}

// --- unindexed accesses --------------------------------------------------------------------------

bool AccessTable::is_retired(LiveAccess const& access) const {
  return !m_keep_all && access.task->live_id.load(std::memory_order_acquire) != access.id &&
         m_failures.poisons(access.id) == nullptr;
}

void AccessTable::order_behind_unindexed(AreaEntry& entry, AccessKind kind, TaskId self,
                                         FunctionRef<bool(LiveAccess)> order_after) {
  Vector<AreaEntry::Unindexed*> found;
  auto const collect = [&](AreaEntry& other) {
    std::erase_if(other.unindexed,
                  [&](AreaEntry::Unindexed const& unindexed) { return is_retired(unindexed.who); });
    for (AreaEntry::Unindexed& unindexed : other.unindexed)
      if (unindexed.who.id != self) found.push_back(&unindexed);
  };
  collect(entry);
  for (AreaEntry::Overlap const& each : entry.overlaps) collect(*each.entry());

  // Newest first: accesses that may lie between an unindexed access and the new one have been
  // checked before.
  std::sort(found.begin(), found.end(),
            [](auto const* a, auto const* b) { return a->who.id > b->who.id; });
  for (AreaEntry::Unindexed* each : found) {
    bool const depends = kind.depends_on(each->kind());
    bool const counts = each->who.task != nullptr;  // else it is only kept for the record
    bool const has_path = each->behind != 0 && m_before.contains(each->behind);
    if (depends && each->behind == 0) each->behind = self;
    if (!counts) {
      if (has_path)
        m_demoted_before.insert(each->who.id);
      else if (depends && m_demoted_before.insert(each->who.id).second)
        m_released.push_back(each->who.id);
    } else if (has_path) {
      m_before.insert(each->who.id);
    } else if (depends && m_before.insert(each->who.id).second) {
      order_after(each->who);
    }
  }
  for (TaskId const id : m_released)
    if (!m_before.contains(id)) order_after({nullptr, id});

  // An access that conflicts with a dropped one conflicts with the new access, too, which is
  // ordered after the dropped one.
  auto const drop = [&](AreaEntry& other) {
    std::erase_if(other.unindexed, [&](AreaEntry::Unindexed const& unindexed) {
      return unindexed.who.id != self && kind.depends_on(unindexed.kind()) &&
             kind.covers(unindexed.kind());
    });
  };
  drop(entry);
  for (AreaEntry::Overlap const& each : entry.overlaps)
    if (each.covered()) drop(*each.entry());
}

void AccessTable::drop_unindexed(bool all) {
  if (!m_any_unindexed) return;
  m_entered_beside_unindexed = 0;
  m_any_unindexed = false;
  for_each_entry([&](AreaEntry& entry) {
    std::erase_if(entry.unindexed, [&](AreaEntry::Unindexed const& unindexed) {
      return all || is_retired(unindexed.who);
    });
    m_any_unindexed = m_any_unindexed || !entry.unindexed.empty();
  });
}

void AccessTable::enter_beside_unindexed(AreaEntry& entry, Mode mode, Task& task, TaskId id,
                                         FunctionRef<bool(LiveAccess)> order_after) {
  // While there may be unindexed accesses every task pays for it, so from time to time this is
  // checked.
  if (++m_entered_beside_unindexed > std::max<std::size_t>(256, m_slab.size())) drop_unindexed();
  begin_path();
  enter_groups(entry, mode, task, id, [&](LiveAccess before) { return note(before, order_after); });
  order_behind_unindexed(entry, {mode, nullptr}, id, order_after);
}

void AccessTable::enter(AreaEntry& entry, StatePtr const& state, Task& task, TaskId id,
                        FunctionRef<bool(LiveAccess)> order_after) {
  entry.last_used = id;
  m_any_unindexed = true;
  begin_path();
  auto const after_group = [&](LiveAccess before) { return note(before, order_after); };
  order_behind(entry, Mode::write, id, after_group);
  for (AreaEntry::Overlap const& each : entry.overlaps)
    order_behind(*each.entry(), Mode::write, id, after_group);
  order_behind_unindexed(entry, {Mode::write, state.get()}, id, order_after);
  entry.unindexed.push_back({{&task, id}, Mode::write, state});
}

void AccessTable::check_symmetric(AreaEntry const& entry, AccessRequest const& request) const {
  AnyState const& state = **request.state;
  auto const check = [&](AreaEntry const& other) {
    for (AreaEntry::Unindexed const& unindexed : other.unindexed)
      if (unindexed.state != nullptr &&
          (state.disagrees_with(*unindexed.state) || unindexed.state->disagrees_with(state)))
        throw Error(Error::Kind::bad_access,
                    name_of(entry.area, *entry.resource) + " is accessed in the states " +
                        state.text() + " and " + unindexed.state->text() +
                        ", which do not agree on whether they depend on each other");
  };
  check(entry);
  for (auto const& overlap : entry.overlaps) check(*overlap.entry());
}

void AccessTable::take_out(AreaEntry& entry, TaskId id) {
  m_any_unindexed = true;
  auto const is_it = [&](LiveAccess const& access) { return access.id == id; };
  auto const is_by_it = [&](AreaEntry::Unindexed const& each) { return is_it(each.who); };
  if (!m_keep_all) {
    entry.current.erase_if(is_it);
    entry.previous.erase_if(is_it);
    std::erase_if(entry.unindexed, is_by_it);
    return;
  }
  // What comes later is still ordered after what was there before the task.
  for (LiveAccess& access : entry.current)
    if (is_it(access)) access.task = nullptr;
  for (LiveAccess& access : entry.previous)
    if (is_it(access)) access.task = nullptr;
  for (AreaEntry::Unindexed& each : entry.unindexed)
    if (is_by_it(each)) each.who.task = nullptr;
}

void AccessTable::compact(SmallVector<LiveAccess, 1>& group, TaskId since) const {
  if (m_keep_all) return;
  bool failed_kept = false;
  group.erase_if([&](LiveAccess const& access) {
    if (access.task->live_id.load(std::memory_order_acquire) == access.id) return false;
    if (failed_kept || access.id < since || m_failures.poisons(access.id) == nullptr) return true;
    failed_kept = true;
    return false;
  });
  // Leave room, so that a group that remains large is not compacted for each new member.
  if (2 * group.size() > group.capacity())
    group.reserve(std::max<std::size_t>(8, 2 * group.capacity()));
}

bool conflict(Task const& a, TaskAccess const& access, Task const& b) {
  AccessKind const kind = a.kind(access);
  bool found = false;
  b.for_each_access([&](TaskAccess const& other) {
    found = found ||
            (kind.depends_on(b.kind(other)) && overlaps(access.entry->area, other.entry->area));
  });
  return found;
}

bool conflict(Task const& a, Task const& b) {
  bool found = false;
  a.for_each_access([&](TaskAccess const& access) { found = found || conflict(a, access, b); });
  return found;
}

}  // namespace trellis::Impl
