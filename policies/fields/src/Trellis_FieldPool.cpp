// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/Trellis_FieldPool.hpp>

#include <algorithm>

namespace trellis {

namespace Impl {

namespace {
void* allocate_on_host(int, std::string const& label, std::size_t bytes) {
  return Kokkos::kokkos_malloc<Kokkos::HostSpace>(label, bytes);
}
void free_on_host(int, void* memory, std::size_t) {
  Kokkos::kokkos_free<Kokkos::HostSpace>(memory);
}
std::size_t available_on_host(int) {
  return std::numeric_limits<std::size_t>::max();
}
}  // namespace

// The constant is in a function: of one at namespace scope hipcc makes a copy for the device, too,
// where the two functions do not exist.
FieldMemoryOps const& host_field_memory() {
  static FieldMemoryOps const operations{"Host", &allocate_on_host, &free_on_host, nullptr,
                                         &available_on_host};
  return operations;
}

}  // namespace Impl

using Impl::PoolBlock;

FieldPool::Place& FieldPool::place_of(FieldTarget const& where) {
  for (Place& place : m_places)
    if (place.target == where) return place;
  return m_places.emplace_back(Place{where, {}, {}});
}

void FieldPool::free_idle(Place& place, std::size_t most_held) {
  std::erase_if(place.idle, [&](auto const& each) {
    PoolBlock* const block = each.second;
    if (place.counts.live + place.counts.idle <= most_held || block->under_way > 0) return false;
    for (PoolBlock::Use const& use : block->uses) use.device->release_event(use.event);
    place.target.free(block->memory, block->bytes);
    place.counts.idle -= block->bytes;
    delete block;
    return true;
  });
}

void FieldPool::trim() {
  std::lock_guard const lock(m_mutex);
  for (Place& place : m_places) free_idle(place, 0);
}

FieldPoolCounts FieldPool::counts() const {
  std::lock_guard const lock(m_mutex);
  FieldPoolCounts all = m_all;
  for (Place const& place : m_places) {
    all.live += place.counts.live;
    all.idle += place.counts.idle;
  }
  return all;
}

FieldPoolCounts FieldPool::counts(FieldTarget const& where) const {
  std::lock_guard const lock(m_mutex);
  for (Place const& place : m_places)
    if (place.target == where) return place.counts;
  return {};
}

PoolBlock* FieldPool::take(FieldTarget const& where, std::size_t bytes, std::string const& label,
                           std::size_t most_held, Idle which) {
  std::lock_guard const lock(m_mutex);
  Place& place = place_of(where);
  PoolBlock* block = nullptr;
  auto const [first, end] = place.idle.equal_range(bytes);
  for (auto each = end; each != first;) {
    --each;
    if (which == Idle::quiet && each->second->under_way > 0) continue;
    block = each->second;
    block->idle = place.idle.extract(each);
    break;
  }
  if (block != nullptr) {
    if (which == Idle::quiet)
      for (PoolBlock::Use const& use : std::exchange(block->uses, {}))
        use.device->release_event(use.event);
    block->is_new = false;
    place.counts.idle -= bytes;
    ++place.counts.reused;
    ++m_all.reused;
  } else {
    if (most_held != any_number) free_idle(place, most_held > bytes ? most_held - bytes : 0);
    auto made = std::make_unique<PoolBlock>();
    PoolBlock::IdleBlocks one;
    one.emplace(bytes, made.get());
    made->idle = one.extract(one.begin());
    try {
      made->memory = where.allocate(label, bytes);
    } catch (...) {
      if (place.counts.idle == 0) throw;
      free_idle(place, 0);  // the idle blocks may be the missing memory
      made->memory = where.allocate(label, bytes);
    }
    made->bytes = bytes;
    made->place =
        static_cast<std::size_t>(std::find_if(m_places.begin(), m_places.end(),
                                              [&](Place const& each) { return &each == &place; }) -
                                 m_places.begin());
    block = made.release();
    ++place.counts.allocated;
    ++m_all.allocated;
  }
  place.counts.live += bytes;
  std::size_t live = 0, held = 0;
  for (Place const& each : m_places) {
    live += each.counts.live;
    held += each.counts.live + each.counts.idle;
  }
  place.counts.most_live = std::max(place.counts.most_live, place.counts.live);
  place.counts.most_held = std::max(place.counts.most_held, place.counts.live + place.counts.idle);
  m_all.most_live = std::max(m_all.most_live, live);
  m_all.most_held = std::max(m_all.most_held, held);
  return block;
}

void FieldPool::give_back(PoolBlock* block) noexcept {
  std::lock_guard const lock(m_mutex);
  Place& place = m_places[block->place];
  place.idle.insert(std::move(block->idle));
  place.counts.live -= block->bytes;
  place.counts.idle += block->bytes;
}

void FieldPool::begin_use(PoolBlock* block) {
  std::lock_guard const lock(m_mutex);
  ++block->under_way;
}

void FieldPool::end_use(PoolBlock* block) {
  std::lock_guard const lock(m_mutex);
  --block->under_way;
}

}  // namespace trellis
