// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <recorded/Trellis_HeldResources.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <unordered_map>
#include <utility>

namespace trellis::Impl {

namespace {

/// A copy of a task's body that lives as long as this object. Few bodies are so large that they
/// need an allocation.
class BodyCopy {
 public:
  explicit BodyCopy(Task const& task)
      : m_ops(*task.ops), m_alignment(std::max(task.body_alignment, alignof(Task))) {
    bool const is_small = m_ops.size <= sizeof m_here && m_alignment == alignof(Task);
    if (!is_small) m_memory = ::operator new(m_ops.size, std::align_val_t(m_alignment));
    try {
      m_ops.copy(task.body, m_memory);
    } catch (...) {
      free_memory();
      throw;
    }
  }
  BodyCopy(BodyCopy const&) = delete;
  BodyCopy& operator=(BodyCopy const&) = delete;
  ~BodyCopy() {
    m_ops.destroy(m_memory);
    free_memory();
  }

 private:
  void free_memory() {
    if (m_memory != m_here) ::operator delete(m_memory, std::align_val_t(m_alignment));
  }

  TaskOps const& m_ops;
  std::size_t const m_alignment;
  alignas(Task) std::byte m_here[Task::inline_body];
  void* m_memory = m_here;
};

/// Returns how many references to this allocation a body of so many bytes has. A View is the
/// reference and then an address in the allocation. A reference alone may be what an old View has
/// left where the body has padding: a move may copy padding, too.
long references_in(void const* body, std::size_t size, ResourceHold const& hold) {
  constexpr std::size_t word_size = sizeof(std::uintptr_t);
  auto const record = reinterpret_cast<std::uintptr_t>(hold.record());
  auto const [begin, end] = hold.addresses();
  auto const word_at = [&](std::size_t at) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<std::byte const*>(body) + at, word_size);
    return word;
  };
  long count = 0;
  for (std::size_t at = 0; at + 2 * word_size <= size; at += word_size) {
    if (word_at(at) != record) continue;
    std::uintptr_t const address = word_at(at + word_size);
    if (begin <= address && address <= end) ++count;
  }
  return count;
}

struct References {
  std::mutex mutex;
  std::unordered_map<void const*, long> by_record;

  static References& get() {
    static auto* const all = new References;  // plans may be destroyed late
    return *all;
  }
};

}  // namespace

/// Counts the references that a task's body has to the allocations of the task. It reads those in
/// the body itself. References behind the body's pointers (a vector of Views) show when the body is
/// copied: as many come with each of two copies, and go with each of them.
///
/// Other threads make and drop references meanwhile. A worker that copies a functor twice makes the
/// count too large by the same number in both steps. So a count is believed at once only where it
/// is what the body itself has; else the smallest of several holds. One that is too large would
/// refuse a plan that may run; one that is too small only misses a plan that should be refused.
///
/// A body that is no Kokkos functor may be impossible or costly to copy, so it is only read.
void HeldResources::count(Task const& task, std::uint32_t number, TaskSpec const& spec,
                          FoundEntries const& found) {
  std::span<AccessRequest const> const requests = spec.accesses;
  constexpr int most = 4;
  struct Count {
    Held* resource;
    long in_body;
    long before = 0, with_one = 0, with_two = 0;
    long smallest = std::numeric_limits<long>::max();
    bool is_sure = false;
  };
  Vector<Count> counts;
  Resource const* last = nullptr;  // often several in a row are of one
  for (std::size_t k = 0; k < requests.size(); ++k) {
    if (found.of[k] == nullptr || requests[k].ops->hold == nullptr) continue;
    Resource const& accessed = *found.of[k]->resource;
    if (&accessed == last) continue;
    Held& resource = m_resources[accessed.begin];
    if (resource.hold == nullptr) {  // new, or known by Views alone that hold nothing
      resource.label = accessed.label;
      resource.hold = requests[k].ops->hold(requests[k].subject);
    }
    if (resource.hold == nullptr) continue;
    last = &accessed;
    if (std::exchange(resource.counted_for, number) == number) continue;
    counts.push_back({&resource, references_in(task.body, spec.body_size, *resource.hold)});
    resource.held += counts.back().in_body;
  }
  if (counts.empty() || task.ops->copy == nullptr) return;
  auto const note = [&](long Count::* at) {
    for (Count& each : counts) each.*at = each.resource->hold->holders();
  };
  bool is_sure = false;
  for (int round = 0; round < most && !is_sure; ++round) {
    note(&Count::before);
    {
      BodyCopy const one(task);
      note(&Count::with_one);
      BodyCopy const two(task);
      note(&Count::with_two);
    }
    is_sure = true;
    for (Count& each : counts) {
      if (each.is_sure) continue;
      long const first = each.with_one - each.before;
      long const second = each.with_two - each.with_one;
      long const gone = each.with_two - each.resource->hold->holders();
      each.is_sure = first == each.in_body && second == first && gone == first + second;
      each.smallest = std::min({each.smallest, first, second, gone / 2});
      is_sure = is_sure && each.is_sure;
    }
  }
  for (Count const& each : counts)
    each.resource->held += std::max(0L, each.smallest - each.in_body);
}

void HeldResources::recorded() {
  References& all = References::get();
  std::erase_if(m_resources, [](auto const& each) { return each.second.hold == nullptr; });
  for (auto& [begin, resource] : m_resources) {
    {
      std::lock_guard const lock(all.mutex);
      all.by_record[resource.hold->record()] += resource.held;
    }
    resource.is_known = true;
    resource.held_outside = is_held_outside(resource);
  }
}

void HeldResources::forget() noexcept {
  References& all = References::get();
  for (auto& [begin, resource] : m_resources) {
    if (!std::exchange(resource.is_known, false)) continue;
    std::lock_guard const lock(all.mutex);
    auto const found = all.by_record.find(resource.hold->record());
    found->second -= resource.held;
    if (found->second == 0) all.by_record.erase(found);
  }
}

bool HeldResources::is_held_outside(Held const& resource) {
  References& all = References::get();
  std::lock_guard const lock(all.mutex);
  auto const found = all.by_record.find(resource.hold->record());
  return resource.hold->holders() > (found != all.by_record.end() ? found->second : 0);
}

std::string const* HeldResources::find_lost() const {
  for (auto const& [begin, resource] : m_resources)
    if (resource.held_outside && !is_held_outside(resource)) return &resource.label;
  return nullptr;
}

}  // namespace trellis::Impl
