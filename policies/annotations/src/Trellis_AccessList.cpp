// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <annotations/Trellis_AccessList.hpp>
#include <Trellis_Error.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace trellis {

namespace Impl {

KeptObjects::KeptObjects() noexcept = default;
KeptObjects::KeptObjects(KeptObjects&& other) noexcept {
  swap(other);
}
KeptObjects& KeptObjects::operator=(KeptObjects other) noexcept {
  swap(other);
  return *this;
}
KeptObjects::~KeptObjects() {
  clear();
}

void KeptObjects::clear() noexcept {
  for (Object const& each : m_objects) each.destroy(each.place);
  m_objects.clear();
  m_block = m_used = 0;
}

void KeptObjects::swap(KeptObjects& other) noexcept {
  std::swap(m_blocks, other.m_blocks);
  std::swap(m_block, other.m_block);
  std::swap(m_used, other.m_used);
  std::swap(m_objects, other.m_objects);
}

void* KeptObjects::take(std::size_t size, std::size_t alignment) {
  if (m_objects.size() == m_objects.capacity()) m_objects.reserve(2 * m_objects.size() + 8);
  for (;; ++m_block, m_used = 0) {
    if (m_block == m_blocks.size()) {
      std::size_t const enough =
          m_blocks.empty() ? 512 : std::min<std::size_t>(2 * m_blocks.back().size, 1 << 16);
      std::size_t const bytes = std::max(enough, size + alignment);
      m_blocks.push_back({std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes});
    }
    Block const& block = m_blocks[m_block];
    void* place = block.bytes.get() + m_used;
    std::size_t room = block.size - m_used;
    if (std::align(alignment, size, place, room) == nullptr) continue;
    m_used = static_cast<std::size_t>(static_cast<std::byte*>(place) - block.bytes.get()) + size;
    return place;
  }
}

void KeptObjects::note(Object const& object) noexcept {
  m_objects.push_back(object);
}

std::span<AccessRequest const> AccessListInternals::requests(AccessList const& list) {
  return list.m_requests;
}

AccessList AccessListInternals::without_modes(AccessList& list) {
  for (AccessRequest& each : list.m_requests) {
    each.mode = Mode::none;
    each.state = nullptr;
  }
  list.m_kinds.clear();
  return std::move(list);
}

void AccessListInternals::require_accessible(AccessList const& list, Label const& label,
                                             Reaches reaches, std::type_info const& space,
                                             char const* name) {
  for (AccessList::Kind const& kind : list.m_kinds) {
    MemoryKind const& memory = *kind.memory;
    bool reached = *memory.home == space;
    if (reaches == Reaches::host)
      reached = memory.on_host;
    else if (reaches == Reaches::by_default)
      reached = memory.by_default;
    if (reached) continue;
    throw Error(Error::Kind::bad_access,
                "Trellis: task " + label.text() + " has a list of accesses with " +
                    name_of(list.m_requests[kind.first]) + ", whose memory, " + memory.name +
                    ", its execution space " + name + " cannot access");
  }
}

void add_access(Requests& to, AccessList const& list) {
  to.reserve(to.size() + list.size());
  for (AccessRequest const& each : AccessListInternals::requests(list))
    ::new (to.next()) AccessRequest(each);
}

}  // namespace Impl

AccessList::AccessList() noexcept = default;
AccessList::AccessList(AccessList&&) noexcept = default;
AccessList& AccessList::operator=(AccessList&&) noexcept = default;
AccessList::~AccessList() = default;

void AccessList::reserve(std::size_t accesses) {
  m_requests.reserve(accesses);
}

void AccessList::clear() {
  m_requests.clear();
  m_kept.clear();
  m_kinds.clear();
  m_others.clear();
}

void AccessList::append(AccessList& list) {
  m_requests.insert(m_requests.end(), list.m_requests.begin(), list.m_requests.end());
  for (Kind const& each : list.m_kinds)
    m_kinds.push_back({each.memory, m_requests.size() - list.m_requests.size() + each.first});
  m_others.push_back(std::make_unique<AccessList>(std::move(list)));
}

void AccessList::append(Impl::AccessRequest const& request) {
  m_requests.push_back(request);
}

void AccessList::note(Impl::MemoryKind const& memory) {
  for (Kind const& known : m_kinds)
    if (known.memory == &memory) return;
  m_kinds.push_back({&memory, m_requests.size() - 1});
}

}  // namespace trellis
